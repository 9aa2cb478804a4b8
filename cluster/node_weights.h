/*
 * node_weights: weights of regions that change while daemons run: what an operator asks for, and
 * what a node reports.
 *
 * The one idea: a version is a weight for each region, with a stamp that orders all versions. Version
 * 0 is the config's. A smaller weight is in force when it is heard, a larger one when all have heard
 * the version that has it (cluster/members/weights.h).
 */
#ifndef HEADGATE_CLUSTER_NODE_WEIGHTS_H
#define HEADGATE_CLUSTER_NODE_WEIGHTS_H

#include "base/bytes.h"
#include "base/error.h"
#include "cluster/node_options.h"
#include "cluster/node_version.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct node;

#define WEIGHT_ONE_BILLIONTHS UINT64_C(1000000000)
/* As people read and write it: the whole is 1. */
static inline double weight_number(uint64_t billionths)
{
    return (double)billionths / (double)WEIGHT_ONE_BILLIONTHS;
}
/* The largest number of a version: a larger one can always be made. */
#define WEIGHTS_NUMBER_MAX (UINT64_MAX / 2)
/* The author of versions that nodes make by demand; operators' are called otherwise. */
#define WEIGHTS_AUTO_AUTHOR "auto"

enum {
    WEIGHTS_PAST_MAX = 8,           /* versions that a node remembers besides those in use */
    WEIGHTS_TEXT_MAX_BYTES = 49152, /* of all that a node knows of versions, as the store keeps it */
};

struct weights_part {
    char region[NODE_NAME_BYTES];
    uint64_t billionths; /* of the whole */
};

struct weights_version {
    struct version_stamp stamp;
    uint64_t wall_ms;             /* when it was made, by its maker's wall clock; 0: unknown */
    char author[NODE_NAME_BYTES]; /* who made it: a word, for people */
    uint32_t count;
    struct weights_part part[NODE_REGIONS_MAX]; /* a region that is not listed has no weight */
};

/* 0: the region is not listed. */
static inline uint64_t weights_of_region(const struct weights_version *version, const char *region)
{
    for (uint32_t i = 0; i < version->count; i++)
        if (strcmp(version->part[i].region, region) == 0)
            return version->part[i].billionths;
    return 0;
}

/* An operator's change. A region that it does not name keeps its weight of the newest version. */
struct weights_change {
    uint32_t count;
    struct weights_part part[NODE_REGIONS_MAX];
    struct bytes author; /* "": this node */
};

/* What became of the last EVENT_WEIGHTS. */
struct weights_result {
    uint64_t asked; /* how many there have been */
    bool refused, unchanged;
    struct error error; /* of a refusal: one sentence */
    uint64_t number;    /* of the newest version */
};

/* Why a version waits for a member. */
enum weights_wait {
    WEIGHTS_WAIT_UNHEARD,  /* the config names it, and nobody has heard it */
    WEIGHTS_WAIT_LEFT,     /* it has left, and may come back where nobody hears it */
    WEIGHTS_WAIT_SILENT,   /* it is silent */
    WEIGHTS_WAIT_UNAWARE,  /* it keeps no weights: its release is older, or its state_dir is none */
    WEIGHTS_WAIT_NEWS,     /* it has not said that the version is on its disk and its spends have settled */
    WEIGHTS_WAIT_SETTLING, /* this node: what it spent by a larger weight has not settled */
    WEIGHTS_WAIT_STORING,  /* this node: its store has not written the version */
};
/* A word, and what an operator can do about it. */
const char *weights_wait_name(enum weights_wait wait);
const char *weights_wait_advice(enum weights_wait wait);

struct weights_report {
    const struct weights_version *base;    /* complete: all have heard it; number 0: the config's */
    const struct weights_version *pending; /* the newest one, while it is not complete; else NULL */
    uint32_t region_count;                 /* of the config, in its order: */
    struct weights_row {
        const char *region;
        uint64_t in_force_billionths; /* at this node, for its own region; of others what it counts on */
        uint64_t base_billionths;
        uint64_t pending_billionths; /* without a pending version: as in the base */
        uint64_t floor_billionths;   /* the least that demand brings it to; 0: weights do not follow demand here */
        double demand_tokens_per_s;  /* given there lately, over all keys */
        double wanted_tokens_per_s;  /* refused there for the region's weight alone: see spend/wanted.h */
    } row[NODE_REGIONS_MAX];
    uint32_t own_row;     /* region_count: the config has no weight for this node's region */
    bool by_demand;       /* this node's config says that weights follow demand */
    const char *proposer; /* of all such nodes, the one that makes versions; "": none does */
    uint64_t looks_in_s;  /* of time in which all are heard, until this node would look at demand */
    uint32_t wait_count;
    struct weights_waiting {
        const char *name;
        enum weights_wait why;
    } wait[NODE_PEERS_MAX];
    uint32_t past_count; /* newest first, with those in use, without the config's */
    const struct weights_version *past[WEIGHTS_PAST_MAX];
};

const struct weights_result *node_weights_result(const struct node *node);
/* Of the newest version that is complete; 0: the config's weights are in force. */
uint64_t node_weights_number(const struct node *node);
/* Views are valid until the next step. */
void node_weights(const struct node *node, struct weights_report *report);

#endif
