/*
 * sim: a whole cluster in one process, on simulated time.
 *
 * The one idea: everything that happens is a happening in one queue, in one order, drawn from one seed; the
 * nodes under test are the real ones (cluster/node.h). Each part of the simulator owns one file: the plan
 * (what the seed decided), the world (nodes and network), the faults, the load, the laws, the story.
 */
#ifndef HEADGATE_TESTS_SIM_SIM_H
#define HEADGATE_TESTS_SIM_SIM_H

#include "base/random.h"
#include "cluster/node.h"
#include "tests/lib/decisions.h"
#include "tests/sim/ask.h"
#include "tests/sim/clock.h"
#include "tests/sim/edit.h"
#include "tests/sim/plan.h"
#include "tests/sim/queue.h"
#include "tests/sim/truth.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIM_FAILURE_BYTES = 512, SIM_STEPS_AT_ONCE_MAX = 10000, HEALING_WINDOWS = 3 };
enum { SLOW_TIMES = 8 }; /* the latency of a slow link */

enum phase {
    PHASE_SAFETY,  /* faults and load */
    PHASE_AGREE,   /* healed, no load: everyone comes to know everything */
    PHASE_REST,    /* until every bucket is full */
    PHASE_WARM_UP, /* steady load until no burst is left */
    PHASE_MEASURE, /* what is admitted now is compared with the rate */
    PHASE_SETTLE,  /* no load: everyone comes to know everything again */
    PHASE_OVER,
};

enum life { LIFE_DOWN, LIFE_UP, LIFE_LEAVING, LIFE_FORGOTTEN };

/* What a node had at the end of a step, or has before one. */
struct step_figures {
    uint64_t log_keys, ghost_keys, open_keys, batches_closed, step_keys_max, doubted_tokens;
    uint32_t reservations;
    bool serves; /* the step is asked for a part of the table */
};

struct sim_node {
    struct node *node; /* NULL unless up or leaving */
    char name[NODE_NAME_BYTES], gossip_address[NODE_ADDRESS_BYTES], snapshot_address[NODE_ADDRESS_BYTES];
    enum life life;
    uint32_t lives; /* how often it was started, or ended */
    uint64_t incarnation;
    struct sim_clock clock;
    uint64_t wake_local_ns, wake_order; /* the wake-up that is in force */
    uint64_t paused_until_ns;
    bool pause_drops;          /* what arrives during the pause is lost, not late */
    bool stays_away;           /* once it has left, it never returns */
    uint64_t leave_by_ns;      /* LIFE_LEAVING: later it waits for nobody */
    bool was_joining;          /* not active yet in this life */
    bool cold;                 /* of the first start: nothing was spent before */
    bool unawaited;            /* it went on alone, and somebody does not wait for its word */
    bool hears[SIM_NODES_MAX]; /* listens to what that node publishes */
    uint64_t stepped_ms, steps_at_once;
    struct step_figures was, before; /* at the end of the step before; when this one began */
    uint64_t admitted_tokens, admitted_requests, arrived_requests;
    uint64_t life_tokens[SIM_KEYS_MAX];    /* admitted in this life */
    uint64_t doubted_tokens[SIM_KEYS_MAX]; /* of the key's limit, in this life */
    uint64_t acked_ns; /* on the fast clock, when every peer had last acknowledged all its batches */
};

struct link {
    uint64_t cut_from_ns, cut_until_ns, slow_until_ns;
    uint64_t last_arrival_ns;
};

struct arrival {
    uint64_t at_ns;
    uint8_t node;
};

/* What is asked and refused after a cut: see healing.c. */
struct healing {
    uint64_t from_ns;
    const bool *lawful; /* by arrival: one bucket would admit it */
    size_t asked_count;
    uint64_t asked[HEALING_WINDOWS], refused[HEALING_WINDOWS];
};

