/*
 * store_queue: versions and counters that wait to be written: versions in their order, and the
 * newest value of each counter.
 *
 * The one idea: counters lie in one array in the order of their first arrival, with a hash index
 * beside it. So a newer value replaces an older one, and the writer gets a plain array. Memory for
 * counters is reserved once and touched as they come. Bounded; knows no threads.
 */
#ifndef HEADGATE_EDGE_STORE_STORE_QUEUE_H
#define HEADGATE_EDGE_STORE_STORE_QUEUE_H

#include "edge/store/store.h"

struct waiting_version {
    struct waiting_version *next;
    size_t bytes;
    struct rule_record version; /* its views point into `text` */
    char text[];
};

struct store_queue {
    struct waiting_version *first, **last;
    size_t version_count;
    uint64_t version_bytes, versions_max_bytes;
    struct store_counter *counter;
    struct store_part (*parts)[STORE_PARTS_MAX]; /* of counters of LOGs, which point here */
    uint32_t parts_count, parts_max;
    uint32_t *place; /* the hash index: an index into `counter` plus one; 0: free */
    uint32_t counter_count, counters_max, place_mask;
    bool sorted; /* the index is invalid until store_queue_clear */
};

/* False: memory is short. The caller must close the queue in either case. */
bool store_queue_init(struct store_queue *queue, uint64_t counters_max, uint64_t versions_max_bytes);
void store_queue_close(struct store_queue *queue);

static inline bool store_queue_empty(const struct store_queue *queue)
{
    return queue->version_count == 0 && queue->counter_count == 0;
}

/* Copies the argument. False: the queue is full, or memory is short. */
bool store_queue_add_version(struct store_queue *queue, const struct rule_record *version);
bool store_queue_add_counter(struct store_queue *queue, const struct store_counter *counter);

/* Sorts counters by id, the order of the file. Nothing may be added until store_queue_clear. */
void store_queue_sort(struct store_queue *queue);
void store_queue_clear(struct store_queue *queue);

#endif
