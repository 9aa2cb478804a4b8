/*
 * ask: requests that ask several limits of all kinds at once, and returns of the tokens that they
 * took.
 *
 * The one idea: plan.h has keys that are buckets, each asked by requests of one key. Besides these,
 * a world may have rules: buckets, fixed and sliding windows, logs and leases. Everything about
 * rules is drawn from a random stream of its own, so that the rest of a world is the same with and
 * without them. A node's wall clock is its monotonic clock plus an offset, which is set at each
 * start to the true time and a skew: a clock that jumps or stalls shows a wrong wall time from then
 * on.
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
    ASK_CHARGES_MAX = 3,     /* charges of one request */
    ASK_TIERS_MAX = 3,       /* of one rule, the widest one included */
    ASK_HELD_MAX = 128,      /* requests whose tokens may be given back */
    ASK_KEPT_MAX = 16,       /* reservations of a node that go on over a restart */
    ASK_RIGHT_WINDOWS = 128, /* windows of one key, whose numbers follow each other */
};

enum ask_algorithm { ASK_BUCKET, ASK_FIXED, ASK_SLIDING, ASK_LOG, ASK_LEASE, ASK_ALGORITHMS };
const char *ask_algorithm_name(enum ask_algorithm algorithm);

struct plan_rule {
    enum ask_algorithm algorithm;
    struct limit_terms terms;
    struct limit limit; /* the same terms in units */
    uint64_t window_ns; /* of fixed and sliding windows */
    uint64_t cost_max;
    uint8_t on_isolation; /* enum isolation */
    bool shadow;
    bool by_key;     /* each key has a home of its own: homes.c */
    bool of_daemons; /* ... which is one of all daemons, and not of all regions */
    unsigned subjects;
    /* `terms` are those of the widest tier, which is number 0; tier[t - 1] those of tier t. 1: the rule has no tiers */
    unsigned tiers;
    struct limit_terms tier[ASK_TIERS_MAX - 1];
    int64_t slack_units; /* by which a view may change as its key goes over to another tier; without tiers 0 */
};

struct plan_asks {
    unsigned rules; /* 0: this world has no rules */
    struct plan_rule rule[ASK_RULES_MAX];
    uint64_t gap_ns;      /* mean time between two requests at a node */
    uint64_t hold_max_ns; /* the longest time until a request's tokens are given back */
    unsigned holds_in_8;  /* of 8 requests, so many have tokens given back */
    bool greedy;
    bool tides;         /* the world has tides: see ask_tide.c */
    bool renews;        /* clients of leases renew them again and again */
    bool cuts_renewals; /* and some of those are cut off as they do: see ask_renewed.c */
    bool strangers;     /* clients also ask for refunds at nodes that did not spend: see ask_rights.c */
    int64_t skew_ns[ASK_NODES_MAX];
};

struct ask_truth {
    struct truth_bucket bucket;
    struct truth_cells cells;
    struct truth_log log;
};

/* One charge of a request, without the fields that differ between nodes. */
struct ask_part {
    unsigned rule, subject;
    unsigned tier;   /* of the rule: under which the charge is asked for */
    uint64_t window; /* number of the window; 0: the charge is not of a cell */
    uint64_t taken;  /* tokens that the request took and has not given back */
    bool granted;    /* a reservation has some of them by a voucher of a bucket of which the node has a share */
    bool passed;     /* the charge was allowed; false for a shadow rule that would have denied it */
};

/* On the node's clock, and on those of the truth. */
struct ask_moment {
    uint64_t made_ns, fast_ns, slow_ns;
};

/* Of a lease elsewhere: see ask_renewed.c. */
struct ask_renewal {
    struct ask_moment known, begun; /* the spend that the truth counts, and one that it may count later */
    uint64_t held_before;           /* listed from now on before the call; UINT64_MAX: nothing is to be found out */
};

struct ask_held {
    bool used, reserved;
    /*
     * the reservation has ended, but its tokens are not given back: the return must be told, and
     * has no room to be told now
     */
    bool ending;
    bool is_former; /* made in a former life of the node */
    uint8_t node;
    uint32_t life;
    struct reservation_id id;
    unsigned count;
    struct charge charge[ASK_CHARGES_MAX];
    struct ask_part part[ASK_CHARGES_MAX];
    uint64_t cost;
    uint64_t fast_ns, slow_ns; /* when the tokens were spent, on the clocks of the truth */
    uint64_t made_ns, ends_ns; /* on the node's clock; ends_ns is of reservations */
    struct ask_renewal renewal[ASK_CHARGES_MAX];
};

/* The tokens that a node spent of a key in its present life and has not given back; of a cell, in one window. */
struct ask_right {
    uint64_t window, tokens;
    uint64_t alone; /* given back while the node was alone: tokens of others that are gone may be among them */
};

