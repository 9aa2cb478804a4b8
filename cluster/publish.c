/*
 * publish makes the message to all peers. It carries the header (members, digests), new own
 * batches, and batches of any origin that some member is known to lack for longer than a resend
 * time. Small batches ride along in case an earlier message was lost. One of the peers that can
 * pass on a batch of another origin does so. A message is bounded in bytes and in the work of its
 * reader. This file does not close batches: log/tell.c does.
 */
#include "cluster/publish.h"

#include "cluster/codec/batch.h"
#include "cluster/codec/message.h"
#include "cluster/log/tell.h"
#include "cluster/members/header.h"
#include "cluster/spend/contest_words.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/step.h"

#include <string.h>

enum {
    ANSWERS_PER_INTERVAL = 32, /* acknowledgements wait for each other this part of an interval */
    /* in clusters of no more peers than this: see publish_set_gaps */
    ANSWERS_PEERS = 5,
    ANSWERS_PER_TRIP = 4,   /* or this part of a round trip, if that is longer */
    RESEND_BACKOFF_MAX = 5, /* doublings */
    RELAY_FALLBACK = 4,     /* after so many resend times every peer may pass a batch on */
    SPARE_BATCH_BYTES = 64, /* the size of a batch without its keys, about */
    SPARE_BYTES = 4096,     /* of batches in each message in case an earlier copy was lost */
    WORDS_PART = 4,         /* of all asks in a message: so many may be words of contest_words.h */
    /* work sent again to a member that does not answer: as much as so many steps take */
    WINDOW_STEPS = 8,
};

static uint64_t resend_after_ns(const struct node *node, const struct member *member, uint32_t sends_count)
{
    uint64_t wait_ns = member->round_trip_ns ? member->round_trip_ns + 4 * member->round_trip_spread_ns
                                             : node->options.interval_ns;
    uint64_t least_ns = node->options.interval_ns / 8;
    uint32_t doublings = sends_count > 1 ? sends_count - 1 : 0;
    if (wait_ns < least_ns)
        wait_ns = least_ns;
    return wait_ns << (doublings < RESEND_BACKOFF_MAX ? doublings : RESEND_BACKOFF_MAX);
}

/*
 * True if this node is the first by name among the peers that have the batch and that the lacking
 * member hears.
 */
static bool we_pass_it_on(const struct node *node, uint32_t slot, const struct batch *batch,
                          const struct member *lacking)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member_needed(member) || member == lacking || member->silent || member->known[slot] < batch->last)
            continue;
        if (i != node->origin[slot].member && member_hears(node, lacking, i) &&
            strcmp(member->name, node->options.name) < 0)
            return false;
    }
    return member_hears(node, lacking, node->me);
}

/* True if `member`, which lacks the batch, needs it from this node now. */
static bool due_for(const struct node *node, uint32_t slot, const struct batch *batch, const struct member *member)
{
    const struct origin *origin = &node->origin[slot];
    uint64_t wait_ns = resend_after_ns(node, member, batch->sends_count);
    uint64_t since_ns = node->now_ns - (batch->sent_ns ? batch->sent_ns : batch->arrived_ns);
    if (slot == node->my_slot)
        return batch->sends_count == 0 || since_ns >= wait_ns;
    bool from_origin = !origin_is_ghost(node, origin) && member_hears(node, member, origin->member);
    if (from_origin)
        return since_ns >= RELAY_FALLBACK * wait_ns;
    if (we_pass_it_on(node, slot, batch, member))
        return batch->sends_count == 0 || since_ns >= wait_ns;
    return since_ns >= RELAY_FALLBACK * wait_ns;
}

enum dueness { NOT_LACKED, LACKED, DUE };

/*
 * The batches of one log that each lacking member was sent again, or is sent now. Beyond the window
 * they wait until the member answers: more would only make a slow member slower. All parts of a
 * merge are in one window, since one part is useless without the others.
 */
struct window {
    uint64_t keys[NODE_PEERS_MAX];
    uint64_t merge[NODE_PEERS_MAX]; /* the merge of the last part in the window; 0: no part */
};

static bool is_new(const struct node *node, uint32_t slot, const struct batch *batch)
{
    return slot == node->my_slot && batch->sends_count == 0;
}

/* True if that member can be sent batches of that origin. */
static bool is_told(const struct node *node, uint32_t index, uint32_t slot)
{
    const struct member *member = &node->member[index];
    return member_needed(member) && !member->silent && member->number > 0 && index != node->origin[slot].member;
}

static bool window_has_room(const struct node *node, const struct window *window, uint32_t index,
                            const struct batch *batch)
{
    return window->keys[index] < (uint64_t)WINDOW_STEPS * node->step.keys ||
           (batch->parts > 0 && window->merge[index] == batch->merge);
}

