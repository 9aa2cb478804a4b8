/*
 * sim: a whole cluster in one process, on simulated time.
 *
 * The one idea: everything that happens is a happening in one queue, in one order, drawn from one
 * seed. The nodes under test are the real ones (cluster/node.h). Each part of the simulator has one
 * file: the plan (what the seed decided), the world (nodes and network), the faults, the load, the
 * laws, the story.
 */
#ifndef HEADGATE_TESTS_SIM_SIM_H
#define HEADGATE_TESTS_SIM_SIM_H

#include "base/held_clock.h"
#include "base/random.h"
#include "cluster/node.h"
#include "rules/homes.h"
#include "tests/lib/decisions.h"
#include "tests/lib/node_figures.h"
#include "tests/sim/ask.h"
#include "tests/sim/clock.h"
#include "tests/sim/edit.h"
#include "tests/sim/lists.h"
#include "tests/sim/plan.h"
#include "tests/sim/queue.h"
#include "tests/sim/truth.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIM_FAILURE_BYTES = 512, SIM_STEPS_AT_ONCE_MAX = 10000, HEALING_WINDOWS = 3 };
enum { SIM_WEIGHTS_BYTES = 4096, SIM_VERSIONS_MAX = 64 };
enum { SLOW_TIMES = 8 }; /* the latency of a slow link */

enum phase {
    PHASE_SAFETY,  /* faults and load */
    PHASE_AGREE,   /* healed, without load: every node comes to know everything */
    PHASE_REST,    /* until every bucket is full */
    PHASE_WARM_UP, /* steady load until no burst is left */
    PHASE_MEASURE, /* the tokens admitted now are compared with the rate */
    PHASE_SETTLE,  /* without load: every node comes to know everything again */
    PHASE_OVER,
};

enum life { LIFE_DOWN, LIFE_UP, LIFE_LEAVING, LIFE_FORGOTTEN };

struct sim_node {
    struct node *node; /* NULL unless the node is up or leaving */
    char name[NODE_NAME_BYTES], gossip_address[NODE_ADDRESS_BYTES], snapshot_address[NODE_ADDRESS_BYTES];
    enum life life;
    uint32_t lives; /* how often the node was started or ended */
    uint64_t incarnation;
    struct sim_clock clock;
    struct held_clock held;             /* over that clock: the node's time */
    uint64_t wake_local_ns, wake_order; /* the wake-up in force */
    uint64_t paused_until_ns;
    bool pause_drops;     /* packets that arrive during the pause are lost, not late */
    bool stays_away;      /* after it has left, the node never returns */
    uint64_t leave_by_ns; /* LIFE_LEAVING: after this time the node waits for no peer */
    bool was_joining;     /* the node is not active yet in this life */
    bool cold;            /* the first start: nothing was spent before */
    bool lied_to;         /* a part of a snapshot was another one than its donor has, in this life */
    bool unawaited;       /* the node went on alone, and some peer does not wait for its word */
    uint64_t
        list_due_ns[PLAN_LISTS]; /* when the node learns that list of weights; UINT64_MAX: it knows it, or never */
    bool hears[SIM_NODES_MAX];   /* subscribes to the publications of that node */
    uint64_t stepped_ms, steps_at_once;
    /* at the end of the last step; at the beginning of the present step */
    struct step_figures was, before;
    uint64_t admitted_tokens, admitted_requests, arrived_requests;
    uint64_t life_tokens[SIM_KEYS_MAX];    /* tokens admitted in this life */
    uint64_t doubted_tokens[SIM_KEYS_MAX]; /* of the limit of the key, in this life */
    /*
     * the time on the fast clock at which every peer had last acknowledged all batches of the node
     */
    uint64_t acked_ns;
};

struct link {
    uint64_t cut_from_ns, cut_until_ns, slow_until_ns;
    uint64_t last_arrival_ns;
};

struct arrival {
    uint64_t at_ns;
    uint8_t node;
};

/* The requests and refusals after a cut: see healing.c. */
struct healing {
    uint64_t from_ns;
    const bool *lawful; /* for each arrival: one bucket would admit it */
    size_t asked_count;
    uint64_t asked[HEALING_WINDOWS], refused[HEALING_WINDOWS];
};

/* Of vouchers, in tokens, besides `asks` and `grants`. */
struct rights_figures {
    uint64_t asks, asked, grants, granted, received, used, returned;
};

