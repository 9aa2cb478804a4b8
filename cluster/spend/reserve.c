/*
 * reserve opens, commits, renews, cancels and ends reservations. The tokens of a reservation are
 * spent like any others and are then held: only the reservation can give them back. A commit gives
 * back unused tokens, an end without a commit all of them. Steps end reservations whose time is
 * over. A caller that ends or renews a reservation has all its keys locked, so no other thread does
 * that at the same time. The pool of reservations has a lock of its own, held for no longer than
 * one look-up or change. return.c gives tokens back.
 */
#include "cluster/spend/reserve.h"

#include "base/number.h"
#include "cluster/spend/decide.h"
#include "cluster/spend/decide_full.h"
#include "cluster/spend/hold.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/renewal.h"
#include "cluster/spend/reserve_kept.h"
#include "cluster/spend/return.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "cluster/state/step.h"
#include "limit/kind.h"

#include <string.h>

/*
 * A secret that no client can hint: a hash of this start's number, a count and random bits, under
 * the cluster's key.
 */
static struct key_id secret_of(struct node *node)
{
    const uint64_t text[3] = {node->options.incarnation, ++node->reserving.made_count, random_u64(&node->random)};
    return hash_128(&node->options.hash_key, text, sizeof text);
}

/* Spends of a LOG end by themselves, so a reservation does not hold them for longer. */
static uint64_t end_ns(const struct node *node, struct charge *held, size_t count, uint64_t ttl_ns, uint64_t now_ns)
{
    uint64_t end = number_sum(now_ns, ttl_ns);
    for (size_t i = 0; i < count; i++) {
        const struct limit *limit = &node->limits.limit[held[i].limit];
        if (!kind_lists(limit->kind))
            continue;
        held[i].expires_ns = number_sum(now_ns, limit->period_ns);
        end = held[i].expires_ns < end ? held[i].expires_ns : end;
    }
    return end;
}

/* From here on only the reservation gives these tokens back. */
static void hold(struct node *node, struct charge *held, size_t count, uint64_t ends_ns, uint64_t now_ns)
{
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = table_find(node->table, held[i].id);
        const struct limit *limit = &node->limits.limit[held[i].limit];
        if (entry && entry->limit == held[i].limit && held[i].cost > 0)
            held[i].spent_ns =
                kind_refills(limit->kind) ? now_ns : bucket_hold(&entry->bucket, limit, held[i].cost, ends_ns);
    }
}

/* Held tokens of a LOG come back when the reservation ends: its verdicts were made before they were held. */
static void show_ends(const struct node *node, const struct charge *charges, size_t count, const struct made *made,
                      uint64_t now_ns, struct verdict *verdicts)
{
    for (size_t i = 0; i < count; i++) {
        const struct limit *limit = &node->limits.limit[charges[i].limit];
        const struct entry *entry =
            kind_lists(limit->kind) && made[i].is_made ? table_find(node->table, charges[i].id) : NULL;
        if (entry && entry->limit == charges[i].limit)
            verdicts[i].reset_after_ns = bucket_reset_after_ns(&entry->bucket, limit, now_ns, 0);
    }
}

/* The loop may sleep for longer than that: asks for a step. */
static void wake_by(struct node *node, uint64_t ends_ns)
{
    if (ends_ns < node->awake.wake_ns)
        own_thread(node)->step_wanted = true;
}

static struct reservation_owner owner_of(const struct charge *charges, size_t count, const struct hold *asked)
{
    return (struct reservation_owner){.tenant = count > 0 ? charges[0].tenant : 0, .holder = asked->holder};
}

static bool open_reservation(struct node *node, const struct charge *held, size_t count, uint64_t expires_ns,
                             struct hold *asked)
{
    const struct reservation_owner owner = owner_of(held, count, asked);
    reserving_lock(node);
    bool opened = node->reserving.pool && reservations_open(node->reserving.pool, held, count, owner,
                                                            secret_of(node), expires_ns, &asked->id);
    reserving_unlock(node);
    return opened;
}

