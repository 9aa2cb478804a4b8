/*
 * ask: requests that ask several limits at once, of all kinds, and what is given back of them.
 *
 * The one idea: beside the keys of plan.h, which are buckets asked one by one, a world may have rules: buckets, fixed
 * and sliding windows, logs and leases. Everything of theirs is drawn from a stream of its own, so that a world is
 * the same without them. Their wall clocks are the nodes' monotonic ones, set at each start to the true time and a
 * skew: a clock that jumps or stalls is wrong from then on.
 */
#ifndef HEADGATE_TESTS_SIM_ASK_H
#define HEADGATE_TESTS_SIM_ASK_H

#include "cluster/node.h"
#include "tests/sim/truth_bucket.h"
#include "tests/sim/truth_cell.h"
#include "tests/sim/truth_log.h"

enum {
    ASK_NODES_MAX = 7,
    ASK_RULES_MAX = 5,
    ASK_SUBJECTS_MAX = 2,    /* keys of one rule */
    ASK_CHARGES_MAX = 3,     /* of one request */
    ASK_HELD_MAX = 128,      /* requests of which something may be given back */
    ASK_RIGHT_WINDOWS = 128, /* of one key, whose numbers are next to each other */
};

enum ask_algorithm { ASK_BUCKET, ASK_FIXED, ASK_SLIDING, ASK_LOG, ASK_LEASE, ASK_ALGORITHMS };
const char *ask_algorithm_name(enum ask_algorithm algorithm);

struct plan_rule {
    enum ask_algorithm algorithm;
    struct limit_terms terms;
    struct limit limit; /* the same with its units */
    uint64_t window_ns; /* fixed, sliding */
    uint64_t cost_max;
    uint8_t on_isolation; /* enum isolation */
    bool shadow;
    unsigned subjects;
};

struct plan_asks {
    unsigned rules; /* 0: there are none in this world */
    struct plan_rule rule[ASK_RULES_MAX];
    uint64_t gap_ns;      /* mean between two requests at a node */
    uint64_t hold_max_ns; /* until something is given back */
    unsigned holds_in_8;  /* of 8 requests, so many have something given back */
    bool greedy;
    bool tides;     /* see ask_tide.c */
    bool strangers; /* refunds are asked for at nodes that did not spend: see ask_rights.c */
    int64_t skew_ns[ASK_NODES_MAX];
};

struct ask_truth {
    struct truth_bucket bucket;
    struct truth_cells cells;
    struct truth_log log;
};

/* What one charge of a request is, apart from how a node is told. */
struct ask_part {
    unsigned rule, subject;
    uint64_t window; /* its number; 0: no cell */
    uint64_t taken;  /* tokens */
    bool passed;     /* it was allowed: false of a shadow that would have denied */
};

struct ask_held {
    bool used, reserved;
    bool ending; /* it has ended, and what it held is not given back yet: that must be told, and cannot be now */
    uint8_t node;
    uint32_t life;
    struct reservation_id id;
    unsigned count;
    struct charge charge[ASK_CHARGES_MAX];
    struct ask_part part[ASK_CHARGES_MAX];
    uint64_t cost;
    uint64_t fast_ns, slow_ns; /* when it was spent, on the truth's clocks */
    uint64_t made_ns, ends_ns; /* on the node's clock; ends: reservations */
};

/* What a node spent in this life of a key, in one window of it if it is a cell, and has not given back. */
struct ask_right {
    uint64_t window, tokens;
};

struct asks {
    struct random random, strangers;
    struct ask_right right[ASK_NODES_MAX][ASK_RULES_MAX][ASK_SUBJECTS_MAX][ASK_RIGHT_WINDOWS];
    struct ask_truth truth[ASK_RULES_MAX][ASK_SUBJECTS_MAX];
    struct ask_held held[ASK_HELD_MAX];
    uint16_t limit[ASK_NODES_MAX][ASK_RULES_MAX]; /* each node's index of it */
    uint64_t wall_offset_ns[ASK_NODES_MAX];
    uint64_t life_tokens[ASK_NODES_MAX][ASK_RULES_MAX][ASK_SUBJECTS_MAX]; /* of this life */
    uint64_t ebb_ns[ASK_NODES_MAX];      /* when it was over, on each node's clock */
    uint64_t ebb_batches[ASK_NODES_MAX]; /* that each node had closed, or open, when the ebb was over */
    uint64_t skew_max_ns;                /* the most that two wall clocks ever differed */
    uint64_t asked, allowed, given_back, given_elsewhere, reservations, late_explains, ebbs_known;
};

struct sim;
struct plan;
struct happening;

