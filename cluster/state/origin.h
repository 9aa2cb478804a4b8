/*
 * origin: an origin is one incarnation of a member, with the batches that this incarnation made.
 *
 * The one idea: batches of an origin are numbered without gaps, so that one number says how much of
 * the origin is applied here, and one how much a member is known to have. The functions here only
 * read; origins.h changes logs.
 */
#ifndef HEADGATE_CLUSTER_STATE_ORIGIN_H
#define HEADGATE_CLUSTER_STATE_ORIGIN_H

#include "base/list.h"
#include "cluster/codec/batch.h"

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct node;

struct origin {
    uint32_t uid; /* 0: a free slot; never used twice */
    uint32_t member;
    bool mine; /* made by this process: its log holds spends that are unsettled here */
    uint64_t incarnation;
    uint64_t applied; /* highest contiguous sequence number */
    uint64_t behind_since_ns,
        behind_at; /* somebody has more, and `behind_at` is all we have had since; 0: not so */
    /* Kept for nobody any longer, since all have it: up to this number. Own ones stand in the log until settled. */
    uint64_t forgotten;
    uint64_t dropped; /* applied here, but not kept although somebody may lack it: up to this number */
    /* What is being applied in parts, and the next of them; 0: nothing is. Then `applied` is below all of it. */
    uint64_t merge;
    uint32_t next_part;
    uint32_t log_count, merged_count; /* batches now, and what merging left of them last time */
    uint64_t log_keys;
    struct list log; /* struct batch in order: those that somebody may lack */
};

int origin_find(const struct node *node, uint32_t member, uint64_t incarnation);
int origin_find_uid(const struct node *node, uint32_t uid);
/* No new batches can come of it: its member restarted or left. */
bool origin_is_ghost(const struct node *node, const struct origin *origin);
/* All that this member says it had spent itself, under this and earlier incarnations, is applied here. */
bool origins_cover_spends(const struct node *node, uint32_t member);
/*
 * And so is what it says it has of incarnations that are over. If that holds for every member, whatever any of them had
 * charged its keys with is charged here.
 */
bool origins_cover_view(const struct node *node, uint32_t member);
/* It is a part of what is being applied in parts. */
bool origin_has_begun(const struct origin *origin, const struct batch *part);
/* Up to which of its batches the best informed of the others is known to have it. */
uint64_t origin_most_known(const struct node *node, uint32_t slot);

#endif
