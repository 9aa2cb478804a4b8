#include "cluster/ahead.h"
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
    const struct limit *limit;   /* the charge's, as the next one */
    const struct budget *budget;
    struct recording recording;
    struct lane *lane;
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
        .charge = charge,
        .limit = &node->limits.limit[charge->limit],
        .budget = &node->budget[charge->limit],
        .recording = recording_under(node, charge->limit),
        .lane = own_lane(node),
        .at_ns = request_time(node, now_ns),
    };
}

__attribute__((always_inline)) static inline bool take(struct node *node, const struct alike *alike,
                                                       struct entry *entry)
{
    const uint64_t cost = alike->charge->cost;
    struct lane *lane = alike->lane;
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
    lane->admitted_tokens += cost;
    lane->admitted_requests++;
    return true;
}

/* Kept apart, as what it needs of the stack, others should not pay for. */
__attribute__((noinline)) static bool check_one(struct node *node, const struct charge *like, struct key_id id,
                                                uint64_t at_ns)
{
    struct verdict verdict;
    struct charge charge = *like;
    charge.id = id;
    return check_held(node, &charge, NULL, 1, true, at_ns, &verdict);
}

/* `guess`: see table_find_at. Always in line, so that what is alike of many is looked up once. */
__attribute__((always_inline)) static inline bool take_held(struct node *node, const struct alike *alike,
                                                            struct key_id id, uint64_t guess)
{
    const struct charge *charge = alike->charge;
    struct entry *entry = table_find_at(node->table, guess, id);
    /* A new key of a service takes the slow path. */
    if (!entry && charge->tenant == 0 && lane_has_room(node, alike->lane, 0) &&
        table_tenant_has_room(node->table, id, 0, 1))
        entry = table_insert(node->table, id, charge->limit, 0, alike->at_ns);
    if (entry && entry->limit == charge->limit && entry->tenant == charge->tenant &&
        can_record_here(node, alike->lane, &alike->recording, entry))
        return take(node, alike, entry);
    return check_one(node, charge, id, alike->at_ns);
}

/* Entries tell where their untold spends are: these are asked for side by side as well. */
static void prefetch_untold(const struct node *node, const uint64_t *guesses, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        untold_prefetch(node, guesses[i]);
}

void node_prefetch_each(const struct node *node, const struct key_id *ids, uint32_t count, uint64_t *guesses)
{
    for (uint32_t i = 0; i < count; i++)
        guesses[i] =
            i > 0 && key_id_equal(ids[i], ids[i - 1]) ? guesses[i - 1] : table_prefetch(node->table, ids[i]);
    if (count > 1 && untold_is_far(node))
        prefetch_untold(node, guesses, count);
}

uint64_t node_takes_each(struct node *node, const struct charge *like, const struct key_id *ids, uint32_t count,
                         uint64_t now_ns)
{
    uint64_t allowed = 0, guesses[NODE_EACH_MAX];
    assert(count <= NODE_EACH_MAX && limit_set_has(&node->limits, like->limit));
    struct ahead ahead = {.ids = ids, .guesses = guesses, .count = count};
    if (is_plain(node, like)) {
        const struct alike alike = alike_of(node, like, now_ns);
        for (uint32_t i = 0; i < count;) {
            const uint32_t end = ahead_reach(node, &ahead, i);
            struct table_held held = {.count = 0};
            for (; i < end; i++) {
                table_lock_next(node->table, ids[i], &held);
                allowed |= (uint64_t)take_held(node, &alike, ids[i], guesses[i]) << i;
            }
            table_unlock(node->table, &held);
        }
        return allowed;
    }
    struct charge one = *like;
    struct verdict verdict;
    for (uint32_t i = 0, end = 0; i < count; i++) {
        if (i == end)
            end = ahead_reach(node, &ahead, i);
        one.id = ids[i];
        allowed |= (uint64_t)node_check_near(node, &one, &guesses[i], 1, true, now_ns, &verdict) << i;
    }
    return allowed;
}

bool node_takes(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    return node_takes_each(node, charge, &charge->id, 1, now_ns) != 0;
}

void node_prefetch_tags(const struct node *node, struct key_id id)
{
    table_prefetch_tags(node->table, id);
}
