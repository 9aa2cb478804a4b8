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
        donor_random, look_random;
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

/* ---- world.c, world_start.c: nodes ---- */
void world_init(struct sim *sim);
void world_close(struct sim *sim);
void world_start(struct sim *sim, unsigned i);
/*
 * The node vanishes with its memory. Spends of which no other node knows are given back to the
 * truth.
 */
void world_crash(struct sim *sim, unsigned i);
void world_step(struct sim *sim, unsigned i, enum event_kind kind, struct bytes bytes, const char *name);
/* The same with a whole event; its time is filled in. */
void world_event(struct sim *sim, unsigned i, const struct event *event);
void world_wake(struct sim *sim, const struct happening *happening);
/* Must be called after a clock was bent: the node's wake-up comes at another time. */
void world_rearm(struct sim *sim, unsigned i);
uint64_t world_local_ns(const struct sim *sim, unsigned i);
/* The next requests come from some other thread of the node. */
void world_change_thread(struct sim *sim);
/* A node's own number within its region makes its name: "west-2". */
void world_node_name(const struct plan *plan, unsigned i, char *name, size_t room);
const char *world_region_name(unsigned region);
bool world_is_up(const struct sim *sim, unsigned i); /* the node exists; a leaving node does too */
/* False: some node has heard of spends that wait to be charged, as they do while somebody is silent. */
bool world_all_is_charged(const struct sim *sim);
/* True: every peer that has not left has heard of all batches of the node, and all that is heard is charged. */
bool world_is_acknowledged(const struct sim *sim, unsigned i);
/*
 * The node spent `tokens` in this life that some peer does not know. Returns the most of them that
 * the node's share of the refill may have paid off since all peers had acknowledged its batches:
 * these are not unsettled any more, but are lost with the node all the same.
 */
int64_t world_paid_off_units(const struct sim *sim, unsigned i, const struct limit *limit, uint64_t tokens,
                             uint64_t share);

/* ---- unawaited.c ---- */
/* the node goes on without having asked any peer */
void unawaited_begin(struct sim *sim, unsigned i);
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
/* From now on nobody hears the node, which hears all: for so long, or as long as faults last. */
void faults_cut_off(struct sim *sim, unsigned i, uint64_t ns);
void faults_strike(struct sim *sim);
void faults_clock_goes(struct sim *sim, const struct happening *happening);
void faults_forget(struct sim *sim, const struct happening *happening);
/*
 * The node returns later. The last node that knows of spends does not crash, because then no law
 * could be promised.
 */
void faults_crash(struct sim *sim, unsigned i);
void faults_heal(struct sim *sim);
void faults_look(struct sim *sim, const struct happening *happening);
/* The longest time that a message from before the healing may still be on its way. */
uint64_t faults_longest_way_ns(const struct sim *sim);

/* ---- load.c ---- */
void load_begin(struct sim *sim);
void load_arrive(struct sim *sim, const struct happening *happening);
void load_client(struct sim *sim, const struct happening *happening);
void load_burst(struct sim *sim);
/* Decides one request at a node as its state is, and tells the truth of the tokens. */
bool load_admit(struct sim *sim, unsigned i, unsigned key, uint64_t cost);

/* ---- laws.c ---- */
/*
 * True: laws are off, because corrupted messages may say anything, or because a scenario measures
 * the overshoot instead of failing for it.
 */
bool laws_are_off(const struct sim *sim);
void laws_after_admit(struct sim *sim, unsigned i, unsigned key);
/* serves: the step serves a part of the table */
void laws_before_step(struct sim *sim, unsigned i, bool serves);
void laws_after_step(struct sim *sim, unsigned i);
void laws_sample(struct sim *sim); /* the expensive laws */
void truth_now(struct sim *sim, unsigned key);
/* Spends were forgotten for good: the truth of every key starts full again. */
void laws_knowledge_lost(struct sim *sim, unsigned i);
uint64_t laws_sum_of_shares(const struct sim *sim);
/* Notes whether the node's table was too small. */
void laws_note_evictions(struct sim *sim, unsigned i);

/* ---- windows.c ---- */
/* All rules are of windows, with more demand than shares allow, and nodes grant each other rights. */
void windows_draw(struct plan *plan);

/* ---- rights_load.c ---- */
/* Nodes grant each other rights. `demand`: in most worlds there is more demand than shares allow. */
void rights_draw(struct plan *plan, bool demand);
/* One node is asked for the whole limit of key k. Clients that are refused come again. */
void rights_burst(struct sim *sim, unsigned k);
void rights_come_again(struct sim *sim, unsigned i, unsigned k, uint64_t cost);