/* What a node that has left keeps for its next life: see ask_kept.c. */
struct ask_kept {
    uint64_t at_ns, local_ns; /* when it left, and by its clock */
    unsigned count;
    struct node_reservation former[ASK_KEPT_MAX];
    struct ask_held held[ASK_KEPT_MAX];
};

struct asks {
    struct random random, strangers;
    struct ask_kept kept[ASK_NODES_MAX];
    struct ask_right right[ASK_NODES_MAX][ASK_RULES_MAX][ASK_SUBJECTS_MAX][ASK_RIGHT_WINDOWS];
    struct ask_truth truth[ASK_RULES_MAX][ASK_SUBJECTS_MAX];
    struct ask_held held[ASK_HELD_MAX];
    /* each node's index of the key's limit under each tier */
    uint16_t limit[ASK_NODES_MAX][ASK_RULES_MAX][ASK_SUBJECTS_MAX][ASK_TIERS_MAX];
    uint64_t wall_offset_ns[ASK_NODES_MAX];
    /* tokens spent in the node's present life */
    uint64_t life_tokens[ASK_NODES_MAX][ASK_RULES_MAX][ASK_SUBJECTS_MAX];
    uint64_t ebb_ns[ASK_NODES_MAX];      /* when the ebb ended, on each node's clock */
    uint64_t ebb_batches[ASK_NODES_MAX]; /* batches that each node had closed, or open, when the ebb ended */
    uint64_t skew_max_ns;                /* the largest difference of two wall clocks so far */
    uint64_t acted_ns; /* when a client last came back for what it holds, or has spent; 0: never */
    uint64_t asked, allowed, given_back, given_elsewhere, reservations, renewed, recalled, late_explains,
        ebbs_known;
};

struct sim;
struct plan;
struct happening;

/* ---- ask_plan.c ---- */
void ask_draw(struct plan *plan);
/* One rule or two, of all kinds but static splits, and requests of them. */
void ask_draw_few(struct plan *plan, struct random *random);
/* Nodes leave and come back again and again, while clients hold reservations. */
void ask_draw_restarts(struct plan *plan);
/* Removes the rules of all kinds that `letters` does not name: letters of "bfslc". */
void ask_keep_only(struct plan *plan, const char *letters);

/* ---- ask_tide.c ---- */
void ask_draw_tides(struct plan *plan, struct random *random);
void tide_begin(struct sim *sim);
void tide_turn(struct sim *sim, const struct happening *happening);

/* ---- ask_load.c ---- */
/*
 * Asks for `cost` tokens of the first key of the first rule, or for all that may be had. The tokens
 * are given back in `in_ns`, unless that is 0.
 */
void ask_exactly(struct sim *sim, unsigned i, uint64_t cost, uint64_t in_ns);
void ask_begin(struct sim *sim);
void ask_arrive(struct sim *sim, const struct happening *happening);
void ask_node_starts(struct sim *sim, unsigned i);
struct ask_held *ask_free_slot(struct sim *sim); /* NULL: there is none */
void ask_note_skew(struct sim *sim);             /* notes how far apart the wall clocks are now */
void ask_wake_soon(struct sim *sim, unsigned i); /* if the node wants a step */
/* The charge of a rule for one of its keys, as node i would make it now. Fills the window of `part`. */
struct charge ask_charge(const struct sim *sim, unsigned i, struct ask_part *part, uint64_t cost);
/* The charge of a key in the window of `part`, which must be 0 unless the rule has cells. */
struct charge ask_charge_of(const struct sim *sim, unsigned i, const struct ask_part *part);
/* The key, whatever its window. */
struct key_id ask_key(unsigned rule, unsigned subject);
/* how long windows of the rule are kept beyond their end */
uint64_t ask_margin_ns(const struct plan_rule *rule);
uint64_t ask_window_now(const struct sim *sim, unsigned i, unsigned rule);
uint64_t ask_keys(const struct sim *sim); /* keys that may have had spends so far */
/* The view of node i of the key, which `charge` asks for, in units of the rule's limit: those of its widest tier. */
struct bucket ask_view(struct sim *sim, unsigned i, const struct ask_part *part, const struct charge *charge);

/* ---- ask_tiers.c ---- */
/* Some rules of the plan have tiers, with which it also has other rules than before. */
void ask_draw_tiers(struct plan *plan);
/* The tier of the next request of the rule at node i. */
unsigned ask_tier(struct sim *sim, unsigned i, unsigned rule);
/* Fills the limits of tiers but the first. False, with `error`, where the node refuses one. */
bool ask_tiers_node_starts(struct sim *sim, unsigned i, unsigned rule, unsigned subject, struct error *error);
/* Units by which a view changed: a whole number of tokens where the units of tiers differ from it by a rounding. */
int64_t ask_change(const struct plan_rule *rule, int64_t units);
/* The node has all keys under the widest tier from now on, as far as it has them. */
void ask_tiers_end(struct sim *sim, unsigned i);

