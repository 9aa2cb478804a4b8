/*
 * One bad member: beside each message that is its own it sends, now and then, one that says something false about
 * others: that they have started anew, have left, are forgotten, are elsewhere, have another key, or have heard what
 * they have not (that where all hear each other). All nodes sign. They know each other's keys, or, where keys are
 * required, may have to learn them; some have another key later, and who starts then knows the former one. The laws:
 * nobody's start, state or place changes for anybody but by its own doing, nobody stops for that, and all other laws
 * hold as if it had said nothing.
 */
#include "cluster/codec/effects.h"
#include "cluster/codec/life.h"
#include "cluster/codec/message.h"
#include "cluster/codec/statement.h"
#include "tests/lib/fake_signing.h"
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>

#define AGE_NS UINT64_C(3600000000000)

enum { LIAR = 0, LIES_GAP = 6, SPENT_GAP = 3, FAR = 1000000, ROTATE_GAP = 4, ROTATE_STEPS = 2000 };

static const char where_nobody_is[] = "10.6.6.6:1";
static uint8_t keys[SIM_NODES_MAX][NODE_KEY_BYTES], liars_other_key[NODE_KEY_BYTES];
static bool handed_over[SIM_NODES_MAX];

void liars_draw(struct plan *plan)
{
    plan->lies = plan->nodes > 2; /* of two, the other one is the majority */
    plan->corrupt = 0;
    if (plan->seed % 3 ==
        0) /* all hear each other: nobody needs the word of others about what somebody has heard */
        plan->faults = plan->loss = 0;
    for (unsigned i = 0; i < plan->nodes; i++)
        plan->node[i].unnamed = false;
    plan->seeds_only = false;
}

/* Keys are required. */
static bool is_strict(const struct plan *plan)
{
    return plan->seed % 2 == 0;
}

/* Nobody knows a key at its first start: all are learnt of who has them. */
static bool begins_without_keys(const struct plan *plan)
{
    return is_strict(plan) && plan->seed % 8 < 4;
}

/* The honest ones may have another key, once each: the node of that number the key of that number + 101. */
static bool rotates(const struct sim *sim, unsigned i)
{
    return i != LIAR && sim->plan.seed % 3 < 2;
}

bool liars_may_have_dialled(const struct sim *sim, const char *address)
{
    bool is_gone = false;
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        is_gone |= sim->node[i].life == LIFE_FORGOTTEN;
    return sim->plan.lies && is_strict(&sim->plan) && is_gone && strcmp(address, where_nobody_is) == 0;
}

static void hand_over(const struct sim *sim, unsigned i, struct node_signing *signing)
{
    char text[LIFE_TEXT_MAX_BYTES];
    struct node_handover *handover = &signing->handover;
    memset(handover->former, (int)i + 1, NODE_KEY_BYTES);
    fake_signing(signing, (uint8_t)(i + 101), keys[i]);
    fake_proof(handover->former, handover_text(bytes_of(sim->node[i].name), handover->former, keys[i], text),
               handover->proof);
    handover->is_there = handed_over[i] = true;
}

static void may_rotate(struct sim *sim, unsigned i)
{
    static struct node_options options;
    if (!rotates(sim, i) || handed_over[i] || !draw_one_in(&sim->liar_random, ROTATE_STEPS))
        return;
    options.signing = (struct node_signing){.keys = is_strict(&sim->plan) ? KEYS_REQUIRED : KEYS_LEARNT};
    hand_over(sim, i, &options.signing);
    story_tell(sim, sim->node[i].name, "has another key");
    world_event(sim, i, &(struct event){.kind = EVENT_ROTATE, .signing = &options.signing});
}

void liars_options(const struct sim *sim, unsigned i, struct node_options *options)
{
    if (!sim->plan.lies)
        return;
    options->signing = (struct node_signing){0};
    if (sim->node[i].cold)
        handed_over[i] = false;
    fake_signing(&options->signing, (uint8_t)(i + 1), keys[i]);
    /* a crash between the writing of the file and the first word under the new key */
    if (rotates(sim, i) &&
        (handed_over[i] || (!sim->node[i].cold && (sim->plan.seed + i + sim->node[i].lives) % ROTATE_GAP == 0)))
        hand_over(sim, i, &options->signing);
    options->forget = FORGET_BY_MAJORITY;
    if (is_strict(&sim->plan))
        options->signing.keys = KEYS_REQUIRED;
}

