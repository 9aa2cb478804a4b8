/*
 * A voucher loses what refill may have lost because the ground truth was full: nothing, as long as what its holder has
 * spent since the ask is more than what was refilled. What peers have spent for others, and what was given back, does
 * not count as spent. Each of three even regions may spend 31 tokens of a full key. While somebody is silent, what was
 * paid off meanwhile counts as well, and nothing counts twice.
 */
#include "tests/lib/rights_world.h"

enum { SHARE = 31, SOON_MS = 20, LATER_MS = 100 };

static const struct limit_terms fast = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 1000 * MS};

static void begin(void)
{
    rights_world_init(3);
    rights_world_start();
}

static uint64_t held(const char *key)
{
    return rights_explain(ANN, key, &fast).voucher_tokens;
}

/* Ann spends her share at once and asks for the rest, of which nobody uses anything. */
static void what_was_spent_refills_first(void)
{
    begin();
    OK(rights_take(ANN, "spent", &fast, 100) == SHARE, "ann spends her share, and asks for the rest");
    world_run(TURN_MS);
    const uint64_t all = held("spent");
    OK(all >= 61, "the others' shares come whole: %" PRIu64, all);
    world_run(LATER_MS);
    OK(held("spent") == all, "they stay whole while the share refills");
    world_run(500);
    const uint64_t left = held("spent"), lost = (TURN_MS + LATER_MS + 500) / 10 - SHARE;
    OK(left >= all - lost - 5 && left <= all - lost + 1, "and then lose what refills: %" PRIu64 " of %" PRIu64,
       left, all);
    world_close();
}

/* A cost beyond the shares of others has ann spend on her own behalf. Nobody has used these tokens. */
static void grants_are_not_spent(void)
{
    begin();
    (void)rights_take_at_once(ANN, "granted", &fast, 60);
    world_run(SOON_MS);
    (void)rights_take_at_once(ANN, "granted", &fast, 60);
    OK(world_stats(ANN).rights_granted_tokens > 8, "ann has spent %" PRIu64 " tokens for a voucher of her own",
       world_stats(ANN).rights_granted_tokens);
    world_run(TURN_MS + LATER_MS);
    const uint64_t granted = world_stats(ANN).rights_received_tokens, left = held("granted");
    OK(left > 20 && left + (SOON_MS + TURN_MS + LATER_MS) / 10 <= granted + 1,
       "they do not keep it from decaying: %" PRIu64 " of %" PRIu64 " are left", left, granted);
    world_close();
}

static void what_is_given_back_is_not_spent(void)
{
    begin();
    OK(rights_take(ANN, "back", &fast, 100) == SHARE, "ann spends her share");
    world_run(SOON_MS);
    const struct charge charge = charge_at(ANN, "back", &fast, SHARE);
    const uint64_t back = node_return(world.host[ANN].node, &charge, 1, SHARE, world.now_ns);
    world_run(TURN_MS);
    const uint64_t before = held("back");
    OK(back > 20 && before > 40, "gives %" PRIu64 " back, and holds %" PRIu64, back, before);
    world_run(LATER_MS);
    OK(held("back") + LATER_MS / 10 <= before + 1,
       "her voucher decays as if she had spent nothing: %" PRIu64 " of %" PRIu64, held("back"), before);
    world_close();
}

/* Nobody hears cat. So ann does not charge what bob grants her, and counts exactly what she spends. */
static void begin_without_cat(void)
{
    static const unsigned hundredths[] = {50, 40, 10};
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < 3; j++)
            world.host[i].options.regions[j].weight = SHARE_ONE / 100 * hundredths[j];
    rights_world_start();
    world_links(CAT, LINK_CUT);
    world_run(2500);
}

/* Ann spends a part of her share, and asks bob for tokens. */
static void hold(const char *key, unsigned spent, uint64_t cost)
{
    begin_without_cat();
    OK(rights_take(ANN, key, &fast, spent) == spent, "ann spends %u tokens", spent);
    (void)rights_take_at_once(ANN, key, &fast, cost);
}

/* Sees the key. Nobody grants as much, and it is too early for another ask. */
static void look(const char *key)
{
    (void)rights_take_at_once(ANN, key, &fast, fast.capacity);
}

/* Refill pays off a part of what ann spends until she looks at the key again. */
static void what_is_paid_off_was_spent(void)
{
    enum { SOME = 24, COST = 37, LACKS_MS = 300, TIMES = 10, EVERY_MS = 30 };
    hold("paid", SOME, COST);
    world_run(LACKS_MS);
    const uint64_t before = held("paid");
    unsigned spent = 0;
    for (unsigned i = 0; i < TIMES; i++) {
        look("paid");
        spent += rights_take(ANN, "paid", &fast, 1);
        world_run(EVERY_MS / 2);
        look("paid");
        world_run(EVERY_MS / 2);
    }
    const uint64_t left = held("paid"), lost = TIMES * EVERY_MS / 10 - spent;
    OK(spent == TIMES && left + lost <= before + 1 && left + lost + 3 >= before,
       "all that she spends keeps her voucher from decaying: %" PRIu64 " of %" PRIu64 " are left", left, before);
    world_close();
}

/* Of the cost, bob may grant a part alone. Ann spends the rest on her own behalf, and uses none of it. */
static void own_grants_are_not_spent(void)
{
    enum { SOME = 10, COST = 46 };
    hold("own", SOME, COST);
    world_run(TURN_MS);
    OK(world_stats(ANN).rights_granted_tokens > 8, "spends %" PRIu64 " more for a voucher of her own",
       world_stats(ANN).rights_granted_tokens);
    world_run(2 * LATER_MS);
    const uint64_t lost = (TURN_MS + 2 * LATER_MS) / 10 - SOME, granted = world_stats(ANN).rights_received_tokens;
    OK(held("own") + lost <= granted + 1, "which keep none from decaying: %" PRIu64 " of %" PRIu64 " are left",
       held("own"), granted);
    world_close();
}

/* A few tokens wait for refill to pay them off. With more they are told, all in one spend. */
static void what_waits_is_spent_once(void)
{
    enum { SOME = 24, COST = 37, BEYOND = 47, FEW = 3, MORE = 8, PAID_MS = 460 };
    hold("waits", SOME, COST);
    world_run(PAID_MS);
    world_link(ANN, BOB, LINK_CUT); /* what she asks for from now on does not come */
    look("waits");
    const uint64_t before = held("waits");
    const unsigned few = rights_take(ANN, "waits", &fast, FEW);
    look("waits");
    const unsigned more = rights_take(ANN, "waits", &fast, MORE);
    (void)rights_take_at_once(ANN, "waits", &fast, BEYOND);
    world_run(2 * LATER_MS);
    const uint64_t left = held("waits"), lost = 2 * LATER_MS / 10 - FEW - MORE;
    OK(few == FEW && more == MORE && left + lost <= before + 1 && left + lost + 2 >= before,
       "what waited is not spent twice: %" PRIu64 " of %" PRIu64 " are left", left, before);
    world_close();
}

int main(void)
{
    what_was_spent_refills_first();
    grants_are_not_spent();
    what_is_given_back_is_not_spent();
    what_is_paid_off_was_spent();
    own_grants_are_not_spent();
    what_waits_is_spent_once();
    return tap_done();
}
