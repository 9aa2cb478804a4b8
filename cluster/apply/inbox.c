/*
 * inbox keeps batches that arrived before their turn. The inbox is small, and no batch is lost for
 * good: a batch that gives way to a nearer one is told again. Parts of a merge are of use only
 * together, so they have a bound of their own, and of several merges of the same numbers one is
 * gathered. apply.c decides when a batch is applied.
 */
#include "cluster/apply/inbox.h"

#include "cluster/apply/apply.h"
#include "cluster/codec/batch.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

enum {
    PARTS_PATIENCE_INTERVALS = 8, /* a merge whose next part takes longer is given up */
    PATIENCE_INTERVALS = 10,      /* a batch waits so long for others that may still arrive */
};

bool inbox_holds(const struct node *node, uint32_t origin_uid)
{
    LIST_EACH(const struct batch, batch, &node->inbox.list, link)
        if (batch->origin_uid == origin_uid)
            return true;
    return false;
}

bool inbox_has(const struct node *node, uint32_t uid, const struct batch_record *record)
{
    LIST_EACH(const struct batch, batch, &node->inbox.list, link)
        if (batch->origin_uid == uid && batch->first == record->first && batch->last == record->last &&
            batch->merge == record->merge && batch->part == record->part)
            return true;
    return false;
}

bool inbox_has_all(const struct node *node, const struct batch *part)
{
    uint32_t count = 0;
    LIST_EACH(const struct batch, batch, &node->inbox.list, link)
        count += batch->origin_uid == part->origin_uid && batch_is_beside(batch, part);
    return count == part->parts;
}

static bool comes_still(const struct node *node, const struct batch *batch)
{
    return node->now_ns - batch->arrived_ns <= PARTS_PATIENCE_INTERVALS * node->options.interval_ns;
}

bool inbox_gathers(const struct node *node, uint32_t uid)
{
    LIST_EACH(const struct batch, batch, &node->inbox.list, link)
        if (batch->origin_uid == uid && batch->parts > 0 && comes_still(node, batch))
            return true;
    return false;
}

/* True if both are parts of different merges of the same numbers. */
static bool is_another_way(const struct batch *batch, const struct batch *part)
{
    return batch->origin_uid == part->origin_uid && batch->parts > 0 && !batch_is_beside(batch, part) &&
           batch->first <= part->last && batch->last >= part->first;
}

/* The number of its origin at which the batch can be applied. */
static uint64_t turn_of(const struct origin *origin, const struct batch *batch)
{
    return batch->first > origin->applied ? batch->first : origin->applied + 1;
}

/* True if the batch is begun, or an earlier part of its merge is applied. */
static bool is_being_applied(const struct node *node, const struct batch *batch)
{
    int slot = origin_find_uid(node, batch->origin_uid);
    return batch == node->inbox.begun.batch || (slot >= 0 && origin_has_begun(&node->origin[slot], batch));
}

bool inbox_wants_part(struct node *node, const struct batch *part)
{
    bool others = false;
    int slot = origin_find_uid(node, part->origin_uid);
    if (slot < 0)
        return false;
    const struct origin *origin = &node->origin[slot];
    LIST_EACH(const struct batch, batch, &node->inbox.list, link) {
        if (!is_another_way(batch, part))
            continue;
        bool later = turn_of(origin, batch) > turn_of(origin, part),
             whole = batch->part == 0 && inbox_has_all(node, batch);
        if (is_being_applied(node, batch) || (!later && (comes_still(node, batch) || whole)))
            return false;
        others = true;
    }
    for (struct list *at = node->inbox.list.next, *next; at != &node->inbox.list && others; at = next) {
        struct batch *batch = LIST_OWNER(at, struct batch, link);
        next = at->next;
        if (!is_another_way(batch, part))
            continue;
        inbox_take(node, batch);
        batch_destroy(&batch);
    }
    return true;
}

void inbox_put(struct node *node, struct batch *batch)
{
    list_insert_before(&node->inbox.list, &batch->link);
    node->inbox.count++;
    node->inbox.parts += batch->parts > 0;
    node->inbox.keys += batch->spend_count;
}

void inbox_take(struct node *node, struct batch *batch)
{
    list_remove(&batch->link);
    node->inbox.count--;
    node->inbox.parts -= batch->parts > 0;
    node->inbox.keys -= batch->spend_count;
}

