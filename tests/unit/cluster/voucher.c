/*
 * Rights go where demand is: what a burst in one of three even regions gets at once and after round trips, where
 * clients are known to come back; costs beyond a share, and small limits. Nodes are 40 ms apart.
 */
#include "tests/lib/rights_world.h"

/* What one host has got of a full key of 100 at once, and after each of three round trips. */
static void burst(const char *key, const struct limit_terms *terms, const unsigned *least)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 4; i++) {
        sum += rights_take(ANN, key, terms, 100 - sum);
        OK(sum >= least[i] && sum <= 100, "%s: %u of 100 after %u round trips, at least %u", key, sum, i, least[i]);
        world_run(TURN_MS);
    }
}

/* The first spends of a burst are told with the ask for what the last ones lack: told before, they would leave less. */
static void burst_of_two_ms(const char *key, const struct limit_terms *terms, unsigned least)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 4; i++) {
        sum += rights_take(ANN, key, terms, 25);
        world_run(i < 3 ? 1 : 0);
    }
    world_run(TURN_MS);
    sum += rights_take(ANN, key, terms, 100 - sum);
    OK(sum >= least && sum <= 100, "%s: %u of 100 after a round trip, at least %u", key, sum, least);
}

static void cost_beyond_a_share(const struct limit_terms *terms)
{
    struct verdict verdict = rights_take_at_once(ANN, "ninety", terms, 90);
    OK(!verdict.allowed && verdict.reason == VERDICT_SHARE, "a cost of 90 is refused for the share alone");
    OK(verdict.retry_after_ns >= 2 * WAY_MS * MS && verdict.retry_after_ns <= TURN_MS * MS,
       "and may come again after a round trip");
    world_run(TURN_MS);
    OK(rights_take_at_once(ANN, "ninety", terms, 90).allowed, "when it is admitted");
    world_run(TURN_MS);
    OK(rights_take_at_once(BOB, "ninety", terms, 1).reason != VERDICT_ALLOWED ||
           rights_take(BOB, "ninety", terms, 100) < 10,
       "others have no more than the rest");
}

/* With an overshoot of 20% all shares together are 15/16 of 100, and 20. So 95 are waited for. */
static void cost_with_an_overshoot(const struct limit_terms *terms)
{
    struct limit_terms more = *terms;
    more.overshoot = 20;
    struct verdict verdict = rights_take_at_once(ANN, "ninety-five", &more, 95);
    OK(!verdict.allowed && verdict.reason == VERDICT_SHARE && verdict.retry_after_ns >= 2 * WAY_MS * MS &&
           verdict.retry_after_ns <= TURN_MS * MS,
       "with an overshoot a cost of 95 may come again after a round trip");
    world_run(TURN_MS);
    OK(rights_take_at_once(ANN, "ninety-five", &more, 95).allowed, "when it is admitted");
    OK(rights_take_at_once(ANN, "ninety-five", &more, 10).retry_after_ns > 1000 * MS,
       "nobody is told to come soon for more than the limit has left");
    verdict = rights_take_at_once(BOB, "a hundred and fifteen", &more, 115);
    OK(!verdict.allowed && verdict.retry_after_ns == UINT64_MAX, "one of 115 never is admitted");
}

/* A reservation of a bucket may have what peers grant, too. */
static void reserved(const struct limit_terms *terms, const char *key)
{
    struct verdict verdict;
    struct reservation_id id;
    const struct charge charge = charge_at(ANN, key, terms, 90);
    OK(!node_reserve(world.host[ANN].node, &charge, 1, 1000 * MS, world.now_ns, &verdict, &id) &&
           verdict.reason == VERDICT_SHARE && verdict.retry_after_ns <= TURN_MS * MS,
       "a reservation of 90, %s, may come again after a round trip", key);
}

