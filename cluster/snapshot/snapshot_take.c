/*
 * snapshot_take takes the answers of a donor: each is merged or split, and the next parts are asked
 * for. A late answer, or one that this node did not ask for, changes nothing. When all parts are
 * merged, the batches that every part contains count as applied; the others follow in messages. No
 * log here has the contained batches, so they cannot correct a part for a peer that lacks them:
 * they count as dropped.
 */
#include "cluster/snapshot/snapshot_take.h"

#include "base/number.h"
#include "cluster/apply/apply.h"
#include "cluster/apply/pages.h"
#include "cluster/apply/retire.h"
#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "cluster/log/tell.h"
#include "cluster/members/stores.h"
#include "cluster/snapshot/snapshot.h"
#include "cluster/snapshot/snapshot_ask.h"
#include "cluster/snapshot/snapshot_page.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

enum {
    WORD_INTERVALS = 10,
    BEYOND_BATCHES = 16,
};

/* Every part contains batches up to here. */
static uint64_t contained(const struct snapshot *snapshot, uint32_t slot)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t p = 0; p < snapshot->page_count; p++)
        least = number_least(least, snapshot->page[p].applied[slot]);
    return least;
}

/*
 * True: only the maker itself says how many batches it has made. It signs, its incarnation goes on, and it is not
 * silent: so its word comes. If a donor could invent batches of the maker, this node would drop the spends that the
 * maker tells later.
 */
static bool is_bound_by_its_maker(const struct node *node, uint32_t slot)
{
    const struct origin *origin = &node->origin[slot];
    const struct member *maker = &node->member[origin->member];
    return origin->uid && slot != node->my_slot && !maker->self && !maker->silent &&
           !origin_is_ghost(node, origin) && origin->member != node->snapshot.donor &&
           member_signs(node, origin->member);
}

/* True: some part is said to contain more of a maker than it has said itself that it has made. */
static bool exceeds_its_maker(const struct node *node, uint32_t slot)
{
    const struct snapshot *snapshot = &node->snapshot;
    if (!is_bound_by_its_maker(node, slot))
        return false;
    for (uint32_t p = 0; p < snapshot->page_count; p++)
        if (snapshot->page[p].applied[slot] > snapshot_most_made(node, slot))
            return true;
    return false;
}

/* What the donor has heard before this node is on its way here. */
static bool awaits_word_of_makers(struct node *node)
{
    struct snapshot *snapshot = &node->snapshot;
    bool awaits = false;
    if (snapshot->merged_ns == 0)
        snapshot->merged_ns = node->now_ns;
    if (node->now_ns - snapshot->merged_ns >= WORD_INTERVALS * node->options.interval_ns)
        return false;
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        awaits |= exceeds_its_maker(node, slot);
    return awaits;
}

/*
 * The parts may contain batches beyond the maker's word. Such a batch is charged all the same when it comes; the
 * returns of some of them are not credited again. Where the maker is not heard, the donor is believed.
 */
static void heed_maker(struct node *node, uint32_t slot)
{
    const uint64_t most = snapshot_most_made(node, slot);
    if (!is_bound_by_its_maker(node, slot) || !member_speaks_alone(node, node->origin[slot].member))
        return;
    node->stats.donors_exceeding += exceeds_its_maker(node, slot);
    for (uint32_t p = 0; p < node->snapshot.page_count; p++) {
        struct page *page = &node->snapshot.page[p];
        page->applied[slot] = number_least(page->applied[slot], most);
        page->beyond[slot] = number_least(page->beyond[slot], number_sum(most, BEYOND_BATCHES));
    }
}

void snapshot_finish(struct node *node, struct effects *effects)
{
    struct snapshot *snapshot = &node->snapshot;
    apply_begun(node);
    if (snapshot->of_store) {
        stores_taken(node, effects);
        return;
    }
    if (awaits_word_of_makers(node))
        return;
    if (!tell_some(node)) { /* the batches that all parts contain will count as applied */
        todo_add(&node->todo, DO_STEP);
        return;
    }
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid || slot == node->my_slot)
            continue;
        heed_maker(node, slot);
        const uint64_t base = contained(snapshot, slot);
        if (base == UINT64_MAX && snapshot->is_second)
            continue; /* that donor has retired the origin: it stays until others say so as well */
        if (base > origin->applied && origin->next_part == 0)
            origin->applied = origin->dropped = base;
    }
    /* what a second donor has retired, its maker's others say as well, or it stays */
    for (uint32_t member = 0; member < node->member_end && !snapshot->is_second; member++)
        if (node->member[member].used)
            retire_origins(node, member, snapshot_retired(node, member, snapshot->retired[member]));
    snapshot_note_giver(node);
    snapshot->running = snapshot->is_second = false;
    snapshot->done = true;
    snapshot->tried = 0;
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

static enum snapshot_merge merge(struct node *node, const struct message *reply, const int *member_map,
                                 struct number_reader reader)
{
    if (reply->page_split)
        return reply->page_bits < SNAPSHOT_PREFIX_BITS_MAX ? SNAPSHOT_TOO_LARGE : SNAPSHOT_REFUSED;
    if (!node->snapshot.of_store)
        return snapshot_merge(node, reply, member_map, reader);
    snapshot_merge_store(node, reply, reader);
    return SNAPSHOT_MERGED;
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
    node->stats.messages_invalid += reply->page_split && reply->page_bits >= SNAPSHOT_PREFIX_BITS_MAX;
    const enum snapshot_merge merged = merge(node, reply, member_map, reader);
    if (merged == SNAPSHOT_AHEAD) {
        snapshot_ask_later(node, part);
        return;
    }
    if (merged == SNAPSHOT_REFUSED) {
        snapshot->vain_ns = node->now_ns;
        snapshot_fails(node);
        return;
    }
    snapshot_answered(snapshot, part, merged == SNAPSHOT_TOO_LARGE);
    snapshot_ask(node, effects);
}
