/*
 * log_state: the memory of the folder log/ besides origins: spends that are being told, sums of own
 * batches, and the run that is being merged.
 *
 * The one idea: a merge can stop after any spend, so all that it needs to go on is here. Only log/
 * changes it.
 */
#ifndef HEADGATE_CLUSTER_STATE_LOG_STATE_H
#define HEADGATE_CLUSTER_STATE_LOG_STATE_H

#include "base/list.h"
#include "cluster/codec/batch.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LOG_BATCHES_MAX = 1024, /* of one origin; beyond them neighbours are merged */
};

/* Figures of all logs together: origins.c, compact.c, settle.c. */
struct log {
    uint64_t keys; /* over all origins */
    bool full;
    uint64_t compacted_ns; /* when a sweep was last tried; 0: never */
    /* keys that sweeps left of logs that were too large; 0: they are not */
    uint64_t compacted_keys;
    uint64_t everywhere; /* all members have acknowledged own batches up to this one */
    uint64_t settle_ns;  /* the time in which a spend settles, smoothed; a hint at first */
};

/* From rings to batches, at a pace: tell.c. */
struct telling {
    struct spend *spend, *sorted;     /* scratch for batch_max spends each */
    uint32_t count;                   /* gathered spends, in no batch yet: see tell_ahead */
    bool orphans;                     /* some gathered spends are of keys that were evicted since */
    bool spans;                       /* an earlier step gathered some of them */
    uint64_t since_ns;                /* no gathered spend is older */
    uint64_t returned_since_ns;       /* no settled token that gathered spends return is older; 0: there is none */
    uint64_t pace, credit, credit_ns; /* see tell_at_pace */
    /* so many untold spends are worth a message; so many ask for one now */
    uint32_t slice_keys, push_keys;
    uint64_t next_ns; /* when the pace allows more; UINT64_MAX: no spend waits for it */
};

/* Tokens per key in own batches: see unsettled_index.c. */
struct unsettled_index {
    struct unsettled_index_slot *slot; /* mask + 1; NULL until it is needed */
    uint64_t mask, epoch, used;
    uint64_t backed;  /* slots that the system has given memory for */
    uint32_t batches; /* own batches in the sums */
    bool failed;      /* there was no memory */
};

/* The rest of a sorted batch. */
struct merge_source {
    const struct spend *at, *end;
    /* the limit and the first bits of the id at `at`: most comparisons need no look at the batch */
    uint64_t order;
};

/* Whether sent batches may be merged with unsent ones. */
enum merging { MERGE_WHAT_WAS_SENT, MERGE_ALL };

/* Merging a log, run by run, each in as many steps as it takes: see merge.c. */
struct merger {
    bool sweeping, to_limit;
    bool reclaimed; /* this sweep made the log smaller */
    enum merging how;
    uint32_t slot, slot_uid; /* the origin whose log is swept */
    uint64_t next;           /* the sweep has passed its batches up to this number */
    uint64_t span_ns;        /* batches of one merge were closed within this time */

    uint32_t uid; /* of the origin while one of its runs is merged; else 0 */
    uint64_t first;
    const struct batch *newest; /* of the run, in the log as long as the run is */
    uint32_t batch_count;       /* in the run */
    uint64_t opened_ns;
    struct merge_source *source; /* a heap: the least key first */
    uint32_t source_count;
    struct list made; /* batches */
    uint32_t made_count;
    struct spend *spend; /* batch_max spends: the next batch of these begins with them */
    uint32_t spend_count, group_count;
};

#endif
