#include "tests/lib/cluster_harness.h"

/*
 * After a healed cut lawful users go on: what refill has paid off of spends is not owed once more when they are told.
 * Shares are 1/2 (ann), 1/4 (bob) and 1/4 (cat). The limit "fast" has 160 tokens and gains 160 a second: cat's part of
 * that is 40 a second. Nothing is declared, so that debt stops at 0.
 */
enum { FAST = 1 };

static double left_at(unsigned host, const char *key)
{
    struct bucket bucket = node_bucket(world.host[host].node, key_of(key, FAST), FAST, world.now_ns);
    return (double)(bucket.settled - bucket.unsettled) / (double)world.limits.limit[FAST].units_per_token;
}

static uint64_t spared(unsigned host)
{
    return world_stats(host).spared_tokens;
}

/* Each spends a little less than its part, for so many tenths of a second. */
static void live(unsigned tenths, const char *key)
{
    for (unsigned t = 0; t < tenths; t++) {
        (void)world_ask(ANN, key, FAST, 6);
        (void)world_ask(BOB, key, FAST, 3);
        (void)world_ask(CAT, key, FAST, 3);
        world_run(100);
    }
}

static void lawful_users_go_on(void)
{
    world_of(3);
    live(10, "alice");
    world_links(CAT, LINK_CUT);
    live(200, "alice");
    world_links(CAT, LINK_FINE);
    world_run(300);
    for (unsigned i = 0; i < 3; i++)
        OK(left_at(i, "alice") > 80, "what refill has paid off during a cut is not owed again by %s",
           host_names[i]);
    OK(spared(ANN) > 400 && spared(BOB) > 400 && spared(CAT) > 400, "and each says how much that was");
    world_close();
}

static void what_is_not_paid_off_is_charged(void)
{
    unsigned taken = 0;
    world_of(3);
    world_links(CAT, LINK_CUT);
    live(100, "alice");
    while (world_ask(CAT, "alice", FAST, 1).allowed)
        taken++;
    OK(taken > 20 && taken <= 40, "behind a cut cat takes what it may at once, %u of its share", taken);
    world_links(CAT, LINK_FINE);
    world_run(200);
    for (unsigned i = 0; i < 3; i++)
        OK(left_at(i, "alice") <= 160 - taken + 160 * 0.2 + 1, "and that is charged at %s when it is told",
           host_names[i]);
    world_close();
}

static void nobody_is_late(void)
{
    world_of(3);
    live(100, "alice");
    OK(spared(ANN) + spared(BOB) + spared(CAT) == 0, "where nobody is late nothing is spared");
    world_close();
}

int main(void)
{
    lawful_users_go_on();
    what_is_not_paid_off_is_charged();
    nobody_is_late();
    return tap_done();
}