void liars_restore(struct sim *sim, unsigned i)
{
    char text[SIM_NODES_MAX * (NODE_NAME_BYTES + 2 * NODE_KEY_BYTES + 2)];
    int size = 0;
    if (!sim->plan.lies || (sim->node[i].cold && begins_without_keys(&sim->plan)))
        return;
    for (unsigned j = 0; j < sim->plan.nodes; j++) {
        size += snprintf(text + size, sizeof text - (size_t)size, "%s ", sim->node[j].name);
        for (unsigned b = 0; b < NODE_KEY_BYTES; b++)
            size += snprintf(text + size, sizeof text - (size_t)size, "%02x", j + 1);
        size += snprintf(text + size, sizeof text - (size_t)size, "\n");
    }
    world_event(sim, i,
                &(struct event){.kind = EVENT_RESTORE, .keys_text = {text, (size_t)size}, .keys_number = 1});
}

enum lie {
    STARTED,
    STARTED_SIGNED,
    STARTED_WITH_A_KEY,
    STARTED_WITH_A_KEY_THAT_FOLLOWS, /* so it says */
    LEFT,
    LEFT_SIGNED,
    FORGOTTEN,
    HEARD,          /* all that there is, beside what it has signed */
    HEARD_UNSIGNED, /* instead of that */
    HEARD_SIGNED,   /* with its signature of something else */
    HEARD_OF_OTHER, /* with what another member has signed */
    SPENT,          /* what nobody has: its next batch */
    SPENT_LONG_AGO, /* what it has spent now, so that refill would have paid it off */
    LIES
};

/* What the message passes on of that member's digest is more than there is. */
static void tell_more(struct message *message, struct digest_row *row, enum lie lie, uint64_t ahead)
{
    static char bytes[STATEMENT_MAX_BYTES];
    static struct statement statement;
    row->number += ahead;
    for (uint32_t o = 0; o < message->origin_count; o++)
        row->applied[o] += ahead;
    if (lie == HEARD_UNSIGNED)
        row->statement.size = 0;
    for (uint32_t r = 0; r < message->row_count && lie == HEARD_OF_OTHER; r++)
        if (message->rows[r].member != row->member && message->rows[r].statement.size > 0)
            row->statement = message->rows[r].statement;
    if (lie != HEARD_SIGNED || !statement_read(&statement, row->statement))
        return;
    const uint32_t sender = message->sender;
    message->sender = row->member; /* who says it */
    const struct bytes text = statement_write(message, row, statement.batches, statement.batch_count, bytes);
    memcpy(bytes + text.size, statement.proof, NODE_PROOF_BYTES);
    message->sender = sender;
    row->statement = (struct bytes){bytes, text.size + NODE_PROOF_BYTES};
}

/* A start with a key of the liar's own. */
static void take_over(struct member_record *record, uint64_t ahead, bool follows)
{
    static uint8_t proof[NODE_PROOF_BYTES], handover[NODE_PROOF_BYTES];
    const uint8_t *former = follows ? record->life.key : NULL;
    char text[LIFE_TEXT_MAX_BYTES];
    memset(liars_other_key, 99, sizeof liars_other_key);
    record->incarnation += ahead;
    record->state = PEER_JOINING;
    record->life = (struct life_record){.incarnation = record->incarnation,
                                        .config = record->config,
                                        .state = record->state,
                                        .key = liars_other_key,
                                        .proof = proof,
                                        .former = former,
                                        .handover = handover};
    fake_proof(liars_other_key, life_text(record, text), proof);
    if (former)
        fake_proof(liars_other_key, handover_text(record->name, former, liars_other_key, text), handover);
}

static void tell_lie(struct sim *sim, struct message *message, uint32_t about, enum lie lie)
{
    struct member_record *record = &message->members[about];
    const uint64_t ahead = 1 + random_below(&sim->liar_random, FAR);
    switch (lie) {
    case STARTED:
        record->incarnation += ahead;
        record->state = PEER_ACTIVE;
        record->gossip_address = bytes_of(where_nobody_is);
        break;
    case STARTED_SIGNED: /* with a signature of something else */
        record->incarnation += ahead;
        record->life.incarnation = record->incarnation;
        record->state = record->life.state = PEER_JOINING;
        break;
    case STARTED_WITH_A_KEY:
    case STARTED_WITH_A_KEY_THAT_FOLLOWS:
        take_over(record, ahead, lie == STARTED_WITH_A_KEY_THAT_FOLLOWS);
        break;
    case LEFT:
        record->state = PEER_LEFT;
        break;
    case LEFT_SIGNED:
        record->state = record->life.state = PEER_LEFT;
        break;
    case FORGOTTEN:
        record->state = PEER_LEFT;
        record->forgotten = true;
        break;
    case HEARD:
    case HEARD_UNSIGNED:
    case HEARD_SIGNED:
    case HEARD_OF_OTHER:
        for (uint32_t r = 0; r < message->row_count; r++)
            if (message->rows[r].member == about)
                tell_more(message, &message->rows[r], lie, ahead);
        break;
    case SPENT: /* see lie_beside */
    case SPENT_LONG_AGO:
    case LIES:
        break;
    }
}

