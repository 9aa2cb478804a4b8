/*
 * lists: operators who change limits of the config, and have daemons read their files again, while everything breaks.
 *
 * The one idea: a world has a few lists of the same limits, which differ in terms and in order. Each node has a file
 * with one of them, and a disk that keeps what its steps give to the store. So whoever looks at a node can tell which
 * list it has in force, and whether anybody made a version of that.
 */
#ifndef HEADGATE_TESTS_SIM_LISTS_H
#define HEADGATE_TESTS_SIM_LISTS_H

#include "base/random.h"
#include "cluster/node.h"
#include "tests/lib/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LISTS_MAX = 8,
    LISTS_NODES_MAX = 7,
    LISTS_NAMES_MAX = 3,
    LISTS_KEYS_MAX = 6,
    LISTS_VERSIONS_MAX = 512,
};

struct plan_lists {
    bool enabled;
    bool lazy; /* no law touches a key while faults go on: a key has its former terms until a client asks */
    bool has_odd;
    unsigned odd; /* this node's file comes to have the last list while it is down; no other file has that before */
    unsigned count;
    unsigned lost_in_8; /* of 8 ends of a life, so many lose the disk */
    uint64_t gap_ns;    /* mean time between two changes */
    struct test_limits list[LISTS_MAX];
};

struct list_disk {
    size_t size;
    uint64_t number; /* of the text, as the node counts them */
    struct version_stamp stamp;
    unsigned file, list; /* what the node's file had; the list of that version */
    char text[LIMITS_TEXT_MAX_BYTES];
};

struct list_node {
    unsigned file;  /* the list in the node's file */
    unsigned began; /* with which this life began */
    unsigned read;  /* which the daemon took last, or began with */
    unsigned force;
    bool is_known;      /* `force` and `stamp` are of this life */
    uint64_t snapshots; /* taken in this life */
    bool restored;      /* from `disk[0]`, to which the file still belongs */
    struct version_stamp stamp;
    uint64_t since_ns; /* when that came into force here */
    bool was_active;
    struct list_disk disk[2]; /* what is kept; what waits to be written */
};

struct lists {
    struct random random;
    struct list_node node[LISTS_NODES_MAX];
    unsigned version_count;
    struct list_version {
        struct version_stamp stamp;
        unsigned list;
    } version[LISTS_VERSIONS_MAX];
    const unsigned *asked;                /* the list that a node is being told of */
    unsigned in_force;                    /* bits: lists that were in force anywhere */
    struct limit widest[LISTS_NAMES_MAX]; /* what all of these together allow; in the end the last list */
    /* of each node and key: units of what is used that its view may lack, as it ended at a smaller overshoot */
    int64_t lacks[LISTS_NODES_MAX][LISTS_KEYS_MAX];
    unsigned last;
    bool adopted; /* the odd node's list was made a version by another one */
    bool
        odd_was_alone; /* all others had left: then its config came into use, and stays so while nobody outvotes it */
    uint64_t refused, conversions, forgiven;
};

struct sim;
struct plan;
struct happening;

/* ---- lists_plan.c ---- */
void lists_draw(struct plan *plan);
void lists_options(const struct sim *sim, unsigned i, struct node_options *options);

/* ---- lists.c ---- */
void lists_begin(struct sim *sim);
void lists_arrive(struct sim *sim, const struct happening *happening);
/* The last list goes to all. */
void lists_heal(struct sim *sim);
/* Gives a node that was created, and does not run yet, what its disk kept. */
void lists_restore(struct sim *sim, unsigned i);
void lists_kept(struct sim *sim, const struct happening *happening);
void lists_node_ends(struct sim *sim, unsigned i, bool crashes);

/* ---- lists_laws.c ---- */
void lists_after_step(struct sim *sim, unsigned i);
/* Node i has admitted something of the key, of which the truth knows. */
void lists_after_admit(struct sim *sim, unsigned i, unsigned key);
uint64_t lists_agree_ns(const struct sim *sim);
/* The last list is in force there. False: `text` says what is missing. */
bool lists_are_over(struct sim *sim, unsigned i, char *text, size_t room);
/* A line for each node. */
void lists_tell(const struct sim *sim);

/* ---- lists_truth.c ---- */
/* Before anything is known of limits: all files have the first list. */
void lists_init(struct sim *sim);
/* The index that the node has for the limit of the key; the key is about to be asked for under that. */
uint16_t sim_index(struct sim *sim, unsigned i, unsigned key);
/* A charge of the key under that limit. */
struct charge sim_charge(const struct sim *sim, unsigned key, uint16_t limit, uint64_t cost);
/* What the next request of the key at node i charges. Where limits are tiers of one rule, its tier is drawn. */
struct charge sim_request(struct sim *sim, unsigned i, unsigned key, uint64_t cost);
/* What the node sees of the key, in units of sim_limit(). */
struct bucket sim_bucket(struct sim *sim, unsigned i, unsigned key);
/* The list is in force somewhere. */
void lists_truth_widens(struct sim *sim, unsigned list);
/* Something may have been spent of the key, or charged at some node: notes what views lack. */
void lists_truth_spent(struct sim *sim, unsigned key);
void lists_truth_after_step(struct sim *sim, unsigned i);
/* From now on the last list is the limit of all. */
void lists_end(struct sim *sim);

#endif
