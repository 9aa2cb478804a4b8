#include "cluster/parts.h"

/*
 * What need not be told: a spend that this node's share of the refill has paid off, if no other view of its key was
 * below the capacity meanwhile. docs/accounting.md, "What is never told", has the argument.
 *
 * So a spend from a key that is full otherwise waits, if what is unsettled of it will soon be paid off. It is looked
 * at when it is old enough; what is not paid off by then is told at the pace, like others.
 */
enum {
    LOOK_INTERVALS = 2,       /* to be paid off, and for the news of others to come */
    WAITS_INTERVALS_MAX = 10, /* in all */
    LOOKS_PER_INTERVAL = 16,
};

int64_t soon_paid_units(const struct node *node, const struct limit *limit, uint64_t share)
{
    if (limit->kind != LIMIT_BUCKET || node->alone || (limit->flags & LIMIT_SPLIT) != 0)
        return -1;
    int64_t units;
    if (__builtin_mul_overflow(node->options.interval_ns / limit->tick_ns, limit->units_per_tick, &units) ||
        units > limit->capacity_units)
        units = limit->capacity_units;
    return units_times(units, share);
}

/* All that any view was charged with until then is charged here. */
static uint64_t covered_until_ns(struct node *node)
{
    uint64_t until_ns = node->now_ns;
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        if (!member_needed(member))
            continue;
        if (member->made_ns > member->covered_ns && origins_cover_view(node, i))
            member->covered_ns = member->made_ns;
        if (member->covered_ns < until_ns)
            until_ns = member->covered_ns;
    }
    return until_ns;
}

/*
 * When it was made, the key was full otherwise, and nothing has been charged to it since, or the spend would not wait
 * any more: our share of an interval's refill has paid it off. The table may know better, if shares have changed.
 */
static bool is_paid_off(const struct node *node, const struct spend *spend, uint64_t covered_ns)
{
    if (untold_passed_ns(node, spend->spent) + node->options.interval_ns > covered_ns)
        return false;
    const struct entry *entry = table_find(node->table, spend->id);
    if (!entry || entry->limit != spend->limit || &node->open[entry->open_index] != spend)
        return false;
    struct bucket now = entry->bucket;
    bucket_refill(&now, &node->limits.limit[entry->limit], &node->budget[entry->limit], covered_ns);
    return bucket_is_full(&now, &node->limits.limit[entry->limit]);
}

static void prefetch_ahead(const struct node *node, const struct lane *lane)
{
    uint32_t tags = lane->looked_span + TAGS_AHEAD, slots = lane->looked_span + SLOTS_AHEAD;
    if (tags < lane->open_span)
        table_prefetch_tags(node->table, untold_at(node, lane, tags)->id);
    if (slots < lane->open_span)
        table_prefetch(node->table, untold_at(node, lane, slots)->id);
}

static uint64_t age_ns(const struct node *node, uint32_t then)
{
    return node->now_ns - untold_time_ns(node, then);
}

/* It has waited for too long, or keeps others from being recorded. */
static bool waits_no_more(const struct node *node, const struct lane *lane, const struct spend *spend)
{
    return age_ns(node, spend->since) > WAITS_INTERVALS_MAX * node->options.interval_ns ||
           lane->open_span > untold_nearly_full(node);
}

static bool is_due(const struct node *node, const struct lane *lane, const struct spend *spend)
{
    return age_ns(node, spend->looked) > LOOK_INTERVALS * node->options.interval_ns ||
           lane->open_span > untold_nearly_full(node);
}

/* Looks at no more than `most`, which is counted down. */
static void look(struct node *node, struct lane *lane, uint64_t covered_ns, uint32_t *most)
{
    for (; lane->looked_span < lane->open_span; lane->looked_span++) {
        struct spend *spend = untold_at(node, lane, lane->looked_span);
        if (!spend->untold || !spend->waits || spend->urgent)
            continue;
        if (!is_due(node, lane, spend))
            break;
        if (*most == 0)
            break;
        --*most;
        prefetch_ahead(node, lane);
        if (is_paid_off(node, spend, covered_ns)) {
            untold_drop(node, spend);
            node->stats.spends_paid_off++;
        } else if (waits_no_more(node, lane, spend)) {
            untold_wait_no_more(lane, spend);
        } else {
            untold_requeue(node, lane, spend);
        }
    }
    untold_skip_gaps(node, lane);
}

void pay_step(struct node *node)
{
    uint32_t most = node->step_keys;
    node->look_ns = UINT64_MAX;
    if (untold_count(node) == untold_plain_count(node))
        return;
    uint64_t covered_ns = covered_until_ns(node);
    for (uint32_t i = 0; i < node->lane_count && most > 0; i++)
        look(node, &node->lane[i], covered_ns, &most);
    node->step_again |= most == 0;
    node->look_ns = node->now_ns + node->options.interval_ns / LOOKS_PER_INTERVAL;
}
