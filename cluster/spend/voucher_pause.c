/*
 * voucher_pause computes the pause between two asks of a key, from the tokens that an ask costs and from the refill of
 * those who can answer it.
 */
#include "cluster/spend/voucher_pause.h"

#include "base/number.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/spend/voucher_times.h"
#include "limit/kind.h"

enum {
    LONELY_ANSWERS = 20, /* while somebody is silent, a key is asked for once in so many answers' time, at most */
    HOME_ANSWERS = 8,    /* so much of the refill is lost at most by asking at home: a part of so many */
    RESERVE_PART = 16,   /* of a full bucket, which nobody may spend */
};

/*
 * Each ask costs what refills until it is answered. A region that always needs others asks at each refusal: all of them
 * together would leave nothing of a limit that refills by tokens in a round trip.
 */
static uint64_t home_pause_ns(const struct node *node, const struct limit *limit, uint64_t answer_ns)
{
    const uint64_t others = node->sharing.peer_count > 1 ? node->sharing.peer_count - 1 : 1;
    const uint64_t decays = (uint64_t)(voucher_refilled_units(limit, answer_ns) / limit->units_per_token);
    return answer_ns * (1 + number_least(decays, HOME_ANSWERS) * others);
}

/*
 * So much of the limit lacks at its capacity that nothing decays until an answer is here. Requests are refused, so what
 * this node's share has back meanwhile is spent as well.
 */
static bool nothing_decays(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const uint128 refills = (uint128)(uint64_t)voucher_refilled_units(limit, voucher_answer_ns(node));
    const uint128 of_others = refills * (SHARE_ONE - node->by_limit.budget[voucher->limit].share) / SHARE_ONE;
    return of_others <= (uint128)(uint64_t)voucher_lack_units(node, voucher, now_ns);
}

/* Until those who are heard have a token of it back, at the rate of their shares. */
static uint64_t token_back_ns(const struct node *node, const struct limit *limit, uint64_t share)
{
    const uint128 asked = voucher_asked_share(node, limit, share);
    const uint128 units = asked > 0 ? (uint128)(uint64_t)limit->units_per_token * SHARE_ONE / asked : 0;
    return units > 0 && units < (uint128)limit->capacity_units ? limit_refill_ns(limit, (int64_t)units)
                                                               : UINT64_MAX;
}

/* While somebody is silent, nothing settles. */
static uint64_t lonely_pause_ns(const struct node *node, const struct voucher *voucher, uint64_t answer_ns,
                                uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const int64_t most = limit->capacity_units - limit->capacity_units / RESERVE_PART + limit->overshoot_units;
    uint64_t pause_ns = limit_refill_ns(limit, most < limit->capacity_units ? most : limit->capacity_units);
    if (nothing_decays(node, voucher, now_ns))
        pause_ns = number_least(pause_ns, token_back_ns(node, limit, node->by_limit.budget[voucher->limit].share));
    return number_least(LONELY_ANSWERS * answer_ns, pause_ns > answer_ns ? pause_ns : answer_ns);
}

uint64_t voucher_pause_ns(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const uint64_t answer_ns = voucher_answer_ns(node);
    if (voucher_always_asks(node, limit) && (limit_home_is_one(limit->home) || !node->awake.somebody_silent))
        return home_pause_ns(node, limit, answer_ns);
    if (!node->awake.somebody_silent || !kind_refills(limit->kind))
        return answer_ns;
    return lonely_pause_ns(node, voucher, answer_ns, now_ns);
}