struct sim {
    struct plan plan;
    struct random network_random, fault_random, load_random, thread_random, apart_random, newer_random, liar_random,
        donor_random, look_random, tier_random;
    uint64_t looked_ns; /* what the clock of sleepless.c showed last */
    bool looks_stand;   /* that clock stands still: answers of the same moment are compared */
    uint64_t now_ns;
    enum phase phase;
    uint64_t phase_ends_ns;            /* the latest end of the phase */
    uint64_t healed_ns, idle_until_ns; /* no load comes before this time (gaps) */
    uint64_t rush_until_ns;
    struct sim_node node[SIM_NODES_MAX];
    struct link link[SIM_NODES_MAX][SIM_NODES_MAX];
    struct truth truth[SIM_KEYS_MAX];
    struct sim_clock fast, slow;    /* the clocks of the truth */
    const struct arrival *arrivals; /* a scenario's load, or NULL: drawn */
    size_t arrival_count, arrival_next;
    struct healing *healing;                /* NULL: healing is not counted */
    struct demand_watch *demand_watch;      /* NULL: what nodes know of demand is not summed */
    bool measured[SIM_KEYS_MAX];            /* the utilisation of the key is measured */
    bool rested[SIM_KEYS_MAX];              /* the key was full at all nodes when the steady load began */
    uint64_t measured_tokens[SIM_KEYS_MAX]; /* admitted before the measuring began */
    double measured_debt[SIM_KEYS_MAX];     /* tokens that the truth owed then: refill repays them first */
    int64_t measured_left[SIM_KEYS_MAX];    /* units, when measuring begins */
    uint64_t measured_from_ns;
    uint64_t measured_admissions, measured_snapshots; /* that there were before the measuring began */
    struct {
        struct rights_figures all, was[SIM_NODES_MAX]; /* of all lives; of the present lives */
        uint64_t marked_ns, marked, marked_before;     /* all.granted at a time, and a voucher's life before it */
    } rights;
    struct {
        struct random random;
        uint64_t changes;
        bool last_set;      /* the change after all faults was made */
        uint64_t by_demand; /* versions that nodes made so */
        struct auto_versions {
            unsigned count;
            struct version_stamp stamp[SIM_VERSIONS_MAX]; /* that were seen, the last ones */
            uint64_t made_ns[SIM_NODES_MAX];              /* when that node made one, on its clock; 0: never */
        } seen;
        struct weights_disk {
            size_t kept_size, waiting_size;
            uint64_t kept_number, waiting_number;
            char kept[SIM_WEIGHTS_BYTES], waiting[SIM_WEIGHTS_BYTES];
        } disk[SIM_NODES_MAX];
    } weights;
    struct asks asks;
    struct edits edits;
    struct lists lists;
    bool knowledge_lost; /* a crash or a lonely start made some peer forget spends */
    bool alone;          /* some node went on without asking any peer what was spent */
    bool merged;         /* a log came to its limit, and batches were merged */
    bool evicted;        /* a table was too small: views may be too low, but never too high */
    /*
     * Of the limit of the key: tokens that any node charged although a snapshot may have contained
     * them. No view is lower by more.
     */
    uint64_t doubted_tokens[SIM_KEYS_MAX];
    struct effects effects;
    uint64_t hash;      /* of every effect and every decision */
    bool unheld;        /* nodes' times are as fast as their clocks, whatever they ask for */
    bool beside;        /* but not of a step that only a node of a later release causes */
    bool lied_low;      /* somebody was told by a snapshot that less is left than there is */
    bool lied_ahead;    /* the liar has said to have heard what it has not: others may wait for that, or keep it */
    struct effects lie; /* scratch for what the liar makes up */
    struct effects newer; /* scratch for messages of nodes of a later release */
    uint64_t steps, admissions, refusals, messages;
    bool verbose, trace, quiet_laws; /* quiet_laws: scenarios measure overshoot instead of failing on it */
    char failure[SIM_FAILURE_BYTES]; /* "" as long as all laws hold */
    struct queue queue;              /* last, because the queue is large and keeps nothing between runs */
};

static inline const struct limit *sim_limit(const struct sim *sim, unsigned key)
{
    const uint16_t name = sim->plan.key[key].limit;
    return sim->plan.lists.enabled ? &sim->lists.widest[name] : &sim->plan.limits.limit[name];
}

/*
 * Sets everything to zero, but not the fields that a caller sets before sim_run: plan, arrivals,
 * verbose, trace, quiet_laws.
 */
void sim_clear(struct sim *sim);

/* Runs the plan in `sim` to its end or to the first broken law. True: all laws held. */
bool sim_run(struct sim *sim);

/* Notes the first broken law, as one line. Later laws are ignored. */
void sim_fail(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

void sim_hash(struct sim *sim, const void *data, size_t size);
void sim_hash_u64(struct sim *sim, uint64_t value);

#endif
