/*
 * receive turns the records of a message into batches in the inbox. It maps origins and limits of
 * the message to those of this node, converts ages to times, and drops nonsense with a count. A
 * batch that is next is applied at once, as far as the step has time; apply.c does that.
 */
#include "cluster/apply/receive.h"

#include "base/number.h"
#include "cluster/apply/apply.h"
#include "cluster/apply/inbox.h"
#include "cluster/codec/batch.h"
#include "cluster/codec/message.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/step.h"
#include "limit/kind.h"

int limit_of_terms(struct node *node, const struct limit_terms *terms)
{
    struct error error;
    if ((terms->flags & LIMIT_SPLIT) != 0)
        return -1; /* no peer tells spends of a split limit */
    return node_intern_limit(node, terms, &error);
}

/* A message whose batches are being taken in. */
struct arrival {
    const struct message *message;
    const int *origin_map;
    uint64_t made_ns; /* or later */
    int sender;       /* the member that brought it; below 0: none of the list */
};

/* A batch of a start that goes on and signs, brought by another member than its own: it may be made up. */
static bool is_hearsay(const struct node *node, const struct arrival *arrival, const struct origin *origin)
{
    return (int)origin->member != arrival->sender &&
           origin->incarnation == node->member[origin->member].incarnation &&
           node->member[origin->member].state != PEER_LEFT && member_signs(node, origin->member);
}

/*
 * What other batches hold than their maker has signed is taken from nobody. Batches that somebody else has merged are
 * among them, so their spends come with a snapshot. Nor is a batch older than its maker says: else refill would have
 * paid it off. It may be younger here than it is, by the time on the way, which is the safe side.
 */
static bool is_vouched(struct node *node, const struct origin *origin, struct batch *batch)
{
    uint64_t age_ns;
    if (member_vouches(node, origin->member, batch, &age_ns)) {
        const uint64_t at_ns = number_minus(node->now_ns, age_ns);
        batch->open_ns += number_minus(at_ns, batch->at_ns); /* it was opened when it was */
        batch->at_ns = at_ns > batch->at_ns ? at_ns : batch->at_ns;
        return true;
    }
    node->stats.words_unproven++;
    todo_add_if(&node->todo, DO_SNAPSHOT, batch->first < batch->last);
    return false;
}

/* Grants that their maker has not signed may be made up: what was granted is lost, which is the safe side. */
static void drop_hearsay_grants(const struct node *node, const struct origin *origin, struct batch *batch)
{
    if (batch->grant_count == 0 || member_vouches_grants(node, origin->member, batch))
        return;
    batch->grant_count = 0;
    batch->grants_dropped = true;
    for (uint32_t i = 0; i < batch->spend_count; i++)
        batch->spend[i].granted = batch->spend[i].spare = 0;
}

/*
 * When a number ends that has `live_ns` to live. A message may be older than it looks. So a cell is
 * kept too long rather than too short. A return to a LOG must not be heeded too late, so it is
 * taken to be as old as it can be.
 */
static uint64_t end_of(const struct node *node, const struct arrival *arrival, const struct number_record *number)
{
    if (kind_lists(number->terms.kind))
        return arrival->made_ns > 0 ? arrival->made_ns + number->live_ns : 0;
    return kind_expires(number->terms.kind) ? node->now_ns + number->live_ns : 0;
}

/*
 * The time for which the batch had been open, plus the longest time that it can have been on its
 * way: no spend in it is older.
 */
static uint64_t open_of(const struct node *node, const struct arrival *arrival, const struct batch *batch,
                        const struct batch_record *record)
{
    uint64_t open_ns;
    if (__builtin_add_overflow(record->open_ns, node->now_ns - arrival->made_ns, &open_ns))
        return batch->at_ns;
    return open_ns < batch->at_ns ? open_ns : batch->at_ns;
}

static struct spend *spend_of(const struct batch *batch, struct key_id id)
{
    uint32_t from = 0;
    const struct spend *spend = batch_find_next(batch, &from, id);
    return spend ? &batch->spend[spend - batch->spend] : NULL;
}

/* A spend has no more grants than tokens. A holder that is not known here is none to tell others of. */
static void take_grants(const struct node *node, const struct arrival *arrival, const struct batch_record *record,
                        struct batch *batch)
{
    for (uint32_t i = 0; i < record->grant_count && record->first == record->last && record->parts == 0; i++) {
        const struct grant_record grant = message_grant(record, i);
        struct spend *spend = spend_of(batch, grant.id);
        int holder = arrival->origin_map[grant.holder];
        if (!spend || grant.tokens > spend->tokens - spend->granted || grant.tokens > UINT32_MAX / 2)
            continue;
        spend->granted += (uint32_t)grant.tokens;
        spend->spare += grant.spare;
        if (holder >= 0)
            batch->grant[batch->grant_count++] = (struct batch_grant){.id = grant.id,
                                                                      .holder_uid = node->origin[holder].uid,
                                                                      .spare = grant.spare,
                                                                      .ask = grant.ask,
                                                                      .tokens = grant.tokens};
    }
}

