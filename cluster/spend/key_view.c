/*
 * key_view looks the key of a charge up, converts its state where its rule has another limit by now, and writes
 * figures. Nothing here decides about a whole request: that is decide_full.c.
 */
#include "cluster/spend/key_view.h"

#include "base/number.h"
#include "cluster/spend/level.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/spenders.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_times.h"
#include "cluster/state/node_state.h"
#include "cluster/state/refundable.h"
#include "cluster/state/share.h"
#include "limit/bucket_inline.h"
#include "limit/kind.h"

const struct budget key_view_whole = {.share = SHARE_ONE,
                                      .spendable = SHARE_ONE / 2,
                                      .reserve_units = (int64_t)3 << 60};

/*
 * True: an untold spend keeps the limit that it has. It may be of more tokens than the new tier allows: told under that
 * one, peers would take the key for one of that tier alone (charge_stop_debt).
 */
static bool tells_wider(const struct limit *told, const struct limit *to)
{
    return told->of_tiers && to->of_tiers && told->capacity + told->overshoot > to->capacity + to->overshoot;
}

void key_view_convert(struct node *node, struct entry *entry, const struct charge *charge, uint64_t now_ns)
{
    const struct limit *from = &node->limits.limit[entry->limit], *to = &node->limits.limit[charge->limit];
    const enum bucket_inherit how = (enum bucket_inherit)charge->inherit;
    const bool keeps = how == INHERIT_KEEP || how == INHERIT_TIERS;
    struct spend *untold = is_in_outbox(node, entry) ? outbox_open_spend(node, entry) : NULL;
    uint64_t expires_ns = charge->expires_ns;
    bucket_refill(&entry->bucket, from, &node->by_limit.budget[entry->limit], now_ns);
    if (kind_expires(from->kind) && !charge_begins_with_spend(charge))
        expires_ns = number_most(expires_ns, entry->bucket.expires_ns); /* of a peer's clock, see fit */
    else if (kind_expires(from->kind) && !bucket_is_full(&entry->bucket, from))
        expires_ns = number_least(expires_ns, entry->bucket.expires_ns);
    bucket_convert(&entry->bucket, from, to, how, now_ns, expires_ns);
    /* where a debt was cut off, some of these tokens may be forgotten: nobody gives them back */
    if (keeps && from->kind == to->kind && !(kind_refills(to->kind) && entry->bucket.settled < 0))
        spenders_go_over(node, entry, charge->limit);
    entry->limit = charge->limit & (unsigned)LIMITS_MAX;
    entry->several |= from->of_tiers;
    /* old spends are other tokens than present ones */
    if (!keeps || kind_lists(from->kind) || kind_lists(to->kind))
        refundable_forget(&node->refundable, entry->id, now_ns);
    if (untold) {
        if (!tells_wider(&node->limits.limit[untold->limit], to))
            untold->limit = charge->limit;
        /* refill pays the spend off by different limits at different peers now */
        outbox_urge(node, entry);
    }
    __atomic_store_n(&node->converted_ns, now_ns, __ATOMIC_RELAXED); /* steps read it */
}

/* True: the key keeps the limit of another tier (see bucket_outgrows), and the view shows a debt. */
static bool keeps_other_limit(struct node *node, const struct charge *charge, uint64_t now_ns,
                              struct key_view *view)
{
    struct entry *entry = view->entry;
    const struct limit *from = &node->limits.limit[entry->limit];
    if (charge->inherit != INHERIT_TIERS || !from->of_tiers)
        return false;
    bucket_refill(&entry->bucket, from, &node->by_limit.budget[entry->limit], now_ns);
    return bucket_outgrows(&entry->bucket, from, view->limit, now_ns, &view->absent);
}

/*
 * Sets the end of the window. A window of which nothing is used begins now. A window that would last longer than one
 * that begins now ends with that one.
 */
static void fit_window(const struct node *node, struct entry *entry, const struct charge *charge, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    bucket_refill(&entry->bucket, limit, &node->by_limit.budget[charge->limit], now_ns);
    if (bucket_is_full(&entry->bucket, limit) || entry->bucket.expires_ns > charge->expires_ns)
        entry->bucket.expires_ns = charge->expires_ns;
}

