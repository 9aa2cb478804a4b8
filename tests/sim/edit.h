/*
 * edit: operators who change rules while everything breaks.
 *
 * The one idea: each edit marks the rules that it sets with its number (in their endpoint), so that whoever looks at
 * a rulebook or at the rules in force can tell whose edits a node knows, and whether it knows all of one or half of
 * it. A node's store is kept here: what its steps gave to it, less the last moments before a crash, or nothing.
 * Everything is drawn from a stream of its own: worlds without edits are as they were.
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
    EDIT_RULES = 6, /* there are */
    EDIT_SERVICES = 3,
    EDITS_MAX = 400, /* in one run */
    EDIT_PAD_MAX_BYTES = 20000,
    EDITS_IN_WORK_MAX = 16,
};

struct plan_edits {
    bool enabled;
    uint64_t gap_ns;      /* mean between two edits */
    unsigned pad_bytes;   /* rules are at most so much longer than they need be: pages become many */
    unsigned lost_in_8;   /* of 8 crashes, so many take the store along */
    unsigned canary_in_8; /* of 8 edits, so many are canaries */
    uint64_t watch_ms;
};

struct edit {
    struct rule_stamp stamp; /* lamport 0: it was refused */
    unsigned rules;          /* bits */
    bool bad;                /* a canary that denies too much */
};

/* A change that was asked for, and what is expected to come of it. */
struct edit_asked {
    bool refused;    /* it must be, or must not be; */
    bool is_certain; /* whatever else happens until it is looked at */
    unsigned count;  /* of rules that change, unless it is refused */
    unsigned number; /* of the edit; 0: it is none */
    unsigned node;
    uint64_t digest; /* of the book before */
    uint64_t ticket; /* once it is in work */
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
    struct edit edit[EDITS_MAX + 1]; /* by number, from 1 */
    struct edit_store store[EDIT_NODES_MAX];
    const struct edit_asked *asked; /* while it is told to its node */
    unsigned in_work_count;
    struct edit_asked in_work[EDITS_IN_WORK_MAX];
    unsigned waited, interrupted; /* changes that took more than a step; whose node ended meanwhile */
    struct rulebook *known;       /* when all healed: what somebody knew, or had stored */
    unsigned canaries, general, rolled_back;
};

struct sim;
struct plan;
struct happening;

void edit_draw(struct plan *plan);
void edit_begin(struct sim *sim);
void edit_close(struct sim *sim);
void edit_arrive(struct sim *sim);
/* A node was made and does not run yet: it gets what its store kept. */
void edit_restore(struct sim *sim, unsigned i);
void edit_node_ends(struct sim *sim, unsigned i);

/* ---- edit_laws.c ---- */
/* It is known what came of a change. */
void edit_judge(struct sim *sim, const struct edit_asked *asked, const struct rules_result *result);
void edit_after_step(struct sim *sim, unsigned i, const struct effects *effects);
void edit_heal(struct sim *sim);
bool edit_is_settled(struct sim *sim, char *text, size_t room);
void edit_laws_agree(struct sim *sim);
uint64_t edit_agree_ns(const struct sim *sim);

/* Their names. */
const char *edit_rule_id(unsigned rule);
const char *edit_service(unsigned rule);
/* Whose mark an endpoint is; 0: nobody's. */
unsigned edit_number_of(struct bytes endpoint);

#endif
