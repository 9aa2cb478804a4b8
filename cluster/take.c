#include "cluster/record.h"
#include "limit/bucket_inline.h"

#include <assert.h>

/*
 * One bucket, and nothing else to be seen to: by far the most requests are such, and those that come together are
 * mostly alike: what they have in common is looked up once for all of them. Whatever is otherwise is left to request.c.
 */

/* What requests that are alike have in common. */
struct alike {
    const struct charge *charge; /* its id does not matter */
    const struct limit *limit;   /* the charge's, as the next two */
    const struct budget *budget;
    struct recording recording;
    uint64_t at_ns;
    uint64_t taken_count; /* by take_here, so far */
};

static bool is_plain(const struct node *node, const struct charge *charge)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    return limit->kind == LIMIT_BUCKET && charge->cost <= limit->capacity && !charge->shadow && !charge->lease &&
           charge->on_isolation == ISOLATION_BUDGET && may_decide(node);
}

static inline struct alike alike_of(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    return (struct alike){
        .charge = charge,
        .limit = limit,
        .budget = &node->budget[charge->limit],
        .recording = recording_under(node, own_lane(node), limit, node->soon_units[charge->limit]),
        .at_ns = request_time(node, now_ns),
    };
}

static void note_taken(const struct alike *alike)
{
    struct lane *lane = alike->recording.lane;
    lane->admitted_tokens += alike->taken_count * alike->charge->cost;
    lane->admitted_requests += alike->taken_count;
}

__attribute__((always_inline)) static inline bool take_here(struct node *node, struct alike *alike,
                                                            struct entry *entry)
{
    const uint64_t cost = alike->charge->cost;
    struct lane *lane = alike->recording.lane;
    int64_t allowance;
    if (!bucket_take_here(&entry->bucket, alike->limit, alike->budget, cost, alike->charge->floor_tokens,
                          alike->at_ns, &allowance)) {
        lane->refused_requests++;
        hurry_if_untold(node, entry);
        return false;
    }
    note_open(lane, alike->at_ns);
    record_here(node, &alike->recording, entry, cost);
    if (!alike->budget->alone && cost > 0)
        hurry_if_low(node, entry, allowance);
    alike->taken_count++;
    return true;
}

/* Kept apart, as what it needs of the stack, others should not pay for. */
__attribute__((noinline)) static bool check_one(struct node *node, const struct charge *like, struct key_id id,
                                                uint64_t at_ns)
{
    struct verdict verdict;
    struct charge charge = *like;
    charge.id = id;
    return check_held(node, &charge, 1, true, at_ns, &verdict);
}

/* A tenant may have as many keys as it may: a new one of his is not for here. */
static inline bool may_insert(const struct node *node, const struct alike *alike)
{
    return alike->charge->tenant == 0 && lane_has_room(node, alike->recording.lane, 0);
}

/* `entry`: the key's, or NULL. In line, so that what is alike of many stays in registers. */
__attribute__((always_inline)) static inline bool take_found(struct node *node, struct alike *alike,
                                                             struct key_id id, struct entry *entry)
{
    const struct charge *charge = alike->charge;
    if (entry && entry->limit == charge->limit && entry->tenant == charge->tenant &&
        can_record_here(node, &alike->recording, entry))
        return take_here(node, alike, entry);
    return check_one(node, charge, id, alike->at_ns);
}

bool node_takes(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    struct verdict verdict;
    assert(limit_set_has(&node->limits, charge->limit));
    if (!is_plain(node, charge))
        return node_check(node, charge, 1, true, now_ns, &verdict);
    struct alike alike = alike_of(node, charge, now_ns);
    struct table_held held;
    table_lock(node->table, &charge->id, 1, &held);
    struct entry *entry = may_insert(node, &alike)
                              ? table_obtain(node->table, charge->id, charge->limit, 0, alike.at_ns)
                              : table_find(node->table, charge->id);
    bool taken = take_found(node, &alike, charge->id, entry);
    table_unlock(node->table, &held);
    note_taken(&alike);
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

void node_prefetch_each(struct node *node, const struct key_id *ids, uint32_t count, uint64_t *guesses)
{
    for (uint32_t i = 0; i < count; i++)
        guesses[i] =
            i > 0 && key_id_equal(ids[i], ids[i - 1]) ? guesses[i - 1] : table_prefetch(node->table, ids[i]);
    if (count > 1 && untold_is_far(node))
        prefetch_untold(node, ids, count);
}

uint64_t node_takes_each(struct node *node, const struct charge *like, const struct key_id *ids, uint32_t count,
                         uint64_t now_ns)
{
    uint64_t allowed = 0, guesses[NODE_EACH_MAX];
    assert(count <= NODE_EACH_MAX && limit_set_has(&node->limits, like->limit));
    node_prefetch_each(node, ids, count, guesses);
    if (is_plain(node, like)) {
        struct alike alike = alike_of(node, like, now_ns);
        struct table_held held = {.count = 0};
        for (uint32_t i = 0; i < count; i++) {
            table_lock_next(node->table, ids[i], &held);
            struct entry *entry = may_insert(node, &alike) ? table_obtain_at(node->table, guesses[i], ids[i],
                                                                             like->limit, 0, alike.at_ns)
                                                           : table_find(node->table, ids[i]);
            allowed |= (uint64_t)take_found(node, &alike, ids[i], entry) << i;
        }
        table_unlock(node->table, &held);
        note_taken(&alike);
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
