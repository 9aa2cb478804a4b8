/*
 * plan: everything that one seed decides before a run begins.
 *
 * The one idea (swarm testing): every run enables a random subset of faults and sizes, because
 * faults that are always on hide each other. A plan is plain data; scenarios fill in a plan by
 * hand.
 */
#ifndef HEADGATE_TESTS_SIM_PLAN_H
#define HEADGATE_TESTS_SIM_PLAN_H

#include "base/random.h"
#include "cluster/node.h"
#include "rules/homes.h"
#include "tests/lib/limits.h"
#include "tests/sim/ask.h"
#include "tests/sim/edit.h"
#include "tests/sim/lists.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_NODES_MAX = 7,
    PLAN_LISTS = 3, /* of weights of rules */
    SIM_KEYS_MAX = 160,
    SIM_LIMITS_MAX = 3,
    SIM_EVENTS_MAX = 1 << 16, /* more than any world spends; the default takes 32 MB a node, which ASan marks */
};

enum fault_kind {
    FAULT_CUT_ONE_WAY,
    FAULT_CUT_BOTH,
    FAULT_PARTITION,
    FAULT_SLOW_LINK,
    FAULT_PAUSE,
    FAULT_CRASH,
    FAULT_LEAVE,
    FAULT_FORGET, /* a crash without a return; the operator tells the peers */
    FAULT_JUMP,   /* a clock jumps forward */
    FAULT_STALL,  /* a clock stands still, and may catch up at once */
    FAULT_KINDS,
};
const char *fault_name(enum fault_kind kind);

enum load_shape { LOAD_EVEN, LOAD_SKEWED, LOAD_ONE_REGION, LOAD_SHAPES };
const char *load_shape_name(enum load_shape shape);

struct plan_node {
    uint8_t region;
    bool unnamed; /* no other config names the node: it joins as a learned member */
    int32_t drift_ppm;
    uint64_t clock_ns; /* the clock's time at the node's first start */
    uint64_t start_ns;
};

struct plan_key {
    struct key_id id;
    uint16_t limit;
    /*
     * in 1/65536: arrivals for this key that are left out, on keys for which one token is too much
     */
    uint32_t skip;
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
    bool has_odd;    /* node `odd` has another config: three times the rate of each limit */
    unsigned odd;
    struct test_limits odd_limits;
    uint32_t newer;    /* bit i: node i is of a later release: see newer.c */
    bool newer_quiet;  /* but says nothing that this release would not say */
    bool lies;         /* node 0 lies about others, and all sign: see liars.c */
    bool restarts;     /* nodes come back when they have left: ask_draw_restarts */
    bool ticking;      /* time passes while a node works: see sleepless.c */
    bool grants_eager; /* nodes ask for all that they refused, whether clients come back or not */

    /* Node options. */
    uint64_t interval_ns, silent_after_ns, join_timeout_ns, forget_after_ns, leave_timeout_ns;
    uint64_t table_keys, log_keys_max, message_max_bytes;
    uint64_t
        /*
         * 0: as many spends are told as keys change; else this many in a second, and few spends may
         * wait: untold_max
         */
        tell_pace;
    uint32_t untold_max;
    uint64_t takeover_after_ns;                          /* 0: no rights end */
    bool homes;                                          /* limits have a home: see homes.c */
    bool rule_weights;                                   /* or a list of weights: see rule_weights.c */
    uint64_t list_billionths[PLAN_LISTS][SIM_NODES_MAX]; /* of each region */
    struct homes keys_homes, daemons_homes;              /* among which keys of some rules choose */
    bool weights;                                        /* operators change weights of regions: see weights.c */
    uint64_t weights_gap_ns;
    uint64_t weights_by_demand_ns; /* weights follow demand, see weights_auto.c; 0: they do not */
    bool weights_alone;            /* no operator changes them as well */
    bool all_propose;              /* several nodes make weights by demand at once */
    uint64_t floor_billionths[SIM_NODES_MAX];
    bool grants;      /* nodes ask each other for rights of keys: see rights.c */
    uint32_t threads; /* threads of requests at each node, which take turns in the simulator */
    /*
     * the longest time between a step that left work and the next step: messages of others come
     * between
     */
    uint64_t apart_ns;
    /* 0: more than there are keys; else steps are cut into slices, and merged batches into parts */
    uint32_t step_keys;
    bool
        /*
         * the busiest node takes all that it may; other nodes take a little of keys that are nearly
         * full, too little to be urgent, while the busiest node pauses
         */
        sips;

    /*
     * all nodes take so little of full keys that refill pays it off; in a rush they take all that
     * they may
     */
    bool trickles;

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
    bool bursts, gaps, greedy; /* greedy: clients take all that a node gives */
    bool pipelines;            /* some requests arrive together, and are decided in runs */
    bool rushes_one;           /* bursts: one node is asked for a whole limit; see rights_load.c */
    uint64_t arrival_gap_ns;   /* mean between two clients at the busiest node */
    uint64_t demand_percent;   /* of the rate */
    struct plan_asks asks;     /* rules beside the limits of the config */
    struct plan_edits edits;   /* changes of rules, in worlds of their own */
    struct plan_lists lists;   /* changes of limits of the config, in worlds of their own */
    bool tiers;                /* the limits are tiers of one rule: see tiers.c */
    bool tiers_mixed;          /* each node has requests of all tiers; else mostly of one */
    bool tiers_lazy;           /* no law touches a key while faults go on: a key has the limit that load gave it */

    /*
     * A common start, in worlds of its own: the tokens of each key that the node's disk knows to be
     * spent.
     */
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
