/*
 * decide_full is the full kernel: it decides any request, whatever its charges are. It knows every
 * kind of limit, changed limits, shadows and isolation, and it writes the figures of a refusal.
 *
 * All charges of a request are decided first, and only then made, or none is (I10 of
 * docs/accounting.md). Between the two, room for one key may have moved or evicted another. So
 * where the table has changed, a key is looked up and decided again when its charge is made. If
 * that charge is refused after all, the charges made before are taken back.
 */
#include "cluster/spend/decide_full.h"

#include "base/number.h"
#include "cluster/spend/await.h"
#include "cluster/spend/contest.h"
#include "cluster/spend/deferred.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/record.h"
#include "cluster/spend/thread.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/node_state.h"
#include "cluster/state/refundable.h"
#include "limit/bucket_inline.h"
#include "limit/kind.h"
#include "limit/sliding.h"

#include <assert.h>

/* The time until own spends are expected to be known everywhere. */
static uint64_t settling_ns(const struct node *node)
{
    return node->awake.somebody_silent ? UINT64_MAX : node->log.settle_ns;
}

static struct verdict refusal(const struct node *node, uint16_t limit, enum verdict_reason reason)
{
    struct verdict verdict = {.reason = reason, .limit_tokens = node->limits.limit[limit].capacity};
    verdict.retry_after_ns = reason == VERDICT_TOO_LARGE ? UINT64_MAX : node->options.interval_ns;
    return verdict;
}

/* The key of a charge as it is now: in the table, or as it would start. */
struct view {
    struct bucket *bucket;
    struct entry *entry;            /* NULL: not in the table */
    struct bucket absent, previous; /* the targets of the pointers where there is no entry */
    struct sliding sliding;         /* for sliding charges */
    const struct limit *limit;
    const struct budget *budget;
};

/*
 * For a silent peer and a rule that would rather err: the whole limit may be spent, as seen from
 * here.
 */
static const struct budget whole = {.share = SHARE_ONE,
                                    .spendable = SHARE_ONE / 2,
                                    .reserve_units = (int64_t)3 << 60};

static bool is_open(const struct node *node, const struct charge *charge)
{
    return charge->on_isolation == ISOLATION_OPEN && node->awake.somebody_silent;
}

/* The key has another limit than its rule has now: converts its state to the new limit. */
static void convert(struct node *node, struct entry *entry, const struct charge *charge, uint64_t now_ns)
{
    const struct limit *from = &node->limits.limit[entry->limit], *to = &node->limits.limit[charge->limit];
    struct spend *untold = is_in_outbox(node, entry) ? open_spend(node, entry) : NULL;
    bucket_refill(&entry->bucket, from, &node->by_limit.budget[entry->limit], now_ns);
    bucket_convert(&entry->bucket, from, to, (enum bucket_inherit)charge->inherit, now_ns, charge->expires_ns);
    entry->limit = charge->limit & (unsigned)LIMITS_MAX;
    bool same_tokens = charge->inherit == INHERIT_KEEP && !kind_lists(from->kind) && !kind_lists(to->kind);
    if (!same_tokens) /* old spends are other tokens than present ones */
        refundable_forget(&node->refundable, entry->id, now_ns);
    if (untold) {
        untold->limit = charge->limit;
        /* refill pays the spend off by different limits at different peers now */
        outbox_urge(node, entry);
    }
    __atomic_store_n(&node->converted_ns, now_ns, __ATOMIC_RELAXED); /* steps read it */
}

/* True if the key is in the table or may be: its tenant may have reached its bound. */
static inline bool admits_key(struct node *node, const struct charge *charge)
{
    return table_tenant_has_room(node->table, charge->id, charge->tenant, 1) ||
           table_find(node->table, charge->id) != NULL;
}