struct sim {
    struct plan plan;
    struct random network_random, fault_random, load_random, thread_random, apart_random, newer_random;
    uint64_t now_ns;
    enum phase phase;
    uint64_t phase_ends_ns;            /* at the latest */
    uint64_t healed_ns, idle_until_ns; /* load stands still until then (gaps) */
    uint64_t rush_until_ns;
    struct sim_node node[SIM_NODES_MAX];
    struct link link[SIM_NODES_MAX][SIM_NODES_MAX];
    struct truth truth[SIM_KEYS_MAX];
    struct sim_clock fast, slow;    /* the clocks of the truth */
    const struct arrival *arrivals; /* a scenario's load, or NULL: drawn */
    size_t arrival_count, arrival_next;
    struct healing *healing;                /* NULL: nothing of that is counted */
    bool measured[SIM_KEYS_MAX];            /* has its utilisation measured */
    bool rested[SIM_KEYS_MAX];              /* was full everywhere when the steady load began */
    uint64_t measured_tokens[SIM_KEYS_MAX]; /* admitted before the measuring began */
    uint64_t measured_from_ns;
    struct asks asks;
    struct edits edits;
    bool knowledge_lost; /* a crash or a lonely start made some peer forget spends */
    bool alone;          /* somebody went on without asking anybody what was spent */
    bool merged;         /* a log came to its limit, and batches were merged */
    bool evicted;        /* a table was too small: views may be too low, never too high */
    /* Of the key's limit, charged by anybody though a snapshot may have contained it: no view is lower by more. */
    uint64_t doubted_tokens[SIM_KEYS_MAX];
    struct effects effects;
    uint64_t hash;        /* of every effect and every decision, */
    bool beside;          /* but for those of a step that only a node of a later release causes */
    struct effects newer; /* scratch: what nodes of a later release say */
    uint64_t steps, admissions, refusals, messages;
    bool verbose, trace, quiet_laws; /* quiet_laws: scenarios measure overshoot instead of failing on it */
    char failure[SIM_FAILURE_BYTES]; /* "" as long as every law holds */
    struct queue queue;              /* last, because it is large and keeps nothing between runs */
};

static inline const struct limit *sim_limit(const struct sim *sim, unsigned key)
{
    return &sim->plan.limits.limit[sim->plan.key[key].limit];
}

/* Everything zero, but for what a caller sets before sim_run: plan, arrivals, verbose, trace, quiet_laws. */
void sim_clear(struct sim *sim);

/* Runs the plan in `sim` to its end or to the first broken law. True if all laws held. */
bool sim_run(struct sim *sim);

