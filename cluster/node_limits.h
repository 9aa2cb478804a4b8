/*
 * node_limits: limits of the config that change while daemons run: what a reload asks for, and what a node reports.
 *
 * The one idea: the limits of the config are one list, and a list that a running daemon takes over is a version with a
 * stamp that orders all versions. Version 0 is the config's own. The newest version is in force at every peer that
 * hears of it (cluster/members/limit_list.h).
 */
#ifndef HEADGATE_CLUSTER_NODE_LIMITS_H
#define HEADGATE_CLUSTER_NODE_LIMITS_H

#include "base/error.h"
#include "cluster/node_options.h"
#include "cluster/node_version.h"
#include "limit/named_limit.h"

#include <stdbool.h>
#include <stdint.h>

struct node;

/* The largest number of a version: a larger one can always be made. */
#define LIMITS_NUMBER_MAX (UINT64_MAX / 2)

enum { LIMITS_TEXT_MAX_BYTES = 16384 }; /* of a version, as messages and the store have it */

/* What became of the last EVENT_LIMITS. */
struct limits_result {
    uint64_t asked; /* how many there have been */
    bool refused;   /* `error` has one sentence: nothing has changed */
    bool unchanged; /* the list was in force already */
    struct error error;
};

struct limits_report {
    struct version_stamp stamp; /* of the list in force */
    const char *author;         /* the daemon whose config it comes from; "": version 0 */
    uint64_t wall_ms;           /* when it was made, by the author's wall clock; 0: unknown */
    bool file_differs;          /* the config's file had another list when it was last read */
};

const struct limits_result *node_limits_result(const struct node *node);
/* The list in force, valid until the next step. */
const struct named_limits *node_named_limits(const struct node *node);
void node_limits_report(const struct node *node, struct limits_report *report);

#endif
