/*
 * decide_full is the full kernel: it decides any request, whatever its charges are. It knows shadows, isolation,
 * vouchers and requests that wait; key_view.c knows every kind of limit, changed limits, and the figures of a
 * refusal.
 *
 * First all charges of a request are decided, and then all of them are made, or none is (I10 of docs/accounting.md).
 * When one charge is made, the table may move or evict the key of another charge to make room. So a key is looked up
 * and decided again at its charge if the table has changed since. If that charge is refused after all, the charges
 * made before it are taken back.
 */
#include "cluster/spend/decide_full.h"

#include "cluster/spend/await.h"
#include "cluster/spend/contest.h"
#include "cluster/spend/deferred.h"
#include "cluster/spend/key_view.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/record.h"
#include "cluster/spend/thread.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/spend/wanted.h"
#include "cluster/state/node_state.h"
#include "limit/kind.h"

#include <assert.h>

static struct verdict refusal(const struct node *node, uint16_t limit, enum verdict_reason reason)
{
    struct verdict verdict = {.reason = reason, .limit_tokens = node->limits.limit[limit].capacity};
    verdict.retry_after_ns = reason == VERDICT_TOO_LARGE ? UINT64_MAX : node->options.interval_ns;
    return verdict;
}

/* True if the rule prefers to admit too much while a peer is silent: then it goes by the whole limit. */
static bool is_open(const struct node *node, const struct charge *charge)
{
    return charge->on_isolation == ISOLATION_OPEN && node->awake.somebody_silent;
}

