/*
 * A voucher loses what refill may have lost because the ground truth was full: nothing, as long as what its holder has
 * spent since the ask is more than what was refilled. What peers have spent for others, and what was given back, does
 * not count as spent. Each of three even regions may spend 31 tokens of a full key.
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

int main(void)
{
    what_was_spent_refills_first();
    grants_are_not_spent();
    what_is_given_back_is_not_spent();
    return tap_done();
}
