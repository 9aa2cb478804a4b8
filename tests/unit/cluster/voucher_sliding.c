/*
 * Grants of sliding windows: who is asked counts the window before as the asker does, and a voucher ends with its
 * window. Three even regions, 40 ms apart, whose clients are known to come back; windows last an hour.
 */
#include "tests/lib/rights_world.h"

enum { LIMIT = 100 };

#define HOUR_NS (3600000 * MS)

static const struct limit_terms terms = {.kind = LIMIT_CELL, .capacity = LIMIT};

/* The key of that name in its window before, or in the one that ends at `end_ns`. */
static struct charge charge_in(unsigned host, const char *name, bool before, uint64_t end_ns)
{
    char previous[32];
    (void)snprintf(previous, sizeof previous, "%s, before", name);
    struct charge charge = charge_at(host, before ? previous : name, &terms, 1);
    charge.sliding = true;
    charge.previous = key_of(before ? "long ago" : previous, 0);
    charge.window_ns = HOUR_NS;
    charge.window_end_ns = end_ns;
    charge.expires_ns = end_ns + HOUR_NS;
    return charge;
}

static unsigned take(unsigned host, const char *name, bool before, uint64_t end_ns, unsigned count)
{
    unsigned given = 0;
    const struct charge charge = charge_in(host, name, before, end_ns);
    for (unsigned i = 0; i < count; i++)
        given += node_takes(world.host[host].node, &charge, world.now_ns);
    world_push(host);
    return given;
}

static unsigned take_for(unsigned host, const char *name, bool before, uint64_t end_ns, unsigned trips)
{
    unsigned given = 0;
    for (unsigned trip = 0; trip <= trips; trip++) {
        given += take(host, name, before, end_ns, LIMIT);
        world_run(TURN_MS);
    }
    return given;
}

static void fresh(void)
{
    const uint64_t end_ns = world.now_ns + HOUR_NS;
    const unsigned at_once = take(ANN, "fresh", false, end_ns, LIMIT);
    world_run(TURN_MS);
    const unsigned later = at_once + take(ANN, "fresh", false, end_ns, LIMIT);
    OK(at_once >= 30 && later >= 90 && later <= LIMIT,
       "of a fresh window one region has %u of 100 at once, and %u after a round trip", at_once, later);
}

/* Nine tenths of the window before were used, and half of each still counts. */
static void counts_the_window_before(void)
{
    const uint64_t end_ns = world.now_ns + HOUR_NS / 2;
    const unsigned before = take_for(CAT, "half", true, end_ns - HOUR_NS, 4);
    OK(before >= 90 && before <= LIMIT, "%u were used in the window before", before);
    unsigned given = take_for(ANN, "half", false, end_ns, 4);
    OK(given >= 45 && 2 * given + before <= 2 * LIMIT, "with half of that, %u may be in one region", given);
    given += take_for(BOB, "half", false, end_ns, 2);
    OK(2 * given + before <= 2 * LIMIT, "and all regions together have %u", given);
}

/* What came for a window is not used in the next one, and is given back, as it counts there. */
static void ends_with_its_window(void)
{
    const uint64_t end_ns = world.now_ns + 400 * MS;
    struct explanation explained;
    (void)take(ANN, "ends", false, end_ns, LIMIT);
    world_run(TURN_MS);
    const struct charge charge = charge_in(ANN, "ends", false, end_ns);
    node_explain(world.host[ANN].node, charge.id, charge.limit, world.now_ns, &explained);
    const uint64_t held = explained.voucher_tokens, returned = world_stats(ANN).rights_returned_tokens,
                   asked = world_stats(ANN).rights_asked;
    OK(held > 50, "%" PRIu64 " are in a voucher when the window is over", held);
    world_run(2000);
    OK(world_stats(ANN).rights_returned_tokens >= returned + held, "soon they are given back");
    const struct bucket bucket = node_bucket(world.host[BOB].node, charge.id, charge.limit, world.now_ns);
    OK(bucket.settled >= (LIMIT - 35) * node_limit(world.host[BOB].node, charge.limit)->units_per_token,
       "and do not count against the next one");
    (void)take(ANN, "ends", false, end_ns, LIMIT);
    world_run(TURN_MS);
    OK_U64(world_stats(ANN).rights_asked, asked, "nobody is asked for a window that is over");
}

int main(void)
{
    rights_world_init(3);
    rights_world_start();
    fresh();
    counts_the_window_before();
    ends_with_its_window();
    world_close();
    return tap_done();
}
