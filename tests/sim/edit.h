/*
 * edit: operators who change rules while everything breaks.
 *
 * The one idea: each edit writes its number into the endpoint of the rules that it sets. So whoever
 * looks at a rulebook or at the rules in force can tell which edits a node knows, and whether the
 * node knows all of an edit or only a part. The simulator also keeps each node's store: everything
 * that the node's steps gave to the store, less the last moments before a crash, or nothing.
 * Everything is drawn from a random stream of its own, so that worlds without edits stay as they
 * were.
 */
#ifndef HEADGATE_TESTS_SIM_EDIT_H
#define HEADGATE_TESTS_SIM_EDIT_H

#include "base/random.h"
#include "cluster/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EDIT_NODES_MAX = 7,
    EDIT_RULES = 6, /* rules of the world */
    EDIT_SERVICES = 3,
    EDITS_MAX = 400, /* edits of one run */
    EDIT_PAD_MAX_BYTES = 20000,
    EDITS_IN_WORK_MAX = 16,
};

struct plan_edits {
    bool enabled;
    uint64_t gap_ns; /* mean time between two edits */
    /* rules are longer by up to so many bytes than they need be, so that pages become many */
    unsigned pad_bytes;
    unsigned lost_in_8;   /* of 8 crashes, so many lose the store */
    unsigned canary_in_8; /* of 8 edits, so many are canaries */
    uint64_t watch_ms;
};

struct edit {
    struct rule_stamp stamp; /* lamport 0: the edit was refused */
    unsigned rules;          /* bits: the rules that the edit sets */
    bool bad;                /* the edit is a canary that denies too much */
};

/* A change that was asked for, and the result that is expected. */
struct edit_asked {
    bool refused;    /* the change must be refused, or must not be */
    bool is_certain; /* the result holds whatever else happens before it is looked at */
    unsigned count;  /* rules that must change, unless the change is refused */
    unsigned number; /* number of the edit; 0: the change is not an edit */
    unsigned node;
    uint64_t digest; /* of the rulebook before the change */
    uint64_t ticket; /* set once the change is in work */
};

struct edit_store {
    size_t count, room;
    struct kept_version {
        struct rule_version *version;
        uint64_t transaction;
    } * kept;
};

struct edits {
    struct random random;
    unsigned count;
    struct edit edit[EDITS_MAX + 1]; /* by number, from 1 on */
    struct edit_store store[EDIT_NODES_MAX];
    const struct edit_asked *asked; /* the change that is being told to its node */
    unsigned in_work_count;
    struct edit_asked in_work[EDITS_IN_WORK_MAX];
    unsigned waited, interrupted; /* changes that took more than one step; changes whose node ended meanwhile */
    struct rulebook *known;       /* versions that some node knew or had stored when all healed */
    unsigned canaries, general, rolled_back;
    uint64_t traffic_ns[EDIT_NODES_MAX]; /* when the canaries of that node last had traffic */
};

struct sim;
struct plan;
struct happening;

void edit_draw(struct plan *plan);
void edit_begin(struct sim *sim);
void edit_close(struct sim *sim);
void edit_arrive(struct sim *sim);
/* Gives a node that was created, and does not run yet, the content of its store. */
void edit_restore(struct sim *sim, unsigned i);
void edit_node_ends(struct sim *sim, unsigned i);

/* ---- edit_laws.c ---- */
/* Compares the result of a change with the expected one. */
void edit_judge(struct sim *sim, const struct edit_asked *asked, const struct rules_result *result);
void edit_after_step(struct sim *sim, unsigned i, const struct effects *effects);
void edit_heal(struct sim *sim);
bool edit_is_settled(struct sim *sim, char *text, size_t room);
void edit_laws_agree(struct sim *sim);
uint64_t edit_agree_ns(const struct sim *sim);

/* Names of a rule and its service. */
const char *edit_rule_id(unsigned rule);
const char *edit_service(unsigned rule);
/* The number of the edit that wrote the endpoint; 0: no edit did. */
unsigned edit_number_of(struct bytes endpoint);

#endif