/* Of a start that has ended anybody is believed: see docs/threats.md. */
static bool goes_on(const struct sim *sim, const struct member_record *record)
{
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        if (bytes_equal(record->name, bytes_of(sim->node[i].name)))
            return sim->node[i].life == LIFE_UP && sim->node[i].incarnation == record->incarnation;
    return false;
}

/* The next batch by what the liar has: those who lack it may take it for that member's. */
static void put_made_up(struct sim *sim, struct message_writer *writer, const struct message *message,
                        uint32_t about)
{
    static const uint64_t depends[ORIGINS_MAX];
    const struct plan_key *key = &sim->plan.key[random_below(&sim->liar_random, sim->plan.keys)];
    const struct limit_set limits = limits_view(&sim->plan.limits);
    const struct digest_row *own = NULL;
    struct batch *batch = batch_create(0, 1);
    uint32_t origin = NO_HOLDER;
    for (uint32_t r = 0; r < message->row_count; r++)
        own = message->rows[r].member == message->sender ? &message->rows[r] : own;
    for (uint32_t o = 0; o < message->origin_count; o++)
        if (message->origins[o].member == about &&
            message->origins[o].incarnation == message->members[about].incarnation)
            origin = o;
    const bool is_told = batch && own && origin != NO_HOLDER && goes_on(sim, &message->members[about]);
    message_begin_batches(writer, is_told);
    if (is_told) {
        batch->first = batch->last = own->applied[origin] + 1;
        batch->spend[0] = (struct spend){.id = key->id, .limit = key->limit, .tokens = 1 + key->cost_max};
        message_put_batch(writer, origin, 0, batch, depends, message->origin_count, NULL, &limits);
    }
    batch_destroy(&batch);
}

static uint16_t limit_of(const struct limit_set *limits, const struct limit_terms *terms)
{
    for (uint16_t i = 0; i < limits->count; i++) {
        const struct limit_terms known = limit_terms_of(&limits->limit[i]);
        if (limit_terms_equal(&known, terms))
            return i;
    }
    return UINT16_MAX;
}

/* Whose batch the message passes on; the liar: nobody's that goes on. */
static uint32_t maker_passed_on(const struct sim *sim, const struct message *message)
{
    static struct batch_record record;
    for (uint32_t i = 0; i < message->batch_count; i++) {
        if (!message_batch(message, i, &record))
            continue;
        const struct origin_record *origin = &message->origins[record.origin];
        if (origin->member != message->sender && goes_on(sim, &message->members[origin->member]) &&
            origin->incarnation == message->members[origin->member].incarnation)
            return origin->member;
    }
    return message->sender;
}

/* A batch of that member that the message passes on, or NULL. */
static struct batch *passed_on(struct sim *sim, const struct message *message, uint32_t about,
                               struct batch_record *record)
{
    const struct limit_set limits = limits_view(&sim->plan.limits);
    for (uint32_t i = 0; i < message->batch_count; i++) {
        if (!message_batch(message, i, record) || message->origins[record->origin].member != about ||
            record->parts > 0)
            continue;
        struct batch *batch = batch_create(0, record->spend_count);
        struct number_reader reader = {.groups = record->groups};
        struct number_record number;
        bool is_known = batch != NULL;
        for (uint32_t s = 0; is_known && number_next(&reader, &number); s++) {
            batch->spend[s] = (struct spend){.id = number.id,
                                             .tokens = number.number,
                                             .returned = number.returned,
                                             .expires_ns = record->age_ns + AGE_NS + number.live_ns,
                                             .limit = limit_of(&limits, &number.terms)};
            is_known = batch->spend[s].limit != UINT16_MAX;
        }
        if (is_known)
            return batch;
        batch_destroy(&batch);
    }
    return NULL;
}

