/*
 * Buckets: what a region was granted and has used, it gives back, and holds for a reservation, less what refill may
 * have made good since. Of those with a home ann's region decides alone; of others all have even shares, and what a
 * reservation holds comes back. Never more than the limit is out. Three nodes 40 ms apart.
 */
#include "tests/lib/rights_world.h"
#include "tests/lib/tier_charge.h"

#define MINUTE_NS (UINT64_C(60) * 1000 * MS)

enum { FAR_MS = 400, SILENT_MS = 20000, USED = 6, TTL_MS = 30000 };

static struct limit_terms slow, fast;
static struct verdict refused;

static void begin(void)
{
    slow = (struct limit_terms){.kind = LIMIT_BUCKET,
                                .capacity = 10,
                                .rate = 10,
                                .period_ns = 60 * MINUTE_NS,
                                .home = limit_home_of(bytes_of("ann's"))};
    fast = slow;
    fast.capacity = fast.rate = 100;
    fast.period_ns = MINUTE_NS;
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.reservations_max = 8;
    rights_world_start();
}

static bool reserve_charge(unsigned host, const struct charge *charge, struct reservation_id *id)
{
    const bool given = node_reserve(world.host[host].node, charge, 1, TTL_MS * MS, world.now_ns, &refused, id);
    world_push(host);
    return given;
}

static bool reserve(unsigned host, const struct limit_terms *terms, uint64_t cost, struct reservation_id *id)
{
    const struct charge charge = charge_at(host, "key", terms, cost);
    return reserve_charge(host, &charge, id);
}

static bool reserve_later(unsigned host, const struct limit_terms *terms, uint64_t cost, struct reservation_id *id)
{
    bool given = reserve(host, terms, cost, id);
    for (unsigned i = 0; i < 8 && !given; i++) {
        world_run(TURN_MS);
        given = reserve(host, terms, cost, id);
    }
    return given;
}

static void cancel(unsigned host, struct reservation_id id)
{
    OK_U64(node_cancel(world.host[host].node, id, world.now_ns), RESERVE_DONE, "it is cancelled");
    world_push(host);
}

static uint64_t refund(unsigned host, const struct limit_terms *terms, uint64_t tokens)
{
    struct charge charge = charge_at(host, "key", terms, tokens);
    const uint64_t given = node_return(world.host[host].node, &charge, 1, tokens, world.now_ns);
    world_push(host);
    return given;
}

/* Bob's clients take six of ten, and ann's the rest: a token in ten seconds is back at most. */
static void bob_uses_six(void)
{
    struct verdict taken = rights_take_at_once(BOB, "key", &slow, USED);
    for (unsigned i = 0; i < 8 && !taken.allowed; i++) {
        world_run(TURN_MS);
        taken = rights_take_at_once(BOB, "key", &slow, USED);
    }
    OK(taken.allowed, "elsewhere clients have what they ask for");
    world_run(6000);
    (void)rights_take_all("key", &slow, 30);
    OK_U64(rights_take(ANN, "key", &slow, 1), 0, "and the others the rest");
}

static void refunded(void)
{
    begin();
    bob_uses_six();
    OK_U64(refund(CAT, &slow, USED), 0, "it is not a third region's to give back");
    OK_U64(refund(BOB, &slow, 4), 4, "but his who used it");
    world_run(WAY_MS + 10);
    const unsigned home_has = rights_take(ANN, "key", &slow, 10);
    OK(home_has == 3 || home_has == 4, "the home has it a way later, less what may have refilled: %u", home_has);
    OK_U64(refund(BOB, &slow, 10), USED - 4, "no more is given back than is left of it");
    OK_U64(refund(BOB, &slow, 10), 0, "and once");
    world_close();
}