static enum reservations_room room_for(struct node *node, const struct charge *charges, size_t count,
                                       const struct hold *asked)
{
    if (!node->reserving.pool)
        return RESERVATIONS_FULL;
    reserving_lock(node);
    enum reservations_room room = reservations_room(node->reserving.pool, owner_of(charges, count, asked));
    reserving_unlock(node);
    return room;
}

static bool reserve_held(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
                         struct verdict *verdicts, struct hold *asked, struct await *await)
{
    struct charge held[CHARGES_MAX];
    struct made made[CHARGES_MAX];
    size_t held_count = 0;
    if (!decide_full(node, charges, count, true, now_ns, verdicts, made, await))
        return false;
    for (size_t i = 0; i < count; i++)
        if (made[i].is_made) {
            held[held_count] = charges[i];
            held[held_count++].granted = made[i].granted;
        }
    uint64_t expires_ns = end_ns(node, held, held_count, asked->ttl_ns, now_ns);
    hold(node, held, held_count, expires_ns, now_ns);
    show_ends(node, charges, count, made, now_ns, verdicts);
    if (open_reservation(node, held, held_count, expires_ns, asked)) {
        renewal_opened(node, asked->id, held, held_count);
        wake_by(node, expires_ns);
        return true;
    }
    /* There is no room for so many charges, or another thread took the last room. */
    return_held(node, held, held_count, now_ns);
    own_thread(node)->admitted_requests--;
    thread_count_refused(own_thread(node), VERDICT_LOG_FULL);
    asked->room = RESERVATIONS_FULL;
    return false;
}

bool reserve_decide(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
                    struct verdict *verdicts, struct hold *asked, struct await *await)
{
    struct table_held keys;
    decide_lock_keys(node, charges, count, &keys);
    asked->room = room_for(node, charges, count, asked);
    bool reserved =
        asked->room == RESERVATIONS_ROOM && reserve_held(node, charges, count, now_ns, verdicts, asked, await);
    table_unlock(node->table, &keys);
    for (size_t i = 0; i < count && asked->room != RESERVATIONS_ROOM; i++)
        verdicts[i] = (struct verdict){.reason = VERDICT_LOG_FULL, .retry_after_ns = node->options.interval_ns};
    return reserved;
}

/*
 * Takes as much of `tokens` as the limit allows. In a sliding window that has passed it takes
 * nothing: the weight of a window's spends never rises, and a late spend would count in the next
 * window without a decision there.
 */
static uint64_t take_more(struct node *node, struct charge charge, uint64_t tokens, uint64_t now_ns)
{
    struct verdict verdict;
    if (charge.sliding && now_ns >= charge.window_end_ns)
        return 0;
    charge.cost = 0;
    charge.floor_tokens = 0;
    (void)decide_full(node, &charge, 1, false, now_ns, &verdict, NULL, NULL);
    charge.cost = tokens < verdict.available_tokens ? tokens : verdict.available_tokens;
    return charge.cost > 0 && decide_full(node, &charge, 1, true, now_ns, &verdict, NULL, NULL) ? charge.cost : 0;
}

/*
 * A return must be told: a return that cannot be told now is made later. Nothing is given back while keys do not lack
 * yet what reservations of the former process hold.
 */
static bool may_record(const struct node *node)
{
    return (node->sharing.alone || (!node->log.full && outbox_has_room(node, CHARGES_MAX))) &&
           reservations_former_count(node->reserving.pool) == 0;
}

/* An existing reservation: its charges, whose keys are locked. */
struct found {
    bool is_former; /* and not taken over */
    size_t count;
    struct charge held[CHARGES_MAX];
    struct renewal *renewal;
    struct table_held keys;
};