static void put_aged(struct sim *sim, struct message_writer *writer, const struct message *message, uint32_t about)
{
    static struct batch_record record;
    const struct limit_set limits = limits_view(&sim->plan.limits);
    struct batch *batch = passed_on(sim, message, about, &record);
    message_begin_batches(writer, batch != NULL);
    if (batch) {
        batch->first = record.first;
        batch->last = record.last;
        batch->open_ns = record.open_ns;
        message_put_batch(writer, record.origin, record.age_ns + AGE_NS, batch, record.depends,
                          message->origin_count, NULL, &limits);
    }
    batch_destroy(&batch);
}

/* The bytes live until the next lie. */
static struct bytes lie_beside(struct sim *sim, struct bytes bytes, bool before)
{
    static struct message message;
    struct envelope envelope;
    struct hash_key key;
    struct message_writer writer;
    const struct bytes none = {0};
    hash_key_from_secret(&key, "secret", 6);
    if (!message_unseal(&bytes, &key) || envelope_open(&envelope, bytes) != ENVELOPE_OPEN)
        return none;
    if (envelope.kind != MESSAGE_GOSSIP || !message_read(&message, &envelope) || message.member_count < 2) {
        envelope_close(&envelope);
        return none;
    }
    const uint32_t about =
        before ? maker_passed_on(sim, &message) : (uint32_t)random_below(&sim->liar_random, message.member_count);
    if (before && about == message.sender) {
        envelope_close(&envelope);
        return none;
    }
    message.ask_count = 0;
    enum lie lie = (enum lie)random_below(&sim->liar_random, LIES);
    if (before) /* what is true is taken once */
        lie = SPENT_LONG_AGO;
    else if (draw_one_in(&sim->liar_random, SPENT_GAP)) /* it takes a link that is cut, and the right moment */
        lie = SPENT;
    if (about == message.sender)
        lie = LIES;
    tell_lie(sim, &message, about, lie);
    effects_clear(&sim->lie);
    message_begin(&writer, &sim->lie, &message);
    if (lie == SPENT)
        put_made_up(sim, &writer, &message, about);
    else if (lie == SPENT_LONG_AGO)
        put_aged(sim, &writer, &message, about);
    else
        message_begin_batches(&writer, 0);
    message_end(&writer);
    message_seal(&sim->lie, writer.start, &key);
    envelope_close(&envelope);
    return (struct bytes){(const char *)sim->lie.arena, sim->lie.arena_size};
}

void liars_deliver(struct sim *sim, const struct happening *happening, bool before)
{
    const unsigned i = happening->node;
    if (!before && sim->plan.lies && world_is_up(sim, i))
        may_rotate(sim, i);
    if (!sim->plan.lies || happening->from != LIAR || happening->kind != HAPPENS_MESSAGE || !world_is_up(sim, i) ||
        happening->life != sim->node[i].lives || (!before && random_below(&sim->liar_random, LIES_GAP) != 0))
        return;
    const struct bytes lie =
        lie_beside(sim, (struct bytes){(const char *)happening->payload->data, happening->payload->size}, before);
    if (lie.size > 0)
        world_event(sim, i, &(struct event){.kind = EVENT_MESSAGE, .bytes = lie, .from = sim->node[LIAR].name});
}

static void check_view(struct sim *sim, unsigned i, const struct peer_report *report)
{
    for (unsigned j = 0; j < sim->plan.nodes; j++) {
        const struct sim_node *n = &sim->node[j];
        if (strcmp(n->name, report->name) != 0)
            continue;
        if (report->incarnation > n->incarnation)
            sim_fail(sim, "liars: %s believes that %s has started %" PRIu64 ", and its last start is %" PRIu64,
                     sim->node[i].name, n->name, report->incarnation, n->incarnation);
        else if (report->incarnation == n->incarnation && n->life == LIFE_UP && report->state == PEER_LEFT)
            sim_fail(sim, "liars: %s believes that %s is gone", sim->node[i].name, n->name);
        else if (report->incarnation > 0 && strcmp(report->gossip_address, n->gossip_address) != 0 &&
                 !(n->life == LIFE_FORGOTTEN && liars_may_have_dialled(sim, report->gossip_address)))
            sim_fail(sim, "liars: %s believes that %s is at %s", sim->node[i].name, n->name,
                     report->gossip_address);
    }
}

void liars_after_step(struct sim *sim, unsigned i)
{
    static struct peer_report reports[NODE_PEERS_MAX];
    if (!sim->plan.lies || !world_is_up(sim, i))
        return;
    const size_t count = node_peers(sim->node[i].node, world_local_ns(sim, i), reports);
    for (size_t r = 0; r < count && r < NODE_PEERS_MAX; r++)
        check_view(sim, i, &reports[r]);
}
