/*
 * batch: what one peer spent since its last batch, as (key, limit, tokens, returned), and what it had heard by then.
 *
 * The one idea: a batch covers the sequence numbers first..last of one origin, usually one number; merging
 * neighbours gives a batch, or parts of one, that stands for all of them. Once made, others' do not change; of own
 * ones, what is settled leaves them. (`found` is a hint.) Knows no network and no encoding.
 */
#ifndef HEADGATE_CLUSTER_CODEC_BATCH_H
#define HEADGATE_CLUSTER_CODEC_BATCH_H

#include "base/hash.h"
#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was spent and what was given back are told both: they need not concern the same spends. */
struct spend {
    struct key_id id;
    uint64_t tokens;   /* what was returned of them included */
    uint64_t returned; /* of these, or of earlier ones */
    uint64_t credit;   /* own: of what was returned, what only paid off unsettled spends (see bucket_return) */
    uint64_t
        expires_ns; /* on this node's clock; cells; of returns to a log: when they are not heeded any more; else 0 */
    uint16_t limit; /* index into the limit set */
    bool untold;    /* own, in the ring of what is untold, as all that follows: see untold.c */
    bool urgent : 1, orphan : 1;
    uint32_t since; /* when the first of it was made, in steps */
};
_Static_assert(sizeof(struct spend) <= 64, "a cache line");

#define SPEND_TOKENS_MAX ((uint64_t)1 << 60) /* of each figure: more does not add up */

/* The batch was closed after `seq` of the origin with that uid had been applied by its maker. */
struct depend {
    uint32_t origin_uid;
    uint64_t seq;
};

struct batch {
    struct list link; /* in its origin's log, or in the inbox */
    uint32_t origin_uid;
    uint64_t first, last; /* sequence numbers, first <= last */
    uint64_t at_ns;       /* when it was closed, on this node's clock */
    uint64_t open_ns;     /* how long it had been open by then, and may have been on its way */
    uint64_t arrived_ns;  /* when this node made or received it */
    uint64_t sent_ns;     /* when this node last published it; 0: never */
    uint32_t sends_count;
    bool rode_along; /* it was in messages that are not counted as sending it */
    bool complete;   /* own: it has all that was begun before it of its keys: see has_the_last in settle.c */
    bool tallied;    /* own: see tally.c */
    /*
     * What is merged and too large for one batch is cut into parts, which stand for the same numbers together: `merge`
     * is the same for all of them and 0 for whole batches. Parts have different keys.
     */
    uint64_t merge;
    uint32_t part, parts; /* the `part`th of so many, from 0; 0: whole */
    uint32_t depend_count, spend_count;
    uint32_t found;        /* where batch_first_from was last, or near there */
    struct depend *depend; /* inside the same allocation */
    struct spend *spend;   /* inside the same allocation; spends of one limit stand together */
};

/* A batch with room for so many dependencies and spends, counts set, contents zero; NULL: no memory. */
struct batch *batch_create(uint32_t depend_count, uint32_t spend_count);
void batch_destroy(struct batch **batch);

/* Both are parts of one. */
static inline bool batch_is_beside(const struct batch *batch, const struct batch *other)
{
    return batch->parts > 0 && batch->merge == other->merge;
}

/* Nothing in it is older. */
static inline uint64_t batch_opened_ns(const struct batch *batch)
{
    return batch->at_ns - batch->open_ns;
}

/* By limit, then by id; or by id alone. Equal ones stay as they stood. */
enum spend_order { SPENDS_BY_LIMIT, SPENDS_BY_ID };
/* Copies so many spends to where no others stand, sorted; ids are hashes, so that it takes little more than copying. */
void spends_sort(struct spend *to, const struct spend *from, size_t count, enum spend_order order);
/* Sorts spends by limit, then by id. */
void batch_sort(struct batch *batch);
/* The spend of that key in a sorted batch, or NULL. */
const struct spend *batch_find(const struct batch *batch, uint16_t limit, struct key_id id);
/* The first spend under another limit after number `index` of a sorted batch. */
uint32_t batch_next_limit(const struct batch *batch, uint32_t index);
/*
 * The first of the spends number from..end - 1, of one limit, whose id begins with `high` or more. That is fast near
 * the last one that was found, in a batch of one limit: who goes through many, part by part, has none in a cache.
 */
uint32_t batch_first_from(struct batch *batch, uint64_t high, uint32_t from, uint32_t end);
/* Asks memory for the next few spends from there on. */
void batch_prefetch_found(const struct batch *batch);
/* By limit, then by id. */
int spend_compare(const void *a, const void *b);
/* By id alone. */
int spend_compare_ids(const void *a, const void *b);
/* How many different limits there are, where spends of one stand together. */
uint32_t spends_groups(const struct spend *spends, uint32_t count);
/* Adds another spend of the same key, under a LOG if `log`. */
void spend_add(struct spend *sum, const struct spend *more, bool log);

/*
 * A trace of a sequence number, 1..BATCH_TRACES: enough to tell the newest of fewer than so many outstanding batches
 * from the others.
 */
enum { BATCH_TRACES = 191 };
static inline uint8_t batch_trace(uint64_t sequence)
{
    return (uint8_t)(1 + sequence % BATCH_TRACES);
}

#endif
