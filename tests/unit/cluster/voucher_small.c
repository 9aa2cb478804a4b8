/*
 * Small limits with an overshoot of 0: what one of three even regions has at once, and after ten round trips. The rows
 * are those of docs/accounting.md, "Vouchers". Nodes are 40 ms apart.
 */
#include "tests/lib/rights_world.h"

enum { CAPACITIES = 8, TRIPS = 10 };

#define HOUR_NS (3600000 * MS)

struct row {
    const char *name;
    struct limit_terms terms;
    bool sliding;
    unsigned at_once[CAPACITIES], later[CAPACITIES];
};

static unsigned take(const struct row *row, const char *key, unsigned count)
{
    unsigned given = 0;
    for (unsigned i = 0; i < count; i++) {
        struct charge charge = charge_at(ANN, key, &row->terms, 1);
        charge.sliding = row->sliding;
        charge.previous = key_of("the window before", 0);
        given += node_takes(world.host[ANN].node, &charge, world.now_ns);
    }
    world_push(ANN);
    return given;
}

static void small_limits(struct row *row)
{
    for (unsigned i = 0; i < CAPACITIES; i++) {
        const unsigned capacity = i + 1;
        char key[32];
        (void)snprintf(key, sizeof key, "%s %u", row->name, capacity);
        row->terms.capacity = capacity;
        row->terms.rate = row->terms.kind == LIMIT_BUCKET ? capacity : 0;
        const unsigned at_once = take(row, key, capacity);
        unsigned later = at_once;
        for (unsigned trip = 0; trip < TRIPS; trip++) {
            world_run(TURN_MS);
            later += take(row, key, capacity);
        }
        OK(at_once == row->at_once[i] && later == row->later[i], "%s of %u: %u at once, %u after ten round trips",
           row->name, capacity, at_once, later);
    }
}

int main(void)
{
    static struct row rows[] = {
        {"a bucket",
         {.kind = LIMIT_BUCKET, .period_ns = HOUR_NS},
         false,
         {0, 0, 0, 1, 1, 1, 2, 2},
         {0, 1, 2, 3, 4, 5, 6, 7}},
        {"a fixed window", {.kind = LIMIT_CELL}, false, {0, 0, 0, 1, 1, 1, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}},
        {"a sliding window", {.kind = LIMIT_CELL}, true, {0, 0, 0, 1, 1, 1, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}},
        {"a log",
         {.kind = LIMIT_LOG, .period_ns = HOUR_NS},
         false,
         {0, 0, 0, 1, 1, 1, 2, 2},
         {0, 0, 0, 3, 3, 3, 6, 6}},
    };
    rights_world_init(3);
    rights_world_start();
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        small_limits(&rows[i]);
    world_close();
    return tap_done();
}
