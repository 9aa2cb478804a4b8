#include "tests/lib/cluster_harness.h"

/*
 * Cat is out of reach, and nothing settles without its word. Ann and bob hear each other, and go on with the shares of
 * both. Shares are 1/2 (ann), 1/4 (bob) and 1/4 (cat). The limit "fast" has 160 tokens and gains 160 a second; "slow"
 * has 160 and gains one an hour.
 */
enum { SLOW, FAST, SECONDS = 20, TURN_MS = 10 };

static struct bucket bucket_at(unsigned host, uint16_t limit)
{
    return node_bucket(world.host[host].node, key_of("alice", limit), limit, world.now_ns);
}

static double tokens(uint16_t limit, int64_t units)
{
    return (double)units / (double)world.limits.limit[limit].units_per_token;
}

static unsigned drain(unsigned host, uint16_t limit)
{
    unsigned taken = 0;
    while (world_ask(host, "alice", limit, 1).allowed)
        taken++;
    return taken;
}

/* Cat is cut off for long enough to be silent. */
static void begin(void)
{
    world_of(3);
    world_links(CAT, LINK_CUT);
    world_run(2000);
}

/* What ann's reports say of bob, who is heard, and of cat, who is not. */
static void lags_are_told(void)
{
    struct peer_report report[NODE_PEERS_MAX];
    uint64_t lag[3] = {0};
    const size_t count = node_peers(world.host[ANN].node, world.now_ns, report);
    for (size_t i = 0; i < count; i++)
        for (unsigned host = ANN; host <= CAT; host++)
            if (strcmp(report[i].name, host_names[host]) == 0)
                lag[host] = report[i].lag_batches;
    OK(lag[BOB] <= 5 && lag[CAT] > 20, "bob lacks %" PRIu64 " batches of ann, and cat %" PRIu64, lag[BOB],
       lag[CAT]);
}

static void two_of_three_have_their_joint_share(void)
{
    unsigned taken = 0;
    begin();
    (void)drain(ANN, FAST);
    (void)drain(BOB, FAST);
    world_run(1000);
    for (unsigned t = 0; t < SECONDS * 1000 / TURN_MS; t++) {
        taken += drain(ANN, FAST) + drain(BOB, FAST);
        world_run(TURN_MS);
    }
    const double part = taken / (160.0 * SECONDS);
    OK(part > 0.74 && part < 0.80, "ann and bob admit %.3f of the limit, of which they have 3/4, and what was left",
       part);
    OK(world_stats(ANN).uncharged_keys == 1 && world_stats(BOB).uncharged_keys == 1,
       "each does not charge what it hears of the other");
    lags_are_told();
    world_links(CAT, LINK_FINE);
    world_run(3000);
    double least = 1000, most = 0;
    for (unsigned i = ANN; i <= CAT; i++) {
        double left = tokens(FAST, bucket_at(i, FAST).settled);
        least = left < least ? left : least;
        most = left > most ? left : most;
        OK(world_stats(i).uncharged_keys == 0 && bucket_at(i, FAST).unsettled == 0,
           "when cat is heard again all is charged and settled at %s", host_names[i]);
    }
    OK(most - least < 1, "and all see the same: %.2f to %.2f", least, most);
    world_close();
}

/* Ann spends first, so that bob, who has spent nothing, charges that at once; then bob, while ann lacks tokens. */
static unsigned spend_slowly(void)
{
    unsigned spent = drain(ANN, SLOW);
    world_run(500);
    OK(world_stats(BOB).uncharged_keys == 0, "bob lacks nothing of the key, and charges what ann spends");
    spent += drain(BOB, SLOW);
    world_run(500);
    OK(world_stats(ANN).uncharged_keys == 1, "ann lacks tokens, and does not charge what bob spends");
    return spent;
}

static void a_part_of_the_table_has_all(void)
{
    begin();
    host_down(CAT);
    unsigned spent = spend_slowly();
    world_start(CAT);
    world_link_both(ANN, CAT, LINK_FINE);
    world_run(1500);
    OK(world_stats(CAT).snapshots_taken > 0 && tokens(SLOW, bucket_at(CAT, SLOW).settled) < 160 - spent + 1,
       "cat, who starts anew and hears ann alone, sees %.1f of 160 tokens, of which %u are spent",
       tokens(SLOW, bucket_at(CAT, SLOW).settled), spent);
    world_close();
}

static void nothing_settles_by_an_uncharged_digest(void)
{
    begin();
    unsigned spent = spend_slowly();
    world_link(BOB, ANN, LINK_CUT);
    world_link_both(BOB, CAT, LINK_FINE);
    world_run(3000);
    OK(bucket_at(BOB, SLOW).unsettled > 0 && world_stats(ANN).uncharged_keys == 1,
       "bob has the word of both, but ann hears nobody, and has not charged what bob spent: bob waits for that");
    world_link(BOB, ANN, LINK_FINE);
    world_links(CAT, LINK_FINE);
    world_run(3000);
    for (unsigned i = ANN; i <= CAT; i++) {
        double left = tokens(SLOW, bucket_at(i, SLOW).settled);
        OK(left >= 160 - spent && left < 160 - spent + 1 && bucket_at(i, SLOW).unsettled == 0,
           "when all hear each other, %s sees %.1f tokens", host_names[i], left);
    }
    world_close();
}

int main(void)
{
    two_of_three_have_their_joint_share();
    a_part_of_the_table_has_all();
    nothing_settles_by_an_uncharged_digest();
    return tap_done();
}
