/*
 * gossip takes over an opened message about spends. It checks that the sender is the present start of its name and
 * that nobody muted it, answers asks, merges members, digests and endings of origins, and puts batches into the inbox.
 * Then it settles own batches and retires origins, as far as the new digests allow. It measures round trips and finds
 * out by when a message was made. hear.c has checked the seal; view.c decides about shares and silence.
 */
#include "cluster/gossip.h"

#include "cluster/apply/apply.h"
#include "cluster/apply/receive.h"
#include "cluster/apply/retire.h"
#include "cluster/apply/settle.h"
#include "cluster/codec/message.h"
#include "cluster/log/origins.h"
#include "cluster/members/accord.h"
#include "cluster/members/clocks.h"
#include "cluster/members/demand.h"
#include "cluster/members/incarnation.h"
#include "cluster/members/limit_list.h"
#include "cluster/members/membership.h"
#include "cluster/members/proofs.h"
#include "cluster/members/statements.h"
#include "cluster/members/stores.h"
#include "cluster/members/takeover.h"
#include "cluster/members/takeover_node.h"
#include "cluster/members/votes.h"
#include "cluster/members/weights.h"
#include "cluster/snapshot/snapshot_serve.h"
#include "cluster/snapshot/snapshot_take.h"
#include "cluster/spend/contest_words.h"
#include "cluster/spend/grant.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

#include <string.h>

static void note_round_trip(struct member *member, uint64_t sample_ns)
{
    if (member->round_trip_ns == 0) {
        member->round_trip_ns = sample_ns + 1;
        member->round_trip_spread_ns = sample_ns / 2;
        return;
    }
    uint64_t off_ns =
        sample_ns > member->round_trip_ns ? sample_ns - member->round_trip_ns : member->round_trip_ns - sample_ns;
    member->round_trip_spread_ns += off_ns / 4;
    member->round_trip_spread_ns -= member->round_trip_spread_ns / 4;
    member->round_trip_ns += sample_ns / 8 + 1;
    member->round_trip_ns -= member->round_trip_ns / 8;
}

/*
 * An acknowledgement does not tell which copy of the batch arrived. Of a batch that rode along in
 * messages, the first copy may be lost.
 */
static bool has_copies(const struct batch *batch)
{
    return batch->sends_count != 1 || batch->rode_along || batch->first < batch->last;
}

/*
 * Smoothed as TCP does it. A batch that was sent once measures its way, its wait for earlier
 * batches and its acknowledgement. That is wrong if an earlier batch, for which it waited, had
 * copies. Then the message itself measures the round trip, if it answers one of ours.
 */
static void measure_round_trip(struct node *node, struct member *member, uint64_t acknowledged)
{
    struct origin *mine = &node->origin[node->my_slot];
    LIST_EACH(const struct batch, batch, &mine->log, link) {
        if (batch->last > acknowledged)
            return;
        if (batch->last <= member->known[node->my_slot])
            continue;
        if (has_copies(batch)) {
            if (member->answers_ns > 0)
                note_round_trip(member, node->now_ns - member->answers_ns);
            return;
        }
        note_round_trip(member, node->now_ns - batch->sent_ns);
    }
}

/*
 * A sender of an older release passes on the digest of another member, but not whether that digest names uncharged
 * spends. So the digest counts as one that may name some, unless the member itself said that it knows nothing of
 * uncharged spends.
 */
static void take_uncharged(struct member *member, const struct member_record *record, bool direct)
{
    if (record->heeds_uncharged || direct) {
        member->heeds_uncharged = record->heeds_uncharged;
        member->uncharged = record->uncharged;
    } else {
        member->uncharged |= member->heeds_uncharged;
    }
}

/* True: it was not known that the member has so much of the origin. Of own batches it has no more than were made. */
static bool is_news_of(const struct node *node, const struct member *member, int slot, uint64_t applied)
{
    return slot >= 0 && applied > member->known[slot] &&
           ((uint32_t)slot != node->my_slot || applied <= node->origin[slot].applied);
}

