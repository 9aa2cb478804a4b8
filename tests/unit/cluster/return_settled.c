#include "cluster/node.h"
#include "tests/lib/reserving_world.h"

/*
 * Tokens are spent, and given back before the peer has acknowledged the spend: a later batch tells the return. When the
 * first batch settles, the node's own view does not fall for a moment by what has been given back. Were it too low, it
 * would have room for other returns that the truth, which is full, loses.
 */

static const struct limit_terms bucket = {
    .kind = LIMIT_BUCKET, .capacity = 160, .rate = 1, .period_ns = 3600000 * MS, .overshoot = 160};

static void spend(uint64_t cost)
{
    struct verdict verdict;
    struct charge charge = charge_at(ANN, "bucket", &bucket, cost);
    OK(node_check(world.host[ANN].node, &charge, 1, true, world.now_ns, &verdict), "%u are spent", (unsigned)cost);
}

static void give_back(uint64_t tokens)
{
    struct charge charge = charge_at(ANN, "bucket", &bucket, tokens);
    OK_U64(node_return(world.host[ANN].node, &charge, 1, tokens, world.now_ns), tokens, "%u are given back",
           (unsigned)tokens);
}

int main(void)
{
    int64_t least = INT64_MAX;
    reserving_world();
    spend(100);
    world_until_published(ANN);
    give_back(80);
    for (unsigned ms = 0; ms < 1000; ms++) {
        world_run(1);
        const int64_t left = tokens_left(ANN, "bucket", &bucket);
        least = left < least ? left : least;
    }
    OK_I64(least, 140, "the view never falls below what is left");
    const int64_t bob = tokens_left(BOB, "bucket", &bucket);
    OK(bob == 139 || bob == 140, "the peer sees as much, but for what may have refilled");
    world_close();
    return tap_done();
}