static void reserved(void)
{
    struct reservation_id held, other;
    begin();
    OK(!reserve(BOB, &slow, 8, &held), "elsewhere a reservation is not there at once");
    OK(refused.reason == VERDICT_SHARE && refused.retry_after_ns > WAY_MS * MS && refused.retry_after_ns < 200 * MS,
       "but a round trip later, as its client is told: %" PRIu64 " ns", refused.retry_after_ns);
    world_run(TURN_MS);
    OK(reserve(BOB, &slow, 8, &held), "then it is");
    OK(!reserve_later(ANN, &slow, 3, &other) && !reserve_later(CAT, &slow, 3, &other),
       "and not what it holds anywhere else");
    OK_U64(refund(BOB, &slow, 10), 0, "no client gives back what it holds");
    struct used_cost used = {.tokens = 3};
    OK_U64(node_commit(world.host[BOB].node, held, &used, 1, world.now_ns), RESERVE_DONE, "less was used of it");
    world_push(BOB);
    world_run(12000); /* until what nobody has used of the voucher is back, with what it lost */
    OK(reserve(ANN, &slow, 6, &held), "the rest is there at home");
    cancel(ANN, held);
    OK(reserve_later(CAT, &slow, 6, &held), "and in a third region, which gives it back when its time is over");
    world_run(TTL_MS + 1000);
    OK(reserve_later(BOB, &slow, 6, &held), "so that it is there again");
    world_close();
}

/* The third one is far away, or silent: what ann grants settles long after it is given back, or does not. */
static void before_it_settles(bool is_silent)
{
    struct reservation_id held;
    begin();
    for (unsigned other = ANN; other <= BOB; other++)
        world.link[CAT][other].delay_ns = world.link[other][CAT].delay_ns = FAR_MS * MS;
    world_links(CAT, is_silent ? LINK_CUT : LINK_FINE);
    world_run(is_silent ? SILENT_MS : 3000);
    OK(reserve_later(BOB, &slow, 8, &held), "bob reserves");
    cancel(BOB, held);
    world_run(WAY_MS + 10);
    OK_U64(rights_take(ANN, "key", &slow, 10), 8, "the home has it, though it has not settled what it granted");
    world_links(CAT, LINK_FINE);
    world_run(5000);
    const unsigned more = rights_take_all("key", &slow, 30);
    OK(more <= 2, "nothing of it is there twice: %u", more);
    world_close();
}

/* What refills meanwhile is taken off once, and held for too long all of it is. */
static void refill(void)
{
    struct reservation_id held;
    begin();
    OK(reserve_later(BOB, &fast, 60, &held), "bob reserves 60 of 100 a minute");
    world_run(10000);
    const unsigned home_has = rights_take(ANN, "key", &fast, 100);
    OK(home_has >= 45 && home_has <= 57, "the home has what is left, and what refills in ten seconds: %u",
       home_has);
    cancel(BOB, held);
    world_run(WAY_MS + 10);
    const unsigned more = rights_take(ANN, "key", &fast, 100);
    OK(more >= 36 && more <= 44, "and then what was held, less as much: %u", more);
    world_close();
}

/* What was held has been refilled, and a third region was granted it: it is not there once more. */
static void beside_a_voucher(void)
{
    struct reservation_id held;
    begin();
    OK(reserve_later(BOB, &fast, 60, &held), "bob reserves 60 of 100 a minute");
    world_run(20000);
    unsigned taken = 0;
    OK(!rights_take_at_once(CAT, "key", &fast, 66).allowed, "cat asks for what the home has again");
    world_run(TURN_MS);
    cancel(BOB, held);
    world_run(WAY_MS + 10);
    taken += rights_take(ANN, "key", &fast, 100);
    taken += rights_take_at_once(CAT, "key", &fast, 66).allowed ? 66 : 0;
    OK(taken >= 66 && taken <= 100, "cat has it, and all together no more than the limit: %u", taken);
    world_close();
}

/* ---- without a home: every region has a share, and grants ---- */

static void begin_even(void)
{
    begin();
    slow.home = fast.home = 0;
    slow.capacity = slow.rate = 100;
}

static void even_reserved(void)
{
    struct reservation_id held;
    begin_even();
    OK(!reserve(BOB, &slow, 70, &held), "more than a share is not there at once");
    OK(refused.reason == VERDICT_SHARE && refused.retry_after_ns < 200 * MS, "but soon, as its client is told");
    OK(reserve_later(BOB, &slow, 70, &held), "then it is");
    world_run(6000); /* until nobody takes tokens to be in a voucher */
    struct used_cost used = {.tokens = 20};
    OK_U64(node_commit(world.host[BOB].node, held, &used, 1, world.now_ns), RESERVE_DONE, "less was used of it");
    world_push(BOB);
    const unsigned all = rights_take_all("key", &slow, 30);
    OK(all >= 70 && all <= 80, "the rest is there, once: %u of 80", all);
    world_close();
}

