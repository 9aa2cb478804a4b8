/*
 * report copies the state of a node into the units that people read: peers, figures, status, and
 * the reasons of one decision. It changes nothing. node_validate checks invariants between parts
 * that no single file can check.
 */
#include "base/number.h"
#include "cluster/apply/pages.h"
#include "cluster/codec/batch.h"
#include "cluster/join_waits.h"
#include "cluster/log/tell.h"
#include "cluster/members/clocks.h"
#include "cluster/plane/plane.h"
#include "cluster/spend/decide.h"
#include "cluster/spend/deferred.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/peaks.h"
#include "cluster/state/share.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *config_state_name(enum config_state state)
{
    static const char *const names[] = {"same", "differs", "out", "unheard"};
    return names[state];
}

static uint64_t share_of(const struct node *node, uint32_t index)
{
    const struct member *member = &node->member[index];
    if (member->self)
        return node->sharing.share;
    if (member->state == PEER_LEFT || (member->state == PEER_JOINING && !member->reserved))
        return 0;
    return member_share(node, member);
}

const char *right_state_name(enum right_state state)
{
    static const char *const names[] = {"unlimited", "held", "doubted", "recorded", "taken", "awaited", "lapsed"};
    return names[state];
}

static enum right_state own_right(const struct takeover *takeover)
{
    return takeover->after_ns == 0 ? RIGHT_UNLIMITED
           : !takeover->acted      ? RIGHT_AWAITED
           : takeover->lapsed      ? RIGHT_LAPSED
                                   : RIGHT_HELD;
}

static enum right_state right_of(const struct node *node, uint32_t index)
{
    const struct takeover *takeover = &node->takeover;
    const struct takeover_peer *peer = &takeover->peer[index];
    if (takeover->after_ns == 0 || index == node->me)
        return own_right(takeover);
    return peer->taken                     ? RIGHT_TAKEN
           : peer->recorded                ? RIGHT_RECORDED
           : peer->owed                    ? RIGHT_AWAITED
           : peer->saying == SAYS_DISOWNED ? RIGHT_DOUBTED
                                           : RIGHT_HELD;
}

const char *key_state_name(enum key_state state)
{
    static const char *const names[] = {"none", "pinned", "new", "differs", "missing"};
    return names[state];
}

const uint8_t *node_key(const struct node *node)
{
    return node->options.signing.sign ? node->options.signing.key : NULL;
}

bool node_key_follows(const struct node *node)
{
    return node->options.signing.handover.is_there;
}

static void report_key(const struct member *member, struct peer_report *report)
{
    const struct member_proof *proof = &member->proof;
    report->key_state = proof->differs      ? KEY_DIFFERS
                        : proof->is_missing ? KEY_MISSING
                        : !proof->has_key   ? KEY_NONE
                        : proof->is_new     ? KEY_NEW
                                            : KEY_PINNED;
    report->lacks_our_key = proof->has_key && !proof->knows_ours && !member->self && member_needed(member);
    memcpy(report->key, proof->key, NODE_KEY_BYTES);
    memcpy(report->offered_key, proof->offered, NODE_KEY_BYTES);
}

