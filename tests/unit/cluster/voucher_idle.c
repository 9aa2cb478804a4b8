/*
 * Ann has a voucher that nobody uses yet. Vouchers age by a clock that runs while the machine sleeps, and that is read
 * at each use: it goes on between two looks of one step. That is no reason to give back what she has asked for.
 */
#include "tests/lib/rights_world.h"

enum { REGIONS = 3, COST = 70, IDLE_MS = 1000, STEP_MS = 5, BUSY_NS = 2000, GIVEN_BACK_MS = 500 };

static const struct limit_terms hourly = {.kind = LIMIT_BUCKET,
                                          .capacity = 100,
                                          .rate = 1,
                                          .period_ns = 3600000 * MS};

static uint64_t looks; /* at the clock: a busy machine lets some time pass at each of them */

static uint64_t clock_at_each_look(void)
{
    return world.now_ns + ++looks * BUSY_NS;
}

static uint64_t run_and_count_returned(unsigned ms)
{
    for (unsigned at = 0; at < ms; at += STEP_MS)
        world_run(STEP_MS);
    return world_stats(ANN).rights_returned_tokens;
}

int main(void)
{
    rights_world_init(REGIONS);
    for (unsigned i = 0; i < REGIONS; i++)
        world.host[i].options.sleepless_ns = clock_at_each_look;
    rights_world_start();
    (void)rights_take_at_once(ANN, "key", &hourly, COST);
    world_run(TURN_MS);
    const uint64_t held = rights_explain(ANN, "key", &hourly).voucher_tokens;
    OK(held > COST / 2, "others grant %" PRIu64 " tokens for a cost of %d", held, COST);
    OK_U64(run_and_count_returned(IDLE_MS), 0, "none of them is given back while she may still want them");
    OK(run_and_count_returned(GIVEN_BACK_MS) >= held - 1, "what nobody wants for longer is");
    world_close();
    return tap_done();
}
