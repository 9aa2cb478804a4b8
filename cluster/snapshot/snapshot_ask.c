/*
 * snapshot_ask keeps the list of parts of the donor's table that are still to be asked for. A part
 * with more keys than one answer holds is split into halves. Ids are hashes, so once one part was
 * small enough, all others are asked for in parts of that size. Several parts are asked for at the
 * same time, since parts are small and the donor may be far away. This file also decides when
 * batches will not arrive any more and a snapshot must replace them.
 */
#include "cluster/snapshot/snapshot_ask.h"

#include "cluster/apply/inbox.h"
#include "cluster/apply/pages.h"
#include "cluster/codec/message.h"
#include "cluster/members/header.h"
#include "cluster/members/stores.h"
#include "cluster/snapshot/snapshot_take.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

#include <assert.h>
#include <string.h>

enum {
    ASK_AGAIN_INTERVALS = 4,
    GIVE_UP_INTERVALS = 40,
    SNAPSHOT_GAP_INTERVALS = 2,
    PART_INTERVALS = 2,         /* that a part may take, one with another */
    VAIN_INTERVALS = 80,        /* what cannot be used for longer than REFUSED_INTERVALS is wrong */
    ROUNDS_MAX = 6,             /* patience doubles so often */
    BEHIND_INTERVALS = 10,      /* after these, missing batches will not arrive */
    BEHIND_GHOST_INTERVALS = 4, /* the same for batches of a ghost */
};

void snapshot_start(struct node *node, uint32_t donor, bool of_store)
{
    struct snapshot *snapshot = &node->snapshot;
    snapshot->running = true;
    snapshot->done = snapshot->is_second = false;
    snapshot->donor = donor;
    snapshot->of_store = of_store;
    snapshot->donor_incarnation = node->member[donor].incarnation;
    snapshot->donor_knows_stores = node->member[donor].knows_stores;
    snapshot->started_ns = snapshot->begun_ns = node->now_ns;
    snapshot->merged_ns = 0;
    snapshot->answered = 0;
    if (!of_store && snapshot->tried != donor + 1) {
        snapshot->tried = donor + 1;
        snapshot->tried_ns = node->now_ns;
    }
    snapshot->keeper = 0;
    memset(snapshot->retired, 0xff, sizeof snapshot->retired);
    snapshot->asked_count = 0;
    snapshot->depth = 0;
    snapshot->todo_count = 1;
    snapshot->todo[0] = (struct part){0};
}

/* ---- which donor ---- */

int snapshot_donor(const struct node *node)
{
    const uint32_t keeper = node->snapshot.keeper;
    if (keeper > 0 && member_can_give(&node->member[keeper - 1]) &&
        !member_is_passed_over(&node->member[keeper - 1]))
        return (int)keeper - 1;
    return member_to_ask_first(node);
}

bool snapshot_has_given(const struct node *node, uint32_t donor)
{
    const struct snapshot *snapshot = &node->snapshot;
    for (uint32_t g = 0; g < snapshot->giver_count; g++)
        if (snapshot->giver[g].member == donor && snapshot->giver[g].incarnation == node->member[donor].incarnation)
            return true;
    return false;
}

int snapshot_second(const struct node *node)
{
    int best = -1;
    if (node->snapshot.giver_count == 0 || node->snapshot.giver_count == SNAPSHOT_GIVERS)
        return -1;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_can_give(member) && member->proof.has_key && member_speaks_alone(node, i) &&
            !member_is_passed_over(member) && !snapshot_has_given(node, i) &&
            (best < 0 || member->heard_direct_ns > node->member[best].heard_direct_ns))
            best = (int)i;
    }
    return best;
}

void snapshot_start_second(struct node *node, uint32_t donor, struct effects *effects)
{
    if (snapshot_was_in_vain(node))
        return; /* asked again at once, it would answer the same */
    snapshot_start(node, donor, false);
    node->snapshot.is_second = true;
    snapshot_ask(node, effects);
}

bool snapshot_giver_is_gone(const struct node *node)
{
    const struct snapshot *snapshot = &node->snapshot;
    for (uint32_t g = 0; g < snapshot->giver_count; g++) {
        const struct member *giver = &node->member[snapshot->giver[g].member];
        if (!member_needed(giver) || giver->incarnation != snapshot->giver[g].incarnation)
            return true;
    }
    return false;
}

void snapshot_note_giver(struct node *node)
{
    struct snapshot *snapshot = &node->snapshot;
    if (node->life.state != PEER_JOINING || snapshot_has_given(node, snapshot->donor) ||
        snapshot->giver_count == SNAPSHOT_GIVERS)
        return;
    node->stats.second_donors += snapshot->giver_count > 0;
    snapshot->giver[snapshot->giver_count++] =
        (struct snapshot_giver){snapshot->donor, snapshot->donor_incarnation};
}

