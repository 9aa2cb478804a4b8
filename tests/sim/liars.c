/*
 * One bad member: beside each message that is its own it sends, now and then, one that says something false about
 * others: that they have started anew, have left, are forgotten, are elsewhere, have another key, or have heard what
 * they have not (that where all hear each other). All nodes sign, and know each other's keys. The laws: nobody's start,
 * state or place changes for anybody but by its own doing, nobody stops for that, and all other laws hold as if it had
 * said nothing.
 */
#include "cluster/codec/effects.h"
#include "cluster/codec/life.h"
#include "cluster/codec/message.h"
#include "cluster/codec/statement.h"
#include "tests/lib/fake_signing.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>

enum { LIAR = 0, LIES_GAP = 6, FAR = 1000000 };

static uint8_t keys[SIM_NODES_MAX][NODE_KEY_BYTES], liars_other_key[NODE_KEY_BYTES];

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

void liars_options(const struct sim *sim, unsigned i, struct node_options *options)
{
    if (!sim->plan.lies)
        return;
    fake_signing(&options->signing, (uint8_t)(i + 1), keys[i]);
    options->forget = FORGET_BY_MAJORITY;
}

void liars_restore(struct sim *sim, unsigned i)
{
    char text[SIM_NODES_MAX * (NODE_NAME_BYTES + 2 * NODE_KEY_BYTES + 2)];
    int size = 0;
    if (!sim->plan.lies)
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
    LEFT,
    LEFT_SIGNED,
    FORGOTTEN,
    HEARD,          /* all that there is, beside what it has signed */
    HEARD_UNSIGNED, /* instead of that */
    HEARD_SIGNED,   /* with its signature of something else */
    HEARD_OF_OTHER, /* with what another member has signed */
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
    const struct bytes text = statement_write(message, row, bytes);
    memcpy(bytes + text.size, statement.proof, NODE_PROOF_BYTES);
    message->sender = sender;
    row->statement = (struct bytes){bytes, text.size + NODE_PROOF_BYTES};
}

static void tell_lie(struct sim *sim, struct message *message, uint32_t about)
{
    static uint8_t proof[NODE_PROOF_BYTES];
    struct member_record *record = &message->members[about];
    const uint64_t ahead = 1 + random_below(&sim->liar_random, FAR);
    const enum lie lie = (enum lie)random_below(&sim->liar_random, LIES);
    char text[LIFE_TEXT_MAX_BYTES];
    switch (lie) {
    case STARTED:
        record->incarnation += ahead;
        record->state = PEER_ACTIVE;
        record->gossip_address = bytes_of("10.6.6.6:1");
        break;
    case STARTED_SIGNED: /* with a signature of something else */
        record->incarnation += ahead;
        record->life.incarnation = record->incarnation;
        record->state = record->life.state = PEER_JOINING;
        break;
    case STARTED_WITH_A_KEY: /* of its own */
        memset(liars_other_key, 99, sizeof liars_other_key);
        record->incarnation += ahead;
        record->state = PEER_JOINING;
        record->life = (struct life_record){.incarnation = record->incarnation,
                                            .config = record->config,
                                            .state = record->state,
                                            .key = liars_other_key,
                                            .proof = proof};
        fake_proof(liars_other_key, life_text(record, text), proof);
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
    case LIES:
        break;
    }
}

/* The bytes live until the next lie. */
static struct bytes lie_beside(struct sim *sim, struct bytes bytes)
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
    uint32_t about = (uint32_t)random_below(&sim->liar_random, message.member_count);
    message.ask_count = 0;
    if (about != message.sender)
        tell_lie(sim, &message, about);
    effects_clear(&sim->lie);
    message_begin(&writer, &sim->lie, &message);
    message_begin_batches(&writer, 0);
    message_end(&writer);
    message_seal(&sim->lie, writer.start, &key);
    envelope_close(&envelope);
    return (struct bytes){(const char *)sim->lie.arena, sim->lie.arena_size};
}

void liars_deliver(struct sim *sim, const struct happening *happening)
{
    const unsigned i = happening->node;
    if (!sim->plan.lies || happening->from != LIAR || happening->kind != HAPPENS_MESSAGE || !world_is_up(sim, i) ||
        happening->life != sim->node[i].lives || random_below(&sim->liar_random, LIES_GAP) != 0)
        return;
    const struct bytes lie =
        lie_beside(sim, (struct bytes){(const char *)happening->payload->data, happening->payload->size});
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
        else if (report->incarnation > 0 && strcmp(report->gossip_address, n->gossip_address) != 0)
            sim_fail(sim, "liars: %s believes that %s is at %s", sim->node[i].name, n->name,
                     report->gossip_address);
    }
}

void liars_after_step(struct sim *sim, unsigned i)
{
    static struct peer_report reports[NODE_PEERS_MAX];
    if (!sim->plan.lies || !world_is_up(sim, i))
        return;
    const size_t count = node_peers(sim->node[i].node, world_local_ns(sim, i), reports, NODE_PEERS_MAX);
    for (size_t r = 0; r < count && r < NODE_PEERS_MAX; r++)
        check_view(sim, i, &reports[r]);
}
