/*
 * snapshot_take takes the answers of a donor: each is merged or split, and the next parts are asked
 * for. A late answer, or one that this node did not ask for, changes nothing. When all parts are
 * merged, the batches that every part contains count as applied; the others follow in messages. No
 * log here has the contained batches, so they cannot correct a part for a peer that lacks them:
 * they count as dropped.
 */
#include "cluster/snapshot/snapshot_take.h"

#include "cluster/apply/apply.h"
#include "cluster/apply/pages.h"
#include "cluster/apply/retire.h"
#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "cluster/log/tell.h"
#include "cluster/members/stores.h"
#include "cluster/snapshot/snapshot.h"
#include "cluster/snapshot/snapshot_ask.h"
#include "cluster/state/node_state.h"

void snapshot_finish(struct node *node, struct effects *effects)
{
    struct snapshot *snapshot = &node->snapshot;
    apply_begun(node);
    if (snapshot->of_store) {
        stores_taken(node, effects);
        return;
    }
    if (!tell_some(node)) { /* the batches that all parts contain will count as applied */
        todo_add(&node->todo, DO_STEP);
        return;
    }
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid || slot == node->my_slot)
            continue;
        uint64_t base = UINT64_MAX;
        for (uint32_t p = 0; p < snapshot->page_count; p++)
            base = snapshot->page[p].applied[slot] < base ? snapshot->page[p].applied[slot] : base;
        if (base > origin->applied && origin->next_part == 0)
            origin->applied = origin->dropped = base;
    }
    for (uint32_t member = 0; member < node->member_end; member++)
        if (node->member[member].used)
            retire_origins(node, member, snapshot->retired[member]);
    snapshot->running = false;
    snapshot->done = true;
    snapshot->refused_since_ns = 0;
    todo_drop(&node->todo, DO_SNAPSHOT);
    stores_came_with_snapshot(node);
    node->stats.snapshots_taken++;
    todo_add(&node->todo, DO_ANSWER);
    pages_forget(node);
    (void)apply_inbox(node);
    effects_notice(effects, NOTICE_INFO, "took a snapshot from %s", node->member[snapshot->donor].name);
}

/* The part that the reply answers; NULL: this node did not ask for it. */
static struct part *answered_part(struct node *node, const struct message *reply, const int *member_map)
{
    struct snapshot *snapshot = &node->snapshot;
    bool expected = snapshot->running && member_map[reply->sender] == (int)snapshot->donor &&
                    reply->members[reply->sender].incarnation == snapshot->donor_incarnation &&
                    reply->members[reply->sender].state == (snapshot->of_store ? PEER_JOINING : PEER_ACTIVE);
    return expected ? snapshot_asked(snapshot, reply->page_prefix, reply->page_bits) : NULL;
}

static bool merge(struct node *node, const struct message *reply, const int *member_map,
                  struct number_reader reader)
{
    if (!node->snapshot.of_store)
        return snapshot_merge(node, reply, member_map, reader);
    snapshot_merge_store(node, reply, reader);
    return true;
}

void snapshot_take(struct node *node, const struct message *reply, const int *member_map, struct effects *effects)
{
    struct snapshot *snapshot = &node->snapshot;
    struct number_reader reader;
    struct part *part = answered_part(node, reply, member_map);
    if (!part || !message_page(reply, &reader))
        return;
    apply_begun(node);
    if (origins_are_amid_parts(node)) {
        part->asked_ns = 0; /* the charges of this node cannot be told apart now */
        return;
    }
    snapshot->started_ns = node->now_ns; /* a sign of progress */
    bool sound = !reply->page_split || reply->page_bits < SNAPSHOT_PREFIX_BITS_MAX;
    node->stats.messages_invalid += !sound;
    if (!sound || (!reply->page_split && !merge(node, reply, member_map, reader))) {
        snapshot->vain_ns = node->now_ns;
        snapshot_abandon(node);
        return;
    }
    snapshot_answered(snapshot, part, reply->page_split);
    snapshot_ask(node, effects);
}