/* A newer message of the member is known, at first or second hand. */
static void note_message(struct node *node, uint32_t index, uint64_t number)
{
    struct member *member = &node->member[index];
    member->number = number;
    member->heard_ns = node->now_ns;
    member->heard_awake_ns = awake_ns(node);
    takeover_node_heard(node, index);
    votes_heard(node, index);
    member->hears = 0;
}

/* The member's own word at second hand: it names what it means by itself. */
static void take_statement(struct node *node, uint32_t index, const struct statement *said)
{
    struct member *member = &node->member[index];
    note_message(node, index, said->number);
    member->refuses = said->refuses;
    member->grants = said->grants;
    member->heeds_uncharged = said->heeds_uncharged;
    member->uncharged = said->uncharged;
    int map[NODE_PEERS_MAX] = {0}; /* reading has bound the members of origins */
    for (uint32_t i = 0; i < said->member_count; i++) {
        map[i] = member_find(node, said->members[i]);
        if ((said->hears >> i & 1) != 0 && map[i] >= 0)
            member->hears |= member_bit((uint32_t)map[i]);
    }
    for (uint32_t o = 0; o < said->origin_count; o++) {
        const struct statement_origin *origin = &said->origins[o];
        const int of = map[origin->member];
        if (of < 0 ||
            origin->incarnation > (node->member[of].self ? node->life.incarnation : node->member[of].incarnation))
            continue;
        const int slot = origin_obtain(node, (uint32_t)of, origin->incarnation);
        if (is_news_of(node, member, slot, origin->applied))
            member->known[slot] = origin->applied;
    }
}

/* What a member that signs has is believed only from the member itself, or by its signature: see statements.h. */
static void take_row_of_other(struct node *node, const struct digest_row *row, uint32_t index, uint32_t sender,
                              struct effects *effects)
{
    if (member_speaks_alone(node, index))
        return;
    const struct statement *said = statements_heed(node, index, row->statement, (int)sender, effects);
    if (said)
        take_statement(node, index, said);
}

static void take_row(struct node *node, const struct message *message, const struct digest_row *row,
                     const int *member_map, const int *origin_map, uint32_t sender, struct effects *effects)
{
    int index = member_map[row->member];
    const bool direct = index == (int)sender;
    if (index < 0 || node->member[index].self ||
        message->members[row->member].incarnation != node->member[index].incarnation)
        return;
    if (!direct && member_signs(node, (uint32_t)index)) {
        take_row_of_other(node, row, (uint32_t)index, sender, effects);
        return;
    }
    struct member *member = &node->member[index];
    if (direct) {
        statements_keep(node, (uint32_t)index, row->statement, effects);
        member->lists_grants = message->members[row->member].lists_grants;
    }
    for (uint32_t o = 0; o < message->origin_count; o++) {
        int slot = origin_map[o];
        if (!is_news_of(node, member, slot, row->applied[o]))
            continue;
        if (direct && (uint32_t)slot == node->my_slot)
            measure_round_trip(node, member, row->applied[o]);
        member->known[slot] = row->applied[o];
    }
    if (row->number <= member->number)
        return;
    note_message(node, (uint32_t)index, row->number);
    member->refuses = message->members[row->member].refuses;
    member->grants = message->members[row->member].grants;
    take_uncharged(member, &message->members[row->member], direct);
    for (uint32_t i = 0; i < message->member_count; i++)
        if ((row->hears >> i & 1) != 0 && member_map[i] >= 0)
            member->hears |= member_bit((uint32_t)member_map[i]);
}

/* True if the sender cannot yet apply all its batches of that origin. */
static bool sender_waits(const struct message *message, uint32_t member, uint64_t incarnation)
{
    for (uint32_t o = 0; o < message->origin_count; o++)
        if (message->origins[o].member == member && message->origins[o].incarnation == incarnation)
            return message->origins[o].waiting;
    return false;
}

/*
 * Takes over what the sender says of one origin that is kept here: that it has ended, or that it has ended and all
 * members have all its batches. Members that forgot this node while it lived may lack batches of an own origin, and
 * take no more of them: a member that has more cannot pass them on.
 */