/* Before less is used than was held, the key goes over to another tier of its rule. */
static void even_of_tiers(void)
{
    enum { SMALLER, WIDER, TIERS };
    struct reservation_id held;
    bool given = false;
    begin_even();
    struct limit_terms tiers[TIERS] = {slow, slow};
    tiers[SMALLER].capacity = 90;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned tier = 0; tier < TIERS; tier++)
            (void)tier_charge(i, "key", tiers, TIERS, tier, 0);
    const struct charge wider = tier_charge(BOB, "key", tiers, TIERS, WIDER, 70);
    for (unsigned tries = 0; tries < 8 && !given; tries++) {
        given = reserve_charge(BOB, &wider, &held);
        world_run(TURN_MS);
    }
    OK(given, "bob reserves 70 of 100 an hour");
    world_run(6000); /* until nobody takes tokens to be in a voucher */
    const struct charge smaller = tier_charge(BOB, "key", tiers, TIERS, SMALLER, 30);
    OK(!node_ask(world.host[BOB].node, &smaller, true, world.now_ns).allowed,
       "30 under another tier are refused, which is the key's now");
    struct used_cost used = {.tokens = 20};
    OK_U64(node_commit(world.host[BOB].node, held, &used, 1, world.now_ns), RESERVE_DONE, "20 were used of it");
    world_push(BOB);
    const unsigned all = rights_take_all("key", &slow, 30);
    OK(all >= 70 && all <= 80, "the rest is there, once: %u of 80", all);
    world_close();
}

/* A grant is remembered for a while, when it may be in a voucher. What was used of it is in none. */
static void even_at_once(void)
{
    struct reservation_id held;
    begin_even();
    OK(reserve_later(BOB, &slow, 70, &held), "bob reserves 70 of 100 an hour");
    cancel(BOB, held);
    const unsigned all = rights_take(ANN, "key", &slow, 100);
    const unsigned more = rights_take_all("key", &slow, 30);
    OK(all + more >= 85 && all + more <= 100, "at once he gives it back: %u", all + more);
    world_close();
}

static void even_refill(void)
{
    struct reservation_id held;
    begin_even();
    OK(reserve_later(BOB, &fast, 60, &held), "bob reserves 60 of 100 a minute");
    world_run(10000);
    const double before = rights_explain(BOB, "key", &fast).settled_tokens;
    cancel(BOB, held);
    const double more = rights_explain(BOB, "key", &fast).settled_tokens - before;
    OK(more >= 30 && more <= 44, "ten seconds later he gives back what was held, less what has refilled: %.1f",
       more);
    world_close();
}

/* What was held has been refilled, and a third region was granted it: it is not there once more. */
static void even_beside_a_voucher(void)
{
    struct reservation_id held;
    begin_even();
    OK(reserve_later(BOB, &fast, 60, &held), "bob reserves 60 of 100 a minute");
    world_run(20000);
    OK(!rights_take_at_once(CAT, "key", &fast, 45).allowed, "cat asks for much of what is there again");
    world_run(TURN_MS);
    OK(rights_explain(CAT, "key", &fast).voucher_tokens > 15, "and has a voucher");
    cancel(BOB, held);
    world_run(WAY_MS + 10);
    unsigned taken = rights_take_at_once(CAT, "key", &fast, 45).allowed ? 45 : 0;
    OK_U64(taken, 45, "which she uses");
    taken += rights_take_all("key", &fast, 3);
    OK(taken <= 100, "all together have no more than the limit: %u", taken);
    world_close();
}

int main(void)
{
    refunded();
    reserved();
    before_it_settles(false);
    before_it_settles(true);
    refill();
    beside_a_voucher();
    even_reserved();
    even_of_tiers();
    even_at_once();
    even_refill();
    even_beside_a_voucher();
    return tap_done();
}