/* A batch that was sent again stays in the window until the member has it. */
static enum dueness dueness_of(const struct node *node, uint32_t slot, const struct batch *batch,
                               struct window *window)
{
    bool again = batch->sends_count > (slot == node->my_slot);
    enum dueness dueness = is_new(node, slot, batch) ? DUE : NOT_LACKED;
    for (uint32_t i = 0; i < node->member_end; i++) {
        if (!is_told(node, i, slot) || !member_lacks(&node->member[i], slot, batch->last))
            continue;
        bool has_room = window_has_room(node, window, i, batch);
        bool due = due_for(node, slot, batch, &node->member[i]) && has_room;
        if (has_room && (again || due) && !is_new(node, slot, batch)) {
            window->keys[i] += batch->spend_count;
            window->merge[i] = batch->merge;
        }
        dueness = due || dueness == DUE ? DUE : LACKED;
    }
    return dueness;
}

/* All members that can be sent batches of that origin have them up to this number. */
static uint64_t everybody_has(const struct node *node, uint32_t slot)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (is_told(node, i, slot) && member_lacks(&node->member[i], slot, least))
            least = node->member[i].known[slot];
    return least;
}

static size_t spare_cost_bytes(const struct batch *batch)
{
    return SPARE_BATCH_BYTES + (size_t)batch->spend_count * sizeof(struct key_id);
}

/*
 * Collects the batches to send now: own ones first, the oldest of each origin first. A message
 * costs the same empty or with a few KiB, so small batches that a member may lack ride along: a
 * lost message then costs no round trip. Large batches are sent again only when they are overdue.
 */
static uint32_t collect_due(struct node *node, struct due *due, uint32_t room)
{
    uint32_t count = 0;
    size_t spare_bytes = SPARE_BYTES;
    for (uint32_t i = 0; i < node->origin_end; i++) {
        uint32_t slot = (node->my_slot + i) % node->origin_end;
        struct origin *origin = &node->origin[slot];
        if (!origin->uid || list_empty(&origin->log))
            continue;
        uint64_t known = everybody_has(node, slot);
        struct window window = {0};
        for (struct list *at = origin->log.next; at != &origin->log && count < room; at = at->next) {
            struct batch *batch = LIST_OWNER(at, struct batch, link);
            if (batch->last <= origin->forgotten ||
                (batch->last <= known && (slot != node->my_slot || batch->sends_count > 0)))
                continue;
            enum dueness dueness = dueness_of(node, slot, batch, &window);
            size_t bytes = spare_cost_bytes(batch);
            if (dueness == DUE || (dueness == LACKED && bytes <= spare_bytes))
                due[count++] = (struct due){slot, batch, dueness == LACKED};
            if (dueness == LACKED)
                spare_bytes -= bytes < spare_bytes ? bytes : spare_bytes;
        }
    }
    return count;
}

static uint64_t depend_on(const struct batch *batch, uint32_t uid)
{
    for (uint32_t i = 0; i < batch->depend_count; i++)
        if (batch->depend[i].origin_uid == uid)
            return batch->depend[i].seq;
    return 0;
}

/* The place of that origin in the header, or NO_HOLDER. */
static uint32_t place_of_origin(const struct node *node, uint32_t uid, const uint32_t *slots)
{
    for (uint32_t o = 0; o < node->header.origin_count; o++)
        if (node->origin[slots[o]].uid == uid)
            return o;
    return NO_HOLDER;
}

static void put_batch(struct node *node, struct message_writer *writer, const struct due *due,
                      const uint32_t *slots)
{
    uint64_t depends[ORIGINS_MAX];
    uint32_t holders[BATCH_GRANTS_MAX], origin = 0, count = node->header.origin_count;
    for (uint32_t g = 0; g < due->batch->grant_count; g++)
        holders[g] = place_of_origin(node, due->batch->grant[g].holder_uid, slots);
    for (uint32_t o = 0; o < count; o++) {
        depends[o] = depend_on(due->batch, node->origin[slots[o]].uid);
        if (slots[o] == due->slot)
            origin = o;
    }
    message_put_batch(writer, origin, node->now_ns, due->batch, depends, count, holders, &node->limits);
    due->batch->rode_along |= due->spare;
    if (due->spare)
        return;
    if (due->batch->sends_count++ > 0 || due->slot != node->my_slot)
        node->stats.batches_resent++;
    due->batch->sent_ns = node->now_ns;
}

/* The content of a message so far. */
struct load {
    size_t bytes;
    uint64_t keys;
    uint32_t batches;
};

/*
 * Adds the batch if it fits into the message and into one step of a reader; false: it does not fit.
 */
static bool load_takes(const struct node *node, struct load *load, const struct batch *batch)
{
    size_t bytes = load->bytes +
                   batch_encoded_max_bytes(batch->spend_count, spends_groups(batch->spend, batch->spend_count),
                                           node->header.origin_count) +
                   (size_t)batch->grant_count * GRANT_ENCODED_MAX_BYTES;
    uint64_t keys = load->keys + batch->spend_count;
    if (bytes > node->options.message_max_bytes || keys > node->step.keys || load->batches == MESSAGE_BATCHES_MAX)
        return false;
    *load = (struct load){bytes, keys, load->batches + 1};
    return true;
}

