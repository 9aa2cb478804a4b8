/*
 * peaks: how full buckets lately were, so that returned tokens are not credited where a full bucket
 * lost them.
 *
 * The one idea: a return reaches a peer late. Had it come at once, the bucket would have been
 * fuller since, and tokens above its capacity are lost; a late credit must leave them out. The
 * highest level since then tells how many they are, and each charge notes the level. Slots are
 * found by id and shared: sharing only raises a peak, which is the safe side. There are two spans
 * of time, the present one and the one before, so older peaks are forgotten and younger ones never.
 */
#ifndef HEADGATE_CLUSTER_STATE_PEAKS_H
#define HEADGATE_CLUSTER_STATE_PEAKS_H

#include "base/hash.h"
#include "limit/bucket.h"

#include <stddef.h>
#include <stdint.h>

/* Peaks younger than this are never forgotten. */
#define PEAKS_SPAN_NS (UINT64_C(1) << 30)

struct peak;

struct peaks {
    struct peak *slot;
    unsigned shift;
};

/* About one slot for four keys. False: no memory. */
bool peaks_init(struct peaks *peaks, uint64_t keys);
void peaks_close(struct peaks *peaks);
/* All memory of the peaks, as table_memory gives it. */
void *peaks_memory(const struct peaks *peaks, size_t *bytes);

/* A caller should call this some time before peaks_note for the same key. */
void peaks_prefetch(const struct peaks *peaks, struct key_id id);
/*
 * The caller must refill the bucket up to now_ns, and must call this before it charges the bucket.
 */
void peaks_note(struct peaks *peaks, struct key_id id, const struct bucket *bucket, const struct limit *limit,
                uint64_t now_ns);

/*
 * Whose return raises a bucket here. Own unsettled tokens are younger than all that a later credit of own tokens
 * returns, so they do not limit that one.
 */
enum raise { RAISE_OWN_UNSETTLED, RAISE_OTHER };
/* A return of this node raises the bucket by `units` now. Other threads may call this for other keys. */
void peaks_raise(struct peaks *peaks, struct key_id id, const struct limit *limit, int64_t units, enum raise raise,
                 uint64_t now_ns);

/*
 * How many of `units`, which were spent at most `age_ns` ago and then returned, may be credited to the bucket. The
 * bucket must be refilled up to now_ns. No more of them are lost than have refilled since the spend, and were
 * returned since then of older tokens. `raise`: what the credit counts as if it is more than that.
 */
int64_t peaks_credit(struct peaks *peaks, struct key_id id, const struct bucket *bucket, const struct limit *limit,
                     int64_t units, uint64_t age_ns, enum raise raise, uint64_t now_ns);

/* What may have refilled since a spend of `age_ns` ago, by any clock. */
int64_t peaks_refilled(const struct limit *limit, uint64_t age_ns);
/*
 * How many of `units`, which others granted, which were used at most `age_ns` ago and are given back here, have room
 * for certain, however full the bucket was meanwhile: at most those that have not refilled since.
 */
int64_t peaks_return(const struct peaks *peaks, struct key_id id, const struct limit *limit, int64_t units,
                     uint64_t age_ns, uint64_t now_ns);

#endif
