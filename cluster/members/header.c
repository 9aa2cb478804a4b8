/*
 * header writes the head of every message of this node: its members, the digest of this node, and
 * the digests of others as they were last heard. It closes urgent spends first, so that an
 * acknowledgement never leaves before them (I7 of docs/accounting.md). It also seals and emits the
 * finished message. The body of a message is not written here.
 */
#include "cluster/members/header.h"

#include "cluster/apply/inbox.h"
#include "cluster/apply/uncharged.h"
#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "cluster/log/tell.h"
#include "cluster/members/demand.h"
#include "cluster/members/limit_list.h"
#include "cluster/members/proofs.h"
#include "cluster/members/spared_ticks.h"
#include "cluster/members/statements.h"
#include "cluster/members/stores.h"
#include "cluster/members/takeover.h"
#include "cluster/members/takeover_node.h"
#include "cluster/members/votes.h"
#include "cluster/members/weights.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <string.h>

enum {
    ROW_HEAD_BYTES = 24, /* of a digest on the wire, besides its numbers */
    ROW_NUMBER_BYTES = 9,
};

/* The last ended incarnation of a withheld member; 0: it was never heard. */
static uint64_t former_incarnation(const struct member *member)
{
    return member->former > member->retired_incarnation ? member->former : member->retired_incarnation;
}

/*
 * True if this message must not name the member's incarnation: see shares_divide. The name of one
 * that has spent already, by the word of others, is no secret, and its origin needs it.
 */
static bool is_withheld(const struct node *node, const struct member *member)
{
    if (!member->withheld)
        return false;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        bool is_empty = origin->applied == 0 && list_empty(&origin->log);
        if (origin->uid && &node->member[origin->member] == member && !is_empty &&
            origin->incarnation > former_incarnation(member))
            return false;
    }
    return true;
}

static bool is_origin_named(const struct node *node, const struct origin *origin)
{
    const struct member *member = &node->member[origin->member];
    return !is_withheld(node, member) || origin->incarnation <= former_incarnation(member);
}

/* A withheld member looks as it did before it came. */
static void put_withheld(struct message *header, const struct member *member)
{
    const bool left = member->former_left || member->retired_incarnation > member->former;
    header->members[header->member_count++] = (struct member_record){
        .name = bytes_of(member->name),
        .region = bytes_of(member->region),
        .gossip_address = bytes_of(member->gossip_address),
        .snapshot_address = bytes_of(member->snapshot_address),
        .incarnation = former_incarnation(member),
        .retired_incarnation = member->retired_incarnation,
        .state = left ? PEER_LEFT : PEER_JOINING,
    };
}

static void put_member(const struct node *node, struct message *header, const struct member *member)
{
    if (is_withheld(node, member)) {
        put_withheld(header, member);
        return;
    }
    header->members[header->member_count++] = (struct member_record){
        .name = bytes_of(member->name),
        .region = bytes_of(member->region),
        .gossip_address = bytes_of(member->gossip_address),
        .snapshot_address = bytes_of(member->snapshot_address),
        .incarnation = member->self ? node->life.incarnation : member->incarnation,
        .retired_incarnation = member->retired_incarnation,
        .state = member->self ? node->life.state : member->state,
        .reserved = member->reserved,
        .forgotten = member->forgotten || votes_say(node, (uint32_t)(member - node->member)),
        .config = member->self ? node->options.config_digest : member->config,
        .refuses = member->self ? !node->accord.decides : member->refuses,
        .grants = member->self ? node->options.grants : member->grants,
        .lists_grants = member->self,
        .heeds_uncharged = member->self || member->heeds_uncharged,
        .uncharged = member->self ? uncharged_are_some(node) : member->uncharged,
        .stored = member->self ? node->stores.had_some : member_store_is_known(member),
        .clock_ns = member->self ? node->clocks.raw_ns : 0,
        .wall_ms = member->self ? node->clocks.wall_ms : 0,
        .weights = member->self ? weights_say(node) : (struct weights_record){0},
        .limits = member->self ? limit_list_say(node) : (struct limits_record){0},
        .demand = member->self ? demand_say(node) : (struct demand_record){0},
        .rights = takeover_node_flags(node, (uint32_t)(member - node->member)),
        .life = proofs_life(node, (uint32_t)(member - node->member)),
    };
}

