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
    struct rule_record *record; /* room for what one step brings, or all there is; */
    struct store_counter *counter;
    size_t record_room, counter_room;
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
/* Writes what waits; false: it could not be written and is lost. */
bool keep_close(struct keep *keep);

/* Hands all that was kept to the node, which has not started yet, by EVENT_RESTORE. */
void keep_restore(struct keep *keep, const struct keep_node *node);

/*
 * Take over what a step brought. Versions come first, before any thread may learn what became of their change: whoever
 * then asks the store whether all that was put is kept, asks about them, too.
 */
void keep_versions(struct keep *keep, const struct effects *effects);
void keep_counters(struct keep *keep, const struct effects *effects, uint64_t now_ns);

/*
 * A counter of the node's, at now_ns of its clock, as the store keeps it, and back; false: its time is over. A LOG's
 * tokens count for a whole period again after they come back: never too little.
 */
struct store_counter keep_counter(const struct counter *counter, uint64_t now_ns, uint64_t wall_ns);
bool keep_counter_back(const struct store_counter *kept, uint64_t now_ns, uint64_t wall_ns,
                       struct counter *counter);

/* When the store has lost something: puts in all rules that the node knows, and has it tell all counters again. */
void keep_all(struct keep *keep, const struct node *node, const struct keep_node *steps);

#endif
