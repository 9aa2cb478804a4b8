/*
 * plan: all that one seed decides before a run begins.
 *
 * The one idea (swarm testing): every run enables a random subset of faults and sizes, because faults that
 * are always on hide each other. A plan is plain data; scenarios fill one by hand.
 */
#ifndef HEADGATE_TESTS_SIM_PLAN_H
#define HEADGATE_TESTS_SIM_PLAN_H

#include "base/random.h"
#include "cluster/node.h"
#include "tests/lib/limits.h"
#include "tests/sim/ask.h"
#include "tests/sim/edit.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_NODES_MAX = 7,
    SIM_KEYS_MAX = 160,
    SIM_LIMITS_MAX = 3,
};

enum fault_kind {
    FAULT_CUT_ONE_WAY,
    FAULT_CUT_BOTH,
    FAULT_PARTITION,
    FAULT_SLOW_LINK,
    FAULT_PAUSE,
    FAULT_CRASH,
    FAULT_LEAVE,
    FAULT_FORGET, /* a crash without a return; the operator says so */
    FAULT_JUMP,   /* a clock jumps forward */
    FAULT_STALL,  /* a clock stands still, and may catch up at once */
    FAULT_KINDS,
};
const char *fault_name(enum fault_kind kind);

enum load_shape { LOAD_EVEN, LOAD_SKEWED, LOAD_ONE_REGION, LOAD_SHAPES };
const char *load_shape_name(enum load_shape shape);

struct plan_node {
    uint8_t region;
    bool unnamed; /* others' configs do not name it: it joins as a learned member */
    int32_t drift_ppm;
    uint64_t clock_ns; /* what its clock shows at its first start */
    uint64_t start_ns;
};

struct plan_key {
    struct key_id id;
    uint16_t limit;
    uint32_t skip;     /* in 1/65536: arrivals for this key that are left out, where one token is too much */
    uint64_t cost_max; /* costs are 1..cost_max */
};

struct plan {
    uint64_t seed;
    unsigned nodes, regions, keys;
    uint64_t weight[SIM_NODES_MAX]; /* of each region */
    struct plan_node node[SIM_NODES_MAX];
    struct plan_key key[SIM_KEYS_MAX];
    struct test_limits limits;
    bool seeds_only; /* configs name only the first node */
    bool has_odd;    /* node `odd` has another config: of each limit three times the rate */
    unsigned odd;
    struct test_limits odd_limits;
    uint32_t newer;   /* bit i: node i is of a later release: see newer.c */
    bool newer_quiet; /* and says nothing that this one would not say */

    /* Node options. */
    uint64_t interval_ns, early_push_share, silent_after_ns, join_timeout_ns, forget_after_ns, leave_timeout_ns;
    uint64_t table_keys, log_keys_max, message_max_bytes;
    uint64_t
        tell_pace; /* 0: as fast as keys change; else as many a second are told, and few may wait: untold_max */
    uint32_t untold_max;
    uint32_t threads;   /* threads of requests at each node, which take turns here */
    uint64_t apart_ns;  /* the most between a step that left something and the next: others' messages come */
    uint32_t step_keys; /* 0: more than there are; else steps are cut into slices, and what is merged into parts */
    bool
        sips; /* the busiest node takes all it may; others a little, too little to be urgent, of what is nearly full
                   again while that one rests */

    bool trickles; /* all take so little of what is full that refill pays it off, and in a rush all they may */

    /* The network. */
    uint64_t latency_ns[SIM_NODES_MAX][SIM_NODES_MAX];
    uint64_t latency_max_ns;
    uint32_t jitter;                   /* latency varies by +-jitter/65536 of itself */
    uint32_t loss, duplicate, corrupt; /* in 1/65536 */
    bool in_order;                     /* a link never reorders */

    /* Faults: how often, which, and how long. */
    uint32_t faults; /* bits of 1 << enum fault_kind */
    uint64_t fault_gap_ns, fault_min_ns, fault_max_ns;

    /* Load. */
    enum load_shape shape;
    bool bursts, gaps, greedy; /* greedy: clients take all that a node would give */
    bool pipelines;            /* some requests arrive together, and are decided in runs */
    uint64_t arrival_gap_ns;   /* mean between two clients at the busiest node */
    uint64_t demand_percent;   /* of the rate */
    struct plan_asks asks;     /* rules, besides */
    struct plan_edits edits;   /* changes of rules, in worlds of their own */

    /* A common start, in worlds of its own: tokens of each key that a node's disk knows to be spent. */
    bool disks;
    uint64_t kept_tokens[SIM_NODES_MAX][SIM_KEYS_MAX];

    uint64_t safety_ns; /* length of the phase with faults */
    bool liveness;      /* a phase without faults follows */
};

/* Draws everything from the seed, */
void plan_draw(struct plan *plan, uint64_t seed);
/* but for what never met without this, and did not when many seeds were kept for what they are. */
void plan_draw_late(struct plan *plan);

/* One node of three or more has another config, in a world where it hears of the others' before it may decide. */
void plan_draw_odd(struct plan *plan);

/* Integers in [low, high]. */
uint64_t draw_between(struct random *random, uint64_t low, uint64_t high);
/* Between low and high so that each order of magnitude is equally likely; 1 <= low <= high. */
uint64_t draw_scale(struct random *random, uint64_t low, uint64_t high);
/* True once in `one_in` draws. */
bool draw_one_in(struct random *random, uint64_t one_in);

#endif
