#include "limit/reach.h"

#include "limit/kind.h"

#include <assert.h>

enum { MILLION = 1000000, ROUNDED_BITS = 24 };

/* Longer than most answers of peers take. */
#define ANSWER_NS UINT64_C(500000000)

static bool admits(const struct limit *limit, uint64_t share, bool alone, uint64_t floor_tokens)
{
    struct budget budget;
    /* As bucket_fill makes it; the empty list of a LOG is not used here. */
    const struct bucket full = {.settled = limit->capacity_units};
    budget_init(&budget, limit, share, alone);
    return bucket_allows(&full, limit, &budget, 1, floor_tokens);
}

/*
 * True: where peers cannot admit a token by their shares, each can with what others grant it, a round trip later. What
 * refills meanwhile is lost, or lent by the one home; of each share, the parts of a token that are rounded are not
 * granted.
 */
static bool admit_jointly(const struct limit *limit, const struct reach_peers *peers)
{
    const struct bucket full = {.settled = limit->capacity_units};
    const int64_t token = limit->units_per_token;
    int64_t beyond = -token;
    bool lends = limit->lent_units > 0 && limit_refill_ns(limit, limit->lent_units) > ANSWER_NS;
    for (uint32_t i = 0; i < peers->count; i++) {
        struct budget budget;
        const int64_t rounded = token > 1 && peers->shares[i] < SHARE_ONE ? (token >> ROUNDED_BITS) + 2 : 0;
        budget_init(&budget, limit, peers->shares[i], false);
        const int64_t units = bucket_allowance(&full, &budget) - rounded;
        beyond += units > 0 ? units : 0;
        lends &= peers->shares[i] == 0 || peers->shares[i] == SHARE_ONE;
    }
    if (!kind_refills(limit->kind) || lends)
        return beyond >= 0;
    return beyond > 0 && limit_refill_ns(limit, beyond) > ANSWER_NS;
}

/* Of a log without one home, who has no share asks for nothing, and nobody does where it forgets soon (voucher.c). */
static bool all_may_ask(const struct limit *limit, const struct reach_peers *peers)
{
    bool all = !limit_is_shared_log(limit) || limit_lists_grants(limit);
    for (uint32_t i = 0; i < peers->count && limit_is_shared_log(limit); i++)
        all &= peers->shares[i] > 0;
    return all;
}

uint32_t reach_count(const struct limit_terms *terms, uint32_t floor_millionths, const struct reach_peers *peers)
{
    struct limit limit;
    struct error error;
    uint32_t count = 0;
    const bool sound = limit_init(&limit, terms, &error), alone = peers->count == 1;
    assert(sound);
    const uint64_t floor_tokens = limit.capacity * floor_millionths / MILLION;
    for (uint32_t i = 0; i < peers->count; i++)
        count += admits(&limit, alone ? SHARE_ONE : peers->shares[i], alone, floor_tokens);
    const bool granted = peers->grants && (limit.flags & LIMIT_SPLIT) == 0 && all_may_ask(&limit, peers);
    if (count < peers->count && granted && floor_millionths == 0 && admit_jointly(&limit, peers))
        return peers->count;
    return count;
}

/* The number that the search varies: the overshoot, or else the capacity. */
struct search {
    struct limit_terms terms;
    bool overshoot;
    uint32_t floor_millionths;
    const struct reach_peers *peers;
};

static bool suffices(struct search *search, uint64_t value)
{
    struct limit ignored;
    struct error error;
    *(search->overshoot ? &search->terms.overshoot : &search->terms.capacity) = value;
    return limit_init(&ignored, &search->terms, &error) &&
           reach_count(&search->terms, search->floor_millionths, search->peers) == search->peers->count;
}

/* A larger overshoot or capacity never makes fewer peers able to admit. */
static uint64_t least(struct search *search, uint64_t from)
{
    const uint64_t most = search->terms.kind == LIMIT_LOG ? LIMIT_LOG_MAX : LIMIT_CAPACITY_MAX;
    uint64_t low = from, high = from > 0 ? from : 1;
    while (high <= most && !suffices(search, high)) {
        low = high + 1;
        high = 2 * high;
    }
    if (high > most)
        return 0;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (suffices(search, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

uint64_t reach_overshoot(const struct limit_terms *terms, uint32_t floor_millionths,
                         const struct reach_peers *peers)
{
    struct search search = {*terms, true, floor_millionths, peers};
    return terms->flags & LIMIT_SPLIT ? 0 : least(&search, terms->overshoot);
}

uint64_t reach_capacity(const struct limit_terms *terms, uint32_t floor_millionths, const struct reach_peers *peers)
{
    struct search search = {*terms, false, floor_millionths, peers};
    return least(&search, terms->capacity);
}