/* ---- ask_return.c, ask_ended.c ---- */
/*
 * Keeps an allowed request, so that its tokens can be given back: a reservation for `ttl_ns`, or,
 * if that is 0, a refund.
 */
void ask_hold(struct sim *sim, struct ask_held *held, uint64_t ttl_ns);
void ask_follow_up_in(struct sim *sim, const struct ask_held *held, uint64_t in_ns);
void ask_follow_up(struct sim *sim, const struct happening *happening);
/* lets reservations of the node end that end by themselves */
void ask_before_step(struct sim *sim, unsigned i);
void ask_after_step(struct sim *sim, unsigned i); /* notes the reservations whose tokens the step gave back */
void ask_node_ends(struct sim *sim, unsigned i);

/* True: keys may be evicted, so that a view of a key may start again from another value. */
bool ask_views_may_jump(const struct sim *sim);

/* ---- ask_kept.c ---- */
void ask_keep(struct sim *sim, unsigned i);   /* the node has left */
void ask_recall(struct sim *sim, unsigned i); /* and has started again */

/* ---- ask_renewed.c ---- */
/* The tokens of that charge were spent just now. */
void ask_renewal_begins(struct ask_held *held, unsigned c);
/* Around a call that renews the reservation. */
void ask_renewals_before(struct sim *sim, struct ask_held *held);
void ask_renewals_after(struct sim *sim, struct ask_held *held, bool done);
/*
 * True: a renewal just now has begun no new spend. So it is where a node that started anew could not tell any more when
 * a reservation of its former life was spent: its tokens end by themselves, once. A lease has ended then.
 */
bool ask_renewal_is_idle(struct sim *sim, const struct ask_held *held, unsigned c);
/* Clients look at a reservation again within that time. */
uint64_t ask_hold_ns(const struct sim *sim, const struct ask_held *held);

/* ---- ask_rights.c ---- */
/* The node has spent `tokens`, and may give them back once. ask_right_used: the node gives `tokens` back. */
void ask_right_gained(struct sim *sim, unsigned i, const struct ask_part *part, uint64_t tokens);
void ask_right_used(struct sim *sim, unsigned i, const struct ask_part *part, uint64_t tokens);
/* 0, or how many of so many tokens of a bucket away from its home, given back there, are the node's to give. */
uint64_t ask_right_given(struct sim *sim, unsigned i, const struct charge *charge, const struct ask_part *part,
                         uint64_t tokens);
void ask_rights_end(struct sim *sim, unsigned i); /* the life of the node ends */
/* Clients ask other nodes to give back the tokens of the request, or reset its keys there. */
void ask_elsewhere(struct sim *sim, const struct ask_held *held);

/* ---- ask_laws.c ---- */
const struct plan_rule *ask_rule(const struct sim *sim, unsigned r);
/*
 * True: clocks differed and jumped by less than the time for which windows of the rule are kept
 * beyond their end.
 */
bool ask_clocks_within(const struct sim *sim, const struct plan_rule *rule);
/* The tokens of a log that count now, and `more` that are about to be spent, less what may have been taken off. */
uint64_t ask_log_least(const struct sim *sim, const struct plan_rule *rule, const struct ask_truth *truth,
                       uint64_t more);
/* Brings the truth of key s of rule r up to the present time. */
void ask_truth_now(struct sim *sim, unsigned r, unsigned s);
void ask_truths_begin(struct sim *sim);
void ask_spent(struct sim *sim, unsigned i, const struct charge *charge, const struct ask_part *part,
               uint64_t tokens);
/* The same of tokens that were spent before. */
void ask_spent_then(struct sim *sim, unsigned i, const struct charge *charge, const struct ask_part *part,
                    uint64_t tokens, const struct ask_moment *then);
/*
 * Tells the truth that node i gave back between `sure` and `possible` units of the spends of
 * `held`. The node had closed `batches` batches by then.
 */
void ask_given_back(struct sim *sim, unsigned i, const struct ask_part *part, const struct ask_held *held,
                    int64_t sure, int64_t possible, uint64_t batches);
void ask_lost_with(struct sim *sim, unsigned i, uint64_t share);
void ask_knowledge_lost(struct sim *sim);
void ask_laws_after_step(struct sim *sim, unsigned i);

/* ---- ask_laws_agree.c ---- */
void ask_laws_agree(struct sim *sim);
void ask_ebb_ends(struct sim *sim);
void ask_laws_after_ebb(struct sim *sim); /* some time after the ebb */
bool ask_is_settled(struct sim *sim, unsigned i, char *text, size_t room);
/* the time after which no spend of a short rule counts any more */
uint64_t ask_drain_ns(const struct sim *sim);
void ask_laws_drained(struct sim *sim);

#endif
