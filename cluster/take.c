#include "cluster/record.h"
#include "limit/bucket_inline.h"

#include <assert.h>

/*
 * One bucket, and nothing else to be seen to: by far the most requests are such, and those that come together are
 * mostly alike: what they have in common is looked up once for all of them. Whatever is otherwise is left to request.c.
 */

/* What requests that are alike have in common. */
struct alike {
    struct node *node;
    struct lane *lane;
    const struct charge *charge; /* its id does not matter */
    const struct limit *limit;   /* the charge's, as the next two */
    const struct budget *budget;
    int64_t soon_units;
    uint64_t at_ns;
};

static bool is_plain(const struct node *node, const struct charge *charge)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    return limit->kind == LIMIT_BUCKET && charge->cost <= limit->capacity && !charge->shadow && !charge->lease &&
           charge->on_isolation == ISOLATION_BUDGET && may_decide(node);
}

static inline struct alike alike_of(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    return (struct alike){
        .node = node,
        .lane = own_lane(node),
        .charge = charge,
        .limit = &node->limits.limit[charge->limit],
        .budget = &node->budget[charge->limit],
        .soon_units = node->soon_units[charge->limit],
        .at_ns = request_time(node, now_ns),
    };
}

static inline bool take(const struct alike *alike, struct entry *entry)
{
    const struct charge *charge = alike->charge;
    struct lane *lane = alike->lane;
    int64_t allowance;
    if (!bucket_take_here(&entry->bucket, alike->limit, alike->budget, charge->cost, charge->floor_tokens,
                          alike->at_ns, &allowance)) {
        lane->refused_requests++;
        hurry_if_untold(alike->node, entry);
        return false;
    }
    note_open(lane, alike->at_ns);
    record_under(alike->node, alike->limit, alike->soon_units, entry, charge->cost);
    if (!alike->budget->alone && charge->cost > 0)
        hurry_if_low(alike->node, entry, allowance);
    lane->admitted_tokens += charge->cost;
    lane->admitted_requests++;
    return true;
}

/* Kept apart, as what it needs of the stack, others should not pay for. */
__attribute__((noinline)) static bool check_one(const struct alike *alike, struct key_id id)
{
    struct verdict verdict;
    struct charge charge = *alike->charge;
    charge.id = id;
    return check_held(alike->node, &charge, 1, true, alike->at_ns, &verdict);
}

static inline bool take_held(const struct alike *alike, struct key_id id)
{
    struct node *node = alike->node;
    const struct charge *charge = alike->charge;
    /* A tenant may have as many keys as it may: a new one of his is not for here. */
    struct entry *entry = charge->tenant == 0 && lane_has_room(node, alike->lane, 0)
                              ? table_obtain(node->table, id, charge->limit, 0, alike->at_ns)
                              : table_find(node->table, id);
    if (entry && entry->limit == charge->limit && entry->tenant == charge->tenant &&
        can_record_under(node, alike->lane, alike->limit, entry))
        return take(alike, entry);
    return check_one(alike, id);
}

bool node_takes(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    struct verdict verdict;
    assert(limit_set_has(&node->limits, charge->limit));
    if (!is_plain(node, charge))
        return node_check(node, charge, 1, true, now_ns, &verdict);
    const struct alike alike = alike_of(node, charge, now_ns);
    struct table_held held;
    table_lock(node->table, &charge->id, 1, &held);
    bool taken = take_held(&alike, charge->id);
    table_unlock(node->table, &held);
    return taken;
}

/* Entries tell where their untold spends are: these are asked for side by side as well. */
static void prefetch_untold(struct node *node, const struct key_id *ids, uint32_t count)
{
    struct table_held held = {.count = 0};
    for (uint32_t i = 0; i < count; i++) {
        table_lock_next(node->table, ids[i], &held);
        const struct entry *entry = table_find(node->table, ids[i]);
        if (entry)
            untold_prefetch(node, entry);
    }
    table_unlock(node->table, &held);
}

void node_prefetch_each(struct node *node, const struct key_id *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || !key_id_equal(ids[i], ids[i - 1]))
            table_prefetch(node->table, ids[i]);
    if (count > 1 && untold_is_far(node))
        prefetch_untold(node, ids, count);
}

uint64_t node_takes_each(struct node *node, const struct charge *like, const struct key_id *ids, uint32_t count,
                         uint64_t now_ns)
{
    uint64_t allowed = 0;
    assert(count <= NODE_EACH_MAX && limit_set_has(&node->limits, like->limit));
    node_prefetch_each(node, ids, count);
    if (is_plain(node, like)) {
        const struct alike alike = alike_of(node, like, now_ns);
        struct table_held held = {.count = 0};
        for (uint32_t i = 0; i < count; i++) {
            table_lock_next(node->table, ids[i], &held);
            allowed |= (uint64_t)take_held(&alike, ids[i]) << i;
        }
        table_unlock(node->table, &held);
        return allowed;
    }
    struct charge one = *like;
    for (uint32_t i = 0; i < count; i++) {
        one.id = ids[i];
        allowed |= (uint64_t)node_takes(node, &one, now_ns) << i;
    }
    return allowed;
}

void node_prefetch_tags(const struct node *node, struct key_id id)
{
    table_prefetch_tags(node->table, id);
}
