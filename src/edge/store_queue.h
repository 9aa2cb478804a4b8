/*
 * store_queue: what waits to be written: versions in their order, and of each counter the newest value.
 *
 * The one idea: counters lie in one array in the order in which they came first, with a hash of places next to it, so
 * that a newer value replaces an older one and the writer gets a plain array. Memory for counters is reserved once and
 * touched as they come. Bounded; knows no threads.
 */
#ifndef HEADGATE_EDGE_STORE_QUEUE_H
#define HEADGATE_EDGE_STORE_QUEUE_H

#include "edge/store.h"

struct waiting_version {
    struct waiting_version *next;
    size_t bytes;
    struct rule_record version; /* its texts are in `text` */
    char text[];
};

struct store_queue {
    struct waiting_version *first, **last;
    size_t version_count;
    uint64_t version_bytes, versions_max_bytes;
    struct store_counter *counter;
    uint32_t *place; /* by hash: an index in `counter` plus one, or 0 */
    uint32_t counter_count, counters_max, place_mask;
    bool sorted; /* nobody has a place any more */
};

/* False when memory is short. To be closed in either case. */
bool store_queue_init(struct store_queue *queue, uint64_t counters_max, uint64_t versions_max_bytes);
void store_queue_close(struct store_queue *queue);

static inline bool store_queue_empty(const struct store_queue *queue)
{
    return queue->version_count == 0 && queue->counter_count == 0;
}

/* Copies; false when it is full or memory is short. */
bool store_queue_add_version(struct store_queue *queue, const struct rule_record *version);
bool store_queue_add_counter(struct store_queue *queue, const struct store_counter *counter);

/* Puts counters into the order of their ids, as the file has them. Nothing is added then until store_queue_clear. */
void store_queue_sort(struct store_queue *queue);
void store_queue_clear(struct store_queue *queue);

#endif