static bool look_up(struct node *node, struct reservation_id id, uint64_t now_ns, struct found *found)
{
    reserving_lock(node);
    bool exists = node->reserving.pool && reservations_has(node->reserving.pool, id, now_ns);
    found->count = exists ? reservations_charges(node->reserving.pool, id, found->held) : 0;
    found->renewal = exists ? reservations_renewal(node->reserving.pool, id) : NULL;
    found->is_former = exists && reservations_is_former(node->reserving.pool, id);
    reserving_unlock(node);
    return exists;
}

/*
 * RESERVE_DONE: the keys are locked. Which ones is known only after a look-up, and the reservation may end before they
 * are locked. So it is looked up twice. It ends by the clock, also where tokens are counted as of the end of this
 * node's right (decide_time_ns).
 */
static enum reserve_status find(struct node *node, struct reservation_id id, uint64_t now_ns, struct found *found)
{
    now_ns = now_ns > node->now_ns ? now_ns : node->now_ns;
    if (!look_up(node, id, now_ns, found))
        return RESERVE_UNKNOWN;
    if (found->is_former) /* steps take it over */
        return RESERVE_LATER;
    decide_lock_keys(node, found->held, found->count, &found->keys);
    if (look_up(node, id, now_ns, found))
        return RESERVE_DONE;
    table_unlock(node->table, &found->keys);
    return RESERVE_UNKNOWN;
}

static void renew(struct node *node, struct reservation_id id, const struct charge *charges, uint64_t expires_ns)
{
    reserving_lock(node);
    reservations_renew(node->reserving.pool, id, charges, expires_ns);
    reserving_unlock(node);
}

static uint64_t end_of(struct node *node, struct reservation_id id)
{
    reserving_lock(node);
    uint64_t expires_ns = reservations_end_ns(node->reserving.pool, id);
    reserving_unlock(node);
    return expires_ns;
}

/* Returns how many keys the reservation held. */
static size_t end_reservation(struct node *node, struct reservation_id id, uint64_t now_ns)
{
    struct charge held[CHARGES_MAX];
    reserving_lock(node);
    size_t count = reservations_charges(node->reserving.pool, id, held);
    (void)renewal_confirm(node, held, count, reservations_renewal(node->reserving.pool, id), now_ns);
    reservations_close(node->reserving.pool, id);
    reserving_unlock(node);
    return_held(node, held, count, now_ns);
    return count;
}

/*
 * Returns the rest, which is in `rest`, now, or in a later step if the return cannot be told now.
 */
static void end_soon(struct node *node, struct reservation_id id, const struct charge *rest, uint64_t now_ns)
{
    renew(node, id, rest, now_ns);
    if (may_record(node))
        (void)end_reservation(node, id, now_ns);
}

void reserve_let_go(struct node *node, const struct charge *held, uint64_t tokens)
{
    struct entry *entry = table_find(node->table, held->id);
    if (entry)
        (void)bucket_unhold(&entry->bucket, &node->limits.limit[entry->limit], tokens, held->spent_ns);
}

/*
 * Leaves in `held` the tokens to return of one charge, and takes tokens used beyond the reserved
 * cost. Returns the tokens charged.
 */
static uint64_t commit_one(struct node *node, struct charge *held, uint64_t actual, uint64_t now_ns)
{
    const uint64_t cost = held->cost, own = cost - held->granted;
    if (held->lease)
        return actual;
    held->cost = actual < cost ? cost - actual : 0;
    held->granted = held->cost - number_least(held->cost, own); /* what was granted is used first */
    reserve_let_go(node, held, cost - held->cost);
    return actual > cost ? cost + take_more(node, *held, actual - cost, now_ns) : actual;
}

/* NULL: nobody has said what was used of what the charge counts. */
static struct used_cost *cost_of(const struct charge *held, struct used_cost *costs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (costs[i].counts == held->counts)
            return &costs[i];
    return NULL;
}

/* The least that any of the charges took of what the cost counts. */
static uint64_t least_charged(const struct found *found, const uint64_t *tokens, const struct used_cost *cost)
{
    struct least_tokens least = least_tokens_of_none();
    for (size_t i = 0; i < found->count; i++)
        if (found->held[i].counts == cost->counts)
            least_tokens_note(&least, &found->held[i], tokens[i]);
    return number_least(cost->tokens, least_tokens(&least));
}

