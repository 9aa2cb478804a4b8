/*
 * contest decides which charges are held back: those of a node that has had its part of the key, while peers are
 * short of theirs or while tokens are kept for peers.
 */
#include "cluster/spend/contest.h"

#include "base/number.h"
#include "cluster/node.h"
#include "cluster/spend/contest_credit.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_places.h"

enum {
    SHORT_PART = 2,     /* of the credit that is kept: with so much left this node is short of its part */
    UNSEEN_PART = 4,    /* of what is kept: what others may be spending is left as well */
    SHORT_TIMES = 2,    /* while others are short, a token counts so often: their tokens are there the sooner */
    TOKENS_WATCHED = 4, /* a key is watched for the time in which its part refills so much */
};

#define WATCHED_LEAST_NS UINT64_C(2000000000)

/* True for charges that have a part: others are paid otherwise, or have none. */
static bool has_part(const struct node *node, const struct charge *charge)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    return contest_has_parts(node, limit) && node->by_limit.budget[charge->limit].share > 0 &&
           !node->sharing.alone && !charge->sliding && charge->cost > 0 && charge->cost <= limit->capacity;
}

/* The time in which this node's part refills by so many tokens; no more than CONTEST_KEPT_MOST_NS. */
static uint64_t part_ns(const struct node *node, uint16_t limit, uint64_t tokens)
{
    const uint64_t share = node->by_limit.budget[limit].share;
    const uint128 ns = limit_refill_ns(&node->limits.limit[limit], contest_cost_units(node, limit, tokens));
    const uint128 whole_ns = share > 0 ? ns * SHARE_ONE / share : CONTEST_KEPT_MOST_NS;
    return whole_ns < CONTEST_KEPT_MOST_NS ? (uint64_t)whole_ns : CONTEST_KEPT_MOST_NS;
}

/* Where a share never admits as much, others must grant it: see voucher.h. */
static bool is_within_share(const struct node *node, const struct charge *charge)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    const struct bucket full = {.settled = limit->capacity_units};
    return bucket_allows(&full, limit, &node->by_limit.budget[charge->limit], charge->cost, 0);
}

static void watch_further(const struct node *node, struct contest *contest, uint64_t now_ns)
{
    const uint64_t watched_ns = part_ns(node, contest->limit, TOKENS_WATCHED);
    contest_watch_until(contest, now_ns + (watched_ns > WATCHED_LEAST_NS ? watched_ns : WATCHED_LEAST_NS));
}

/*
 * Forgets the credit of a time without requests. Refill of that time is not missing here: peers may have spent it
 * before requests came.
 */
static void drop_idle(const struct node *node, struct contest *contest, uint64_t now_ns)
{
    const uint64_t sparse_ns = part_ns(node, contest->limit, 2 * contest->cost);
    const int64_t begins = contest_credit_begins(node, contest);
    if (number_minus(now_ns, contest->seen_ns) >
            (sparse_ns > CONTEST_CREDIT_NS / 2 ? sparse_ns : CONTEST_CREDIT_NS / 2) &&
        contest->credit_units > begins)
        contest->credit_units = begins;
}

void contest_note_refused(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    if (!has_part(node, charge) || charge->floor_tokens > 0 || node->awake.somebody_silent ||
        !is_within_share(node, charge))
        return;
    vouchers_lock(node);
    struct contest *contest = contest_obtain(node, charge->id, charge->limit, charge->cost, now_ns);
    if (contest) {
        contest_add_credit(node, contest, now_ns);
        drop_idle(node, contest, now_ns);
        contest->seen_ns = now_ns;
        watch_further(node, contest, now_ns);
        if (contest->credit_units >= contest_credit_most(node, contest) / SHORT_PART) {
            contest->short_ns = now_ns;
            atomic_store_explicit(&node->contests.speaks, true, memory_order_relaxed);
        }
    }
    vouchers_unlock(node);
}

bool contest_others_short(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns)
{
    const struct contest *contest = contest_concerns(node, id) ? contest_find(node, id, limit) : NULL;
    return contest && now_ns < contest->short_until_ns;
}

uint64_t contest_holds_ns(struct node *node, const struct charge *charge, const struct bucket *bucket,
                          uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    uint64_t wait_ns = 0;
    if (!has_part(node, charge))
        return 0;
    vouchers_lock(node);
    struct contest *contest = contest_find(node, charge->id, charge->limit);
    if (contest && (now_ns < contest->short_until_ns || now_ns < contest->kept_until_ns)) {
        contest_add_credit(node, contest, now_ns);
        const int64_t missing = contest_cost_units(node, charge->limit, charge->cost) - contest->credit_units;
        /* what others spend at the same time is not known here, so a little more is left */
        const uint64_t kept = contest->kept_tokens + contest->kept_tokens / UNSEEN_PART;
        /* not bucket_allows with that floor: far peers would bound by it what may be on its way */
        const uint64_t left = bucket_remaining(bucket, limit, number_sum(charge->floor_tokens, kept));
        const bool leaves_enough = now_ns >= contest->short_until_ns && left >= charge->cost;
        if (missing > 0 && !leaves_enough) {
            const uint64_t tokens = (uint64_t)(missing / limit->units_per_token) + 1;
            wait_ns = part_ns(node, charge->limit, tokens) + 1;
        }
    }
    vouchers_unlock(node);
    return wait_ns;
}

int64_t contest_take(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    int64_t units = 0;
    vouchers_lock(node);
    struct contest *contest = contest_find(node, charge->id, charge->limit);
    if (contest) {
        contest_add_credit(node, contest, now_ns);
        if (charge->cost > 0)
            contest->seen_ns = now_ns;
        if (charge->cost > 0 && contest->short_ns > 0)
            watch_further(node, contest, now_ns);
        const int64_t times = now_ns < contest->short_until_ns ? SHORT_TIMES : 1;
        units = times * (int64_t)charge->cost * node->limits.limit[charge->limit].units_per_token;
        units = units < contest->credit_units ? units : contest->credit_units;
        contest->credit_units -= units;
    }
    vouchers_unlock(node);
    return units;
}

void contest_put_back(struct node *node, const struct charge *charge, int64_t units)
{
    vouchers_lock(node);
    struct contest *contest = units > 0 ? contest_find(node, charge->id, charge->limit) : NULL;
    if (contest)
        contest->credit_units += units;
    vouchers_unlock(node);
}