static void report_peer(const struct node *node, uint32_t index, uint64_t now_ns, struct peer_report *report)
{
    const struct member *member = &node->member[index];
    memset(report, 0, sizeof *report);
    (void)snprintf(report->name, sizeof report->name, "%s", member->name);
    (void)snprintf(report->region, sizeof report->region, "%s", member->region);
    (void)snprintf(report->gossip_address, sizeof report->gossip_address, "%s", member->gossip_address);
    report->self = member->self;
    report->forgotten = member->forgotten;
    report->passed_over =
        node->life.state == PEER_JOINING && member_needed(member) && member_is_passed_over(member);
    report->state = !member->self ? member->state : node->life.superseded ? PEER_LEFT : node->life.state;
    if (member_needed(member) && member->silent)
        report->state = PEER_SILENT;
    report->config_differs = member->self ? node->accord.told_out : member->config_differs;
    report->decides = member->self ? may_decide(node) : member->state == PEER_ACTIVE && !member->refuses;
    report->right = right_of(node, index);
    report->incarnation = member->self ? node->life.incarnation : member->incarnation;
    report->share = share_of(node, index);
    report->heard_ago_ns = member->self ? 0 : UINT64_MAX;
    if (member->heard_ns)
        report->heard_ago_ns = number_minus(now_ns, member->heard_ns);
    report->round_trip_ns = member->round_trip_ns;
    report->traffic = member->traffic;
    clocks_report(node, member, report);
    report_key(member, report);
    /* What it has heard of: while another peer is silent, nobody's word lets spends settle. */
    const uint64_t own = node->origin[node->my_slot].applied, heard = member->known[node->my_slot];
    if (member_needed(member) && heard < own)
        report->lag_batches = own - heard;
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        if (node->origin[slot].uid && node->origin[slot].member == index)
            report->log_batches += node->origin[slot].log_count;
}

size_t node_peers(const struct node *node, uint64_t now_ns, struct peer_report reports[NODE_PEERS_MAX])
{
    size_t count = 0;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].used)
            report_peer(node, i, now_ns, &reports[count++]);
    return count;
}

/* The batches that needed members have of an origin and that are not applied here. */
static uint64_t missing_batches(const struct node *node, uint32_t slot)
{
    uint64_t most = node->origin[slot].applied;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (member_needed(&node->member[i]) && node->member[i].known[slot] > most)
            most = node->member[i].known[slot];
    return most - node->origin[slot].applied;
}

void node_stats(const struct node *node, struct node_stats *stats)
{
    *stats = node->stats;
    stats->batches_waiting = node->inbox.count;
    stats->uncharged_keys = node->uncharged.count;
    stats->log_keys = node->log.keys;
    stats->open_keys = outbox_count(node);
    stats->open_reservations = node->reserving.pool ? reservations_count(node->reserving.pool) : 0;
    stats->former_reservations = node->reserving.pool ? reservations_former_count(node->reserving.pool) : 0;
    stats->refunds_forgotten = node->refundable.forgotten_count;
    for (uint32_t i = 0; i < node->thread_count; i++) {
        const struct thread_state *thread = &node->thread[i];
        stats->admitted_requests += thread->admitted_requests;
        stats->refused_requests += thread->refused_requests;
        stats->admitted_tokens += thread->admitted_tokens;
        stats->returned_tokens += thread->returned_tokens;
        stats->limit_drops += thread->limit_drops;
        stats->rights_used_tokens += thread->rights_used_tokens;
    }
    stats->open_oldest_ms = outbox_age_ns(node) / 1000000;
    stats->log_batches = stats->log_ghost_keys = stats->batches_missing = 0;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        stats->log_batches += origin->log_count;
        stats->batches_missing += origin->uid ? missing_batches(node, slot) : 0;
        stats->log_ghost_keys += origin->uid && origin_is_ghost(node, origin) ? origin->log_keys : 0;
    }
    stats->settle_ns = node->log.settle_ns;
    stats->members_unsigned = stats->members_refused = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        stats->members_unsigned += member_needed(member) && !member->proof.has_key;
        stats->members_refused +=
            member->used && !member->forgotten && (member->proof.differs || member->proof.is_missing);
    }
    stats->clock_held_ppm = node->clocks.held_ppm;
    stats->worst_debt_tokens = 0;
    for (uint32_t i = 0; i < node->limits.count; i++) {
        if (!limit_set_has(&node->limits, i))
            continue;
        uint64_t debt = node_worst_debt_tokens(node, (uint16_t)i);
        if (debt > stats->worst_debt_tokens)
            stats->worst_debt_tokens = debt;
    }
}

void node_refusals(const struct node *node, uint64_t counts[VERDICT_REASON_COUNT])
{
    for (unsigned reason = 0; reason < VERDICT_REASON_COUNT; reason++) {
        counts[reason] = 0;
        for (uint32_t i = 0; i < node->thread_count; i++)
            counts[reason] += node->thread[i].refused[reason];
    }
}

