/* Shares of limits: together they admit no more than the whole, whatever the weights are. */
#include "limit/bucket.h"

#include "base/random.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>

enum { SLOW = TAP_SLOW ? 20 : 1 }; /* how many times fewer operations */

static struct limit limits[LIMITS_OF_BUCKETS];
enum { LIMITS = LIMITS_OF_BUCKETS };

/* N peers that never hear of each other: all of what they admit together stays within the limit. */
static void budgets_alone_hold(void)
{
    struct random random;
    random_seed(&random, 7);
    uint64_t rounds = 400 / SLOW + 40, above = 0, above_slack = 0, burst_above = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        const struct limit *limit = &limits[i % 2 ? 1 : 0];
        struct bucket buckets[8];
        struct budget budgets[8];
        uint64_t peers = 1 + random_below(&random, 8), left = SHARE_ONE;
        for (uint64_t p = 0; p < peers; p++) {
            uint64_t share = p + 1 == peers ? left : random_below(&random, left + 1);
            left -= share;
            budget_init(&budgets[p], limit, share, false);
            bucket_fill(&buckets[p], limit, 0, 0);
        }
        uint64_t now_ns = 0, admitted = 0;
        for (int step = 0; step < 3000; step++) {
            now_ns += random_below(&random, 20000000);
            uint64_t peer = random_below(&random, peers);
            for (uint64_t n = random_below(&random, 30); n > 0; n--)
                admitted += bucket_take(&buckets[peer], limit, &budgets[peer], 1, 0, now_ns);
            uint64_t ideal = limit->capacity + now_ns / 10000000 + 1;
            above += admitted > ideal + limit->overshoot;
            above_slack += limit->overshoot == 0 && admitted > ideal;
            burst_above += step == 0 && admitted > limit->capacity * 15 / 16 + limit->overshoot;
        }
    }
    OK_U64(above + above_slack, 0, "peers that hear nothing stay within capacity, refill and declared overshoot");
    OK_U64(burst_above, 0, "... and at once spend at most 15/16 C + E");
}

static void shares_never_exceed_the_whole(void)
{
    struct random random;
    random_seed(&random, 8);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < 100000 / SLOW; i++) {
        const struct limit *limit = &limits[i % LIMITS];
        int64_t units = (int64_t)random_below(&random, (uint64_t)limit->capacity_units);
        uint64_t left = SHARE_ONE;
        int64_t sum = 0, slack = 0, debts = 0;
        while (left > 0) {
            uint64_t share = 1 + random_below(&random, left);
            struct budget budget;
            budget_init(&budget, limit, share, false);
            sum += units_times(units, budget.share);
            debts += units_times(-units, budget.share);
            slack += budget.slack_units;
            wrong += budget.spendable * 4 > share * 3;
            left -= share;
        }
        wrong += sum > units || debts > -units || slack > limit->overshoot_units;
    }
    OK_U64(wrong, 0, "shares of anything never add up to more than the whole");
}

/* Tokens that peers with these weights, in billionths, have of a limit that is split. */
static uint64_t split_tokens(uint64_t capacity, uint64_t rate, uint64_t weight)
{
    const struct limit_terms terms = {.kind = rate > 0 ? LIMIT_BUCKET : LIMIT_CELL,
                                      .flags = LIMIT_SPLIT,
                                      .capacity = capacity,
                                      .rate = rate,
                                      .period_ns = rate > 0 ? 1000000000 : 0};
    struct limit limit;
    struct budget budget;
    struct bucket bucket;
    struct error error;
    if (!limit_init(&limit, &terms, &error))
        abort();
    budget_init(&budget, &limit, (weight << 32) / 1000000000, false);
    bucket_fill(&bucket, &limit, 0, UINT64_MAX);
    return bucket_available(&bucket, &limit, &budget, 0);
}

static void a_split_gives_whole_tokens(void)
{
    static const uint64_t rates[] = {0, 7};
    for (int i = 0; i < 2; i++) {
        const char *kind = i == 0 ? "window" : "bucket";
        OK_U64(split_tokens(300, rates[i], 340000000), 102, "a split %s: 0.34 of 300 is 102", kind);
        OK_U64(split_tokens(300, rates[i], 330000000), 99, "... 0.33 is 99");
        OK_U64(split_tokens(10000000, rates[i], 330000000), 3300000, "... of ten millions as well");
        OK_U64(split_tokens(5, rates[i], 330000000), 1, "... of 5 one, since one and a half are no two");
        OK_U64(split_tokens(2, rates[i], 330000000), 0, "... of 2 none");
    }
    OK(split_tokens(1000000000000, 0, 330000000) > 329999999000, "of very large ones nearly all");
}