/* ---- rights.c ---- */
/* What the node may admit of the key from vouchers. */
int64_t rights_units(struct sim *sim, unsigned i, struct key_id id, uint16_t limit, const struct limit *of);
/* How far a view may be above a bucket's truth, and the truth below the overshoot, since the fast clock leapt. */
int64_t rights_slack_units(const struct sim *sim, struct truth *truth, const struct limit *limit);
/* The same of the view of node i, of a key whose home is that, or 0. */
int64_t rights_view_slack_units(const struct sim *sim, unsigned i, struct truth *truth, const struct limit *limit,
                                uint64_t home);
/* At most so much of the key is in vouchers, wherever they are. */
int64_t rights_out_units(struct sim *sim, unsigned k);
/* The truth of the key gets these units back. What does not fit makes room for vouchers that are out. */
void rights_forgotten(struct sim *sim, unsigned k, int64_t units);
/*
 * The same of units that are lost with node i, whose grants may be among them: holders that know these grants, and are
 * lost as well, may have used their tokens meanwhile.
 */
void rights_lost_with(struct sim *sim, unsigned i, unsigned k, int64_t units);
/* The same of the key of a rule, whose truth has no room for these units. */
void rights_of_rule_lost_with(struct sim *sim, unsigned i, const struct ask_part *part, int64_t units);
/* The clock of node i is about to leap by so much, and the fast clock with it. */
void rights_clock_leaps(struct sim *sim, unsigned i, uint64_t ns);
/* Node i has forgotten what it granted as a home: others may still use as much. */
void rights_home_forgets(struct sim *sim, unsigned i);
/* Node i, perhaps a home, may have its figures from a node whose view is too high. */
void rights_home_starts(struct sim *sim, unsigned i);
void rights_node_starts(struct sim *sim, unsigned i);
void rights_after_step(struct sim *sim, unsigned i);

/* ---- takeover.c ---- */
/* Rights end by themselves; cuts, pauses and crashes are longer than that. */
void takeover_draw(struct plan *plan);
/* Similar worlds without takeover: members are silent for long, and charges wait (cluster/apply/uncharged.h). */
void lonely_draw(struct plan *plan);
void takeover_after_step(struct sim *sim);
/* How long it takes until all act again once faults are over. */
uint64_t takeover_agree_ns(const struct sim *sim);
/* All act, and nobody is thought to be gone. False: `text` says what is missing. */
bool takeover_is_over(struct sim *sim, unsigned i, char *text, size_t room);

/* ---- weights_auto.c ---- */
/* Weights follow demand. */
void weights_auto_draw(struct plan *plan);
void weights_auto_options(const struct plan *plan, struct node_options *options);
void weights_auto_after_step(struct sim *sim, unsigned i);

/* ---- weights.c ---- */
/* Operators change weights of regions. */
void weights_draw(struct plan *plan);
void weights_begin(struct sim *sim);
/* The weights of the plan are set for the last time. */
void weights_heal(struct sim *sim);
void weights_arrive(struct sim *sim, const struct happening *happening);
void weights_kept(struct sim *sim, const struct happening *happening);
void weights_after_step(struct sim *sim, unsigned i);
void weights_node_ends(struct sim *sim, unsigned i, bool crashes);
void weights_restore(struct sim *sim, unsigned i);
uint64_t weights_agree_ns(const struct sim *sim);
bool weights_are_over(struct sim *sim, unsigned i, char *text, size_t room);

/* ---- laws_agree.c, laws_utilisation.c, laws_time.c ---- */
/*
 * Everything is healed and no message is under way: every node must know everything. `lateness_ns`:
 * the longest time that a spend may have been on its way to some node.
 */
void laws_agree(struct sim *sim, uint64_t lateness_ns);
/*
 * True: nothing is unsettled, no log has batches, and all nodes are active; laws_agree asserts this
 * first. False: `text` says what is missing.
 */
/* True: the figures of that node have all that it has spent, or it is wrong that they lack some of it. */
bool laws_may_compare(struct sim *sim, unsigned i);
bool laws_are_settled(struct sim *sim, char *text, size_t room);
void laws_measuring_begins(struct sim *sim);
void laws_utilisation(struct sim *sim);
/* Chooses the keys whose utilisation under steady load is worth measuring: bursts larger than what is in flight. */
void laws_begin(struct sim *sim);
/*
 * How long steady load takes until the admitted tokens equal the rate. `refill_ns`: the refill of
 * the slowest measured key; 0: no key is measured.
 */
uint64_t laws_warm_up_ns(const struct sim *sim, uint64_t refill_ns);
enum { LAWS_WAITS_INTERVALS_MAX = 20 }; /* a spend that refill may pay off is told after so many, at the latest */
/* So many keys of a step may be told in it at the least, or applied, or settled. */
uint64_t laws_step_part(const struct sim *sim);
/* A message and its answer, at their slowest. */
uint64_t laws_round_trip_ns(const struct sim *sim);
/* How long it may take until so many keys are told that are not urgent. */
uint64_t laws_telling_ns(const struct sim *sim, uint64_t keys);
/* How long a spend that is not urgent may wait until it is told. */
uint64_t laws_untold_ns(const struct sim *sim);
/* the longest time until all nodes agree when nothing is broken */
uint64_t laws_settle_ns(const struct sim *sim);
/* The same after healing: some nodes must join, or be heard again, first. */
uint64_t laws_agree_ns(const struct sim *sim);

