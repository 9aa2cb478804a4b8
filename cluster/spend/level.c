/*
 * level looks up the window before, whose spends count in part, and joins both cells by sliding.h. A window before that
 * is not in the table is full, but for what the table has evicted.
 */
#include "cluster/spend/level.h"

#include "cluster/state/node_state.h"
#include "limit/charge.h"
#include "limit/kind.h"
#include "limit/sliding.h"

/* Units of one limit as units of another one: whole tokens, rounded up. */
static int64_t units_of(int64_t units, const struct limit *from, const struct limit *to)
{
    return (units + from->units_per_token - 1) / from->units_per_token * to->units_per_token;
}

const struct bucket *level_previous(struct node *node, struct key_id previous, uint16_t limit, uint64_t end_ns,
                                    uint64_t now_ns, struct bucket *absent)
{
    struct entry *entry = table_find(node->table, previous);
    if (entry && entry->limit == limit) {
        bucket_refill(&entry->bucket, &node->limits.limit[limit], &node->by_limit.budget[limit], now_ns);
        return &entry->bucket;
    }
    table_start(node->table, previous, limit, end_ns, now_ns, absent);
    if (entry) { /* of the rule's earlier limit: used tokens stay used */
        const struct limit *from = &node->limits.limit[entry->limit], *to = &node->limits.limit[limit];
        const int64_t used = units_of(from->capacity_units - entry->bucket.settled, from, to);
        if (kind_expires(to->kind)) {
            bucket_lower_level(absent, to, to->capacity_units - used, now_ns);
            absent->unsettled += units_of(entry->bucket.unsettled, from, to); /* the share is less by these, too */
        }
    }
    return absent;
}

struct key_window level_window(const struct charge *charge)
{
    if (!charge->sliding)
        return (struct key_window){0};
    return (struct key_window){.previous = charge->previous,
                               .window_ns = charge->window_ns,
                               .end_ns = charge->window_end_ns};
}

struct bucket level_of(struct node *node, const struct bucket *current, uint16_t limit,
                       const struct key_window *window, uint64_t now_ns)
{
    struct bucket absent;
    if (window->window_ns == 0 || !kind_expires(node->limits.limit[limit].kind))
        return *current;
    const struct sliding sliding = {
        .current = current,
        .previous = level_previous(node, window->previous, limit, window->end_ns, now_ns, &absent),
        .limit = &node->limits.limit[limit],
        .window_ns = window->window_ns,
        .window_end_ns = window->end_ns,
    };
    return sliding_level(&sliding, now_ns);
}
