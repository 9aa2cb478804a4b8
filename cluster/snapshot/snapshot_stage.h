/*
 * snapshot_stage: the donor's figures of a part, by key, before they are merged.
 *
 * The one idea: a key that the donor does not list has a figure as well, the highest that its part
 * allows. Where this node has charged spends that the donor lacks, that figure must be corrected
 * like a listed one. The stage has room for both. It merges nothing itself.
 */
#ifndef HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_STAGE_H
#define HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_STAGE_H

#include "cluster/codec/message.h"

#include <stdbool.h>
#include <stdint.h>

struct node;
struct page;

/* The donor's level of a key, corrected by batches that this node knows and the donor did not. */
struct staged {
    struct key_id id;
    uint16_t limit;
    bool returned; /* some own tokens were given back */
    bool unlisted; /* the part does not list the key */
    uint64_t expires_ns;
    int64_t settled; /* units at now */
    /* tokens unknown to the donor: of others, and own ones that refill had paid off before */
    int64_t later;
    int64_t own;      /* tokens known to the donor that settling will charge here, and so many parts less */
    uint64_t spare;   /* of a token, see struct spend */
    int64_t untold;   /* own tokens unknown to the donor, without those in `later` */
    uint64_t paid;    /* own tokens that refill has paid off here: settling must not charge them */
    uint64_t doubted; /* tokens of these that the donor may have charged all the same */
    uint32_t first_part, part_count; /* of a log: of the stage's parts */
};

/* Starts as all zero. */
struct stage {
    struct staged *staged; /* by id */
    uint32_t count;
    size_t room;
    struct events_part *part; /* of all logs: when the spends end that the donor has, newest first */
    uint32_t part_count;
    size_t part_room;
    bool some_paid;
    bool adds; /* charges of this node come on top of the donor's level */
    bool some_unlisted;
    bool some_unknown; /* the part lists keys of limits that this node does not have */
};

/* The figures that the part lists. False: there is no memory. */
bool stage_page(struct node *node, struct number_reader reader, struct stage *stage);
/*
 * Adds the buckets that the part does not list, and that have spends in batches which the donor may
 * lack. Each is as full as `owed` of the part allows. Lack of memory is asserted.
 */
void stage_unlisted(const struct node *node, const struct page *page, const struct table_owed *owed,
                    struct stage *stage);
/* NULL: the key is not staged. */
struct staged *stage_find(const struct stage *stage, struct key_id id);
void stage_close(struct stage *stage);

#endif