/* Parts that are whole up to less than 1/64 of a token, below and above, are the worst that there may be. */
static void parts_of_a_split_never_exceed_the_whole(void)
{
    struct random random;
    random_seed(&random, 9);
    uint64_t exceeded = 0, missing = 0, rounds = 20000 / SLOW;
    for (uint64_t i = 0; i < rounds; i++) {
        const uint64_t capacity = 1 + random_below(&random, i % 2 == 0 ? 100 : 1000000);
        uint64_t peers = 1 + random_below(&random, 64), left = 1000000000, sum = 0;
        for (uint64_t peer = 1; peer <= peers; peer++) {
            const uint64_t weight = peer == peers ? left : random_below(&random, 2 * left / (peers - peer + 1));
            left -= weight < left ? weight : left;
            sum += split_tokens(capacity, i % 3 == 0 ? 0 : 1 + i % 1000, weight);
        }
        exceeded += sum > capacity;
        missing += sum + peers <= capacity;
    }
    OK_U64(exceeded, 0, "parts of a split never add up to more than the whole");
    OK_U64(missing, 0, "... and each lacks less than a token of its weight");
}

/* By the definition, in 128 bits. */
static int64_t rounded_down(int64_t units, uint64_t fraction)
{
    __extension__ typedef __int128 wide;
    wide product = (wide)units * (wide)fraction, one = (wide)SHARE_ONE;
    return (int64_t)(product / one - (product % one < 0));
}

static void shares_are_rounded_down(void)
{
    static const int64_t units[] = {INT64_MIN,  -((int64_t)1 << 32) - 1, -((int64_t)1 << 32),        -1,       0, 1,
                                    UINT32_MAX, (int64_t)1 << 32,        ((int64_t)1 << 60) + 12345, INT64_MAX};
    static const uint64_t fractions[] = {0, 1, SHARE_ONE / 4 * 3, SHARE_ONE / 3, SHARE_ONE - 1, SHARE_ONE};
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        for (size_t k = 0; k < sizeof fractions / sizeof fractions[0]; k++)
            wrong += units_times(units[i], fractions[k]) != rounded_down(units[i], fractions[k]);
    OK_U64(wrong, 0, "a part of any number is rounded down, also below zero");
}

/* Nor of what is left of a key that starts below its capacity, as after an eviction. */
static void parts_of_a_level_never_exceed_it(void)
{
    static const uint64_t weights[] = {150000000, 350000000, 500000000};
    unsigned exceeded = 0, wrong = 0;
    for (uint64_t capacity = 1; capacity <= 300; capacity++) {
        const struct limit_terms terms = {.kind = LIMIT_CELL, .capacity = capacity, .flags = LIMIT_SPLIT};
        struct limit limit;
        struct error error;
        bool valid = limit_init(&limit, &terms, &error);
        assert(valid);
        for (int64_t level = 0; level <= limit.capacity_units; level++) {
            int64_t sum = 0;
            for (unsigned i = 0; i < 3; i++) {
                struct budget budget;
                budget_init(&budget, &limit, (uint64_t)((double)weights[i] / 1e9 * (double)SHARE_ONE), false);
                int64_t full = budget_allowance(&budget, limit.capacity_units);
                wrong += budget_allowance(&budget, level) != level * full / limit.capacity_units;
                sum += budget_allowance(&budget, level);
            }
            exceeded += sum > level;
        }
    }
    OK_U64(exceeded, 0, "parts of what is left of a split key never add up to more than that");
    OK_U64(wrong, 0, "each is the part that it has of a full key");
}

int main(void)
{
    limits_of_buckets(limits);
    budgets_alone_hold();
    shares_never_exceed_the_whole();
    a_split_gives_whole_tokens();
    parts_of_a_split_never_exceed_the_whole();
    parts_of_a_level_never_exceed_it();
    shares_are_rounded_down();
    return tap_done();
}