/* True if the key is in the table or may be: its tenant may have reached its bound. */
static inline bool admits_key(struct node *node, const struct charge *charge)
{
    return table_tenant_has_room(node->table, charge->id, charge->tenant, 1) ||
           table_find(node->table, charge->id) != NULL;
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

/* Of a key that stays under another limit, no voucher pays. */
static inline void add_granted(struct node *node, const struct key_view *view, const struct charge *charge,
                               uint64_t now_ns, struct verdict *verdict)
{
    if (!view->stays)
        verdict->available_tokens = voucher_available(node, charge, verdict->available_tokens, now_ns);
}

static inline void show(struct node *node, const struct key_view *view, const struct charge *charge,
                        uint64_t now_ns, struct verdict *verdict)
{
    key_view_show(view, charge, now_ns, verdict);
    add_granted(node, view, charge, now_ns, verdict);
}

static inline void show_refused(struct node *node, const struct key_view *view, const struct charge *charge,
                                uint64_t now_ns, struct verdict *verdict)
{
    const struct bucket level = key_view_level(view, charge, now_ns);
    struct voucher_outlook outlook = {.rest_ns = UINT64_MAX};
    if (!view->stays)
        outlook = voucher_outlook(node, charge, &level, now_ns);
    key_view_show_refused(node, view, charge, outlook.rest_ns, outlook.in_vain, now_ns, verdict);
    add_granted(node, view, charge, now_ns, verdict);
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
    int64_t contest_units; /* what the charge took of the credit in contest.h */
    /* table_changes when the view was taken: the view holds while they are the same */
    uint64_t changes;
    struct key_view view;
};

/* NULL: no budget allows it. */
static inline const struct budget *allowing(const struct node *node, const struct key_view *view,
                                            const struct charge *charge, uint64_t now_ns)
{
    if (key_view_allows(view, charge, view->budget, now_ns))
        return view->budget;
    return is_open(node, charge) && key_view_allows(view, charge, &key_view_whole, now_ns) ? &key_view_whole : NULL;
}

/* The same, or else a voucher for a part of the charge. `take`: a wish for more is noted. */
static inline const struct budget *allowing_or_paying(struct node *node, const struct charge *charge, bool take,
                                                      bool by_vouchers, uint64_t now_ns, struct decision *decision)
{
    const struct budget *budget = allowing(node, &decision->view, charge, now_ns);
    decision->paid = decision->held_ns = 0;
    if (decision->view.stays)
        return NULL;
    if (budget && contest_concerns(node, charge->id))
        decision->held_ns = contest_holds_ns(node, charge, decision->view.bucket, now_ns);
    if (decision->held_ns > 0)
        return NULL;
    if (!budget && take)
        contest_note_refused(node, charge, now_ns);
    if (!budget && by_vouchers) {
        const struct bucket level = key_view_level(&decision->view, charge, now_ns);
        decision->paid = voucher_pays(node, charge, &level, take, now_ns);
    }
    return decision->paid > 0 ? decision->view.budget : budget;
}

/* The verdict of an allowed charge that is to be made gets its figures afterwards. */
static inline void decide(struct node *node, const struct charge *charge, bool take, const struct await *await,
                          uint64_t now_ns, struct decision *decision, struct verdict *verdict)
{
    struct key_view *view = &decision->view;
    enum verdict_reason reason;
    if (is_refused(node, charge, take, &reason)) {
        *verdict = refusal(node, charge->limit, reason);
        if (reason == VERDICT_TOO_LARGE) {
            key_view_look(node, charge, false, now_ns, view);
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
    key_view_look(node, charge, take, now_ns, view);
    assert(view->budget); /* NULL would say that no budget allows it */
    decision->changes = table_changes(node->table, charge->id);
    decision->budget = allowing_or_paying(node, charge, take && !await_is_again(await), true, now_ns, decision);
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
        record_hurry_if_in_outbox(node, view->entry);
    if (decision->outcome == OUTCOME_TAKEN && take)
        verdict->allowed = true; /* other figures are written afterwards */
    else if (decision->outcome != OUTCOME_DENIED)
        show(node, view, charge, now_ns, verdict);
    else
        show_refused(node, view, charge, now_ns, verdict);
    if (decision->held_ns > 0 && verdict->retry_after_ns < decision->held_ns)
        verdict->retry_after_ns = decision->held_ns;
}

/*
 * The tokens that the charge spends itself. Tokens of a voucher were charged when they were granted. Those of a log
 * are the exception: they become own spends, in place of the grant (own_used).
 */
static inline uint64_t spent_of(const struct decision *decision, const struct charge *charge)
{
    return kind_lists(decision->view.limit->kind) ? charge->cost : charge->cost - decision->paid;
}

/* Makes a charge that was allowed a moment ago. False: it is not allowed any more. */
static inline bool charge_one(struct node *node, const struct charge *charge, struct decision *decision,
                              uint64_t now_ns, struct verdict *verdict)
{
    struct key_view *view = &decision->view;
    const struct budget *budget = decision->budget;
    if (decision->changes != table_changes(node->table, charge->id)) {
        key_view_look(node, charge, true, now_ns, view);
        budget = allowing_or_paying(node, charge, true, decision->paid > 0, now_ns, decision);
    }
    bool pays = decision->paid == 0 || voucher_use(node, charge, decision->paid, now_ns, &decision->payment);
    if (!budget || !pays || !can_record(node, view->entry) ||
        !bucket_spend(view->bucket, view->limit, budget, spent_of(decision, charge), now_ns)) {
        if (pays && decision->paid > 0)
            voucher_put_back(node, charge, &decision->payment);
        *verdict = refusal(node, charge->limit, VERDICT_LOG_FULL);
        return false;
    }
    const uint64_t spent = spent_of(decision, charge);
    record_charged(node, view->entry, budget, spent, now_ns);
    decision->contest_units = contest_concerns(node, charge->id) ? contest_take(node, charge, now_ns) : 0;
    if (decision->paid > 0)
        voucher_note_used(node, decision->paid, spent == charge->cost);
    show(node, view, charge, now_ns, verdict);
    return true;
}

/* Takes back a charge that was made just now; no peer was told of it yet. */
static void uncharge(struct node *node, const struct charge *charge, const struct decision *decision,
                     uint64_t now_ns)
{
    struct entry *entry = table_find(node->table, charge->id);
    uint64_t cost = spent_of(decision, charge);
    if (decision->paid > 0) {
        voucher_put_back(node, charge, &decision->payment);
        voucher_note_used(node, 0 - decision->paid, cost == charge->cost);
    }
    contest_put_back(node, charge, decision->contest_units);
    if (!entry || cost == 0)
        return;
    if (voucher_may_be_held(node, charge->id))
        voucher_lack_forget(node, charge->id, now_ns);
    bucket_unspend(&entry->bucket, &node->limits.limit[entry->limit], &node->by_limit.budget[entry->limit], cost);
    if (deferred_has(node, entry))
        deferred_less(entry, cost);
    else if (outbox_has_open(node, entry))
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
                uncharge(node, &charges[k], &decisions[k], now_ns);
        return false;
    }
    return true;
}

/*
 * All charges are made. The tokens of logs are own spends now, so what was granted for them ends. Tokens of other
 * kinds that vouchers paid may be given back here from now on.
 */
static void own_used(struct node *node, const struct charge *charges, size_t count, struct decision *decisions,
                     uint64_t now_ns, struct verdict *verdicts)
{
    for (size_t i = 0; i < count; i++) {
        struct decision *decision = &decisions[i];
        if (decision->outcome != OUTCOME_TAKEN || !verdicts[i].allowed || decision->paid == 0)
            continue;
        if (!kind_lists(decision->view.limit->kind) && voucher_pays_own(node, charges[i].limit))
            voucher_own_used(node, &charges[i], decision->paid, now_ns);
        if (!kind_lists(decision->view.limit->kind))
            continue;
        voucher_tell_used(node, &charges[i], decision->paid, decision->payment.asked_ns);
        key_view_look(node, &charges[i], false, now_ns, &decision->view);
        show(node, &decision->view, &charges[i], now_ns, &verdicts[i]);
    }
}

static bool decide_all(struct node *node, const struct charge *charges, size_t count, bool take,
                       const struct await *await, uint64_t now_ns, struct verdict *verdicts,
                       struct decision *decisions)
{
    bool allowed = true;
    for (size_t i = 0; i < count; i++) {
        decide(node, &charges[i], take, await, now_ns, &decisions[i], &verdicts[i]);
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
        key_view_look(node, &charges[i], false, now_ns, &decisions[i].view);
        show(node, &decisions[i].view, &charges[i], now_ns, &verdicts[i]);
    }
}

/*
 * Counts the refusal by the reason of the charge that decided it. If only the share is too small, the tokens are
 * noted as wanted.
 */
static void count_refusal(struct node *node, const struct charge *charges, size_t count,
                          const struct verdict *verdicts, uint64_t now_ns)
{
    const struct verdict *worst = NULL;
    for (size_t i = 0; i < count; i++)
        if (!charges[i].shadow && !verdicts[i].allowed && (!worst || verdict_decides_before(&verdicts[i], worst)))
            worst = &verdicts[i];
    thread_count_refused(own_thread(node), worst ? worst->reason : VERDICT_LOG_FULL);
    if (!worst || worst->remaining_tokens < charges[worst - verdicts].cost)
        return;
    /* a cost may be too large for the share alone */
    if (worst->reason == VERDICT_SHARE || (worst->reason == VERDICT_TOO_LARGE && !node->awake.somebody_silent))
        wanted_note(node, &charges[worst - verdicts], charges[worst - verdicts].id, now_ns);
}

/* Tokens that a voucher pays and that are not this node's own: those of a bucket of which it has a share. */
static uint64_t granted_of(const struct node *node, const struct charge *charge, const struct decision *decision)
{
    return voucher_pays_own(node, charge->limit) ? 0 : decision->paid;
}

/* noinline: keeps its large frame off the fast path. */
__attribute__((noinline)) bool decide_full(struct node *node, const struct charge *charges, size_t count, bool take,
                                           uint64_t now_ns, struct verdict *verdicts, struct made *made,
                                           struct await *await)
{
    struct decision decisions[CHARGES_MAX];
    assert(count <= CHARGES_MAX);
    bool allowed = decide_all(node, charges, count, take, await, now_ns, verdicts, decisions);
    if (!take)
        return allowed;
    allowed = allowed && charge_all(node, charges, count, decisions, now_ns, verdicts);
    if (allowed)
        own_used(node, charges, count, decisions, now_ns, verdicts);
    else
        describe_untaken(node, charges, count, decisions, now_ns, verdicts);
    if (!allowed && await && await_hold(node, charges, count, now_ns, verdicts, await))
        return false;
    for (size_t i = 0; i < count && made; i++) {
        made[i].is_made = allowed && decisions[i].outcome == OUTCOME_TAKEN && verdicts[i].allowed;
        made[i].granted = made[i].is_made ? granted_of(node, &charges[i], &decisions[i]) : 0;
    }
    if (allowed)
        own_thread(node)->admitted_requests++;
    else
        count_refusal(node, charges, count, verdicts, now_ns);
    return allowed;
}