void node_visit_memory(struct node *node, void (*visit)(void *context, void *memory, size_t bytes), void *context)
{
    size_t bytes;
    void *memory = table_memory(node->table, &bytes);
    visit(context, memory, bytes);
    visit(context, node->outbox.spend, (size_t)node->outbox.room * node->thread_count * sizeof *node->outbox.spend);
    memory = peaks_memory(&node->peaks, &bytes);
    visit(context, memory, bytes);
    memory = others_spent_memory(&node->others_spent, &bytes);
    visit(context, memory, bytes);
}

uint64_t node_doubted_tokens(const struct node *node, uint16_t limit)
{
    return node->by_limit.doubted_tokens[limit];
}

uint64_t node_worst_debt_tokens(const struct node *node, uint16_t limit)
{
    int64_t per_token = node->limits.limit[limit].units_per_token;
    return (uint64_t)((node->by_limit.worst_debt_units[limit] + per_token - 1) / per_token);
}

void node_table_stats(const struct node *node, struct table_stats *stats)
{
    table_stats(node->table, stats);
}

void node_status(const struct node *node, struct node_status *status)
{
    bool known = false;
    memset(status, 0, sizeof *status);
    status->state = node->life.superseded ? PEER_LEFT : node->life.state;
    status->decides = status->state == PEER_ACTIVE && may_decide(node);
    status->config_digest = node->options.config_digest;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member->self && !member_needed(member))
            continue;
        status->peers++;
        status->reachable_peers += member->self || (member->heard_ns && !member->silent);
        status->config_differs |= member->config_differs;
        known |= !member->self && member->config != 0;
    }
    status->config_state = node->accord.told_out         ? CONFIG_OUT
                           : status->config_differs      ? CONFIG_DIFFERS
                           : known || status->peers == 1 ? CONFIG_SAME
                                                         : CONFIG_UNHEARD;
    status->share = node->sharing.share;
    status->right = own_right(&node->takeover);
    status->right_ends_ns = node->takeover.right_ends_ns;
    status->gone_share = node->takeover.owed_weight;
}

void node_waits_for(const struct node *node, char text[NODE_NOTICE_BYTES])
{
    join_waits_for(node, text, NODE_NOTICE_BYTES);
}

/*
 * The tokens that others may have spent of one key without this node's knowledge: see
 * docs/accounting.md.
 */
static double in_flight_tokens(const struct node *node, double capacity_tokens)
{
    double sum = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member_needed(member))
            continue;
        double unheard_s = ((double)node->options.interval_ns + (double)member->round_trip_ns / 2) / 1e9;
        double tokens =
            member->silent || !member->heard_ns ? capacity_tokens : member->demand_tokens_per_s * unheard_s;
        sum += tokens < capacity_tokens ? tokens : capacity_tokens;
    }
    return sum;
}

void node_explain(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns, struct explanation *out)
{
    assert(limit_set_has(&node->limits, limit));
    const struct limit *of = &node->limits.limit[limit];
    const struct entry *entry = table_find(node->table, id);
    struct bucket bucket = node_bucket(node, id, limit, now_ns);
    double per_token = (double)of->units_per_token;
    memset(out, 0, sizeof *out);
    out->settled_tokens = (double)bucket.settled / per_token;
    out->unsettled_tokens = (double)bucket.unsettled / per_token;
    out->allowance_tokens = (double)bucket_allowance(&bucket, &node->by_limit.budget[limit]) / per_token;
    out->share = (double)node->by_limit.budget[limit].share / (double)SHARE_ONE;
    out->overshoot_tokens = of->overshoot;
    out->voucher_tokens = voucher_tokens(node, id, limit, decide_time_ns(node, now_ns));
    out->in_flight_bound_tokens = in_flight_tokens(node, (double)of->capacity);
    int64_t waiting_units = soon_paid_units(node, of, SHARE_ONE - node->by_limit.budget[limit].share);
    if (waiting_units > 0)
        out->in_flight_bound_tokens += (double)waiting_units / per_token;
    out->overshoot_bound_tokens =
        out->in_flight_bound_tokens < (double)of->overshoot ? out->in_flight_bound_tokens : (double)of->overshoot;
    out->worst_debt_tokens = (double)node->by_limit.worst_debt_units[limit] / per_token;
    out->tracked = entry && !bucket_is_full(&bucket, of);
    if (entry && entry->last_spender > 0 && node->member[entry->last_spender - 1].used)
        (void)snprintf(out->last_spender, sizeof out->last_spender, "%s",
                       node->member[entry->last_spender - 1].name);
}