/*
 * Keeps the batches that one message can carry after a header of `header_bytes`, and returns their
 * number: at least one, which always fits. `left`: a due batch is left for another message. Spare
 * batches only fill up.
 */
static uint32_t keep_what_fits(const struct node *node, struct due *due, uint32_t count, size_t header_bytes,
                               bool *left)
{
    struct load load = {.bytes = header_bytes + MESSAGE_SEAL_BYTES};
    uint32_t first_left = 0, kept = 0;
    bool has_room = true, some = false;
    for (*left = false; first_left < count; first_left++) {
        if (due[first_left].spare)
            continue;
        has_room = has_room && load_takes(node, &load, due[first_left].batch);
        *left = some && !has_room;
        if (*left)
            break;
        some = true;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (due[i].spare)
            has_room = has_room && load_takes(node, &load, due[i].batch);
        if (due[i].spare ? has_room : i < first_left)
            due[kept++] = due[i];
    }
    return kept;
}

/* Asks and words may take a part of a message: at least a batch of half of it fits beside them. */
static uint32_t asks_room(const struct node *node)
{
    const uint64_t room = node->options.message_max_bytes / MESSAGE_PART / ASK_ENCODED_MAX_BYTES;
    return room < MESSAGE_ASKS_MAX ? (uint32_t)room : MESSAGE_ASKS_MAX;
}

void publish_message(struct node *node, struct effects *effects)
{
    uint32_t slots[ORIGINS_MAX] = {0};
    struct ask_record *asks = node->publishing.asks;
    const uint32_t room = asks_room(node), words = room / WORDS_PART;
    /* it may spend, which the message tells */
    uint32_t ask_count = voucher_ask_due(node, asks, room - words);
    const bool asks_left = ask_count == room - words && voucher_wants_more(node);
    ask_count += contest_words_due(node, asks + ask_count, words);
    tell_at_pace(node);
    struct due *due = node->publishing.due;
    header_begin_slots(node, MESSAGE_GOSSIP, slots);
    uint32_t count = collect_due(node, due, PUBLISH_BATCHES_MAX);
    struct message_writer writer;
    node->header.ask_count = ask_count;
    message_begin(&writer, effects, &node->header);
    bool left;
    size_t asks_bytes = (size_t)ask_count * ASK_ENCODED_MAX_BYTES;
    count = keep_what_fits(node, due, count, message_size(&writer) + asks_bytes, &left);
    todo_put(&node->todo, DO_PUBLISH, left);
    message_begin_batches(&writer, count);
    for (uint32_t i = 0; i < count; i++) {
        put_batch(node, &writer, &due[i], slots);
        step_works(node, due[i].batch->spend_count);
    }
    if (ask_count > 0)
        message_end_with_asks(&writer, asks, ask_count);
    else
        message_end(&writer);
    node->header.ask_count = 0;
    header_emit(node, &writer, EFFECT_PUBLISH);
    node->stats.messages_published++;
    node->stats.bytes_published += message_size(&writer);
    todo_add_if(&node->todo, DO_STEP, left);
    node->publishing.published_ns = node->now_ns;
    node->publishing.hurried_ns = 0;
    todo_put(&node->todo, DO_ANSWER, asks_left);
    todo_drop(&node->todo, DO_PUSH);
    todo_drop(&node->todo, DO_PUSH_LATER);
    todo_drop(&node->todo, DO_HURRY);
    todo_drop(&node->todo, DO_HURRY_LATER);
}

/* 0: nobody's is known. */
static uint64_t least_round_trip_ns(const struct node *node)
{
    uint64_t least_ns = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) && !member->silent && (least_ns == 0 || member->round_trip_ns < least_ns))
            least_ns = member->round_trip_ns;
    }
    return least_ns;
}

/*
 * A message has a digest of every member and goes to all members. So the time for which acknowledgements are gathered
 * grows with the square of the number of members. Then the digests that a member sends and reads in a second grow no
 * faster than that number. Where even the nearest peer is far away, more messages hardly make an answer faster: more
 * of them are lost, and whatever follows a lost packet waits for it.
 */
void publish_set_gaps(struct node *node)
{
    struct publishing *publishing = &node->publishing;
    uint64_t gap_ns = node->options.interval_ns / ANSWERS_PER_INTERVAL, longest_ns = node->options.interval_ns / 2;
    const uint64_t trip_ns = least_round_trip_ns(node) / ANSWERS_PER_TRIP;
    if (node->sharing.peer_count > ANSWERS_PEERS)
        gap_ns = gap_ns * node->sharing.peer_count * node->sharing.peer_count / (ANSWERS_PEERS * ANSWERS_PEERS);
    publishing->gap_least_ns = gap_ns < longest_ns ? gap_ns : longest_ns;
    gap_ns = gap_ns > trip_ns ? gap_ns : trip_ns;
    publishing->gap_ns = gap_ns < longest_ns ? gap_ns : longest_ns;
}