/* Notes the first broken law, as one line; later ones are ignored. */
void sim_fail(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

void sim_hash(struct sim *sim, const void *data, size_t size);
void sim_hash_u64(struct sim *sim, uint64_t value);

/* ---- world.c: nodes ---- */
void world_init(struct sim *sim);
void world_close(struct sim *sim);
void world_start(struct sim *sim, unsigned i);
/* The node vanishes with its memory; what it had spent and nobody else knew is given back to the truth. */
void world_crash(struct sim *sim, unsigned i);
void world_step(struct sim *sim, unsigned i, enum event_kind kind, struct bytes bytes, const char *name);
/* The same with an event that has more to say; its time is filled in. */
void world_event(struct sim *sim, unsigned i, const struct event *event);
void world_wake(struct sim *sim, const struct happening *happening);
/* After a clock was bent: its wake-up comes at another time. */
void world_rearm(struct sim *sim, unsigned i);
uint64_t world_local_ns(const struct sim *sim, unsigned i);
/* What is asked next is asked by some thread of the node's. */
void world_change_thread(struct sim *sim);
bool world_is_up(const struct sim *sim, unsigned i); /* has a node, leaving ones included */
/* Every peer that has not left has acknowledged all batches of the node's. */
bool world_is_acknowledged(const struct sim *sim, unsigned i);
/*
 * The most that a node's share of the refill may have paid off, since that was last so, of `tokens` that it spent in
 * this life and somebody does not know: they are unsettled no more, but lost with it all the same.
 */
int64_t world_paid_off_units(const struct sim *sim, unsigned i, const struct limit *limit, uint64_t tokens,
                             uint64_t share);

/* ---- unawaited.c ---- */
void unawaited_begin(struct sim *sim, unsigned i); /* the node goes on without having asked anybody */
void unawaited_after_step(struct sim *sim);

/* ---- network.c ---- */
void network_publish(struct sim *sim, unsigned from, struct bytes bytes);
void network_request(struct sim *sim, unsigned from, const char *snapshot_address, struct bytes bytes);
void network_reply(struct sim *sim, unsigned from, unsigned to, uint32_t to_life, struct bytes bytes);
void network_connect(struct sim *sim, unsigned listener, const char *gossip_address, bool connect);
void network_deliver(struct sim *sim, struct happening *happening);
bool network_is_cut(const struct sim *sim, unsigned from, unsigned to);

/* ---- faults.c ---- */
void faults_begin(struct sim *sim);
void faults_strike(struct sim *sim);
void faults_clock_goes(struct sim *sim, const struct happening *happening);
void faults_forget(struct sim *sim, const struct happening *happening);
/* It returns later. The last that knows what was spent does not crash: nothing could then be promised. */
void faults_crash(struct sim *sim, unsigned i);
void faults_heal(struct sim *sim);
void faults_look(struct sim *sim);
/* The longest that a message of before the healing may still be on its way. */
uint64_t faults_longest_way_ns(const struct sim *sim);

/* ---- load.c ---- */
void load_begin(struct sim *sim);
void load_arrive(struct sim *sim, const struct happening *happening);
void load_client(struct sim *sim, const struct happening *happening);
void load_burst(struct sim *sim);
/* Decides one request at a node, in its present state of mind, and tells the truth. */
bool load_admit(struct sim *sim, unsigned i, unsigned key, uint64_t cost);

/* ---- laws.c ---- */
/* What is corrupted may say anything; and a scenario measures what exceeds rather than failing for it. */
bool laws_are_off(const struct sim *sim);
void laws_after_admit(struct sim *sim, unsigned i, unsigned key);
void laws_before_step(struct sim *sim, unsigned i, bool serves); /* serves: a part of its table */
void laws_after_step(struct sim *sim, unsigned i);
void laws_sample(struct sim *sim); /* the expensive ones */
void truth_now(struct sim *sim, unsigned key);
/* Spends were forgotten for good: the truth of every key starts full again. */
void laws_knowledge_lost(struct sim *sim);
uint64_t laws_sum_of_shares(const struct sim *sim);
/* Takes note if the node's table was too small. */
void laws_note_evictions(struct sim *sim, unsigned i);

/* ---- laws_agree.c ---- */
/* Healed, and nothing under way any more: everyone knows everything. `lateness_ns`: the longest that a spend
 * may have been on its way to somebody. */
void laws_agree(struct sim *sim, uint64_t lateness_ns);
/* Nothing unsettled, nothing in logs, all active: what laws_agree asserts first. The text says what is missing. */
bool laws_are_settled(struct sim *sim, char *text, size_t room);
void laws_utilisation(struct sim *sim);
/* Chooses the keys whose utilisation under steady load is worth measuring: bursts larger than what is in flight. */
void laws_begin(struct sim *sim);
/* How long steady load takes until what it admits is the rate. `refill_ns`: of the slowest measured key; 0: none is. */
uint64_t laws_warm_up_ns(const struct sim *sim, uint64_t refill_ns);
/* How long a spend that is not urgent may wait until it is told. */
uint64_t laws_untold_ns(const struct sim *sim);
uint64_t laws_settle_ns(const struct sim *sim); /* the longest until all agree when nothing is broken */
/* The same after healing: some must join, or be heard again, first. */
uint64_t laws_agree_ns(const struct sim *sim);

/* ---- disks.c ---- */
/* All start anew, some with what their disks kept. */
void disks_draw(struct plan *plan);
void disks_begin(struct sim *sim);
/* At its first start, before it is started. */
void disks_restore(struct sim *sim, unsigned i);

/* ---- newer.c: nodes of a later release ---- */
/* Runs the plan twice: some nodes say more than this release knows, or do not. Nothing else may differ. */
bool newer_run(struct sim *sim);
/* What the node says, as it travels. */
struct bytes newer_bytes(struct sim *sim, unsigned from, struct bytes bytes);
/* Behind each message of such a node comes one of a kind that this release does not know. */
void newer_deliver(struct sim *sim, const struct happening *happening);

/* ---- story.c ---- */
void story_plan(const struct sim *sim);
void story_tell(const struct sim *sim, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void story_sample(struct sim *sim);
/* One request, with what its node and the truth have left (--trace). */
void story_admission(struct sim *sim, unsigned i, unsigned key, uint64_t cost);
/* What each node sees of the first keys. */
void story_views(struct sim *sim);
const char *phase_name(enum phase phase);

/* ---- scenarios.c, healing.c, search.c, pairs.c: print and return an exit status ---- */
struct search_options {
    uint64_t from, trials;
    double seconds; /* > 0: for so long, instead of so many trials */
    bool refill;    /* of limits that refill */
    bool tap;
};
int scenarios_run(struct sim *sim, unsigned seeds, bool tap);
int healing_run(struct sim *sim, unsigned seeds, bool tap);
/* One of the listed requests was decided. */
void healing_note(struct sim *sim, bool allowed);
int search_run(const struct search_options *options);
/* Holds if every two features of plans meet, and each comes without the other, within so many seeds. */
int pairs_run(unsigned seeds, bool tap);

/* ---- known.c ---- */
struct known_seed {
    uint64_t seed;
    bool without_rules, early;
};
/*
 * Lines "seed reason", "seed - reason" for one without rules, "seed = reason" for one without what is drawn late;
 * others are skipped. To be read before any job is forked: they would share the file's position.
 */
unsigned known_read(const char *path, struct known_seed *known, unsigned room);

#endif