/* Prepares an entry that was found or made, before its key is decided over. */
static inline void fit(struct node *node, struct entry *entry, const struct charge *charge, bool take,
                       uint64_t now_ns)
{
    if (__builtin_expect(entry->limit != charge->limit, 0))
        convert(node, entry, charge, now_ns);
    if (entry->tenant != charge->tenant && take)
        table_claim(node->table, entry, charge->tenant);
    if (kind_expires(node->limits.limit[charge->limit].kind) && entry->bucket.expires_ns < charge->expires_ns)
        entry->bucket.expires_ns = charge->expires_ns; /* a peer's clock is ahead: keep its cell */
}

static const struct bucket *previous_of(struct node *node, const struct charge *charge, struct bucket *absent,
                                        uint64_t now_ns)
{
    struct entry *entry = table_find(node->table, charge->previous);
    if (entry && entry->limit == charge->limit) {
        bucket_refill(&entry->bucket, &node->limits.limit[entry->limit], &node->by_limit.budget[entry->limit],
                      now_ns);
        return &entry->bucket;
    }
    table_start(node->table, charge->previous, charge->limit, charge->window_end_ns, now_ns, absent);
    if (entry) { /* of the rule's earlier limit: used tokens stay used */
        const struct limit *from = &node->limits.limit[entry->limit], *to = &node->limits.limit[charge->limit];
        int64_t used =
            (from->capacity_units - entry->bucket.settled + entry->bucket.unsettled + from->units_per_token - 1) /
            from->units_per_token;
        if (kind_expires(to->kind))
            bucket_lower_level(absent, to, to->capacity_units - used * to->units_per_token, now_ns);
    }
    return absent;
}

static struct sliding sliding_of(struct node *node, const struct charge *charge, struct view *view, uint64_t now_ns)
{
    return (struct sliding){
        .current = view->bucket,
        .previous = previous_of(node, charge, &view->previous, now_ns),
        .limit = view->limit,
        .budget = view->budget,
        .window_ns = charge->window_ns,
        .window_end_ns = charge->window_end_ns,
    };
}

