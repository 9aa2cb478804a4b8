/*
 * log_state: what the folder log/ remembers besides origins: what is being told, sums of own
 * batches, and the run that is merged.
 *
 * The one idea: a merge is a machine that can stop after any spend, so everything that it needs to
 * go on stands here. Only log/ changes any of it.
 */
#ifndef HEADGATE_CLUSTER_STATE_LOG_STATE_H
#define HEADGATE_CLUSTER_STATE_LOG_STATE_H

#include "base/list.h"
#include "cluster/codec/batch.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LOG_BATCHES_MAX = 1024, /* of one origin; then neighbours are merged */
};

/* What all logs together hold: origins.c, compact.c, settle.c. */
struct log {
    uint64_t keys; /* over all origins */
    bool full;
    uint64_t compacted_ns;   /* when merging was last tried; 0: never */
    uint64_t compacted_keys; /* what it left of a log that was too large; 0: the log is not */
    uint64_t everywhere;     /* own batches up to this one are acknowledged by all */
    uint64_t settle_ns;      /* that a spend takes to settle, smoothed; initially a guess */
};

/* From rings to batches, at a pace: tell.c. */
struct telling {
    struct spend *spend, *sorted;     /* scratch for batch_max of them */
    uint32_t count;                   /* gathered, and in no batch yet: see tell_ahead */
    bool orphans;                     /* some of these are of keys that were evicted since */
    bool spans;                       /* some were gathered by an earlier step */
    uint64_t since_ns;                /* nothing of that is older */
    uint64_t pace, credit, credit_ns; /* see tell_at_pace */
    uint32_t slice_keys, push_keys;   /* as many untold ones are worth a message; call for one now */
    uint64_t next_ns;                 /* when more may be told; UINT64_MAX: nothing waits for the pace */
};

/* Tokens per key in own batches: see tally.c. */
struct tally {
    struct tally_slot *slot; /* mask + 1; NULL until it is needed */
    uint64_t mask, epoch, used;
    uint64_t backed;  /* slots whose memory the system has given */
    uint32_t batches; /* that it is of */
    bool failed;      /* there was no memory */
};

/* What is left of a sorted batch. */
struct merge_source {
    const struct spend *at, *end;
    uint64_t order; /* the limit and the first bits of the id at `at`: few comparisons need a look at the batch */
};

/* Whether what was sent may be merged with what was not. */
enum merging { MERGE_WHAT_WAS_SENT, MERGE_ALL };

/* Merging a log, run by run, each in as many steps as it takes: see merge.c. */
struct merger {
    bool sweeping, to_limit;
    bool reclaimed; /* this sweep made the log smaller */
    enum merging how;
    uint32_t slot, slot_uid; /* whose log is swept */
    uint64_t next;           /* its batches up to this number are done with */
    uint64_t span_ns;        /* what is merged into one was closed within so long */

    uint32_t uid; /* of the origin, while one of its runs is merged; else 0 */
    uint64_t first;
    const struct batch *newest; /* of the run, in the log as long as the run is */
    uint32_t batch_count;       /* in the run */
    uint64_t opened_ns;
    struct merge_source *source; /* a heap: the least key first */
    uint32_t source_count;
    struct list made; /* batches */
    uint32_t made_count;
    struct spend *spend; /* batch_max of them: what the next of these begins with */
    uint32_t spend_count, group_count;
};

#endif