static void small_limit(const struct limit_terms *terms)
{
    struct verdict verdict = rights_take_at_once(BOB, "small", terms, 1);
    OK(!verdict.allowed && verdict.retry_after_ns < TURN_MS * MS, "3 a minute: nobody has a whole token");
    world_run(TURN_MS);
    OK(rights_take_at_once(BOB, "small", terms, 1).allowed, "but one after a round trip");
    unsigned given = 1;
    for (unsigned i = 0; i < 600; i++) { /* a minute */
        given += rights_take_at_once(BOB, "small", terms, 1).allowed;
        world_run(TURN_MS);
    }
    OK(given >= 3 && given <= 6, "%u in a minute that began with a full key of 3", given);
}

/* Nobody else gives back what peers spent for him, and nobody what he did not spend. */
static void returns(const struct limit_terms *terms)
{
    struct charge charge = charge_at(BOB, "returns", terms, 90);
    const uint64_t used = world_stats(ANN).rights_used_tokens;
    unsigned own = rights_take(ANN, "returns", terms, 80);
    world_run(TURN_MS);
    own += rights_take(ANN, "returns", terms, 20);
    OK(own > 41, "peers have spent tokens for a burst: %u", own);
    own -= (unsigned)(world_stats(ANN).rights_used_tokens - used);
    OK_U64(node_return(world.host[BOB].node, &charge, 1, 90, world.now_ns), 0, "and give none of them back");
    world_run(TURN_MS);
    OK_U64(node_return(world.host[BOB].node, &charge, 1, 90, world.now_ns), 0, "nor after they have settled");
    charge = charge_at(ANN, "returns", terms, 90);
    uint64_t given = node_return(world.host[ANN].node, &charge, 1, 90, world.now_ns);
    OK(given <= own, "the holder gives back %" PRIu64 ", of %u that he spent of his own share", given, own);
}

static void voucher_ends(const struct limit_terms *fast, const struct limit_terms *slow)
{
    const unsigned first = rights_take(ANN, "ends", fast, 60);
    world_run(TURN_MS);
    const struct explanation explained = rights_explain(ANN, "ends", fast);
    OK(explained.voucher_tokens > 10, "%u at once; %" PRIu64 " in a voucher", first, explained.voucher_tokens);
    world_run(500);
    const struct explanation later = rights_explain(ANN, "ends", fast);
    OK(later.voucher_tokens + 50 - (first - TURN_MS / 10) <= explained.voucher_tokens,
       "half a second later as many fewer as were refilled beyond what was spent: %" PRIu64, later.voucher_tokens);
    (void)rights_take(ANN, "used", fast, 100);
    world_run(TURN_MS);
    const uint64_t held = rights_explain(ANN, "used", fast).voucher_tokens;
    const unsigned used = rights_take(ANN, "used", fast, 20);
    world_run(100);
    OK(used == 20 && rights_explain(ANN, "used", fast).voucher_tokens + used >= held,
       "what refills after a use makes that good, and takes nothing off the rest: %" PRIu64 " of %" PRIu64,
       rights_explain(ANN, "used", fast).voucher_tokens, held);
    (void)rights_take(ANN, "life", slow, 60);
    world_run(TURN_MS);
    OK(rights_explain(ANN, "life", slow).voucher_tokens > 10,
       "of a limit that hardly refills, a voucher does not decay");
    world_run(4000);
    OK_U64(rights_explain(ANN, "life", slow).voucher_tokens, 0, "and ends after four seconds");
}

