/*
 * plane_work: changes of the rulebook on their way into force, one after the other.
 *
 * The one idea: a change is made ready beside what is in force, on a copy of the book and as services that are staged,
 * a slice in each step, so that requests never wait for it; when it is whole, both take their place at once. Nothing
 * else changes the book meanwhile, and so nothing has to be looked at twice.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_WORK_H
#define HEADGATE_CLUSTER_PLANE_PLANE_WORK_H

#include "cluster/state/plane_state.h"
#include "rules/rule_text.h"

enum {
    PLANE_WORKS_MAX = 32, /* that wait; more of operators' are refused */
};

enum work_stage {
    WORK_BEGINS,
    WORK_READS,  /* an operator's text: rule by rule into the book */
    WORK_ADDS,   /* versions that are there: into the book */
    WORK_STAGES, /* the services that they are of are compiled */
    WORK_COMMITS,
    WORK_CLEARS, /* it is in force, or refused: what it was made of goes */
};

/* Of one change: what comes in, and what for. */
struct plane_work {
    struct plane_work *next;
    enum work_stage stage;
    bool asked;                  /* an operator's, */
    uint64_t ticket;             /* whose result is kept under this number */
    struct rule_changes changes; /* all of it in `copied` */
    void *copied;
    bool reading_open;
    struct rules_reading reading;
    bool fetched; /* from the donor of the scan */
    struct rule_stamp stamp;
    size_t version_count, version_room, looked, added; /* the first `added` of them are in the book */
    struct rule_version **version;                     /* references */
    size_t service_count, service_room, staged;
    struct bytes *service; /* to be compiled, in order; names of versions */
    struct rulebook *book; /* as it will be */
    char *text;            /* of one rule: scratch */
    struct rules_result result;
};

enum {
    WORK_EVENTS = 32
}; /* a unit of work: so many of the parser's events, or a rule read, or a few things else */

/* How many units a step has for it, and has left. What is begun is done, even where it takes more. */
struct work_slice {
    uint32_t units, left;
};
static inline void slice_spend(struct work_slice *slice, uint32_t units)
{
    slice->left -= units < slice->left ? units : slice->left;
}
struct work_slice plane_slice(const struct node *node);

/* At the end of the line; no version yet. */
struct plane_work *plane_work_create(struct plane *plane);
/* Takes over a reference. */
void plane_work_take(struct plane_work *work, struct rule_version *version);
/* A version is in its book, so that its service has to be compiled. */
void plane_work_touches(struct plane_work *work, const struct rule_version *version);
/* A slice, if there was none in this step. */
void plane_work_step(struct node *node, struct effects *effects);
/* Whatever is in work, to its end. */
void plane_work_finish(struct node *node, struct effects *effects);
void plane_works_abandon(struct plane *plane);
void plane_work_check(const struct node *node);
/* What became of an operator's change; false: it is in work. */
bool plane_result(const struct plane *plane, uint64_t ticket, struct rules_result *result);

#endif