static void take_ending(struct node *node, const struct message *message, uint32_t record_index, uint32_t slot,
                        struct member *sender)
{
    const struct member_record *record = &message->members[record_index];
    struct origin *origin = &node->origin[slot];
    uint64_t bit = (uint64_t)1 << (slot % 64);
    bool over = record->incarnation > origin->incarnation ||
                (record->incarnation == origin->incarnation && record->state == PEER_LEFT);
    if (over && !sender_waits(message, record_index, origin->incarnation))
        sender->knows_ended[slot / 64] |= bit;
    else
        sender->knows_ended[slot / 64] &= ~bit;
    if (record->retired_incarnation < origin->incarnation || slot == node->my_slot)
        return;
    sender->retired[slot / 64] |= bit;
    if (!origin->mine)
        return; /* the maker tells anew what the sender lacks, and hears of that by what others know of the sender */
    if (!list_empty(&origin->log))
        retire_reclaim(node, slot, sender->known[slot]);
    if (sender->known[slot] < origin->applied)
        sender->known[slot] = origin->applied;
}

static void take_endings(struct node *node, const struct message *message, const int *member_map, uint32_t sender)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        for (uint32_t i = 0; i < message->member_count && node->origin[slot].uid; i++)
            if (member_map[i] == (int)node->origin[slot].member)
                take_ending(node, message, i, slot, &node->member[sender]);
}

static void take_digests(struct node *node, const struct message *message, const int *member_map, uint32_t sender,
                         struct effects *effects)
{
    int origin_map[ORIGINS_MAX] = {0};
    for (uint32_t o = 0; o < message->origin_count; o++) {
        origin_map[o] = -1;
        int member = member_map[message->origins[o].member];
        uint64_t incarnation = message->origins[o].incarnation;
        if (member >= 0 && ((uint32_t)member != node->me || incarnation <= node->life.incarnation))
            origin_map[o] = origin_obtain(node, (uint32_t)member, incarnation);
    }
    for (uint32_t r = 0; r < message->row_count; r++)
        take_row(node, message, &message->rows[r], member_map, origin_map, sender, effects);
    take_endings(node, message, member_map, sender);
}

/*
 * A message does not tell when it was made, and it may have waited for long. But it names the newest message of this
 * node that its sender knew. So it was made after that message, whose time is known here. 0: nothing is known. (Where
 * digests take turns, earlier messages of the sender count as well.)
 */
static uint64_t known_echo(struct node *node, const struct message *message, const int *member_map,
                           struct member *sender)
{
    uint64_t echo = message->number > sender->echo_number ? sender->echo : 0;
    for (uint32_t r = 0; r < message->row_count; r++) {
        uint32_t record = message->rows[r].member;
        if (member_map[record] == (int)node->me && message->members[record].incarnation == node->life.incarnation)
            echo = message->rows[r].number;
    }
    if (message->number > sender->echo_number) {
        sender->echo_number = message->number;
        sender->echo = echo;
    }
    bool known = echo > 0 && echo <= node->publishing.number && node->publishing.number - echo < ECHOES_MAX;
    return known ? echo : 0;
}

/* False: the message is not for this node, or its sender is not the present start of its name. */
static bool is_for_me(struct node *node, const struct message *message, struct effects *effects)
{
    const struct member_record *record = &message->members[message->sender];
    int sender = member_find(node, record->name);
    if (!incarnation_is_plausible(node, record, effects))
        return false;
    if (bytes_equal(record->name, bytes_of(node->options.name)))
        return record->incarnation > node->life.incarnation; /* a namesake, or an own message */
    if (sender >= 0 && (record->incarnation < node->member[sender].incarnation ||
                        (record->incarnation == node->member[sender].incarnation &&
                         ((node->member[sender].state == PEER_LEFT && record->state != PEER_LEFT) ||
                          takeover_ignores(&node->takeover, (uint32_t)sender)))))
        return false;
    bool muted = sender >= 0 && node->member[sender].mute_in;
    for (uint32_t i = 0; i < message->member_count; i++)
        if ((message->muted >> i & 1) != 0 && bytes_equal(message->members[i].name, bytes_of(node->options.name)))
            muted = true;
    if (muted)
        node->stats.messages_muted++;
    return !muted;
}

