/*
 * snapshot_page reads up to which batch of each origin a part contains spends, and decides whether
 * the part can be merged with the charges of this node. It changes no key.
 */
#include "cluster/snapshot/snapshot_page.h"

#include "base/number.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

#include <string.h>

enum { REFUSED_INTERVALS = 64, LATE_INTERVALS = 4, AHEAD_INTERVALS = 10 };

uint32_t snapshot_page_keys_max(const struct node *node)
{
    struct table_stats table;
    table_stats(node->table, &table);
    uint64_t fit = node->options.message_max_bytes / NUMBER_ENCODED_MAX_BYTES;
    uint64_t keys = table.used_keys / (PAGES_MAX / 4);
    keys = keys > node->step.keys ? keys : node->step.keys;
    return (uint32_t)(keys < fit ? keys : fit);
}

uint64_t snapshot_retired(const struct node *node, uint32_t index, uint64_t said)
{
    const struct member *member = &node->member[index];
    if (member->self)
        return said < node->life.incarnation ? said : node->life.incarnation;
    if (!member_needed(member) || !member_signs(node, index) || said < member->incarnation)
        return said;
    return member->incarnation > 0 ? member->incarnation - 1 : 0;
}

/*
 * The digest lacks incarnations that the donor has retired: all members had the same batches of
 * them, and the part contains all of these. If this node's present incarnation is among them, the
 * others forgot this node while it lives: the part contains the batches that some peer is known to
 * have, and perhaps more.
 */
static void add_retired(const struct node *node, const struct message *reply, const int *member_map,
                        struct page *page)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        for (uint32_t i = 0; i < reply->member_count && node->origin[slot].uid; i++)
            if (member_map[i] == (int)node->origin[slot].member &&
                snapshot_retired(node, node->origin[slot].member, reply->members[i].retired_incarnation) >=
                    node->origin[slot].incarnation) {
                bool lives = slot == node->my_slot;
                page->applied[slot] = lives ? origin_most_known(node, slot) : UINT64_MAX;
                page->beyond[slot] = lives ? node->origin[slot].applied : UINT64_MAX;
            }
}

bool snapshot_page_digest(const struct node *node, const struct message *reply, const int *member_map,
                          struct page *page)
{
    memset(page->applied, 0, sizeof page->applied);
    memset(page->beyond, 0, sizeof page->beyond);
    add_retired(node, reply, member_map, page);
    for (uint32_t r = 0; r < reply->row_count; r++) {
        if (reply->rows[r].member != reply->sender)
            continue;
        for (uint32_t o = 0; o < reply->origin_count; o++) {
            int member = member_map[reply->origins[o].member];
            int slot = member < 0 ? -1 : origin_find(node, (uint32_t)member, reply->origins[o].incarnation);
            if (slot < 0)
                continue;
            page->applied[slot] = reply->rows[r].applied[o];
            page->beyond[slot] = reply->page_beyond[o];
        }
        for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++)
            if (page->beyond[slot] < page->applied[slot])
                page->beyond[slot] = page->applied[slot];
        return true;
    }
    return false;
}

void snapshot_note_retired(struct node *node, const struct message *reply, const int *member_map)
{
    uint64_t retired[NODE_PEERS_MAX] = {0};
    for (uint32_t i = 0; i < reply->member_count; i++)
        if (member_map[i] >= 0)
            retired[member_map[i]] = reply->members[i].retired_incarnation;
    for (uint32_t m = 0; m < NODE_PEERS_MAX; m++)
        if (retired[m] < node->snapshot.retired[m])
            node->snapshot.retired[m] = retired[m];
}

/* An active member that is heard itself, and has not retired that origin. */
static bool keeps_origin(const struct node *node, uint32_t index, uint32_t slot)
{
    const struct member *member = &node->member[index];
    return member_needed(member) && member->state == PEER_ACTIVE && index != node->snapshot.donor &&
           member_hears(node, &node->member[node->me], index) && !member_has_retired(member, slot);
}

