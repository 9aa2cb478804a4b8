/*
 * batch: spends of one peer that no batch before has, as (key, limit, tokens, returned), and what
 * the peer had applied by then.
 *
 * The one idea: a batch covers the sequence numbers first..last of one origin, usually one number.
 * A merge of neighbours is one batch, or several parts of one, that stands for all of them. A
 * finished batch of another peer never changes (`found` is a hint only); settled spends leave an
 * own batch. This file knows no network and no encoding.
 */
#ifndef HEADGATE_CLUSTER_CODEC_BATCH_H
#define HEADGATE_CLUSTER_CODEC_BATCH_H

#include "base/hash.h"
#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returned tokens are told beside the tokens: they may be of other spends. */
struct spend {
    struct key_id id;
    uint64_t tokens;   /* before returned tokens are taken off */
    uint64_t returned; /* tokens given back, of these spends or of earlier ones */
    uint64_t credit;   /* own: the part of `returned` that paid off unsettled spends: see bucket_return */
    /*
     * On this node's clock. Cells: when the cell expires. Returns to a log: from when the return is
     * ignored. Else 0.
     */
    uint64_t expires_ns;
    uint16_t limit; /* index into the limit set */
    bool untold;    /* this field and the following are for own spends: see outbox.c */
    bool urgent : 1, orphan : 1;
    bool returns_settled : 1; /* settled tokens are among the returned ones: nobody knows when they were spent */
    uint32_t since;           /* when the first of these spends was made, in steps */
    uint32_t
        granted; /* of a batch that is no merge: the part of `tokens` that was spent on behalf of others, see grant.h */
    uint32_t spare; /* the spend is less than `tokens` by so many parts of a token: see grant_units */
};
_Static_assert(sizeof(struct spend) <= 64, "a cache line");

#define SPEND_TOKENS_MAX ((uint64_t)1 << 60) /* the most of each figure: sums stop there */

/*
 * The maker of the batch spent a part of the key's spend in it on behalf of the holder, who asked for
 * that: `tokens`, less `spare` parts of one.
 */
struct batch_grant {
    struct key_id id;
    uint32_t holder_uid; /* the origin of the holder */
    uint32_t spare;
    uint64_t ask; /* the number that the holder gave to its ask */
    uint64_t tokens;
};

enum {
    BATCH_GRANTS_MAX = 64,
    SPARE_BITS = 24, /* a token has 2^24 parts */
};

/* The maker of the batch had applied `seq` of the origin with that uid before it closed the batch. */
struct depend {
    uint32_t origin_uid;
    uint64_t seq;
};

/* A new field that peers tell each other: see "Where a change goes" in docs/architecture.md. */
struct batch {
    struct list link; /* in its origin's log, or in the inbox */
    uint32_t origin_uid;
    uint64_t first, last; /* sequence numbers, first <= last */
    uint64_t at_ns;       /* when the batch was closed, on this node's clock */
    uint64_t open_ns;     /* how long it had been open by then, plus its time on the way at most */
    uint64_t arrived_ns;  /* when this node made or received the batch */
    uint64_t sent_ns;     /* when this node last published the batch; 0: never */
    uint32_t sends_count;
    bool rode_along;               /* the batch was in messages that do not count as sends of it */
    bool complete;                 /* own: has all earlier spends of its keys: see has_the_last in settle.c */
    bool summed;                   /* own: counted in the sums of unsettled_index.c */
    bool credited;                 /* own: returns had paid off some of the unsettled tokens when it was closed */
    bool grants_dropped;           /* it had grants, which are not known here */
    bool hashed;                   /* own: the two hashes are those of all of it */
    uint8_t hash[TEXT_HASH_BYTES]; /* see batch_hash.h */
    uint8_t granting_hash[TEXT_HASH_BYTES]; /* with grants, where it has any */
    /*
     * A merge that is too large for one batch is cut into parts, which stand for the same numbers
     * together. `merge` is the same for all parts of a merge, and 0 for whole batches. No key is in
     * two parts.
     */
    uint64_t merge;
    uint32_t part, parts; /* the number of this part, from 0, and of all parts; 0: whole */
    uint32_t depend_count, spend_count;
    uint32_t found;        /* a hint: the last result of batch_first_from, or near it */
    struct depend *depend; /* in the same allocation */
    struct spend *spend;   /* in the same allocation; spends of one limit stand together */
    /* a merged batch has none: what is not told yet to the holder is lost */
    uint32_t grant_count;
    struct batch_grant *grant; /* in the same allocation */
};

/* A batch with room for these counts, which are set; contents are zero. NULL: no memory. */
struct batch *batch_create(uint32_t depend_count, uint32_t spend_count);
/* The same with room for grants. */
struct batch *batch_create_granting(uint32_t depend_count, uint32_t spend_count, uint32_t grant_count);
void batch_destroy(struct batch **batch);

/* True if both batches are parts of one merge. */
static inline bool batch_is_beside(const struct batch *batch, const struct batch *other)
{
    return batch->parts > 0 && batch->merge == other->merge;
}

/* When the batch was opened: no spend in it is older. */
static inline uint64_t batch_opened_ns(const struct batch *batch)
{
    return batch->at_ns - batch->open_ns;
}

/* By limit, then by id; or by id alone. Equal spends keep their order. */
enum spend_order { SPENDS_BY_LIMIT, SPENDS_BY_ID };
/*
 * Copies `count` spends sorted to `to`, which must not overlap `from`. Ids are hashes, so sorting
 * takes little longer than copying.
 */
void spends_sort(struct spend *to, const struct spend *from, size_t count, enum spend_order order);
/* Sorts spends by limit, then by id. */
void batch_sort(struct batch *batch);
/* The spend of that key in a sorted batch, or NULL. */
const struct spend *batch_find(const struct batch *batch, uint16_t limit, struct key_id id);
/* The index of the first spend of another limit after spend `index` of a sorted batch. */
uint32_t batch_next_limit(const struct batch *batch, uint32_t index);
/*
 * The spend of the key under the first limit that has one, from spend `*from` on, with which its limit must begin; then
 * `*from` is behind that limit. NULL: there is none.
 */
const struct spend *batch_find_next(const struct batch *batch, uint32_t *from, struct key_id id);
/*
 * The first of the spends from..end - 1, all of one limit, whose id begins with `high` or more. The
 * search is fast near the last result in a batch of one limit: a caller that goes through many
 * batches part by part has none of them in a cache.
 */
uint32_t batch_first_from(struct batch *batch, uint64_t high, uint32_t from, uint32_t end);
/* Prefetches the next few spends from the last result of batch_first_from on. */
void batch_prefetch_found(const struct batch *batch);
/* By limit, then by id. */
int spend_compare(const void *a, const void *b);
/* By id alone. */
int spend_compare_ids(const void *a, const void *b);
/* The number of different limits; spends of one limit must stand together. */
uint32_t spends_groups(const struct spend *spends, uint32_t count);
/* Adds another spend of the same key to `sum`. `log`: the limit is a LOG. */
void spend_add(struct spend *sum, const struct spend *more, bool log);

/*
 * A trace of a sequence number, 1..BATCH_TRACES. It tells the newest of fewer than BATCH_TRACES
 * outstanding batches from the others.
 */
enum { BATCH_TRACES = 191 };
static inline uint8_t batch_trace(uint64_t sequence)
{
    return (uint8_t)(1 + sequence % BATCH_TRACES);
}

#endif