/* ---- ask_plan.c ---- */
void ask_draw(struct plan *plan);
/* Takes out the rules of kinds that are not named: letters of "bfslc". */
void ask_keep_only(struct plan *plan, const char *letters);

/* ---- ask_tide.c ---- */
void ask_draw_tides(struct plan *plan, struct random *random);
void tide_begin(struct sim *sim);
void tide_turn(struct sim *sim, const struct happening *happening);

/* ---- ask_load.c ---- */
/* Asks for so many tokens of the first rule's first key, or for all that may be had; given back in `in_ns` unless 0. */
void ask_exactly(struct sim *sim, unsigned i, uint64_t cost, uint64_t in_ns);
void ask_begin(struct sim *sim);
void ask_arrive(struct sim *sim, const struct happening *happening);
void ask_node_starts(struct sim *sim, unsigned i);
void ask_note_skew(struct sim *sim);             /* how far apart the wall clocks are now */
void ask_wake_soon(struct sim *sim, unsigned i); /* if it wants a step */
/* The charge of a rule for one of its keys, as a node would have it at this moment. */
struct charge ask_charge(const struct sim *sim, unsigned i, struct ask_part *part, uint64_t cost);
/* The charge of a window of a key, of cells; of others window is 0. */
struct charge ask_charge_of(const struct sim *sim, unsigned i, const struct ask_part *part);
uint64_t ask_margin_ns(const struct plan_rule *rule); /* for how long its windows are kept beyond their end */
uint64_t ask_window_now(const struct sim *sim, unsigned i, unsigned rule);
uint64_t ask_keys(const struct sim *sim); /* of which there may have been spends so far */
struct bucket ask_view(struct sim *sim, unsigned i, const struct charge *charge);

/* ---- ask_return.c ---- */
/* What was just allowed is kept for something to come back of it: a reservation for `ttl_ns`, or 0: a refund. */
void ask_hold(struct sim *sim, struct ask_held *held, uint64_t ttl_ns);
void ask_follow_up_in(struct sim *sim, const struct ask_held *held, uint64_t in_ns);
void ask_follow_up(struct sim *sim, const struct happening *happening);
void ask_before_step(struct sim *sim, unsigned i); /* reservations that end by themselves */
void ask_after_step(struct sim *sim, unsigned i);  /* those of which it gave back what they held */
void ask_node_ends(struct sim *sim, unsigned i);

/* A key may have been evicted, or others for it: where it starts from again is not what it had. */
bool ask_views_may_jump(const struct sim *sim);

/* ---- ask_rights.c ---- */
/* The node has spent so much, and may give it back once; it gives so much back. */
void ask_right_gained(struct sim *sim, unsigned i, const struct ask_part *part, uint64_t tokens);
void ask_right_used(struct sim *sim, unsigned i, const struct ask_part *part, uint64_t tokens);
void ask_rights_end(struct sim *sim, unsigned i); /* with a life of the node */
/* Somebody asks other nodes to give back what was spent by that request, or resets its keys there. */
void ask_elsewhere(struct sim *sim, const struct ask_held *held);

/* ---- ask_laws.c ---- */
const struct plan_rule *ask_rule(const struct sim *sim, unsigned r);
/* Clocks differed and jumped by less than windows of the rule are kept beyond their end. */
bool ask_clocks_within(const struct sim *sim, const struct plan_rule *rule);
/* The truth of a rule's key as of now. */
void ask_truth_now(struct sim *sim, unsigned r, unsigned s);
void ask_truths_begin(struct sim *sim);
void ask_spent(struct sim *sim, unsigned i, const struct charge *charge, const struct ask_part *part,
               uint64_t tokens);
/*
 * In units; what was spent at those times comes back, between `sure` and `possible` of it. The node had closed so many
 * batches by then.
 */
void ask_given_back(struct sim *sim, unsigned i, const struct ask_part *part, const struct ask_held *held,
                    int64_t sure, int64_t possible, uint64_t batches);
void ask_lost_with(struct sim *sim, unsigned i, uint64_t share);
void ask_knowledge_lost(struct sim *sim);
void ask_laws_after_step(struct sim *sim, unsigned i);

/* ---- ask_laws_agree.c ---- */
void ask_laws_agree(struct sim *sim);
void ask_ebb_ends(struct sim *sim);
void ask_laws_after_ebb(struct sim *sim); /* some time later */
bool ask_is_settled(struct sim *sim, unsigned i, char *text, size_t room);
uint64_t ask_drain_ns(const struct sim *sim); /* how long until nothing of short rules is taken any more */
void ask_laws_drained(struct sim *sim);

#endif