void snapshot_choose(struct node *node, uint32_t donor)
{
    if (!member_is_passed_over(&node->member[donor]))
        return;
    for (uint32_t i = 0; i < node->member_end; i++)
        node->member[i].vain_incarnation = 0;
    node->snapshot.rounds += node->snapshot.rounds < ROUNDS_MAX;
}

/* Intervals in which a donor has done what it was asked for, or is passed over. Each round has twice as many. */
static uint64_t patience_ns(const struct node *node, uint64_t intervals)
{
    return (intervals * node->options.interval_ns) << node->snapshot.rounds;
}

static void pass_over(struct node *node)
{
    struct member *donor = &node->member[node->snapshot.donor];
    node->snapshot.tried = 0;
    if (node->life.state != PEER_JOINING || donor->incarnation != node->snapshot.donor_incarnation)
        return;
    donor->vain_incarnation = donor->incarnation;
    node->stats.donors_passed_over++;
}

/* What the first donor gave counts all the same. */
static void give_up(struct node *node)
{
    const bool is_second = node->snapshot.is_second;
    snapshot_abandon(node);
    node->snapshot.done = is_second;
}

void snapshot_fails(struct node *node)
{
    if (!node->snapshot.of_store && node->now_ns - node->snapshot.tried_ns > patience_ns(node, VAIN_INTERVALS))
        pass_over(node);
    give_up(node);
}

/* A donor that says little, again and again, would keep a node from its share for good. */
static bool takes_too_long(const struct node *node)
{
    const struct snapshot *snapshot = &node->snapshot;
    return node->life.state == PEER_JOINING &&
           node->now_ns - snapshot->begun_ns >
               patience_ns(node, GIVE_UP_INTERVALS + (uint64_t)PART_INTERVALS * snapshot->answered);
}

/* ---- parts ---- */

static void ask_for(struct node *node, struct part *part, struct effects *effects)
{
    struct message_writer writer;
    header_begin(node, MESSAGE_REQUEST);
    message_begin(&writer, effects, &node->header);
    message_begin_batches(&writer, 0);
    message_end_with_request(&writer, part->prefix, part->bits);
    header_ask(node, &writer, &node->member[node->snapshot.donor]);
    part->asked_ns = node->now_ns;
}

static void split(struct snapshot *snapshot, const struct part *part)
{
    assert(snapshot->todo_count + 2 <= SNAPSHOT_TODO_MAX && part->bits < SNAPSHOT_PREFIX_BITS_MAX);
    for (uint32_t child = 2; child-- > 0;)
        snapshot->todo[snapshot->todo_count++] =
            (struct part){.prefix = 2 * part->prefix + child, .bits = part->bits + 1};
}

/* The part with the lowest prefix is asked for first. */
static struct part next_part(struct snapshot *snapshot)
{
    struct part part = snapshot->todo[--snapshot->todo_count];
    while (part.bits < snapshot->depth) {
        split(snapshot, &part);
        part = snapshot->todo[--snapshot->todo_count];
    }
    return part;
}

void snapshot_ask(struct node *node, struct effects *effects)
{
    struct snapshot *snapshot = &node->snapshot;
    const struct member *donor = &node->member[snapshot->donor];
    if (snapshot->todo_count == 0 && snapshot->asked_count == 0) {
        snapshot_finish(node, effects);
        return;
    }
    if (donor->state != (snapshot->of_store ? PEER_JOINING : PEER_ACTIVE) || donor->silent ||
        donor->incarnation != snapshot->donor_incarnation) {
        give_up(node);
        return;
    }
    const bool is_mute = node->now_ns - snapshot->started_ns > GIVE_UP_INTERVALS * node->options.interval_ns;
    if (is_mute || takes_too_long(node)) {
        if (!is_mute || !snapshot->of_store) /* stores that are not given are waited for: stores_overdue */
            pass_over(node);
        give_up(node);
        return;
    }
    for (uint32_t i = 0; i < snapshot->asked_count; i++) {
        struct part *part = &snapshot->asked[i];
        if (part->asked_ns == 0 || node->now_ns - part->asked_ns >= ASK_AGAIN_INTERVALS * node->options.interval_ns)
            ask_for(node, part, effects);
    }
    while (snapshot->todo_count > 0 && snapshot->asked_count < SNAPSHOT_ASKED_MAX) {
        struct part *part = &snapshot->asked[snapshot->asked_count++];
        *part = next_part(snapshot);
        ask_for(node, part, effects);
    }
}

