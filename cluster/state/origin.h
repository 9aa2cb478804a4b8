/*
 * origin: one incarnation of a member, with the batches that this incarnation made.
 *
 * The one idea: batches of an origin are numbered without gaps, so one number says how much of the
 * origin is applied here, and one number how much a member is known to have. The functions here
 * only read; origins.h changes logs.
 */
#ifndef HEADGATE_CLUSTER_STATE_ORIGIN_H
#define HEADGATE_CLUSTER_STATE_ORIGIN_H

#include "base/list.h"
#include "cluster/codec/batch.h"

#include <stdbool.h>
#include <stdint.h>

struct batch_holder;
struct node;

struct origin {
    uint32_t uid; /* 0: a free slot; never used twice */
    uint32_t member;
    bool mine; /* made by this process: spends in its log are unsettled here. Never of a free slot */
    uint64_t incarnation;
    uint64_t applied; /* highest contiguous sequence number */
    /* since when some member has more than `behind_at`, all that is applied here; 0: none has */
    uint64_t behind_since_ns, behind_at;
    /*
     * Batches up to this number are kept no longer, since all members have them. Own ones stay in
     * the log until they settle.
     */
    uint64_t forgotten;
    /* batches up to this number are applied here, but dropped although a member may lack them */
    uint64_t dropped;
    /*
     * The merge that is being applied, and its next part; 0: none. `applied` is below all its
     * numbers then.
     */
    uint64_t merge;
    uint32_t next_part;
    uint32_t log_count, merged_count; /* batches now, and batches after the last sweep */
    uint32_t credited_count;          /* batches now that are `credited` */
    uint64_t log_keys;
    struct list log; /* the batches that some member may lack, in order */
};

int origin_find(const struct node *node, uint32_t member, uint64_t incarnation);
int origin_find_uid(const struct node *node, uint32_t uid);
/* Whom each grant of the batch is for. `holders` has room for as many as a batch may have. */
void origin_holders(const struct node *node, const struct batch *batch, struct batch_holder *holders);
/* True if no new batches of it can come: its member has restarted or left. */
bool origin_is_ghost(const struct node *node, const struct origin *origin);
/*
 * True if all spends of this member, of this and earlier incarnations, that it is known to have
 * made are applied here.
 */
bool origins_cover_spends(const struct node *node, uint32_t member);
/*
 * True if all batches of ended incarnations that it has are applied here as well. If that is true
 * of every member, all charges that any of them had made by then are made here.
 */
bool origins_cover_view(const struct node *node, uint32_t member);
/* True if the batch is a part of the merge that is being applied. */
bool origin_has_begun(const struct origin *origin, const struct batch *part);
/* True while a merged batch is applied up to some part: no snapshot can be merged then. */
bool origins_are_amid_parts(const struct node *node);
/* True if all batches of this process that were opened before then have settled; of former incarnations, all. */
bool origins_have_settled(const struct node *node, uint64_t before_ns);
/* The last of its batches that any other member is known to have. */
uint64_t origin_most_known(const struct node *node, uint32_t slot);
/* The active peer that has most of an origin, if it has more than this node; -1: none. */
int origin_most_informed(const struct node *node, uint32_t slot);

#endif