/* Prepares an entry that was found or made, before its key is decided over. */
static inline void fit(struct node *node, struct entry *entry, const struct charge *charge, bool take,
                       uint64_t now_ns)
{
    if (__builtin_expect(entry->limit != charge->limit, 0))
        key_view_convert(node, entry, charge, now_ns);
    if (entry->tenant != charge->tenant && take)
        table_claim(node->table, entry, charge->tenant);
    if (!kind_expires(node->limits.limit[charge->limit].kind))
        return;
    if (charge_begins_with_spend(charge))
        fit_window(node, entry, charge, now_ns);
    else if (entry->bucket.expires_ns < charge->expires_ns)
        entry->bucket.expires_ns = charge->expires_ns; /* a peer's clock is ahead: keep its cell */
}

static struct sliding sliding_of(struct node *node, const struct charge *charge, struct key_view *view,
                                 uint64_t now_ns)
{
    return (struct sliding){
        .current = view->bucket,
        .previous =
            level_previous(node, charge->previous, charge->limit, charge->window_end_ns, now_ns, &view->previous),
        .limit = view->limit,
        .budget = view->budget,
        .window_ns = charge->window_ns,
        .window_end_ns = charge->window_end_ns,
    };
}

void key_view_look(struct node *node, const struct charge *charge, bool take, uint64_t now_ns,
                   struct key_view *view)
{
    view->limit = &node->limits.limit[charge->limit];
    view->budget = &node->by_limit.budget[charge->limit];
    view->entry = take ? table_obtain(node->table, charge->id, charge->limit, charge->expires_ns, now_ns)
                       : table_find(node->table, charge->id);
    view->stays =
        view->entry && view->entry->limit != charge->limit && keeps_other_limit(node, charge, now_ns, view);
    if (view->stays) {
        view->entry = NULL;
        view->bucket = &view->absent;
    } else if (view->entry) {
        fit(node, view->entry, charge, take, now_ns);
        view->bucket = &view->entry->bucket;
    } else {
        view->bucket = &view->absent;
        table_start(node->table, charge->id, charge->limit, charge->expires_ns, now_ns, &view->absent);
    }
    bucket_refill_inline(view->bucket, view->limit, view->budget, now_ns);
    if (charge->sliding)
        view->sliding = sliding_of(node, charge, view, now_ns);
}

struct bucket key_view_level(const struct key_view *view, const struct charge *charge, uint64_t now_ns)
{
    return charge->sliding ? sliding_level(&view->sliding, now_ns) : *view->bucket;
}

bool key_view_allows(const struct key_view *view, const struct charge *charge, const struct budget *budget,
                     uint64_t now_ns)
{
    if (!charge->sliding)
        return bucket_allows_inline(view->bucket, view->limit, budget, charge->cost, charge->floor_tokens);
    struct sliding sliding = view->sliding;
    sliding.budget = budget;
    return sliding_allows(&sliding, charge->cost, charge->floor_tokens, now_ns);
}

static uint64_t retry_after_ns(const struct key_view *view, const struct charge *charge, uint64_t settle_ns,
                               uint64_t now_ns)
{
    const struct bucket_wait wait = {.cost = charge->cost,
                                     .floor_tokens = charge->floor_tokens,
                                     .now_ns = now_ns,
                                     .window_end_ns = charge_window_end_ns(charge, view->bucket),
                                     .settle_ns = settle_ns};
    return charge->sliding ? sliding_retry_after_ns(&view->sliding, &wait)
                           : bucket_retry_after_ns(view->bucket, view->limit, view->budget, &wait);
}

/* The time until the whole limit has `tokens` tokens again. Of a window: if nobody spends meanwhile. */
static uint64_t renewed_after_ns(const struct key_view *view, const struct charge *charge, uint64_t tokens,
                                 uint64_t now_ns)
{
    struct key_view whole = *view;
    struct charge wanted = *charge;
    whole.budget = whole.sliding.budget = &key_view_whole;
    wanted.cost = tokens;
    return retry_after_ns(&whole, &wanted, UINT64_MAX, now_ns);
}