/*
 * Must be called before the spends of the message are applied: applied spends leave less to grant, and the member
 * that asks made them from its own share.
 */
static void answer_asks(struct node *node, const struct message *message, uint32_t sender)
{
    struct ask_record ask;
    for (uint32_t i = 0; i < message->ask_count; i++) {
        if (!message_ask(message, i, &ask)) {
            node->stats.messages_invalid++;
            return;
        }
        int limit = limit_of_terms(node, &ask.terms);
        if (limit >= 0 && ask.number == 0)
            contest_hear(node, &ask, (uint16_t)limit);
        else if (limit >= 0)
            grant_answer(node, sender, &ask, (uint16_t)limit);
    }
}

static void take_message(struct node *node, const struct message *message, const int *member_map, uint32_t sender,
                         struct effects *effects)
{
    struct member *member = &node->member[sender];
    member->heard_direct_ns = node->now_ns;
    member->knows_me = member->knows_we_left = member->reserves_ours = false;
    for (uint32_t i = 0; i < message->member_count; i++)
        if (member_map[i] == (int)node->me)
            member->reserves_ours = message->members[i].reserved;
    for (uint32_t i = 0; i < message->member_count; i++)
        if (member_map[i] == (int)node->me && message->members[i].incarnation == node->life.incarnation)
            *(message->members[i].state == PEER_LEFT ? &member->knows_we_left : &member->knows_me) = true;
    member->config = message->members[message->sender].config;
    node->stats.config_mismatches += accord_config_of(node, member) != node->options.config_digest;
    stores_hear(node, message, member_map, sender);
    weights_hear(node, message, sender);
    limit_list_hear(node, message, sender, effects);
    demand_hear(node, message, sender);
    bool next = message->number == member->echo_number + 1;
    uint64_t echo = known_echo(node, message, member_map, member);
    uint64_t made_ns = echo > 0 ? node->publishing.made_ns[echo % ECHOES_MAX] : 0;
    clocks_hear(node, message, member, echo);
    member->made_ns = made_ns > member->made_ns ? made_ns : member->made_ns;
    member->answers_ns = next ? made_ns : 0;
    answer_asks(node, message, sender);
    take_digests(node, message, member_map, sender, effects);
    takeover_node_hear(node, message, member_map, sender, made_ns);
    bool applied = receive_batches(node, message, member_map, made_ns);
    int slot = origin_find(node, sender, member->incarnation);
    if (slot >= 0 && message->floor > node->origin[slot].applied + 1)
        todo_add(&node->todo, DO_SNAPSHOT);
    if (message->kind == MESSAGE_REPLY && message->has_page)
        snapshot_take(node, message, member_map, effects);
    settle_acknowledged(node);
    retire_stable(node);
    todo_add_if(&node->todo, DO_ANSWER, applied);
}

void gossip_receive(struct node *node, const struct envelope *envelope, struct effects *effects)
{
    int member_map[NODE_PEERS_MAX];
    struct message *message = &node->in;
    if (!message_read(message, envelope)) {
        node->stats.messages_invalid++;
        return;
    }
    apply_begun(node);
    if (todo_has(&node->todo, DO_APPLY)) /* messages come faster than small parts are applied */
        node->step.apply_room = node->step.keys;
    if (message->members[message->sender].incarnation == 0) {
        node->stats.messages_invalid++;
    } else if (node->life.superseded) {
        incarnation_watch(node, message, effects);
    } else if (is_for_me(node, message, effects) && proofs_admit(node, message, effects)) {
        node->stats.messages_received++;
        membership_merge(node, message, member_map, effects);
        int sender = member_map[message->sender];
        if (sender >= 0 && !node->member[sender].self)
            take_message(node, message, member_map, (uint32_t)sender, effects);
    }
    if (message->kind == MESSAGE_REQUEST)
        snapshot_serve(node, message, effects);
}
