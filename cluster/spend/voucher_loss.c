/*
 * voucher_loss sums what the asks of a voucher have brought and lost. Each ask that ends halves the sums of those
 * before it. Asks that have not ended count by what has decayed of them so far.
 */
#include "cluster/spend/voucher_loss.h"

#include "base/number.h"
#include "limit/kind.h"

enum {
    LOST_PART = 4,     /* of what came: an ask that loses so much does not pay */
    UNUSED_PART = 2,   /* nor does one of which so much was not used, if ... */
    LOST_LITTLE = 16,  /* ... such a part of what came was lost as well */
    MATTERS_PART = 64, /* of a capacity: less than that is lost of bursts as well */
    PROBE_TIMES = 64,  /* what a request costs refills so often until the next ask shows whether asks pay */
};

#define PROBE_MOST_NS UINT64_C(600000000000)

static void add(struct ask_outcome *sum, int64_t received, int64_t used, int64_t lost)
{
    sum->received = number_sum(sum->received, received > 0 ? (uint64_t)received : 0);
    sum->used = number_sum(sum->used, used > 0 ? (uint64_t)used : 0);
    sum->lost = number_sum(sum->lost, lost > 0 ? (uint64_t)lost : 0);
}

/*
 * Of each ask a part of a token may come to nothing, whatever clients do. That is much of the few tokens of a small
 * limit, and says nothing.
 */
static int64_t beyond_parts(const struct limit *limit, int64_t lost, unsigned asks)
{
    const int64_t parts = (int64_t)asks * limit->units_per_token;
    return lost > parts ? lost - parts : 0;
}

void voucher_loss_note(struct node *node, struct voucher *voucher, const struct voucher_ask *ask, int64_t kept)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    struct ask_outcome *outcome = &voucher->outcome;
    const int64_t lost = ask->units > kept ? ask->units - kept : 0;
    if (ask->received <= 0)
        return;
    *outcome = (struct ask_outcome){outcome->received / 2, outcome->used / 2, outcome->lost / 2};
    add(outcome, ask->received - kept, ask->used, beyond_parts(limit, lost, 1));
    node->stats.rights_decayed_tokens += (uint64_t)(lost / limit->units_per_token);
}

/* What the asks still have may be used. */
static bool much_is_lost(const struct limit *limit, const struct voucher *voucher, int64_t left)
{
    struct ask_outcome sum = voucher->outcome;
    int64_t units = 0;
    unsigned asks = 0;
    for (unsigned a = 0; a < VOUCHER_ASKS; a++) {
        const struct voucher_ask *ask = &voucher->ask[a];
        add(&sum, ask->received, ask->used, 0);
        units += ask->units;
        asks += ask->received > 0;
    }
    add(&sum, 0, left, beyond_parts(limit, units - left, asks));
    return sum.lost > (uint64_t)limit->capacity_units / MATTERS_PART &&
           (sum.lost > sum.received / LOST_PART ||
            (sum.used < sum.received / UNUSED_PART && sum.lost > sum.received / LOST_LITTLE));
}

static uint64_t probe_ns(const struct limit *limit, int64_t cost)
{
    const uint64_t ns = limit_refill_ns(limit, cost);
    return ns < PROBE_MOST_NS / PROBE_TIMES ? ns * PROBE_TIMES : PROBE_MOST_NS;
}

bool voucher_loses(const struct limit *limit, const struct voucher *voucher, int64_t left, int64_t cost,
                   uint64_t now_ns)
{
    return kind_refills(limit->kind) && much_is_lost(limit, voucher, left) &&
           number_minus(now_ns, voucher->asked_ns) < probe_ns(limit, cost);
}