void key_view_show(const struct key_view *view, const struct charge *charge, uint64_t now_ns,
                   struct verdict *verdict)
{
    verdict->allowed = true;
    verdict->reason = VERDICT_ALLOWED;
    verdict->limit_tokens = view->limit->capacity;
    verdict->retry_after_ns = 0;
    if (charge->sliding) {
        verdict->remaining_tokens = sliding_remaining(&view->sliding, charge->floor_tokens, now_ns);
        verdict->available_tokens = sliding_available(&view->sliding, charge->floor_tokens, now_ns);
        verdict->reset_after_ns = sliding_reset_after_ns(&view->sliding, now_ns);
    } else {
        verdict->remaining_tokens = bucket_remaining_inline(view->bucket, view->limit, charge->floor_tokens);
        verdict->available_tokens =
            bucket_available_inline(view->bucket, view->limit, view->budget, charge->floor_tokens);
        verdict->reset_after_ns = bucket_reset_after_ns_inline(view->bucket, view->limit, now_ns,
                                                               charge_window_end_ns(charge, view->bucket));
    }
}

bool key_view_home_is_gone(const struct node *node, const struct charge *charge)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    return limit->home != 0 && node->by_limit.budget[charge->limit].share == 0 && charge->cost <= limit->capacity &&
           share_heard_of(node, limit) == 0;
}

/* Why a key refuses a charge that may be tried again after `retry_ns`. */
static enum verdict_reason reason_of(const struct node *node, const struct key_view *view,
                                     const struct charge *charge, uint64_t retry_ns, uint64_t now_ns)
{
    const bool is_cut_off = node->awake.somebody_silent;
    const struct bucket level = key_view_level(view, charge, now_ns);
    if (charge->cost > view->limit->capacity ||
        (retry_ns == UINT64_MAX &&
         (!is_cut_off || (voucher_is_hopeless(node, charge) &&
                          retry_after_ns(view, charge, node->log.settle_ns, now_ns) == UINT64_MAX))))
        return VERDICT_TOO_LARGE;
    if (level.settled - level.unsettled < (int64_t)charge->cost * view->limit->units_per_token)
        return VERDICT_CAPACITY;
    return is_cut_off ? VERDICT_ISOLATION : VERDICT_SHARE;
}

/* The time until own spends are expected to be known everywhere. */
static uint64_t settling_ns(const struct node *node)
{
    return node->awake.somebody_silent ? UINT64_MAX : node->log.settle_ns;
}

/*
 * The time until all peers together may spend the cost if nobody spends meanwhile, plus one round trip. `own_ns`: the
 * time until this node's share suffices.
 */
static uint64_t granted_after_ns(const struct node *node, const struct key_view *view, const struct charge *charge,
                                 uint64_t own_ns, uint64_t now_ns)
{
    const struct bucket level = key_view_level(view, charge, now_ns);
    const int64_t left = level.settled - level.unsettled, token = view->limit->units_per_token;
    const int64_t enough = voucher_enough_units(node, charge, left);
    if (enough == INT64_MAX)
        return UINT64_MAX;
    const int64_t missing = enough - left;
    uint64_t until_ns = 0;
    if (missing > 0 && kind_refills(view->limit->kind))
        until_ns = limit_refill_ns(view->limit, missing);
    else if (missing > 0 && kind_lists(view->limit->kind) && own_ns < UINT64_MAX)
        return UINT64_MAX; /* else the spends of the log would be walked twice */
    else if (missing > 0)
        until_ns = renewed_after_ns(view, charge, (uint64_t)((enough + token - 1) / token), now_ns);
    return number_sum(until_ns, voucher_answer_ns(node));
}

void key_view_show_refused(const struct node *node, const struct key_view *view, const struct charge *charge,
                           uint64_t rest_ns, bool in_vain, uint64_t now_ns, struct verdict *verdict)
{
    const uint64_t own_ns = retry_after_ns(view, charge, settling_ns(node), now_ns);
    const uint64_t all_ns = in_vain ? UINT64_MAX : granted_after_ns(node, view, charge, own_ns, now_ns);
    const uint64_t retry_ns = number_least(own_ns, number_least(all_ns, rest_ns));
    const bool is_lost = key_view_home_is_gone(node, charge);
    key_view_show(view, charge, now_ns, verdict);
    verdict->allowed = false;
    verdict->reason = is_lost                ? VERDICT_ISOLATION
                      : rest_ns < UINT64_MAX ? VERDICT_SHARE
                                             : reason_of(node, view, charge, retry_ns, now_ns);
    /* nobody knows when who is silent is heard again: the next interval is soon enough to look */
    const bool is_open = is_lost || (retry_ns == UINT64_MAX && verdict->reason != VERDICT_TOO_LARGE);
    verdict->retry_after_ns = is_open ? node->options.interval_ns : retry_ns;
}
