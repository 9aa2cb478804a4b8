#include "cluster/node.h"
#include "tests/lib/reserving_world.h"

/*
 * Tokens are spent, and given back before the peer has acknowledged the spend: a later batch tells the return. When the
 * first batch settles, the node's own view does not fall for a moment by what has been given back. Were it too low, it
 * would have room for other returns that the truth, which is full, loses, and spends of others would end at -E.
 */

static const struct limit_terms bucket = {.kind = LIMIT_BUCKET,
                                          .capacity = 160,
                                          .rate = 1,
                                          .period_ns = 3600000 * MS,
                                          .overshoot = 160},
                                window = {.kind = LIMIT_CELL, .capacity = 160};

static bool may_spend(unsigned i, const char *key, const struct limit_terms *terms, uint64_t cost)
{
    struct verdict verdict;
    struct charge charge = charge_at(i, key, terms, cost);
    return node_check(world.host[i].node, &charge, 1, true, world.now_ns, &verdict);
}

static void give_back(const char *key, const struct limit_terms *terms, uint64_t tokens)
{
    struct charge charge = charge_at(ANN, key, terms, tokens);
    OK_U64(node_return(world.host[ANN].node, &charge, 1, tokens, world.now_ns), tokens, "%u are given back",
           (unsigned)tokens);
}

static void of_a_bucket(void)
{
    int64_t least = INT64_MAX;
    reserving_world();
    OK(may_spend(ANN, "bucket", &bucket, 100), "100 are spent");
    world_until_published(ANN);
    give_back("bucket", &bucket, 80);
    for (unsigned ms = 0; ms < 1000; ms++) {
        world_run(1);
        const int64_t left = tokens_left(ANN, "bucket", &bucket);
        least = left < least ? left : least;
    }
    OK_I64(least, 140, "the view never falls below what is left");
    const int64_t bob = tokens_left(BOB, "bucket", &bucket);
    OK(bob == 139 || bob == 140, "the peer sees as much, but for what may have refilled");
    world_close();
}

static bool is_settled(const char *key, const struct limit_terms *terms)
{
    const struct charge charge = charge_at(ANN, key, terms, 0);
    return node_bucket(world.host[ANN].node, charge.id, charge.limit, world.now_ns).unsettled == 0;
}

/*
 * The peer spends more than would be left without the return, as soon as it knows of it. Its next message tells that,
 * and acknowledges the return.
 */
static void of_a_window(void)
{
    uint64_t spent = 70 + 1;
    reserving_world();
    OK(may_spend(ANN, "window", &window, 70) && may_spend(BOB, "window", &window, 70), "two spend 70 of 160 each");
    world_until_published(ANN);
    give_back("window", &window, 69);
    for (unsigned ms = 0; ms < 1000; ms++) {
        world_run(1);
        if (spent == 71 && is_settled("window", &window))
            world_link(BOB, ANN, LINK_CUT);
        if (spent == 71 && may_spend(BOB, "window", &window, 25))
            spent += 25;
        if (ms == 100)
            world_link(BOB, ANN, LINK_FINE);
    }
    OK_U64(spent, 71 + 25, "the peer spends 25 more");
    OK_I64(tokens_left(ANN, "window", &window), 160 - (int64_t)spent, "none of them is forgotten");
    OK_I64(tokens_left(BOB, "window", &window), 160 - (int64_t)spent, "the peer sees as much");
    world_close();
}

int main(void)
{
    of_a_bucket();
    of_a_window();
    return tap_done();
}