void snapshot_ask_later(const struct node *node, struct part *part)
{
    /* peers tell each other at every interval: another time of it is tried */
    const uint64_t waits_ns = ASK_AGAIN_INTERVALS * node->options.interval_ns - node->options.interval_ns * 5 / 8;
    part->asked_ns = node->now_ns > waits_ns ? node->now_ns - waits_ns : 1;
}

struct part *snapshot_asked(struct snapshot *snapshot, uint64_t prefix, uint32_t bits)
{
    for (uint32_t i = 0; i < snapshot->asked_count; i++)
        if (snapshot->asked[i].prefix == prefix && snapshot->asked[i].bits == bits)
            return &snapshot->asked[i];
    return NULL;
}

void snapshot_answered(struct snapshot *snapshot, struct part *part, bool is_split)
{
    struct part answered = *part;
    snapshot->answered++;
    *part = snapshot->asked[--snapshot->asked_count];
    if (is_split)
        split(snapshot, &answered);
    else if (snapshot->depth == 0)
        snapshot->depth = answered.bits;
}

/* ---- instead of batches that do not arrive any more ---- */

/* A donor that has batches which do not arrive here any more; -1: no snapshot is needed. */
static int donor_of_what_is_missing(struct node *node)
{
    int donor = -1;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid || slot == node->my_slot)
            continue;
        int informed = origin_most_informed(node, slot);
        bool comes = origin->next_part > 0 || inbox_gathers(node, origin->uid);
        if (informed < 0 || comes || origin->behind_since_ns == 0 || origin->behind_at != origin->applied) {
            origin->behind_since_ns = informed < 0 ? 0 : node->now_ns;
            origin->behind_at = origin->applied;
            continue;
        }
        uint64_t intervals = origin_is_ghost(node, origin) ? BEHIND_GHOST_INTERVALS : BEHIND_INTERVALS;
        if (node->now_ns - origin->behind_since_ns > intervals * node->options.interval_ns)
            donor = informed;
    }
    return donor >= 0 || !todo_has(&node->todo, DO_SNAPSHOT) ? donor : member_to_ask(node);
}

/*
 * True if the oldest own batch that the donor has not applied is old: it has not heard this node
 * for long.
 */
static bool lacks_old_ones_of_ours(const struct node *node, const struct member *donor)
{
    const struct origin *mine = &node->origin[node->my_slot];
    LIST_EACH(const struct batch, batch, &mine->log, link)
        if (batch->last > donor->known[node->my_slot])
            return node->now_ns - batch->at_ns > BEHIND_INTERVALS * node->options.interval_ns;
    return false;
}

/*
 * After a cut both sides hear each other at once. Own spends that the donor has not heard would be
 * charged here in full on top of its figures; the donor knows better how much of them refill has
 * paid off (see aside.h). So the donor is given time to hear them.
 */
static bool donor_is_about_to_hear(struct node *node, uint32_t donor)
{
    struct snapshot *snapshot = &node->snapshot;
    if (!lacks_old_ones_of_ours(node, &node->member[donor])) {
        snapshot->awaits_since_ns = 0;
        return false;
    }
    if (snapshot->awaits_since_ns == 0)
        snapshot->awaits_since_ns = node->now_ns;
    return node->now_ns - snapshot->awaits_since_ns <= BEHIND_INTERVALS * node->options.interval_ns;
}

/* Snapshots are a load for donors, so some time lies between two of them. */
static bool is_soon_after(const struct node *node, uint64_t then_ns)
{
    return then_ns > 0 && node->now_ns - then_ns <= SNAPSHOT_GAP_INTERVALS * node->options.interval_ns;
}

bool snapshot_was_in_vain(const struct node *node)
{
    return is_soon_after(node, node->snapshot.vain_ns);
}

void snapshot_renew(struct node *node, struct effects *effects)
{
    int donor = donor_of_what_is_missing(node);
    if (donor < 0 || is_soon_after(node, node->snapshot.started_ns))
        return;
    snapshot_start(node, (uint32_t)donor, false);
    snapshot_ask(node, effects);
}

void snapshot_catch_up(struct node *node, struct effects *effects)
{
    const struct snapshot *snapshot = &node->snapshot;
    if (snapshot->running) {
        snapshot_ask(node, effects);
        return;
    }
    int donor = donor_of_what_is_missing(node), source = donor < 0 ? stores_source(node) : -1;
    bool waits = donor >= 0 && donor_is_about_to_hear(node, (uint32_t)donor);
    if (donor < 0)
        donor = source >= 0 ? source : stores_active_source(node);
    if (donor < 0 || waits || is_soon_after(node, node->snapshot.started_ns))
        return;
    snapshot_start(node, (uint32_t)donor, source >= 0);
    snapshot_ask(node, effects);
}