enum reserve_status node_commit(struct node *node, struct reservation_id id, struct used_cost *costs, size_t count,
                                uint64_t now_ns)
{
    struct found found;
    for (size_t i = 0; i < count; i++)
        costs[i].charged = costs[i].tokens;
    const enum reserve_status status = find(node, id, now_ns, &found);
    if (status != RESERVE_DONE)
        return status;
    now_ns = decide_time_ns(node, now_ns);
    uint64_t tokens[CHARGES_MAX];
    for (size_t i = 0; i < found.count; i++) {
        const struct used_cost *cost = cost_of(&found.held[i], costs, count);
        tokens[i] = commit_one(node, &found.held[i], cost ? cost->tokens : found.held[i].cost, now_ns);
    }
    for (size_t i = 0; i < count; i++)
        costs[i].charged = least_charged(&found, tokens, &costs[i]);
    end_soon(node, id, found.held, now_ns);
    table_unlock(node->table, &found.keys);
    return RESERVE_DONE;
}

enum reserve_status node_cancel(struct node *node, struct reservation_id id, uint64_t now_ns)
{
    struct found found;
    const enum reserve_status status = find(node, id, now_ns, &found);
    if (status != RESERVE_DONE)
        return status;
    now_ns = decide_time_ns(node, now_ns);
    end_soon(node, id, found.held, now_ns);
    table_unlock(node->table, &found.keys);
    return RESERVE_DONE;
}

enum reserve_status node_renew(struct node *node, struct reservation_id id, uint64_t ttl_ns, uint64_t now_ns)
{
    struct found found;
    bool held = true;
    const enum reserve_status status = find(node, id, now_ns, &found);
    if (status != RESERVE_DONE)
        return status;
    now_ns = decide_time_ns(node, now_ns);
    struct charge anew[CHARGES_MAX];
    memcpy(anew, found.held, found.count * sizeof *anew);
    uint64_t expires_ns = end_ns(node, anew, found.count, ttl_ns, now_ns);
    renewal_go_on(node, id, found.held, found.count, found.renewal, now_ns);
    for (size_t i = 0; i < found.count && held; i++) {
        struct charge *charge = &found.held[i];
        const bool elsewhere = renewal_is_elsewhere(node, charge);
        if (!kind_lists(node->limits.limit[charge->limit].kind))
            continue;
        held = elsewhere ? expires_ns <= charge->expires_ns : hold_anew(node, charge, expires_ns, now_ns);
        charge->expires_ns = held && !elsewhere ? anew[i].expires_ns : charge->expires_ns;
    }
    expires_ns = held ? expires_ns : end_of(node, id);
    renew(node, id, found.held, expires_ns);
    wake_by(node, expires_ns);
    table_unlock(node->table, &found.keys);
    return held ? RESERVE_DONE : RESERVE_REFUSED;
}

uint64_t reserved_tokens(struct node *node, struct key_id id)
{
    reserving_lock(node);
    uint64_t tokens = node->reserving.pool ? reservations_held(node->reserving.pool, id) : 0;
    reserving_unlock(node);
    return tokens;
}

static bool one_has_ended(const struct node *node, struct reservation_id *id)
{
    return node->reserving.pool && may_record(node) && reservations_ended(node->reserving.pool, node->now_ns, id);
}

/* Ends at least one reservation, however busy steps are. */
void reserve_step(struct node *node)
{
    struct reservation_id id;
    reserve_take_over(node);
    for (bool first = true; one_has_ended(node, &id) && (step_has_time(node, 1) || first); first = false)
        step_works(node, 1 + end_reservation(node, id, node->now_ns));
}

uint64_t reserve_next_ns(const struct node *node)
{
    if (reserve_takes_over(node))
        return node->now_ns;
    return node->reserving.pool && may_record(node) ? reservations_next_ns(node->reserving.pool) : UINT64_MAX;
}
