/*
 * key_view: when a refused client may come back, where the whole limit is spent and the share would never do: with the
 * next window, and a round trip later. Three even regions, 40 ms apart; windows last an hour.
 */
#include "tests/lib/rights_world.h"

enum { LIMIT = 20 };

#define HOUR_NS (3600000 * MS)

static const struct limit_terms terms = {.kind = LIMIT_CELL, .capacity = LIMIT};

static struct charge charge_until(const char *name, bool sliding, uint64_t cost, uint64_t end_ns)
{
    struct charge charge = charge_at(ANN, name, &terms, cost);
    charge.sliding = sliding;
    charge.previous = key_of("the window before", 0);
    charge.window_ns = HOUR_NS;
    charge.window_end_ns = end_ns;
    charge.expires_ns = sliding ? end_ns + HOUR_NS : end_ns;
    return charge;
}

static struct verdict ask(const struct charge *charge)
{
    struct verdict verdict;
    (void)node_check_each(world.host[ANN].node, charge, 1, &charge->id, 1, world.now_ns, &verdict);
    world_push(ANN);
    return verdict;
}

static void cost_above_the_share(const char *name, bool sliding, uint64_t least_ns, uint64_t most_ns)
{
    const uint64_t end_ns = world.now_ns + HOUR_NS / 2;
    const struct charge charge = charge_until(name, sliding, 12, end_ns);
    struct verdict verdict = ask(&charge);
    OK(!verdict.allowed && verdict.reason == VERDICT_SHARE && verdict.retry_after_ns < 1000 * MS,
       "%s: a cost above the share is refused for a round trip", name);
    for (unsigned i = 0; i < 8 && !verdict.allowed; i++) {
        world_run(TURN_MS);
        verdict = ask(&charge);
    }
    OK(verdict.allowed, "%s: then it is admitted", name);
    world_run(TURN_MS);
    verdict = ask(&charge);
    const uint64_t left_ns = verdict.retry_after_ns - (end_ns - world.now_ns);
    OK(!verdict.allowed && verdict.reason == VERDICT_CAPACITY, "%s: the same once more is beyond the limit", name);
    OK(verdict.retry_after_ns != UINT64_MAX && left_ns >= least_ns && left_ns <= most_ns,
       "%s: and may be tried again %" PRIu64 " ms after the end of the window", name, left_ns / MS);
}

static void cost_above_the_limit(void)
{
    const struct charge charge = charge_until("beyond", false, LIMIT + 1, world.now_ns + HOUR_NS);
    const struct verdict verdict = ask(&charge);
    OK(!verdict.allowed && verdict.reason == VERDICT_TOO_LARGE && verdict.retry_after_ns == UINT64_MAX,
       "a cost above the limit is never allowed");
}

int main(void)
{
    rights_world_init(3);
    rights_world_start();
    cost_above_the_share("a fixed window", false, 0, 1000 * MS);
    /* so many of the 12 must have faded that several asks bring 12; and what a voucher has left over */
    cost_above_the_share("a sliding window", true, 1800000 * MS, 2400000 * MS);
    cost_above_the_limit();
    world_close();
    return tap_done();
}