/* How many numbers its origin has to advance before it is this batch's turn. */
static uint64_t distance_of(const struct node *node, const struct batch *batch)
{
    int slot = origin_find_uid(node, batch->origin_uid);
    if (slot < 0)
        return UINT64_MAX; /* the origin is gone */
    uint64_t applied = node->origin[slot].applied;
    if (origin_has_begun(&node->origin[slot], batch))
        return 0;
    return batch->first > applied ? batch->first - applied : 0;
}

/* True if no further batch may wait; `parts`: if no further part may. */
static bool is_full(const struct node *node, bool parts)
{
    uint32_t count = parts ? node->inbox.parts : node->inbox.count - node->inbox.parts;
    return count >= (parts ? INBOX_PARTS_MAX : INBOX_BATCHES_MAX) || node->inbox.keys > node->options.log_keys_max;
}

/*
 * The batch that gives way to `batch`, or NULL: the one furthest from its turn, and of equally far
 * ones the one of the origin with the highest uid. With equal rights, parts of several merges could
 * fill the inbox, and no merge would ever be complete. A batch that is being applied stays.
 */
static struct batch *gives_way_to(const struct node *node, const struct batch *batch)
{
    struct batch *furthest = NULL;
    uint64_t most = distance_of(node, batch);
    uint32_t uid = batch->origin_uid;
    bool any = node->inbox.keys > node->options.log_keys_max;
    LIST_EACH(struct batch, other, &node->inbox.list, link) {
        uint64_t distance = distance_of(node, other);
        if ((!any && (other->parts > 0) != (batch->parts > 0)) || distance < most ||
            (distance == most && other->origin_uid <= uid) || is_being_applied(node, other))
            continue;
        furthest = other;
        most = distance;
        uid = other->origin_uid;
    }
    return furthest;
}

bool inbox_make_room(struct node *node, const struct batch *batch)
{
    /*
     * An inbox full of batches far from their turn would take no other. Where batches of two
     * origins depend on each other, each message would then bring the batches of one origin up to
     * the next one that depends on the other.
     */
    while (is_full(node, batch->parts > 0)) {
        struct batch *furthest = gives_way_to(node, batch);
        if (!furthest)
            return false;
        inbox_take(node, furthest);
        batch_destroy(&furthest);
        node->stats.limit_drops++;
    }
    return true;
}

bool inbox_waited_long(const struct node *node, const struct batch *batch)
{
    return node->now_ns - batch->arrived_ns > PATIENCE_INTERVALS * node->options.interval_ns;
}

/* True if a batch of that origin waits for nothing but to be applied: those behind it have their turns then. */
static bool next_is_here(const struct node *node, const struct origin *origin)
{
    LIST_EACH(const struct batch, batch, &node->inbox.list, link) {
        bool whole = batch->parts == 0 || inbox_has_all(node, batch);
        if (batch->origin_uid == origin->uid && batch->first <= origin->applied + 1 &&
            batch->last > origin->applied && whole && apply_depends_are_met(node, batch))
            return true;
    }
    return false;
}

bool inbox_is_orphan(const struct node *node, uint32_t slot, const struct batch *batch)
{
    const struct origin *origin = &node->origin[slot];
    if (!origin_is_ghost(node, origin) || origin_has_begun(origin, batch) || !inbox_waited_long(node, batch))
        return false;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (member_needed(&node->member[i]) && node->member[i].known[slot] > origin->applied)
            return false;
    return !next_is_here(node, origin);
}

/*
 * The batch has waited for long, and a snapshot was refused meanwhile: the batches before it wait
 * for it, too.
 */
static bool is_in_a_ring(const struct node *node, const struct batch *batch)
{
    return !node->snapshot.running && inbox_waited_long(node, batch) &&
           node->snapshot.refused_ns > batch->arrived_ns;
}

/*
 * Of batches that begin with the same number or before, the one that reaches furthest goes first.
 */
bool inbox_breaks_ring(const struct node *node, const struct batch *batch)
{
    if (!is_in_a_ring(node, batch))
        return false;
    LIST_EACH(const struct batch, other, &node->inbox.list, link)
        if (other->origin_uid == batch->origin_uid && other->first <= batch->first && other->last > batch->last &&
            is_in_a_ring(node, other) && (other->parts == 0 || inbox_has_all(node, other)))
            return false;
    return true;
}