static void check_origin(const struct origin *origin)
{
    uint64_t keys = 0, first = 0, last = 0;
    uint32_t batches = 0, credited = 0;
    LIST_EACH(const struct batch, batch, &origin->log, link) {
        struct list *before = batch->link.previous;
        assert(batch->origin_uid == origin->uid);
        bool begun = batch->merge != 0 && batch->merge == origin->merge;
        if (before == &origin->log || !batch_is_beside(batch, LIST_OWNER(before, const struct batch, link)))
            assert((batch->first > first || begun) && batch->last > last);
        assert(batch->first <= batch->last && (batch->last <= origin->applied || begun));
        assert(batch->spend_count <= OPEN_KEYS_MAX && batch->part < (batch->parts > 0 ? batch->parts : 1));
        first = batch->first;
        last = batch->last;
        keys += batch->spend_count;
        batches++;
        credited += batch->credited;
    }
    assert(keys == origin->log_keys && batches == origin->log_count && credited == origin->credited_count);
}

void node_validate(const struct node *node)
{
    uint64_t log_keys = 0;
    uint32_t waiting = 0, selves = 0;
    plane_check(node);
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        if (!node->origin[slot].uid)
            continue;
        check_origin(&node->origin[slot]);
        log_keys += node->origin[slot].log_keys;
    }
    assert(log_keys == node->log.keys);
    bool begun_waits = node->inbox.begun.batch == NULL;
    LIST_EACH(const struct batch, batch, &node->inbox.list, link) {
        begun_waits |= node->inbox.begun.batch && batch == node->inbox.begun.batch;
        waiting++;
    }
    assert(begun_waits && waiting == node->inbox.count && node->inbox.parts <= waiting);
    /* One more each: a batch that was next when it arrived and waits for time. */
    assert(node->inbox.parts <= INBOX_PARTS_MAX + 1 && waiting - node->inbox.parts <= INBOX_BATCHES_MAX + 1);
    assert(node->batch_max <= OPEN_KEYS_MAX && node->batch_max <= node->step.keys);
    outbox_check(node);
    pages_check(node);
    deferred_check(node);
    for (uint32_t i = node->member_end; i < NODE_PEERS_MAX; i++)
        assert(!node->member[i].used);
    for (uint32_t slot = node->origin_end; slot < ORIGINS_MAX; slot++)
        assert(!node->origin[slot].uid);
    for (uint32_t i = 0; i < node->member_end; i++)
        selves += node->member[i].used && node->member[i].self;
    assert(selves == (node->now_ns > 0 && node->last_uid > 0 ? 1u : 0u));
    for (uint32_t i = 0; i < node->limits.count; i++)
        assert(node->by_limit.budget[i].share <= SHARE_ONE);
    assert(node->snapshot.page_count <= PAGES_MAX);
    if (node->reserving.pool)
        reservations_check(node->reserving.pool);
    table_check(node->table);
}

struct bucket node_bucket(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns)
{
    struct entry *entry = table_find(node->table, id);
    now_ns = decide_time_ns(node, now_ns);
    if (entry && entry->limit == limit) {
        bucket_refill(&entry->bucket, &node->limits.limit[limit], &node->by_limit.budget[limit], now_ns);
        return entry->bucket;
    }
    struct bucket bucket;
    table_start(node->table, id, limit, UINT64_MAX, now_ns, &bucket);
    bucket_refill(&bucket, &node->limits.limit[limit], &node->by_limit.budget[limit], now_ns);
    return bucket;
}
