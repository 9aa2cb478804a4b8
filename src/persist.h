/*
 * persist: carries rules and counters between the node and the store: stored ones to the node before
 * it starts, and the results of its steps to the store.
 *
 * The one idea: the store knows the wall clock and the file, the node knows its monotonic clock and
 * effects; this module alone converts between them. Without a store (state_dir: none) all functions
 * do nothing.
 */
#ifndef HEADGATE_PERSIST_H
#define HEADGATE_PERSIST_H

#include "base/error.h"
#include "cluster/node.h"
#include "edge/peers/member_key.h"
#include "edge/process/steady_wall.h"
#include "edge/settings/settings.h"
#include "edge/store/state_dir.h"
#include "edge/store/store.h"

struct persist {
    struct store *store;             /* NULL: nothing is stored */
    char directory[STATE_DIR_BYTES]; /* "": nothing is stored */
    struct notice place, seed;       /* for the log; an empty text: nothing is to be said */
    bool keeps_seed;              /* the directory has the seed in use, or a file that must not be written over */
    struct member_key member_key; /* what this daemon signs with, unless it signs nothing */
    struct notice key_notice;
    bool keeps_key;             /* the same of the key */
    struct rule_record *record; /* room for the results of one step, or for all rules */
    struct store_counter *counter;
    struct store_part *part; /* of those counters */
    size_t record_room, counter_room, part_room;
    uint64_t read_versions, read_counters;
    struct steady_wall steady_wall; /* the end of what is kept is told by it */
    /* Of weights of regions: the node's number of what was put last, the store's, and up to where the node was told. */
    uint64_t weights_number, weights_put, weights_kept;
};

/* Carries out steps of the node. */
struct persist_stepper {
    void (*step)(void *context, struct event *event);
    void *context;
    uint64_t now_ns; /* the time of the steps */
};

/*
 * Finds the directory that the settings ask for. False, with `error`: it cannot be had. The caller must close `persist`
 * in either case.
 */
bool persist_find(struct persist *persist, const struct settings *settings, struct error *error);
/*
 * Settles what hashes of keys come from: `hash_seed` if the config names it; else the seed that the directory keeps;
 * else the secret. Must be called before anything hashes a key.
 */
void persist_settle_seed(struct persist *persist, struct settings *settings);
/*
 * Opens the store in that directory, if there is one, with `wake` and `context` as in store.h, and writes the seed
 * down. False, with `error`: the store is unusable.
 */
bool persist_open(struct persist *persist, const struct settings *settings, void (*wake)(void *context),
                  void *context, struct error *error);
/*
 * Settles which key the daemon signs with: the one that the directory keeps, or a new one. False, with `error`: there
 * must be one, and it could not be kept. The node must be created after that; `persist` must stay where it is.
 */
bool persist_settle_key(struct persist *persist, struct settings *settings, struct error *error);
/* Writes the key into the directory, if it is not there. For persist_open. */
void persist_keep_key(struct persist *persist, const struct settings *settings);
/*
 * Draws the key that follows the present one, which signs that, and writes it in its place. The settings have it then:
 * the node must be told (EVENT_ROTATE) before its next step. False, with `notice`: the file is as it was.
 */
bool persist_rotate_key(struct persist *persist, struct settings *settings, struct notice *notice);
/* Writes the seed into the directory, if it is not there. For persist_open. */
void persist_keep_seed(struct persist *persist, const struct settings *settings);
/* Writes what waits, and nothing from then on. False: the queue could not be written and is lost. */
bool persist_finish(struct persist *persist);
/* Closes the store. No thread may ask it whether changes are kept any more. */
void persist_close(struct persist *persist);

/* Passes everything stored to the node by EVENT_RESTORE; the node must not have started. */
bool persist_restore(struct persist *persist, const struct persist_stepper *stepper, struct error *error);

/*
 * Put the results of a step into the store. persist_versions must run before any thread can learn the
 * result of a change: a thread that then asks the store whether everything put is kept asks about
 * these versions, too.
 */
void persist_versions(struct persist *persist, const struct effects *effects);
void persist_counters(struct persist *persist, const struct effects *effects, uint64_t now_ns);

/*
 * Converts a counter of the node, at now_ns of its clock, into a counter of the store, and back, both without parts.
 * persist_counter_back returns false if the counter has ended.
 */
struct store_counter persist_counter(const struct counter *counter, uint64_t now_ns, uint64_t wall_ns);
bool persist_counter_back(const struct store_counter *kept, uint64_t now_ns, uint64_t wall_ns,
                          struct counter *counter);
/* The same of a part. One that has ended ends at now_ns. */
struct store_part persist_part(const struct counter_part *part, uint64_t now_ns, uint64_t wall_ns);
struct counter_part persist_part_back(const struct store_part *kept, uint64_t now_ns, uint64_t wall_ns);

/* Tells the node that its weights are on the disk, once they are. */
void persist_weights_kept(struct persist *persist, const struct persist_stepper *stepper);

/* Puts all rules of the node again, and makes the node give all counters again. Must be called
 * after the store lost something. */
void persist_all(struct persist *persist, const struct node *node, const struct persist_stepper *stepper);

#endif
