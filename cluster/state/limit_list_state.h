/*
 * limit_list_state: what a node knows of the limits of configs. members/limit_list.c changes it, and
 * plane/plane_limits.c brings it into force.
 */
#ifndef HEADGATE_CLUSTER_STATE_LIMIT_LIST_STATE_H
#define HEADGATE_CLUSTER_STATE_LIMIT_LIST_STATE_H

#include "cluster/node_limits.h"

enum {
    LIMIT_LIST_CONFIGS_MAX = 32, /* lists of configs that are known to belong to the versions */
};

/* A list that some config has or had. A daemon that began with it takes over the versions that know it. */
struct limit_list_config {
    uint64_t number; /* of a version; the larger, the later it was of use */
    uint64_t digest; /* named_limits_digest */
};

/* A version of the limits, and the lists of configs that it stands for. */
struct limit_list {
    struct version_stamp stamp; /* number 0: the config's own, and nothing else is known */
    uint64_t wall_ms;
    char author[NODE_NAME_BYTES];
    struct named_limits limits;
    uint32_t config_count; /* newest first */
    struct limit_list_config config[LIMIT_LIST_CONFIGS_MAX];
    uint64_t file; /* of the store alone: the hash of the list in the daemon's file when it last read that */
};

/* The newest word of a member about limits: what it has, or could not take. */
struct limit_list_word {
    uint64_t incarnation, message; /* which start said it, and in which message; 0: none did */
    struct version_stamp seen;
    uint64_t since_ns; /* when it first said so */
    uint64_t sum;
};

struct limit_lists {
    struct limit_list known;
    struct limit_list scratch;
    struct version_stamp seen; /* the newest version that was heard of, with the sum of its text */
    uint64_t sum;
    uint64_t highest;  /* of all numbers that were ever seen */
    uint64_t own;      /* the digest of the config's list at the start: it is in config_digest */
    uint64_t file;     /* the hash of the list in the file, as it was last read */
    bool foreign_told; /* of a version that does not know this node's config */
    bool unsaved;
    uint64_t saved_number;
    size_t said_size;
    uint64_t said_sum; /* of `said`; 0: nothing is said */
    char said[LIMITS_TEXT_MAX_BYTES];
    char saved[LIMITS_TEXT_MAX_BYTES];
    struct version_stamp in_force_stamp; /* of what follows */
    struct named_limits in_force;
    uint64_t in_force_hash; /* as `file` has it */
    bool unfit_told;        /* the known version is not in force, as there is no room for its terms */
    struct limits_result result;
};

#endif
