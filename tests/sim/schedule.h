/*
 * schedule: real nodes and the links between them, in which only an adversary makes anything
 * happen.
 *
 * The one idea: there is no queue and no latency. A step, delivery or request happens when it is
 * called for, at the time `now_ns`. A publication lies on each link until it is delivered or lost.
 * This file does not know who may do what when: search.c and search_refill.c draw that.
 */
#ifndef HEADGATE_TESTS_SIM_SCHEDULE_H
#define HEADGATE_TESTS_SIM_SCHEDULE_H

#include "tests/sim/sim.h"

enum { WIRE_MAX = 32 /* messages on a link; the oldest is lost when one more comes */ };

struct wire {
    struct payload *payload[WIRE_MAX];
    unsigned first, count;
};

struct schedule {
    struct random random;
    struct test_limits limits;             /* for schedule_start */
    uint64_t interval_ns, silent_after_ns; /* for schedule_start */
    struct effects effects;
    struct node *node[SIM_NODES_MAX];
    uint64_t wake_ns[SIM_NODES_MAX]; /* when the node wants to be woken */
    struct wire wire[SIM_NODES_MAX][SIM_NODES_MAX];
    unsigned nodes;
    uint64_t now_ns, steps;
};

/* Sets everything else to zero. */
void schedule_init(struct schedule *schedule, uint64_t seed);
/*
 * Starts `nodes` nodes under drawn weights, equal weights half of the time, until all have their
 * shares. False: they do not get there, and a line says so.
 */
bool schedule_start(struct schedule *schedule, unsigned nodes);
/* The same under these weights, in 1/SHARE_ONE. */
bool schedule_start_with(struct schedule *schedule, unsigned nodes, const uint64_t *weights);
/* The tokens that it may take from vouchers, and all that it may take. */
uint64_t schedule_voucher_tokens(const struct schedule *schedule, unsigned i, unsigned key);
uint64_t schedule_may_take(const struct schedule *schedule, unsigned i, unsigned key);
void schedule_close(struct schedule *schedule);

void schedule_wake(struct schedule *schedule, unsigned i);
/* The message at that place of the link; 0 is the oldest. There must be one. */
void schedule_deliver(struct schedule *schedule, unsigned from, unsigned to, unsigned place);
void schedule_lose(struct schedule *schedule, unsigned from, unsigned to);

struct key_id schedule_key(unsigned key);

/* The result of one schedule, in parts of the capacity. */
struct outcome {
    double closest; /* to the declared overshoot; below 0: the overshoot was exceeded */
    double above;   /* the most that the truth was above all views together */
};
struct outcome search_still(struct schedule *schedule, uint64_t seed);
struct outcome search_refill(struct schedule *schedule, uint64_t seed);

#endif
