/*
 * keep: what passes between the node and the store: what was kept comes to the node before it starts, and what its
 * steps bring goes to the store.
 *
 * The one idea: the store knows wall clock and file, the node its monotonic clock and effects; only here the one is
 * turned into the other. Without a store (state_dir: none) all of it does nothing.
 */
#ifndef HEADGATE_KEEP_H
#define HEADGATE_KEEP_H

#include "base/error.h"
#include "cluster/node.h"
#include "edge/settings.h"
#include "edge/state_dir.h"
#include "edge/store.h"

struct keep {
    struct store *store; /* NULL: nothing is kept */
    char directory[STATE_DIR_BYTES];
    struct rule_record *record; /* for what one step brings, or all */
    size_t record_room;
    uint64_t read_versions, read_counters;
};

/* Who carries out a step. */
struct keep_node {
    void (*step)(void *context, struct event *event);
    void *context;
    uint64_t now_ns; /* of the steps */
};

/*
 * Opens the store that the settings ask for; `wake` and `context` as in store.h. False with `error`: it cannot be had.
 * `said` becomes what is to be told of it. To be closed in either case.
 */
bool keep_open(struct keep *keep, const struct settings *settings, void (*wake)(void *context), void *context,
               struct notice *said, struct error *error);
/* Writes what waits. */
void keep_close(struct keep *keep);

/* Hands all that was kept to the node, which has not started yet, by EVENT_RESTORE. */
void keep_restore(struct keep *keep, const struct keep_node *node);

/* Takes over what a step brought. */
void keep_effects(struct keep *keep, const struct effects *effects, uint64_t now_ns);

/* Puts in all rules that the node knows, when the store lacks some. */
void keep_all(struct keep *keep, const struct node *node);

#endif