/* Looks the charge's key up; the view is valid until the next table_obtain. */
static inline void look(struct node *node, const struct charge *charge, bool take, uint64_t now_ns,
                        struct view *view)
{
    view->limit = &node->limits.limit[charge->limit];
    view->budget = &node->by_limit.budget[charge->limit];
    view->entry = take ? table_obtain(node->table, charge->id, charge->limit, charge->expires_ns, now_ns)
                       : table_find(node->table, charge->id);
    if (view->entry) {
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

static inline bool allows(const struct view *view, const struct charge *charge, const struct budget *budget,
                          uint64_t now_ns)
{
    if (!charge->sliding)
        return bucket_allows_inline(view->bucket, view->limit, budget, charge->cost, charge->floor_tokens);
    struct sliding sliding = view->sliding;
    sliding.budget = budget;
    return sliding_allows(&sliding, charge->cost, charge->floor_tokens, now_ns);
}

static uint64_t retry_after_ns(const struct view *view, const struct charge *charge, uint64_t settle_ns,
                               uint64_t now_ns)
{
    const struct bucket_wait wait = {.cost = charge->cost,
                                     .floor_tokens = charge->floor_tokens,
                                     .now_ns = now_ns,
                                     .window_end_ns = charge->window_end_ns,
                                     .settle_ns = settle_ns};
    return charge->sliding ? sliding_retry_after_ns(&view->sliding, &wait)
                           : bucket_retry_after_ns(view->bucket, view->limit, view->budget, &wait);
}

/* Writes the present figures. */
static inline void show(const struct view *view, const struct charge *charge, uint64_t now_ns,
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
        verdict->reset_after_ns =
            bucket_reset_after_ns_inline(view->bucket, view->limit, now_ns, charge->window_end_ns);
    }
}

/* Why a key refuses a charge that may be tried again after `retry_ns`. */
static enum verdict_reason reason_of(const struct node *node, const struct view *view, const struct charge *charge,
                                     uint64_t retry_ns, uint64_t now_ns)
{
    const bool is_cut_off = node->awake.somebody_silent;
    const struct bucket level = charge->sliding ? sliding_level(&view->sliding, now_ns) : *view->bucket;
    if (charge->cost > view->limit->capacity ||
        (retry_ns == UINT64_MAX &&
         (!is_cut_off || retry_after_ns(view, charge, node->log.settle_ns, now_ns) == UINT64_MAX)))
        return VERDICT_TOO_LARGE;
    if (level.settled - level.unsettled < (int64_t)charge->cost * view->limit->units_per_token)
        return VERDICT_CAPACITY;
    return is_cut_off ? VERDICT_ISOLATION : VERDICT_SHARE;
}

static void show_refused(const struct node *node, const struct view *view, const struct charge *charge,
                         uint64_t now_ns, struct verdict *verdict)
{
    const uint64_t retry_ns = number_least(retry_after_ns(view, charge, settling_ns(node), now_ns),
                                           voucher_wait_ns(node, charge, view->bucket));
    show(view, charge, now_ns, verdict);
    verdict->allowed = false;
    verdict->retry_after_ns = retry_ns;
    verdict->reason = reason_of(node, view, charge, retry_ns, now_ns);
}

/* True for a charge that is refused whatever its key has left. */
static inline bool is_refused(struct node *node, const struct charge *charge, bool take,
                              enum verdict_reason *reason)
{
    assert(limit_set_has(&node->limits, charge->limit));
    *reason = VERDICT_ALLOWED;
    if (!may_decide(node))
        *reason = node->accord.told_out ? VERDICT_CONFIG_DIFFERS : VERDICT_NOT_READY;
    else if (!outbox_has_room(node, 0)) /* an evicted key's waiting spends need room */
        *reason = VERDICT_LOG_FULL;
    else if (charge->on_isolation == ISOLATION_CLOSED && node->awake.somebody_silent)
        *reason = VERDICT_ISOLATION;
    else if (charge->cost > node->limits.limit[charge->limit].capacity)
        *reason = VERDICT_TOO_LARGE;
    else if (take && !admits_key(node, charge))
        *reason = VERDICT_KEYS_FULL;
    return *reason != VERDICT_ALLOWED;
}

/* The result of one charge. */
enum outcome {
    OUTCOME_DENIED,
    OUTCOME_TAKEN, /* allowed, and to be made */
    /* allowed, and not to be made: its rule does not deny while a peer is silent */
    OUTCOME_PASSED,
};

/* The result of the first pass over one charge, for the second pass. */
struct decision {
    enum outcome outcome;
    const struct budget *budget; /* OUTCOME_TAKEN: the budget that allowed it */
    uint64_t paid;               /* OUTCOME_TAKEN: tokens that a voucher pays, beside that budget */
    uint64_t held_ns;            /* above 0: others are short of their parts for so long, see contest.h */
    struct voucher_payment payment;
    /* table_changes when the view was taken: the view holds while they are the same */
    uint64_t changes;
    struct view view;
};

/* NULL: no budget allows it. */
static inline const struct budget *allowing(const struct node *node, const struct view *view,
                                            const struct charge *charge, uint64_t now_ns)
{
    if (allows(view, charge, view->budget, now_ns))
        return view->budget;
    return is_open(node, charge) && allows(view, charge, &whole, now_ns) ? &whole : NULL;
}

/* The same, or else a voucher for a part of the charge. `take`: a wish for more is noted. */
static inline const struct budget *allowing_or_paying(struct node *node, const struct charge *charge, bool take,
                                                      bool by_vouchers, uint64_t now_ns, struct decision *decision)
{
    const struct budget *budget = allowing(node, &decision->view, charge, now_ns);
    decision->paid = decision->held_ns = 0;
    if (budget && contest_concerns(node, charge->id))
        decision->held_ns = contest_holds_ns(node, charge, decision->view.bucket, now_ns);
    if (decision->held_ns > 0)
        return NULL;
    if (!budget && take)
        contest_note_refused(node, charge, now_ns);
    if (!budget && by_vouchers)
        decision->paid = voucher_pays(node, charge, decision->view.bucket, take, now_ns);
    return decision->paid > 0 ? decision->view.budget : budget;
}

/* The verdict of an allowed charge that is to be made gets its figures afterwards. */
static inline void decide(struct node *node, const struct charge *charge, bool take, bool by_vouchers,
                          const struct await *await, uint64_t now_ns, struct decision *decision,
                          struct verdict *verdict)
{
    struct view *view = &decision->view;
    enum verdict_reason reason;
    if (is_refused(node, charge, take, &reason)) {
        *verdict = refusal(node, charge->limit, reason);
        if (reason == VERDICT_TOO_LARGE) {
            look(node, charge, false, now_ns, view);
            show_refused(node, view, charge, now_ns, verdict);
        }
        decision->outcome = may_decide(node) && is_open(node, charge) ? OUTCOME_PASSED : OUTCOME_DENIED;
        if (decision->outcome == OUTCOME_PASSED) {
            verdict->allowed = true;
            verdict->reason = VERDICT_ALLOWED;
            verdict->retry_after_ns = 0;
        }
        return;
    }
    look(node, charge, take, now_ns, view);
    assert(view->budget); /* NULL would say that no budget allows it */
    decision->changes = table_changes(node->table, charge->id);
    decision->budget =
        allowing_or_paying(node, charge, take && !await_is_again(await), by_vouchers, now_ns, decision);
    if (decision->budget && await_is_behind(await, charge))
        decision->budget = NULL;
    if (decision->budget && take && !can_record(node, view->entry)) {
        own_thread(node)->push_wanted = true;
        *verdict = refusal(node, charge->limit, VERDICT_LOG_FULL);
        decision->outcome = OUTCOME_DENIED;
        return;
    }
    decision->outcome = decision->budget ? OUTCOME_TAKEN : is_open(node, charge) ? OUTCOME_PASSED : OUTCOME_DENIED;
    if (!decision->budget && view->entry && take)
        hurry_if_in_outbox(node, view->entry);
    if (decision->outcome == OUTCOME_TAKEN && take)
        verdict->allowed = true; /* other figures are written afterwards */
    else if (decision->outcome != OUTCOME_DENIED)
        show(view, charge, now_ns, verdict);
    else
        show_refused(node, view, charge, now_ns, verdict);
    if (decision->held_ns > 0 && verdict->retry_after_ns < decision->held_ns)
        verdict->retry_after_ns = decision->held_ns;
}

/* Makes a charge that was allowed a moment ago. False: it is not allowed any more. */
static inline bool charge_one(struct node *node, const struct charge *charge, struct decision *decision,
                              uint64_t now_ns, struct verdict *verdict)
{
    struct view *view = &decision->view;
    const struct budget *budget = decision->budget;
    if (decision->changes != table_changes(node->table, charge->id)) {
        look(node, charge, true, now_ns, view);
        budget = allowing_or_paying(node, charge, true, decision->paid > 0, now_ns, decision);
    }
    bool pays = decision->paid == 0 || voucher_use(node, charge, decision->paid, now_ns, &decision->payment);
    if (!budget || !pays || !can_record(node, view->entry) ||
        !bucket_spend(view->bucket, view->limit, budget, charge->cost - decision->paid, now_ns)) {
        if (pays && decision->paid > 0)
            voucher_put_back(node, charge, &decision->payment);
        *verdict = refusal(node, charge->limit, VERDICT_LOG_FULL);
        return false;
    }
    note_charged(node, view->entry, budget, charge->cost - decision->paid, now_ns);
    if (contest_concerns(node, charge->id))
        contest_note_taken(node, charge, (int64_t)charge->cost, now_ns);
    if (decision->paid > 0)
        voucher_note_used(node, decision->paid);
    show(view, charge, now_ns, verdict);
    return true;
}

/* Takes back a charge that was made just now; no peer was told of it yet. */
static void uncharge(struct node *node, const struct charge *charge, const struct decision *decision)
{
    struct entry *entry = table_find(node->table, charge->id);
    uint64_t cost = charge->cost - decision->paid;
    if (decision->paid > 0) {
        voucher_put_back(node, charge, &decision->payment);
        voucher_note_used(node, 0 - decision->paid);
    }
    if (contest_concerns(node, charge->id))
        contest_note_taken(node, charge, -(int64_t)charge->cost, 0);
    if (!entry || cost == 0)
        return;
    bucket_unspend(&entry->bucket, &node->limits.limit[entry->limit], &node->by_limit.budget[entry->limit], cost);
    if (deferred_has(node, entry))
        deferred_less(entry, cost);
    else if (is_in_open(node, entry))
        node->outbox.spend[entry->open_index].tokens -= cost;
    own_thread(node)->admitted_tokens -= cost;
}

static bool charge_all(struct node *node, const struct charge *charges, size_t count, struct decision *decisions,
                       uint64_t now_ns, struct verdict *verdicts)
{
    for (size_t i = 0; i < count; i++) {
        if (decisions[i].outcome != OUTCOME_TAKEN ||
            charge_one(node, &charges[i], &decisions[i], now_ns, &verdicts[i]) || charges[i].shadow)
            continue;
        for (size_t k = i; k-- > 0;)
            if (decisions[k].outcome == OUTCOME_TAKEN && verdicts[k].allowed)
                uncharge(node, &charges[k], &decisions[k]);
        return false;
    }
    return true;
}

static bool decide_all(struct node *node, const struct charge *charges, size_t count, bool take, bool by_vouchers,
                       const struct await *await, uint64_t now_ns, struct verdict *verdicts,
                       struct decision *decisions)
{
    bool allowed = true;
    for (size_t i = 0; i < count; i++) {
        decide(node, &charges[i], take, by_vouchers, await, now_ns, &decisions[i], &verdicts[i]);
        allowed &= decisions[i].outcome != OUTCOME_DENIED || charges[i].shadow;
    }
    return allowed;
}

/* No charge is made after all: writes the present figures of charges that were allowed. */
static void describe_untaken(struct node *node, const struct charge *charges, size_t count,
                             struct decision *decisions, uint64_t now_ns, struct verdict *verdicts)
{
    for (size_t i = 0; i < count; i++) {
        if (decisions[i].outcome != OUTCOME_TAKEN || !verdicts[i].allowed)
            continue;
        look(node, &charges[i], false, now_ns, &decisions[i].view);
        show(&decisions[i].view, &charges[i], now_ns, &verdicts[i]);
    }
}

/* The reason of the charge that decided against the request. */
static enum verdict_reason reason_of_all(const struct charge *charges, size_t count, const struct verdict *verdicts)
{
    const struct verdict *worst = NULL;
    for (size_t i = 0; i < count; i++)
        if (!charges[i].shadow && !verdicts[i].allowed && (!worst || verdict_decides_before(&verdicts[i], worst)))
            worst = &verdicts[i];
    return worst ? worst->reason : VERDICT_LOG_FULL;
}

/* noinline: keeps its large frame off the fast path. */
__attribute__((noinline)) bool decide_full(struct node *node, const struct charge *charges, size_t count, bool take,
                                           uint64_t now_ns, struct verdict *verdicts, bool *taken,
                                           struct await *await)
{
    struct decision decisions[CHARGES_MAX];
    assert(count <= CHARGES_MAX);
    /* tokens of a voucher cannot be given back, so no reservation may hold them */
    bool allowed = decide_all(node, charges, count, take, taken == NULL, await, now_ns, verdicts, decisions);
    if (!take)
        return allowed;
    allowed = allowed && charge_all(node, charges, count, decisions, now_ns, verdicts);
    if (!allowed)
        describe_untaken(node, charges, count, decisions, now_ns, verdicts);
    if (!allowed && await && await_hold(node, charges, count, now_ns, verdicts, await))
        return false;
    for (size_t i = 0; i < count && taken; i++)
        taken[i] = allowed && decisions[i].outcome == OUTCOME_TAKEN && verdicts[i].allowed;
    if (allowed)
        own_thread(node)->admitted_requests++;
    else
        count_refused(own_thread(node), reason_of_all(charges, count, verdicts));
    return allowed;
}
