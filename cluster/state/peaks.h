/*
 * peaks: how full buckets lately were, so that returned tokens are not credited where a full bucket lost them.
 *
 * The one idea: a return reaches a peer late. Had it come at once, the bucket would have stood higher since, and
 * what rises above its capacity is lost; a peer that credits the return later must leave that out. It is known from
 * the highest level that the bucket had meanwhile, and that is seen whenever it is charged. Slots are found by id
 * and shared: sharing only makes a peak higher, which is the safe side. Two spans of time, the present one and the
 * one before, so that what is older than a span is forgotten and what is younger never.
 */
#ifndef HEADGATE_CLUSTER_STATE_PEAKS_H
#define HEADGATE_CLUSTER_STATE_PEAKS_H

#include "base/hash.h"
#include "limit/bucket.h"

#include <stddef.h>
#include <stdint.h>

/* What is younger than this is remembered. */
#define PEAKS_SPAN_NS (UINT64_C(1) << 30)

struct peak;

struct peaks {
    struct peak *slot;
    unsigned shift;
};

/* About one slot for four keys. False without memory. */
bool peaks_init(struct peaks *peaks, uint64_t keys);
void peaks_close(struct peaks *peaks);
/* All of its memory, as table_memory. */
void *peaks_memory(const struct peaks *peaks, size_t *bytes);

/* peaks_note will follow for that key. */
void peaks_prefetch(const struct peaks *peaks, struct key_id id);
/* The bucket, refilled up to now_ns, is about to be charged. */
void peaks_note(struct peaks *peaks, struct key_id id, const struct bucket *bucket, const struct limit *limit,
                uint64_t now_ns);

/*
 * How many of `units` that were returned at most `age_ns` ago may be credited to the bucket, refilled up to now_ns.
 * Of what was spent at most a span before, no more is lost than has refilled since.
 */
int64_t peaks_credit(const struct peaks *peaks, struct key_id id, const struct bucket *bucket,
                     const struct limit *limit, int64_t units, uint64_t age_ns, uint64_t now_ns);

#endif
