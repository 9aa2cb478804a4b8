/*
 * schedule: real nodes and the links between them, with nothing happening but what an adversary decides.
 *
 * The one idea: no queue and no latency. A step, delivery or request happens when it is called for, at the time that
 * stands in `now_ns`; what was published lies on each link until it is delivered or lost. Who may do what when is not
 * known here: search.c and search_refill.c draw that.
 */
#ifndef HEADGATE_TESTS_SIM_SCHEDULE_H
#define HEADGATE_TESTS_SIM_SCHEDULE_H

#include "tests/sim/sim.h"

enum { WIRE_MAX = 32 /* messages under way on a link; the oldest is lost when another comes */ };

struct wire {
    struct payload *payload[WIRE_MAX];
    unsigned first, count;
};

struct schedule {
    struct random random;
    struct test_limits limits;             /* for schedule_start */
    uint64_t interval_ns, silent_after_ns; /* the same */
    struct effects effects;
    struct node *node[SIM_NODES_MAX];
    uint64_t wake_ns[SIM_NODES_MAX]; /* when it wants to be woken */
    struct wire wire[SIM_NODES_MAX][SIM_NODES_MAX];
    unsigned nodes;
    uint64_t now_ns, steps;
};

/* Everything else zero. */
void schedule_init(struct schedule *schedule, uint64_t seed);
/* So many nodes under drawn weights, even ones half of the time, all with their shares; false, said: not so. */
bool schedule_start(struct schedule *schedule, unsigned nodes);
void schedule_close(struct schedule *schedule);

void schedule_wake(struct schedule *schedule, unsigned i);
/* The message at that place of the link, 0 being the oldest; there is one. */
void schedule_deliver(struct schedule *schedule, unsigned from, unsigned to, unsigned place);
void schedule_lose(struct schedule *schedule, unsigned from, unsigned to);

struct key_id schedule_key(unsigned key);

/* What one schedule came to, as parts of the capacity. */
struct outcome {
    double closest; /* to the declared overshoot; below 0: it was exceeded */
    double above;   /* the truth, at most, that all views together were */
};
struct outcome search_still(struct schedule *schedule, uint64_t seed);
struct outcome search_refill(struct schedule *schedule, uint64_t seed);

#endif
