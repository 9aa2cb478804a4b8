/*
 * plane_work: brings changes of the rulebook into force, one after the other.
 *
 * The one idea: a change is prepared beside the rules in force, in a copy of the book and in staged
 * services, one slice in each step, so that requests never wait for it. When the change is
 * complete, book and services are replaced at once. No other change touches the book meanwhile, so
 * nothing has to be checked twice.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_WORK_H
#define HEADGATE_CLUSTER_PLANE_PLANE_WORK_H

#include "cluster/state/plane_state.h"
#include "rules/rule_text.h"

enum {
    PLANE_WORKS_MAX = 32, /* changes in work; beyond them, changes of operators are refused */
};

enum work_stage {
    WORK_BEGINS,
    WORK_READS,  /* the text of an operator, rule by rule into the book */
    WORK_ADDS,   /* finished versions, into the book */
    WORK_STAGES, /* compiles the services of the versions */
    WORK_COMMITS,
    WORK_CLEARS, /* in force or refused: memory is freed */
};

/* One change: its input, its copy of the book, its result. */
struct plane_work {
    struct plane_work *next;
    enum work_stage stage;
    bool asked;                  /* an operator's */
    uint64_t ticket;             /* the number under which an operator's result is kept */
    struct rule_changes changes; /* its memory is `copied` */
    void *copied;
    bool reading_open;
    struct rules_reading reading;
    bool fetched; /* from the donor of the scan */
    struct rule_stamp stamp;
    /* the first `added` versions are in the book */
    size_t version_count, version_room, looked, added;
    struct rule_version **version; /* references */
    size_t service_count, service_room, staged;
    struct bytes *service; /* to be compiled, in order; names in versions */
    struct rulebook *book; /* the book after the change */
    char *text;            /* of one rule: scratch */
    struct rules_result result;
};

/* A unit of work: this many events of the parser, or one rule read, or a few other items. */
enum { WORK_EVENTS = 32 };

/*
 * The units that a step has for changes, and the units that are left. A begun item is finished even
 * if it takes more.
 */
struct work_slice {
    uint32_t units, left;
};
static inline void slice_spend(struct work_slice *slice, uint32_t units)
{
    slice->left -= units < slice->left ? units : slice->left;
}
struct work_slice plane_slice(const struct node *node);

/* A new change at the end of the queue, without versions. */
struct plane_work *plane_work_create(struct plane *plane);
/* Takes a reference over. */
void plane_work_take(struct plane_work *work, struct rule_version *version);
/* To be called when a version is in its book: the service of the version must be compiled. */
void plane_work_touches(struct plane_work *work, const struct rule_version *version);
/* Works for one slice, unless this step has done so. */
void plane_work_step(struct node *node, struct effects *effects);
/* Finishes all changes in work. */
void plane_work_finish(struct node *node, struct effects *effects);
void plane_works_abandon(struct plane *plane);
void plane_work_check(const struct node *node);
/* The result of an operator's change; false: the change is in work. */
bool plane_result(const struct plane *plane, uint64_t ticket, struct rules_result *result);

#endif
