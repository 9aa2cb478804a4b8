/*
 * voucher_times: times of asks in intervals and round trips, refill in such a time, and the shares of members that
 * can answer.
 */
#include "cluster/spend/voucher_times.h"

#include "base/number.h"
#include "cluster/state/member.h"
#include "cluster/state/share.h"
#include "limit/kind.h"

enum {
    WAIT_PART = 8,   /* of an interval: the answer waits for so long, about */
    GATHER_PART = 8, /* of an interval */
    SLACK_PART = 4,  /* of an interval: a client comes back so much too late */
    DRIFT_PART = 64, /* clocks run apart by no more than this part */
};

uint64_t voucher_answer_ns(const struct node *node)
{
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (member_needed(&node->member[i]) && !node->member[i].silent)
            longest_ns = node->member[i].round_trip_ns > longest_ns ? node->member[i].round_trip_ns : longest_ns;
    return (longest_ns > 0 ? longest_ns : node->options.interval_ns) + node->options.interval_ns / WAIT_PART;
}

uint64_t voucher_use_ns(const struct node *node)
{
    return voucher_answer_ns(node) + node->options.interval_ns / SLACK_PART;
}

uint64_t voucher_gather_ns(const struct node *node)
{
    return node->options.interval_ns / GATHER_PART;
}

uint64_t voucher_wanted_ns(const struct node *node)
{
    return voucher_answer_ns(node) + node->options.interval_ns;
}

uint64_t voucher_sleepless_ns(const struct node *node)
{
    return node->options.sleepless_ns ? node->options.sleepless_ns() : 0;
}

/* now_ns stands still while the machine sleeps, and may be older than a process that was stopped knows. */
uint64_t voucher_age_ns(const struct node *node, uint64_t since_ns, uint64_t since_sleepless_ns, uint64_t now_ns)
{
    uint64_t age_ns = number_minus(now_ns, since_ns);
    uint64_t sleepless_ns = number_minus(voucher_sleepless_ns(node), since_sleepless_ns);
    return sleepless_ns > age_ns ? sleepless_ns : age_ns;
}

/* Views that have the key under a faster tier refill by that one, and are full the sooner; so is the truth. */
static uint64_t refilled_by_fastest(const struct limit *limit, uint64_t ns)
{
    if (!limit->of_tiers || limit->fastest_ns == 0)
        return 0;
    const uint128 units = (uint128)ns * (uint64_t)limit->units_per_token / limit->fastest_ns + 1;
    return units < VOUCHER_UNITS_MAX ? (uint64_t)units : VOUCHER_UNITS_MAX;
}

int64_t voucher_refilled_units(const struct limit *limit, uint64_t ns)
{
    const uint64_t passed_ns = number_sum(ns, ns / DRIFT_PART), ticks = passed_ns / limit->tick_ns + 1;
    uint64_t units;
    if (!kind_refills(limit->kind))
        return 0;
    if (__builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &units) || units > VOUCHER_UNITS_MAX)
        return VOUCHER_UNITS_MAX;
    return (int64_t)number_most(units, refilled_by_fastest(limit, passed_ns));
}

int64_t voucher_decays(const struct limit *limit, uint64_t ns, int64_t lacking_units)
{
    const int64_t refills = voucher_refilled_units(limit, ns);
    return refills > lacking_units ? refills - lacking_units : 0;
}

bool voucher_always_asks(const struct node *node, const struct limit *limit)
{
    return limit_home_is_one(limit->home) || (limit_home_is_list(limit->home) && own_share_of(node, limit) == 0);
}

uint64_t voucher_heard(const struct node *node, const struct limit *limit)
{
    if (limit->home == 0)
        return node->rights.heard;
    const uint64_t others = SHARE_ONE - own_share_of(node, limit);
    return others > 0 ? (uint64_t)((uint128)share_heard_of(node, limit) * SHARE_ONE / others) : 0;
}

uint64_t voucher_asked_share(const struct node *node, const struct limit *limit, uint64_t share)
{
    if (limit->home != 0)
        return share_heard_of(node, limit);
    const uint64_t heard = (uint64_t)((uint128)(SHARE_ONE - share) * node->rights.heard / SHARE_ONE);
    return heard < SHARE_ONE ? heard : SHARE_ONE - 1; /* of several, who keep a reserve */
}