static uint64_t hears_bits(const struct node *node, const struct member *member, const int *record_of)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].used && record_of[i] >= 0 && member_hears(node, member, i))
            bits |= (uint64_t)1 << record_of[i];
    if (member->self && is_at_rest(node))
        bits |= (uint64_t)1 << record_of[node->me];
    return bits;
}

/* Those of others take turns as digests do, and have as much room in a message. The own one is always there. */
static void put_statement(struct node *node, const struct message *header, struct digest_row *row, uint32_t index,
                          size_t *left)
{
    if (index == node->me) {
        row->statement = statements_say(node, header, row);
        return;
    }
    row->statement = statements_of(node, index);
    if (row->statement.size > *left)
        row->statement.size = 0;
    *left -= row->statement.size;
}

static void put_rows(struct node *node, struct message *header, const int *record_of, const uint32_t *slots)
{
    /*
     * With small messages and many members, the digests of others take turns. The own digest is in
     * every message.
     */
    size_t row_bytes = ROW_HEAD_BYTES + (size_t)header->origin_count * ROW_NUMBER_BYTES;
    size_t most = node->options.message_max_bytes / MESSAGE_PART / row_bytes;
    uint32_t turn = (uint32_t)((node->publishing.number + 1) % NODE_PEERS_MAX),
             first = turn < node->member_end ? turn : 0;
    size_t left = node->options.message_max_bytes / MESSAGE_PART;
    for (uint32_t n = 0; n <= node->member_end; n++) {
        uint32_t i = n == 0 ? node->me : (first + n - 1) % node->member_end;
        const struct member *member = &node->member[i];
        if (!member->used || (n > 0 && (member->self || member->number == 0 || header->row_count >= most)))
            continue;
        struct digest_row *row = &header->rows[header->row_count++];
        row->member = (uint32_t)record_of[i];
        row->number = member->self ? node->publishing.number : member->number;
        row->hears = hears_bits(node, member, record_of);
        for (uint32_t o = 0; o < header->origin_count; o++)
            row->applied[o] = member->self ? node->origin[slots[o]].applied : member->known[slots[o]];
        put_statement(node, header, row, i, &left);
    }
}

/* The first own batch that this node can still send; earlier ones are only inside snapshots. */
static uint64_t own_floor(const struct node *node)
{
    const struct origin *mine = &node->origin[node->my_slot];
    if (list_empty(&mine->log))
        return mine->applied + 1;
    const struct batch *oldest = LIST_OWNER(mine->log.next, const struct batch, link);
    return oldest->first > mine->forgotten ? oldest->first : mine->forgotten + 1;
}

void header_begin_slots(struct node *node, enum message_kind kind, uint32_t *slots)
{
    struct message *header = &node->header;
    int record_of[NODE_PEERS_MAX] = {0};
    tell_urgent(node); /* so that no digest overtakes spends that its reader must know first */
    memset(header, 0, offsetof(struct message, members));
    header->kind = kind;
    header->number = ++node->publishing.number;
    proofs_say(node);
    node->publishing.made_ns[node->publishing.number % ECHOES_MAX] = node->now_ns;
    node->publishing.made_raw_ns[node->publishing.number % ECHOES_MAX] = node->clocks.raw_ns;
    header->floor = own_floor(node);
    header->muted = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        record_of[i] = member->used ? (int)header->member_count : -1;
        if (member->used && member->mute_out)
            header->muted |= (uint64_t)1 << header->member_count;
        if (member->used)
            put_member(node, header, member);
    }
    header->sender = (uint32_t)record_of[node->me];
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (!origin->uid || !is_origin_named(node, origin))
            continue;
        slots[count] = slot;
        header->origins[count++] = (struct origin_record){(uint32_t)record_of[origin->member], origin->incarnation,
                                                          inbox_holds(node, origin->uid)};
    }
    header->origin_count = count;
    put_rows(node, header, record_of, slots);
    takeover_said(&node->takeover);
}

void header_begin(struct node *node, enum message_kind kind)
{
    uint32_t slots[ORIGINS_MAX];
    header_begin_slots(node, kind, slots);
}

void header_emit(struct node *node, const struct message_writer *writer, enum effect_kind kind)
{
    message_seal(writer->effects, writer->start, &node->options.seals.key[0]);
    effects_emit(writer->effects, kind, writer->start);
}

void header_ask(struct node *node, const struct message_writer *writer, const struct member *member)
{
    message_seal(writer->effects, writer->start, &node->options.seals.key[0]);
    effects_emit_to(writer->effects, EFFECT_REQUEST, member->name, member->snapshot_address, writer->start);
}
