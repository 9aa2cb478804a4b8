/*
 * When a refused client is told to come again: what it is told is true. It is admitted then, or a few round trips later
 * where several asks bring its cost, unless others took the tokens; nobody is told to come soon where the last tokens
 * are for nobody, or where no wait helps. Three even regions 40 ms apart, of which nobody else asks.
 */
#include "tests/lib/rights_world.h"

enum { NEVER_MS = -1, TRIES = 8, SOON_MS = 200, PERIOD_MS = 20000, WINDOW_MS = 3600000 };

struct row {
    const char *name;
    struct limit_terms terms;
    unsigned spent, cost;
    int64_t least_ms,
        most_ms; /* how long until it is admitted, or is told first where that is later than PERIOD_MS */
};

static void spend(const struct row *row)
{
    unsigned got = 0;
    for (unsigned i = 0; i < 4 * row->spent + 4 && got < row->spent; i++) {
        got += rights_take_at_once(i % 3, row->name, &row->terms, 1).allowed;
        world_run(TURN_MS);
    }
    OK_U64(got, row->spent, "%s: so many are spent", row->name);
    world_run(3000); /* what was granted and is not used comes back */
}

static int64_t told_ms(const struct verdict *verdict)
{
    return verdict->retry_after_ns == UINT64_MAX ? NEVER_MS : (int64_t)(verdict->retry_after_ns / MS) + 1;
}

static void waits(const struct row *row)
{
    rights_world_init(3);
    rights_world_start();
    spend(row);
    int64_t waited_ms = 0, told = 0;
    bool allowed = false;
    for (unsigned i = 0; i < TRIES && !allowed; i++) {
        const struct verdict verdict = rights_take_at_once(BOB, row->name, &row->terms, row->cost);
        allowed = verdict.allowed;
        told = told_ms(&verdict);
        if (allowed || told == NEVER_MS || told > PERIOD_MS)
            break;
        world_run((unsigned)told);
        waited_ms += told;
    }
    if (row->most_ms == NEVER_MS)
        OK(!allowed && told == NEVER_MS && waited_ms == 0, "%s: never", row->name);
    else if (row->least_ms > PERIOD_MS)
        OK(!allowed && told >= row->least_ms && told <= row->most_ms && waited_ms == 0,
           "%s: not before the window is over", row->name);
    else
        OK(allowed && waited_ms >= row->least_ms && waited_ms <= row->most_ms, "%s: after %lld ms", row->name,
           (long long)waited_ms);
    world_close();
}

int main(void)
{
    static const struct row rows[] = {
        {"a window of 2, the last one", {.kind = LIMIT_CELL, .capacity = 2}, 1, 1, WINDOW_MS / 2, WINDOW_MS},
        {"80 of a window of 100, of which 50 are left",
         {.kind = LIMIT_CELL, .capacity = 100},
         50,
         80,
         WINDOW_MS / 2,
         WINDOW_MS},
        {"80 of a log of 100, of which 50 are left",
         {.kind = LIMIT_LOG, .capacity = 100, .period_ns = PERIOD_MS * MS},
         50,
         80,
         PERIOD_MS / 2,
         PERIOD_MS},
        {"all of a log, with an overshoot",
         {.kind = LIMIT_LOG, .capacity = 100, .period_ns = PERIOD_MS * MS, .overshoot = 20},
         0,
         100,
         2 * WAY_MS,
         SOON_MS},
        {"all of a window, with an overshoot",
         {.kind = LIMIT_CELL, .capacity = 100, .overshoot = 20},
         0,
         100,
         2 * WAY_MS,
         SOON_MS},
        {"90 of a bucket of 100",
         {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 10000 * MS},
         0,
         90,
         2 * WAY_MS,
         SOON_MS},
        {"97 of a bucket of 100, with an overshoot",
         {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 10000 * MS, .overshoot = 20},
         0,
         97,
         2 * WAY_MS,
         SOON_MS},
        {"all of a bucket, of which some decays until it is granted",
         {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 10000 * MS, .overshoot = 20},
         0,
         100,
         NEVER_MS,
         NEVER_MS},
        {"all of a slow bucket",
         {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = WINDOW_MS * MS, .overshoot = 20},
         0,
         100,
         NEVER_MS,
         NEVER_MS},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        waits(&rows[i]);
    return tap_done();
}
