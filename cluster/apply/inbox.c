#include "cluster/apply/inbox.h"

#include "cluster/codec/batch.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

/*
 * What came before its turn. The inbox is small, and nothing in it is lost for good: what gives way to what is nearer
 * to its turn is told again. Parts of something merged are of use only together, so that they have a bound of their
 * own, and of several ways in which the same was merged one is gathered. When what is here is applied is apply.c's
 * business.
 */
enum {
    PARTS_PATIENCE_INTERVALS = 8, /* without the next part: the rest of it does not come */
    PATIENCE_INTERVALS = 10,      /* so long waits what needs something else that may still come */
};

bool inbox_holds(const struct node *node, uint32_t origin_uid)
{
    for (struct list *at = node->inbox.list.next; at != &node->inbox.list; at = at->next)
        if (LIST_OWNER(at, const struct batch, link)->origin_uid == origin_uid)
            return true;
    return false;
}

bool inbox_has(const struct node *node, uint32_t uid, const struct batch_record *record)
{
    for (struct list *at = node->inbox.list.next; at != &node->inbox.list; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
        if (batch->origin_uid == uid && batch->first == record->first && batch->last == record->last &&
            batch->merge == record->merge && batch->part == record->part)
            return true;
    }
    return false;
}

bool inbox_has_all(const struct node *node, const struct batch *part)
{
    uint32_t count = 0;
    for (struct list *at = node->inbox.list.next; at != &node->inbox.list; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
        count += batch->origin_uid == part->origin_uid && batch_is_beside(batch, part);
    }
    return count == part->parts;
}

static bool comes_still(const struct node *node, const struct batch *batch)
{
    return node->now_ns - batch->arrived_ns <= PARTS_PATIENCE_INTERVALS * node->options.interval_ns;
}

bool inbox_gathers(const struct node *node, uint32_t uid)
{
    for (struct list *at = node->inbox.list.next; at != &node->inbox.list; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
        if (batch->origin_uid == uid && batch->parts > 0 && comes_still(node, batch))
            return true;
    }
    return false;
}

/* Both are parts, of what was merged in different ways. */
static bool is_another_way(const struct batch *batch, const struct batch *part)
{
    return batch->origin_uid == part->origin_uid && batch->parts > 0 && !batch_is_beside(batch, part) &&
           batch->first <= part->last && batch->last >= part->first;
}

/* The number of its origin that it waits for. */
static uint64_t turn_of(const struct origin *origin, const struct batch *batch)
{
    return batch->first > origin->applied ? batch->first : origin->applied + 1;
}

/* Some of it is applied, or parts beside it are. */
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
    for (struct list *at = node->inbox.list.next; at != &node->inbox.list; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
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

/* How far its origin has to come before it is this one's turn. */
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

/* As many wait as may; `parts`: of these. */
static bool is_full(const struct node *node, bool parts)
{
    uint32_t count = parts ? node->inbox.parts : node->inbox.count - node->inbox.parts;
    return count >= (parts ? INBOX_PARTS_MAX : INBOX_BATCHES_MAX) || node->inbox.keys > node->options.log_keys_max;
}

/*
 * What gives way to `batch` if anything does: what is furthest from its turn and, of what is as far, of the origin that
 * was heard of last. If these had equal rights, parts of several merged batches could fill the inbox, and none would
 * ever be whole. What is being applied stays.
 */
static struct batch *gives_way_to(const struct node *node, const struct batch *batch)
{
    struct batch *furthest = NULL;
    uint64_t most = distance_of(node, batch);
    uint32_t uid = batch->origin_uid;
    bool any = node->inbox.keys > node->options.log_keys_max;
    for (struct list *at = node->inbox.list.next; at != &node->inbox.list; at = at->next) {
        struct batch *other = LIST_OWNER(at, struct batch, link);
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
     * An inbox full of what is far from its turn would take in nothing else: where two origins' batches depend on each
     * other's, a message would then bring only those of one up to the next that depends on the other.
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

/* It has waited for long, and no snapshot stands for it: others are to be applied before it, and wait for it, too. */
static bool is_in_a_ring(const struct node *node, const struct batch *batch)
{
    return !node->snapshot.running && inbox_waited_long(node, batch) &&
           node->snapshot.refused_ns > batch->arrived_ns;
}

/* Of what may go first, and begins with the same number or before, the one that reaches furthest does. */
bool inbox_breaks_ring(const struct node *node, const struct batch *batch)
{
    if (!is_in_a_ring(node, batch))
        return false;
    for (struct list *at = node->inbox.list.next; at != &node->inbox.list; at = at->next) {
        const struct batch *other = LIST_OWNER(at, const struct batch, link);
        if (other->origin_uid == batch->origin_uid && other->first <= batch->first && other->last > batch->last &&
            is_in_a_ring(node, other) && (other->parts == 0 || inbox_has_all(node, other)))
            return false;
    }
    return true;
}
