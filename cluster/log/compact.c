/*
 * compact sweeps a log that is too long or too large, run by run (merge.c), in as many steps as it
 * takes. One sweep runs at a time. A log that is too long keeps its times: it becomes about
 * LOG_RUNS batches. When all logs together are too large, the largest ones become as few batches as
 * possible. This file does not merge; it chooses logs, and drops batches of other peers when
 * merging is too slow.
 */
#include "cluster/log/compact.h"

#include "cluster/log/merge.h"
#include "cluster/log/origins.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

#include <stdlib.h>

enum {
    MERGE_PATIENCE_INTERVALS = 64,
    GROWTH_PART = 16,
    LOG_RUNS = 256,
    HEADROOM_PART = 8, /* merging takes many steps, so it begins when less than this is free */
};

void compact_init(struct node *node)
{
    list_init(&node->merger.made);
}

void compact_close(struct node *node)
{
    merge_abandon(&node->merger);
    free(node->merger.spend);
}

void compact_forget(struct node *node, const struct batch *batch)
{
    struct merger *merger = &node->merger;
    if (!merge_has(merger, batch))
        return;
    merge_abandon(merger);
    merger->sweeping = false;
    node->log.compacted_ns = node->now_ns;
}

/* The origin whose log is largest, this node's own included; -1 when all are empty. */
static int largest_log(const struct node *node)
{
    int largest = -1;
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        if (node->origin[slot].log_count > 1 &&
            (largest < 0 || node->origin[slot].log_keys > node->origin[largest].log_keys))
            largest = (int)slot;
    return largest;
}

/* A sweep is tried again when the log has grown by a GROWTH_PART since, or after a while. */
static bool has_grown(uint64_t now, uint64_t then)
{
    return now > then + then / GROWTH_PART;
}

/*
 * The tokens of a merged batch count as spent at its newest end. A log that is only too long keeps
 * its times in about LOG_RUNS batches; a log that is too large becomes as few batches as possible.
 */
static uint64_t run_span_ns(const struct origin *origin, bool to_limit)
{
    if (to_limit || list_empty(&origin->log))
        return UINT64_MAX;
    const struct batch *oldest = LIST_OWNER(origin->log.next, const struct batch, link);
    const struct batch *newest = LIST_OWNER(origin->log.previous, const struct batch, link);
    return newest->at_ns > oldest->at_ns ? (newest->at_ns - oldest->at_ns) / LOG_RUNS : 0;
}

static void begin_sweep(struct node *node, uint32_t slot, enum merging how, bool to_limit)
{
    struct merger *merger = &node->merger;
    merger->sweeping = true;
    merger->slot = slot;
    merger->slot_uid = node->origin[slot].uid;
    merger->how = how;
    merger->span_ns = run_span_ns(&node->origin[slot], to_limit);
    merger->to_limit = to_limit;
    merger->reclaimed = false;
    merger->next = 0;
}

static bool sweep_long_logs(struct node *node)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        struct origin *origin = &node->origin[slot];
        if (origin->log_count <= LOG_BATCHES_MAX)
            origin->merged_count = 0;
        if (origin->log_count > LOG_BATCHES_MAX && has_grown(origin->log_count, origin->merged_count)) {
            begin_sweep(node, slot, MERGE_WHAT_WAS_SENT, false);
            return true;
        }
    }
    return false;
}

static bool sweep_largest(struct node *node, enum merging how)
{
    int slot = largest_log(node);
    if (slot >= 0)
        begin_sweep(node, (uint32_t)slot, how, true);
    return slot >= 0;
}

/* A merge that fits one step need not begin early. */
static uint64_t large_keys(const struct node *node)
{
    uint64_t most = node->options.log_keys_max;
    return most > node->step.keys ? most - most / HEADROOM_PART : most;
}

static bool begin_next_sweep(struct node *node)
{
    uint64_t patience_ns = MERGE_PATIENCE_INTERVALS * node->options.interval_ns;
    bool grown = has_grown(node->log.keys, node->log.compacted_keys);
    return sweep_long_logs(node) ||
           (node->log.keys > large_keys(node) && (grown || node->now_ns - node->log.compacted_ns > patience_ns) &&
            sweep_largest(node, MERGE_WHAT_WAS_SENT));
}

/*
 * Sweeps the largest logs one after the other until a quarter of the limit is free; if that is not
 * enough, sweeps again and merges sent batches with unsent ones.
 */
static bool continue_sweeps(struct node *node)
{
    struct merger *merger = &node->merger;
    merger->sweeping = false;
    node->log.compacted_ns = node->now_ns;
    if (!merger->to_limit) {
        node->origin[merger->slot].merged_count = node->origin[merger->slot].log_count;
        return begin_next_sweep(node);
    }
    bool enough = node->log.keys <= node->options.log_keys_max * 3 / 4;
    if (!enough && merger->reclaimed && sweep_largest(node, merger->how))
        return true;
    if (node->log.keys > node->options.log_keys_max && merger->how == MERGE_WHAT_WAS_SENT &&
        sweep_largest(node, MERGE_ALL))
        return true;
    node->log.compacted_keys = node->log.keys;
    return false;
}

bool compact_comes_first(const struct node *node)
{
    return node->log.keys > node->options.log_keys_max &&
           (node->merger.sweeping || has_grown(node->log.keys, node->log.compacted_keys));
}

/* Goes on as long as this step has time. */
static void sweep(struct node *node)
{
    struct merger *merger = &node->merger;
    if (!merger->spend)
        merger->spend = calloc(node->batch_max, sizeof *merger->spend);
    while (merger->sweeping && merger->spend) {
        if (merger->uid == 0 && !merge_begin(node)) {
            if (!continue_sweeps(node))
                return;
        } else if (merge_some(node)) {
            merge_finish(node);
        } else {
            return;
        }
    }
}

/* Live origins keep their own batches, so this node's copies are a convenience. */
static void drop_what_others_made(struct node *node)
{
    for (uint32_t slot = 0; slot < node->origin_end && node->log.keys > node->options.log_keys_max; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid || slot == node->my_slot || origin_is_ghost(node, origin))
            continue;
        while (!list_empty(&origin->log) && node->log.keys > node->options.log_keys_max) {
            struct batch *oldest = LIST_OWNER(origin->log.next, struct batch, link);
            origin_log_drop(node, origin, oldest);
        }
    }
}

/* A sweep takes time and waits for an interval; the limit holds at once. */
void compact_logs(struct node *node)
{
    bool waited = !node->log.compacted_ns || node->now_ns - node->log.compacted_ns >= node->options.interval_ns;
    if (node->log.keys <= large_keys(node))
        node->log.compacted_keys = 0;
    if (node->merger.sweeping || (waited && begin_next_sweep(node)))
        sweep(node);
    if (node->log.keys > node->options.log_keys_max)
        drop_what_others_made(node);
    node->log.full = node->log.keys > node->options.log_keys_max;
}