/* Who asked first, and whose clients are gone, does not keep what others are asked for then. */
static void unused_comes_back(const char *key, const struct limit_terms *terms)
{
    const uint64_t returned = world_stats(ANN).rights_returned_tokens;
    unsigned sum = rights_take(ANN, key, terms, 100);
    world_run(TURN_MS);
    OK(rights_explain(ANN, key, terms).voucher_tokens > 50, "%s: a burst that is over has brought a voucher", key);
    const unsigned short_of = rights_take(BOB, key, terms, 100);
    OK(short_of < 5, "%s: bob gets %u of what is left", key, short_of);
    sum += short_of;
    world_run(TURN_MS);
    world_run(2500);
    OK(world_stats(ANN).rights_returned_tokens > returned + 50, "%s: nobody has used it, and ann has given it back",
       key);
    OK_U64(rights_explain(ANN, key, terms).voucher_tokens, 0, "%s: all of it", key);
    const unsigned share = rights_take(BOB, key, terms, 100);
    OK(share > 15, "%s: bob gets his share of it at once: %u", key, share);
    world_run(TURN_MS);
    sum += share + rights_take(BOB, key, terms, 100);
    OK(sum > 80 && sum <= 100, "%s: and the others' after a round trip: %u of 100", key, sum);
    sum += rights_take_all(key, terms, 3);
    OK(sum <= 100, "%s: all together no more than the limit: %u", key, sum);
}

/*
 * What refill made good of bob's own spends may be given back where there is room. Ann's voucher makes none, and bob
 * does not forget it because his clock leaps. From then on bob is ahead of the world.
 */
static void clock_leaps(const struct limit_terms *terms)
{
    const struct charge charge = charge_at(BOB, "leap", terms, 20);
    const uint64_t ahead_ns = world.now_ns + 25000 * MS;
    OK_U64(rights_take(BOB, "leap", terms, 20), 20, "bob spends 20 of 100");
    world_run(15000);
    OK(!rights_take_at_once(ANN, "leap", terms, 90).allowed, "ann asks for 90 when they are made good");
    world_run(TURN_MS);
    OK(rights_explain(ANN, "leap", terms).voucher_tokens > 80, "and has them in a voucher");
    OK_U64(node_return(world.host[BOB].node, &charge, 1, 20, world.now_ns), 0, "there is no room for bob's 20");
    OK_U64(node_return(world.host[BOB].node, &charge, 1, 20, ahead_ns), 0, "nor when his clock has leapt by 10 s");
    node_step(world.host[BOB].node, &(struct event){.kind = EVENT_WAKE, .now_ns = ahead_ns}, &world.effects);
    OK_U64(node_return(world.host[BOB].node, &charge, 1, 20, ahead_ns), 0, "nor after a step");
}

int main(void)
{
    const struct limit_terms slow = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 3600000 * MS},
                             fast = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 1000 * MS},
                             window = {.kind = LIMIT_CELL, .capacity = 100},
                             bucket_elsewhere = {.kind = LIMIT_BUCKET,
                                                 .capacity = 100,
                                                 .rate = 100,
                                                 .period_ns = 3600000 * MS,
                                                 .home = limit_home_of(bytes_of("bob's"))},
                             minutes = {.kind = LIMIT_BUCKET,
                                        .capacity = 100,
                                        .rate = 100,
                                        .period_ns = 60000 * MS},
                             small = {.kind = LIMIT_BUCKET, .capacity = 3, .rate = 3, .period_ns = 60000 * MS};
    rights_world_init(3);
    world.host[ANN].options.reservations_max = 1;
    rights_world_start();
    burst("slow", &slow, (const unsigned[]){31, 93, 95, 96});
    burst("fast", &fast, (const unsigned[]){31, 93, 96, 98});
    burst("window", &window, (const unsigned[]){31, 93, 95, 95});
    burst_of_two_ms("slowly", &slow, 93);
    cost_beyond_a_share(&slow);
    cost_with_an_overshoot(&slow);
    reserved(&slow, "of a share");
    reserved(&bucket_elsewhere, "with a home elsewhere");
    small_limit(&small);
    returns(&slow);
    unused_comes_back("unused", &slow);
    unused_comes_back("unused-window", &window);
    voucher_ends(&fast, &slow);
    clock_leaps(&minutes);
    const struct node_stats ann = world_stats(ANN), bob = world_stats(BOB);
    OK(ann.rights_asked > 0 && ann.rights_used_tokens > 0 && bob.rights_granted > 0, "INFO counts all that");
    OK(ann.rights_used_tokens <= ann.rights_received_tokens, "no more is used than was received");
    world_close();
    return tap_done();
}