/*
 * A donor retires an origin when all members have the same batches of it. If another member says that it has more or
 * fewer of them, the donor is wrong, or newer words of that member are on their way. What this node dropped now,
 * nobody would send again. Where this node has just started, that member does not retire the origin either, since
 * this node lacks it: then that member must be the donor.
 */
static bool retires_too_early(struct node *node, const struct page *page)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (!origin->uid || slot == node->my_slot || page->applied[slot] != UINT64_MAX)
            continue;
        for (uint32_t m = 0; m < node->member_end; m++)
            if (keeps_origin(node, m, slot) && node->member[m].known[slot] != origin->applied) {
                node->snapshot.keeper = m + 1;
                return true;
            }
    }
    return false;
}

/*
 * True if every given part has been refused for REFUSED_INTERVALS; a complete snapshot ends that
 * time.
 */
static bool is_refused_for_long(struct node *node)
{
    struct snapshot *snapshot = &node->snapshot;
    snapshot->refused_ns = node->now_ns;
    if (snapshot->refused_since_ns == 0)
        snapshot->refused_since_ns = node->now_ns;
    return node->now_ns - snapshot->refused_since_ns > REFUSED_INTERVALS * node->options.interval_ns;
}

/*
 * Batches that were applied or settled here and are no longer in a log cannot be charged on top of
 * the donor's figures. If the donor has them by now, it is asked again. The donor may never have
 * them, as when each of two peers knows by snapshots the spends of a gone peer that the other
 * lacks. Then all charges of this node come on top, which counts some of them twice: `adds`.
 */
bool snapshot_page_can_be_merged(struct node *node, const struct page *page, bool *adds)
{
    const struct member *donor = &node->member[node->snapshot.donor];
    *adds = false;
    if (retires_too_early(node, page) && !is_refused_for_long(node))
        return false;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        bool late = origin->forgotten > page->applied[slot] && donor->known[slot] >= origin->forgotten;
        bool lost = origin->uid && origin->dropped > page->applied[slot];
        if (origin->uid && late)
            return false;
        *adds |= lost;
    }
    return !*adds || is_refused_for_long(node);
}

uint64_t snapshot_most_made(const struct node *node, uint32_t slot)
{
    const struct origin *origin = &node->origin[slot];
    const uint64_t word = node->member[origin->member].known[slot];
    return word > origin->applied ? word : origin->applied;
}

/* True: this node has lacked its batches for so long that they may be in no log any more. */
static bool is_late(const struct node *node, const struct origin *origin)
{
    return origin->behind_since_ns > 0 &&
           node->now_ns - origin->behind_since_ns > LATE_INTERVALS * node->options.interval_ns;
}

bool snapshot_page_is_ahead(const struct node *node, const struct page *page)
{
    const struct snapshot *snapshot = &node->snapshot;
    bool ahead = false;
    if (!snapshot->is_second || node->now_ns - snapshot->begun_ns >= AHEAD_INTERVALS * node->options.interval_ns)
        return false;
    for (uint32_t slot = 0; slot < node->origin_end && !ahead; slot++) {
        const struct origin *origin = &node->origin[slot];
        ahead = origin->uid && slot != node->my_slot && page->applied[slot] != UINT64_MAX &&
                page->applied[slot] > origin->applied && !origin_is_ghost(node, origin) &&
                member_signs(node, origin->member) && !node->member[origin->member].silent;
    }
    return ahead;
}

void snapshot_page_contains_no_more(const struct node *node, struct page *page)
{
    const struct snapshot *snapshot = &node->snapshot;
    if (node->life.state == PEER_JOINING && snapshot->giver_count == 0)
        return; /* nothing is charged before the makers have said what they have made: snapshot_finish */
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (!origin->uid || slot == node->my_slot)
            continue;
        const bool signs = !origin_is_ghost(node, origin) && origin->member != snapshot->donor &&
                           member_signs(node, origin->member);
        const bool comes = signs && member_speaks_alone(node, origin->member) && !is_late(node, origin);
        if (snapshot->is_second || comes)
            page->applied[slot] = number_least(page->applied[slot], origin->applied);
        else if (signs)
            page->applied[slot] = number_least(page->applied[slot], snapshot_most_made(node, slot));
    }
}