/* ---- disks.c ---- */
/* All nodes start anew, some with the counters of their disks. */
void disks_draw(struct plan *plan);
void disks_begin(struct sim *sim);
/* Gives the node its counters; must be called before its first start. */
void disks_restore(struct sim *sim, unsigned i);

/* ---- sleepless.c: the clock that goes on while a machine sleeps, and while a step is taken ---- */
/* All nodes of that world read the clock, by sleepless_ns(). */
void sleepless_begin(struct sim *sim);
uint64_t sleepless_ns(void);

/* ---- liars.c: a member that says false words about others ---- */
void liars_draw(struct plan *plan);
void liars_options(const struct sim *sim, unsigned i, struct node_options *options);
/* Nodes know all keys, as from their stores. */
void liars_restore(struct sim *sim, unsigned i);
/* The liar has just been heard, or is about to be. */
void liars_deliver(struct sim *sim, const struct happening *happening, bool before);
/* Nobody is ended by the word of another. */
void liars_after_step(struct sim *sim, unsigned i);
/*
 * Where keys are required, anybody is believed where a stranger is that the config does not name: it is dialled there
 * in vain. Who is forgotten is no more in the config of those who start.
 */
bool liars_may_have_dialled(const struct sim *sim, const char *address);

/* ---- liars_snapshots.c: what that member gives to those that ask for parts of its table ---- */
bool liars_lie_in_snapshots(const struct sim *sim);
/* What is heard in place of this reply, until the next lie; empty: nothing. */
struct bytes liars_reply(struct sim *sim, const struct happening *happening, struct bytes bytes);

/* ---- rule_weights.c: limits of rules with weights of their own ---- */
void rule_weights_draw(struct plan *plan);
/* The first limit has these weights, one for each region, which all nodes know when they start. */
void rule_weights_plan(struct plan *plan, const double *parts);
void rule_weights_node_starts(struct sim *sim, unsigned i);
/* Node i may learn a list now. */
void rule_weights_after_step(struct sim *sim, unsigned i);

/* ---- homes.c: limits of which one region, or one daemon, has the whole share ---- */
void homes_draw(struct plan *plan);
/* The rules are windows already, as windows_draw draws them. */
void homes_draw_windows(struct plan *plan);
/* One daemon has the whole of half of the limits that have a home. */
void homes_draw_daemons(struct plan *plan);
void homes_draw_buckets(struct plan *plan);
void homes_draw_leases(struct plan *plan);
void homes_options(const struct sim *sim, unsigned i, struct node_options *options);
void homes_after_step(struct sim *sim);
/* True: node i is in the region that is the home; 0: there is no home. */
bool homes_have(const struct sim *sim, unsigned i, uint64_t home);
/* True: a lease of the charge that node i renews is a new spend. Elsewhere it ends when it would have. */
bool homes_begin_anew(struct sim *sim, unsigned i, const struct charge *charge, const struct ask_part *part);
/* The homes among which keys choose, from the config of node i, which has its regions in an order of its own. */
void homes_of_node(const struct plan *plan, unsigned i, struct homes *homes);
/* The home of key s of rule r, of daemons or of those regions; 0: it has none. */
uint64_t homes_choice(const struct plan *plan, const struct homes *regions, unsigned r, unsigned s);
/* The same with the regions in the order of the first node. */
uint64_t homes_home_of(const struct sim *sim, unsigned r, unsigned s);
/* What node i has of the limit; `share`: what it has of limits without a home. */
uint64_t homes_share(struct sim *sim, unsigned i, struct key_id id, uint16_t limit, uint64_t share);
/* What all nodes together have of the limit. */
double homes_sum_of_shares(struct sim *sim, struct key_id id, uint16_t limit);

/* ---- newer.c: nodes of a later release ---- */
/*
 * Runs the plan twice: with nodes that say more than this release knows, and without. Nothing else
 * may differ.
 */
bool newer_run(struct sim *sim);
/* The node's message as it travels. */
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

/* ---- clocks.c, healing.c: their modes are in scenarios.h ---- */
void clocks_draw(struct plan *plan);
/* One of the listed requests was decided. */
void healing_note(struct sim *sim, bool allowed);

/* ---- known.c ---- */
struct known_seed {
    uint64_t seed;
    bool without_rules, early, mild;
};
/*
 * Lines "seed reason", "seed - reason" for one without rules, "seed = reason" for one without what is drawn late,
 * "seed ~ reason" for one without the demand of rights_draw;
 * others are skipped. To be read before any job is forked: they would share the file's position.
 */
unsigned known_read(const char *path, struct known_seed *known, unsigned room);

#endif