/* The batch of a record: spends under known limits, dependencies on known origins. */
static struct batch *batch_of_record(struct node *node, const struct arrival *arrival,
                                     const struct batch_record *record, uint32_t uid)
{
    const struct message *message = arrival->message;
    struct batch *batch = batch_create_granting(message->origin_count, record->spend_count, record->grant_count);
    if (!batch)
        return NULL;
    struct number_reader reader = {.groups = record->groups};
    struct number_record number;
    batch->spend_count = 0;
    int limit = -1;
    uint32_t group = UINT32_MAX;
    while (number_next(&reader, &number)) {
        if (number.group != group)
            limit = limit_of_terms(node, &number.terms);
        group = number.group;
        if (limit < 0) {
            node->stats.limit_drops++;
            continue;
        }
        batch->spend[batch->spend_count++] = (struct spend){
            .id = number.id,
            .tokens = number.number < SPEND_TOKENS_MAX ? number.number : SPEND_TOKENS_MAX,
            .returned = number.returned < SPEND_TOKENS_MAX ? number.returned : SPEND_TOKENS_MAX,
            .expires_ns = end_of(node, arrival, &number),
            .limit = (uint16_t)limit,
        };
    }
    batch_sort(batch);
    batch->grant_count = 0;
    take_grants(node, arrival, record, batch);
    batch->depend_count = 0;
    for (uint32_t o = 0; o < message->origin_count; o++)
        if (record->depends[o] > 0 && arrival->origin_map[o] >= 0 && o != record->origin)
            batch->depend[batch->depend_count++] =
                (struct depend){node->origin[arrival->origin_map[o]].uid, record->depends[o]};
    batch->origin_uid = uid;
    batch->first = record->first;
    batch->last = record->last;
    batch->merge = record->merge;
    batch->part = record->part;
    batch->parts = record->parts;
    batch->at_ns = number_minus(node->now_ns, record->age_ns);
    batch->open_ns = open_of(node, arrival, batch, record);
    batch->arrived_ns = node->now_ns;
    return batch;
}

/*
 * A merged batch that cannot be applied: the batches that it depends on may have been merged past
 * this node's digest.
 */
static bool is_stuck_merge(const struct node *node, const struct batch *batch, uint32_t slot)
{
    return batch->first < batch->last &&
           (batch->first > node->origin[slot].applied + 1 || !apply_depends_are_met(node, batch));
}

static bool is_applied_part(const struct origin *origin, const struct batch_record *record)
{
    return origin->next_part > 0 && record->merge == origin->merge && record->part < origin->next_part;
}

static void take_record(struct node *node, const struct arrival *arrival, const struct batch_record *record,
                        bool *applied)
{
    int slot = arrival->origin_map[record->origin];
    if (slot < 0 || (uint32_t)slot == node->my_slot || record->last <= node->origin[slot].applied ||
        inbox_has(node, node->origin[slot].uid, record) || is_applied_part(&node->origin[slot], record)) {
        node->stats.batches_duplicate++;
        return;
    }
    const bool hearsay = is_hearsay(node, arrival, &node->origin[slot]);
    if (hearsay && member_speaks_alone(node, node->origin[slot].member)) { /* it sends the batch again */
        node->stats.words_unproven++;
        return;
    }
    if (record->spend_count > OPEN_KEYS_MAX) {
        node->stats.messages_invalid++;
        return;
    }
    struct batch *batch = batch_of_record(node, arrival, record, node->origin[slot].uid);
    if (!batch)
        return;
    if (hearsay && !is_vouched(node, &node->origin[slot], batch)) {
        batch_destroy(&batch);
        return;
    }
    if (hearsay)
        drop_hearsay_grants(node, &node->origin[slot], batch);
    if (is_stuck_merge(node, batch, (uint32_t)slot))
        todo_add(&node->todo, DO_SNAPSHOT);
    step_works(node, batch->spend_count);
    /*
     * A batch that is applied at once needs no room. A dropped batch is sent again by its holders.
     */
    bool next = !todo_has(&node->todo, DO_APPLY) && apply_is_next(node, (uint32_t)slot, batch);
    bool wanted = next || ((batch->parts == 0 || inbox_wants_part(node, batch)) && inbox_make_room(node, batch));
    if (!wanted) {
        node->stats.limit_drops++;
        batch_destroy(&batch);
        return;
    }
    inbox_put(node, batch);
    if (next)
        *applied |= apply_inbox(node);
}

bool receive_batches(struct node *node, const struct message *message, const int *member_map, uint64_t made_ns)
{
    int origin_map[ORIGINS_MAX];
    struct batch_record record;
    bool applied = false;
    for (uint32_t o = 0; o < message->origin_count; o++) {
        int member = member_map[message->origins[o].member];
        origin_map[o] = member < 0 ? -1 : origin_find(node, (uint32_t)member, message->origins[o].incarnation);
    }
    const struct arrival arrival = {.message = message,
                                    .origin_map = origin_map,
                                    .made_ns = made_ns,
                                    .sender = member_map[message->sender]};
    for (uint32_t i = 0; i < message->batch_count; i++) {
        if (!message_batch(message, i, &record)) {
            node->stats.messages_invalid++;
            break;
        }
        take_record(node, &arrival, &record, &applied);
    }
    return apply_inbox(node) || applied;
}
