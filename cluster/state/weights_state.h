/*
 * weights_state: what a node knows of weights of regions that change.
 *
 * The one idea: of all versions three matter: the newest one that is complete, the newest one of
 * all, and the least of all others that may be in force somewhere. Only members/weights*.c change it;
 * share.c reads `in_force`.
 */
#ifndef HEADGATE_CLUSTER_STATE_WEIGHTS_STATE_H
#define HEADGATE_CLUSTER_STATE_WEIGHTS_STATE_H

#include "cluster/node_weights.h"

/* A version with number 0 is none. */
struct weights_known {
    struct weights_version base;   /* complete; number 0: the config's weights */
    struct weights_version newest; /* newer than the base, heard of and not known to be complete */
    struct weights_version floor;  /* the least of older ones than that, its stamp is that of the newest of these */
    uint32_t past_count;           /* oldest first */
    struct weights_version past[WEIGHTS_PAST_MAX];
};

/* The newest word of a member about its weights. */
struct weights_word {
    uint64_t incarnation, message; /* which start said it, and in which message; 0: none did */
    bool keeps;                    /* it keeps versions over a restart */
    struct version_stamp base, newest;
    bool heard; /* `newest` is on its disk, its weight is lowered, and what it spent before has settled */
};

/* What regions were asked for since the base came: see members/weights_auto.h. */
struct weights_measure {
    struct version_stamp base;
    bool calm;            /* all were heard at the last tick, and nothing waited */
    uint64_t measured_ns; /* of such time */
    double asked[NODE_REGIONS_MAX];
};

struct weights {
    struct weights_known known;
    uint64_t in_force[NODE_REGIONS_MAX]; /* of each region of the options, in 1/SHARE_ONE */
    uint64_t lowered_ns;                 /* spends from before then were made by a larger weight; 0: none were */
    bool settled;                        /* they have settled */
    bool heard;                          /* this node says that it has heard `newest` */
    bool unsaved;                        /* the store has not been given what is known */
    uint64_t saved_number, kept_number;  /* of what the store was given, and of what it has written */
    size_t said_size;
    char said[WEIGHTS_TEXT_MAX_BYTES];  /* the three versions, as messages say them */
    char saved[WEIGHTS_TEXT_MAX_BYTES]; /* all that is known, as the store was given it last */
    struct weights_result result;
    struct weights_known scratch; /* what was read of a text */
    struct weights_measure measure;
    struct weights_change proposed; /* scratch */
};

#endif
