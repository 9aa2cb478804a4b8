/*
 * weight_lists: the lists of weights by which rules divide their own limits among the regions.
 *
 * The one idea: the terms of a limit name its list by a number (struct limit_terms), so a node that hears of a limit
 * need not know the list: until a rule of its own says the weights, this node has no part of the limit. A list never
 * changes; other weights are another list, and so another limit. spend/weight_lists.c changes this, share.c reads it.
 */
#ifndef HEADGATE_CLUSTER_STATE_WEIGHT_LISTS_H
#define HEADGATE_CLUSTER_STATE_WEIGHT_LISTS_H

#include "cluster/node_options.h"

#include <stdint.h>

enum { WEIGHT_LISTS_MAX = 1024 };

struct weight_list {
    uint64_t number; /* limit_weights_number() of it; 0: a free place */
    uint64_t
        weight[NODE_REGIONS_MAX]; /* of each region of the options, in 1/SHARE_ONE; the sum is at most the whole */
};

struct weight_lists {
    uint32_t end;   /* places from here on were never used */
    uint32_t used;  /* places that are taken */
    uint32_t noted; /* lists that came since unused ones were last freed, and those for which there was no place */
    struct weight_list *list;
};

#endif
