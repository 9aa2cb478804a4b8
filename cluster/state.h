/*
 * state: what a node remembers; shared by the files of the cluster and by nobody else.
 *
 * Three things: members (who there is, and the newest digest heard of each), origins (one per member's
 * incarnation: how far its batches are applied here, and those that somebody may still lack), and keys (the
 * table). An origin whose incarnation has ended is a ghost: it gets no new batches, and is retired when all
 * members are known to have the same of it.
 */
#ifndef HEADGATE_CLUSTER_STATE_H
#define HEADGATE_CLUSTER_STATE_H

#include "base/random.h"
#include "cluster/message.h"
#include "cluster/node.h"
#include "cluster/peaks.h"

#include <stdalign.h>
#include <stdatomic.h>

enum {
    OPEN_KEYS_MAX = 16384,           /* keys in one batch of anybody's */
    STEP_KEYS_DEFAULT = 2048,        /* see node_options.step_keys */
    INBOX_BATCHES_MAX = 512,         /* batches that wait for others, */
    INBOX_PARTS_MAX = 2 * PARTS_MAX, /* and parts */
    LOG_BATCHES_MAX = 1024,          /* of one origin; then neighbours are merged */
    SNAPSHOT_PREFIX_BITS_MAX = 32,
    SNAPSHOT_ASKED_MAX = 6, /* parts asked for at the same time */
    SNAPSHOT_TODO_MAX = (SNAPSHOT_ASKED_MAX + 1) * (SNAPSHOT_PREFIX_BITS_MAX + 1),
    PAGES_MAX = 8192,           /* parts of a snapshot */
    PUBLISH_BATCHES_MAX = 4096, /* in one go; the rest follows */
    ECHOES_MAX = 4096,          /* own messages of which it is known when they were made */
    LOG_RETURN_INTERVALS = 4,   /* for messages to travel: see heeded_until_ns() in return.c */
    LOG_RETURN_PARTS = 4,
};

struct member {
    bool used;
    bool self;
    bool configured;
    bool reserved; /* its share is counted by everybody, whether or not this incarnation was acknowledged */
    bool knows_me; /* its newest message lists this node's incarnation */
    bool knows_we_left;
    bool reserves_ours; /* its newest message says that our share is counted whatever our incarnation */
    bool silent;
    bool mute_in, mute_out;
    bool config_differs;
    bool forgotten;        /* left because an operator, or forget_after, said so */
    bool share_freed;      /* left for good, and everything of it is applied here */
    enum peer_state state; /* JOINING, ACTIVE or LEFT, as last told */
    char name[NODE_NAME_BYTES];
    char region[NODE_NAME_BYTES];
    char gossip_address[NODE_ADDRESS_BYTES];
    char snapshot_address[NODE_ADDRESS_BYTES];
    uint64_t incarnation; /* 0: never heard */
    uint64_t retired_incarnation;
    uint64_t number;          /* of its newest message known here */
    uint64_t heard_ns;        /* when a newer message became known, at first or second hand; 0: never */
    uint64_t heard_direct_ns; /* at first hand */
    uint64_t left_ns;
    uint64_t echo, echo_number;             /* its message `echo_number` told that it knew ours up to `echo` */
    uint64_t hears;                         /* bit i: it hears member i directly */
    uint64_t knows_ended[ORIGINS_MAX / 64]; /* bit o: it told us itself that the incarnation of origin o is over */
    uint64_t acknowledged;                  /* own batches up to this one, in the causal sense */
    uint64_t round_trip_ns, round_trip_spread_ns;
    uint64_t demand_tokens;      /* spent there since the demand was last averaged */
    double demand_tokens_per_s;  /* smoothed, over all keys */
    uint64_t known[ORIGINS_MAX]; /* newest digest, by origin slot */
};

struct origin {
    uint32_t uid; /* 0: a free slot; never used twice */
    uint32_t member;
    bool mine; /* made by this process: its log holds spends that are unsettled here */
    uint64_t incarnation;
    uint64_t applied; /* highest contiguous sequence number */
    uint64_t behind_since_ns,
        behind_at;      /* somebody has more, and `behind_at` is all we have had since; 0: not so */
    uint64_t forgotten; /* kept no longer, since everybody has it: up to this number */
    uint64_t dropped;   /* applied here, but kept no longer although somebody lacks it: up to this number */
    /* What is being applied in parts, and the next of them; 0: nothing is. Then `applied` is below all of it. */
    uint64_t merge;
    uint32_t next_part;
    uint32_t log_count, merged_count; /* batches now, and what merging left of them last time */
    uint64_t log_keys;
    struct list log; /* struct batch in order: those that somebody may lack */
};

/* Tokens per key in own batches: see tally.c. */
struct tally {
    struct tally_slot *slot; /* mask + 1; NULL until it is needed */
    uint64_t mask, epoch, used;
    uint32_t batches; /* that it is of */
    bool failed;      /* there was no memory */
};

/* What is left of a sorted batch. */
struct merge_source {
    const struct spend *at, *end;
};

/* Whether what was sent may be merged with what was not. */
enum merging { MERGE_WHAT_WAS_SENT, MERGE_ALL };

/* Merging a log, run by run, each in as many steps as it takes: see merge.c. */
struct merger {
    bool sweeping, to_limit;
    bool reclaimed; /* this sweep made the log smaller */
    enum merging how;
    uint32_t slot, slot_uid; /* whose log is swept */
    uint64_t next;           /* its batches up to this number are done with */

    uint32_t uid; /* of the origin, while one of its runs is merged; else 0 */
    uint64_t first;
    const struct batch *newest; /* of the run, in the log as long as the run is */
    uint32_t batch_count;       /* in the run */
    uint64_t opened_ns;
    struct merge_source *source; /* a heap: the least key first */
    uint32_t source_count;
    struct list made; /* batches */
    uint32_t made_count;
    struct spend *spend; /* batch_max of them: what the next of these begins with */
    uint32_t spend_count, group_count;
};

/* A part of a snapshot that was taken: keys below it stand for what the donor had applied then. */
struct page {
    uint64_t prefix;
    uint32_t bits;
    uint64_t applied[ORIGINS_MAX]; /* by origin slot */
};

/* A batch to be said now. */
struct due {
    uint32_t slot;
    struct batch *batch;
    bool spare; /* said already, and not overdue */
};

/* Of the key space: ids that begin with the `bits` low bits of `prefix`. */
struct part {
    uint64_t prefix;
    uint32_t bits;
    uint64_t asked_ns; /* 0: it is to be asked for at once */
};

/* Taking a snapshot: parts still to ask for, a stack; those asked for; and those merged already. */
struct snapshot {
    bool running;
    bool done;      /* since this incarnation began to join */
    uint32_t donor; /* member */
    uint64_t donor_incarnation;
    uint64_t started_ns;
    uint32_t depth; /* bits of the first part that was not split; 0: there is none yet */
    uint32_t todo_count, asked_count;
    struct part todo[SNAPSHOT_TODO_MAX], asked[SNAPSHOT_ASKED_MAX];
    uint64_t retired[NODE_PEERS_MAX]; /* by member: incarnations whose spends every part contains whole */
    uint32_t page_count, page_room;
    struct page *page; /* by prefix, ascending; kept until everything applied here is beyond them */
};

/* Keys that the store has to be told of: a ring. */
struct changed {
    struct key_id *id;
    uint32_t first, count, room;
};

/*
 * What the requests of one thread write of the node besides the table; steps gather it from all lanes. A ring's spends
 * belong to their keys: whoever holds a key's stripe of the table may change its spend in any ring. Where a ring begins
 * and ends is its lane's alone.
 */
struct lane {
    alignas(64) uint32_t open_first,
        open_span;       /* of open_room, from the oldest one on, gaps included: see untold.c */
    uint32_t open_count; /* untold ones */
    struct spend *open;  /* open_room of them, in node->open; what is not `untold` in it is a gap */
    uint32_t *urgent;    /* indices in node->open of urgent ones, in all rings */
    uint32_t urgent_count;
    bool push_wanted, hurry_wanted; /* since the last step: see the node's */
    uint64_t open_since_ns;         /* since when something is untold in this ring */
    uint64_t spent_ns;              /* when something was last spent or returned */
    struct changed changed;
    uint64_t admitted_requests, refused_requests, admitted_tokens, returned_tokens,
        limit_drops; /* see node_stats */
};

struct node {
    struct node_options options;
    struct limit_set limits;
    struct random random;
    enum peer_state state; /* of this node */
    bool superseded;       /* a newer incarnation of this name lives somewhere else */
    bool stopping;
    bool alone; /* no other peer exists */
    bool somebody_silent;
    uint64_t now_ns; /* never runs backwards */
    uint64_t incarnation, number;
    uint64_t made_ns[ECHOES_MAX]; /* when message n was made, at n % ECHOES_MAX */
    uint32_t incarnation_changes; /* since the start of the process */
    uint64_t started_ns, stop_ns, farewell_ns;
    uint64_t joining_next_ns; /* when a joining node asks again */

    struct member member[NODE_PEERS_MAX];
    struct origin origin[ORIGINS_MAX];
    uint32_t me;      /* member index of this node */
    uint32_t my_slot; /* origin slot of this incarnation */
    uint32_t last_uid;
    uint32_t peer_count; /* members that have not left, this node included */

    struct budget *budget; /* by limit, as the next two: limits.room of them */
    int64_t *early_units;  /* a key's unsent tokens that ask for an early push */
    int64_t *worst_debt_units;
    uint64_t share;     /* of this node in every limit */
    uint64_t settle_ns; /* smoothed; initially a guess */
    struct table *table;
    struct reservations *reservations; /* NULL: none can be made */
    uint64_t reservations_made;
    atomic_bool reservations_locked; /* these two, and `random` for requests: if there are several lanes */

    struct events *events;  /* of LOG limits */
    uint32_t config_limits; /* indices below are the config's: they stay */
    uint32_t limits_added;  /* that were new, since unused ones were last freed */
    uint64_t swept_ns;      /* when unused limits were last freed; 0: never */
    struct peaks peaks;
    uint64_t tenant_keys_max; /* 0: as many as fit */
    uint64_t converted_ns;    /* when a key last got another limit; 0: never */

    /* Own spends that no peer was told of: see untold.c. */
    struct lane *lane;
    uint32_t lane_count;
    struct spend *open;               /* the rings of all lanes, one behind the other */
    uint32_t open_room;               /* of each ring */
    uint32_t batch_max;               /* keys in a batch */
    struct spend *telling, *sorted;   /* scratch for batch_max of them */
    uint32_t telling_count;           /* 0 between calls */
    uint64_t telling_since_ns;        /* nothing of that is older */
    uint64_t pace, credit, credit_ns; /* see tell_at_pace */
    uint32_t slice_keys, push_keys;   /* as many untold ones are worth a message; call for one now */
    uint64_t tell_ns;                 /* when more may be told; UINT64_MAX: nothing waits for the pace */
    bool push_wanted;                 /* spends since the last step call for an early push */
    bool push_waits;                  /* the last step saw it, but it was too early */
    bool hurry_wanted; /* a key's allowance runs out: the sooner its spends are told, the sooner they settle */
    bool hurry_waits;
    bool answer_wanted; /* something was applied that others wait to see acknowledged */
    bool log_full;
    bool snapshot_wanted;
    uint64_t published_ns; /* last time */
    uint64_t tick_ns;      /* next batch */

    struct list inbox;                 /* batches that wait for what they depend on */
    uint32_t inbox_count, inbox_parts; /* parts are counted in both */
    uint64_t inbox_keys;
    uint64_t log_keys;       /* over all origins */
    uint64_t compacted_ns;   /* when merging was last tried; 0: never */
    uint64_t compacted_keys; /* what it left of a log that was too large; 0: the log is not */
    uint64_t everywhere;     /* own batches up to this one are acknowledged by all */
    struct merger merger;
    struct tally tally;

    /* The work of a step is bounded: see step_has_time(). */
    uint32_t step_keys, step_left;
    uint64_t step_worked;
    bool step_again;                /* something was left for a step that follows at once: */
    bool apply_left;                /* batches that could be applied, */
    bool settle_left, settled_last; /* or settled (which had its turn first), */
    bool publish_left;              /* or said */
    struct snapshot snapshot;
    uint64_t demand_ns;        /* when demands were last averaged */
    uint64_t unsealed_told_ns; /* when the last notice about such a message was given; 0: never */

    struct plane *plane; /* rules; see plane.h */
    struct node_stats stats;
    struct message in, header; /* scratch: too large for the stack */
    struct due due[PUBLISH_BATCHES_MAX];
};

/* ---- membership.c: who there is, and what share of a limit each has ---- */
void membership_init(struct node *node, struct effects *effects);
int member_find(const struct node *node, struct bytes name);
/* A member that has not left and is not this node: its acknowledgement is needed. */
bool member_needed(const struct member *member);
/* Takes over what a message says of members; map[i] becomes the member index of its record i, or -1. */
void membership_merge(struct node *node, const struct message *message, int *map, struct effects *effects);
/* This node's own view of who hears whom, shares and silence, after anything changed or time passed. */
void membership_refresh(struct node *node, struct effects *effects);
/* What this node may use of limit number `index`, after its terms or the shares changed. */
void membership_refresh_budget(struct node *node, uint32_t index);
void membership_left(struct node *node, uint32_t index, bool forgotten, struct effects *effects, const char *why);
void membership_new_incarnation(struct node *node, uint64_t incarnation, struct effects *effects);
bool member_hears(const struct node *node, const struct member *listener, uint32_t speaker);

/* ---- join.c: from nothing to a share, and a graceful end ---- */
void join_step(struct node *node, struct effects *effects);
void leave_step(struct node *node, struct effects *effects);

/*
 * ---- how much is done in one step ----
 * Requests wait while a step runs. So it works on about step_keys keys, and leaves the rest to a step that follows at
 * once, when requests have been served. Whatever goes through keys says so, and asks before it begins with some: what
 * comes first in a step is not refused, however large.
 */
static inline bool step_has_time(struct node *node, uint64_t keys)
{
    bool has = keys <= node->step_left || node->step_left == node->step_keys;
    node->step_again |= !has;
    return has;
}
static inline void step_works(struct node *node, uint64_t keys)
{
    node->step_worked += keys;
    node->step_left -= keys < node->step_left ? (uint32_t)keys : node->step_left;
}

/* ---- origins.c: how far each origin is applied, and its log ---- */
int origin_find(const struct node *node, uint32_t member, uint64_t incarnation);
int origin_find_uid(const struct node *node, uint32_t uid);
/* Finds or makes it; -1 when it is retired or there is no slot. */
int origin_obtain(struct node *node, uint32_t member, uint64_t incarnation);
/* No new batches can come of it: its member restarted or left. */
bool origin_is_ghost(const struct node *node, const struct origin *origin);
/* Whether a batch of so many spends under so many limits may be made: it takes at most half of a message. */
bool batch_fits(const struct node *node, uint32_t spend_count, uint32_t group_count);
/* Where a batch of these sorted spends that begins with number `from` ends: as many as fit. */
uint32_t batch_end(const struct node *node, const struct spend *spends, uint32_t from, uint32_t count);
void origin_log_append(struct node *node, struct origin *origin, struct batch *batch);
void origin_log_remove(struct node *node, struct origin *origin, struct batch *batch);
/* Frees what everybody has, and retires ghosts. */
void origins_forget_stable(struct node *node);
/* All that this member's incarnations up to `incarnation` spent is contained in what we have. */
void origins_retire(struct node *node, uint32_t member, uint64_t incarnation);
void origins_close(struct node *node);

/* ---- tally.c: what is told and not settled, where there is much of it ---- */
/* There are so many own batches that they are not searched. */
bool tally_is_wanted(const struct node *node);
/* All own batches are in it. */
bool tally_is_whole(struct node *node);
/* Brings it nearer to that, as far as there is time. */
void tally_step(struct node *node);
void tally_reset(struct node *node);
/* Strikes a spend of a batch that is in it off; what is left of its key. Then, once, the batch. */
uint64_t tally_strike(struct node *node, const struct spend *spend);
void tally_struck(struct node *node, struct batch *batch);
/* The batch leaves the log, unsettled. */
void tally_forget(struct node *node, struct batch *batch);

/* ---- merge.c: one run of a log; compact.c: which, and when ---- */
/* The next run of the sweep begins; false: it is at its end. */
bool merge_begin(struct node *node);
/* False: there is more than this step has time for. */
bool merge_some(struct node *node);
/* All is made: it takes the place of the run. */
void merge_finish(struct node *node);
void merge_abandon(struct merger *merger);
void compact_init(struct node *node);
void compact_close(struct node *node);
/* Merges neighbours until the log is within its limit; tells node->log_full when it is not. */
void origins_compact(struct node *node);
/* The batch leaves the origin's log: a run that it is of is not merged. */
void compact_forget(struct node *node, const struct origin *origin, const struct batch *batch);

/* Seals the message that was written and emits it. */
void emit_message(struct node *node, const struct message_writer *writer, enum effect_kind kind,
                  const char *address);

/* ---- lane.c: what threads of requests have of their own ---- */
bool lanes_create(struct node *node);
void lanes_destroy(struct node *node);
/* This thread's. */
struct lane *own_lane(const struct node *node);
/* What the lanes want becomes what the node wants. Alone. */
void lanes_gather(struct node *node);

/* ---- admit.c: the request path, one key ---- */
/* False: this node decides nothing now. */
bool may_decide(const struct node *node);
/* The time of a request: never before the last step's. */
uint64_t request_time(const struct node *node, uint64_t now_ns);
/* What is spent from the key now can be told, to peers and to the store. */
bool can_record(const struct node *node, const struct entry *entry);
/* The same of so many keys, whichever they are; false: of some perhaps. */
bool can_record_any(const struct node *node, uint32_t count);
/* Notes what was spent from the key, or given back, for the next batch and the store; there is room. */
void record_spend(struct node *node, struct entry *entry, uint64_t tokens);
/* `until_ns`: of a LOG: when others stop to take notice of it. */
void record_return(struct node *node, struct entry *entry, uint64_t tokens, uint64_t credit, uint64_t until_ns);
/* Charges all of a request that is as most are; false, with nothing changed: it is not, or is not allowed. */
bool take_all_plain(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
                    struct verdict *verdicts);
/* How long until own spends are expected to be known everywhere. */
uint64_t settling_ns(const struct node *node);
struct verdict refusal(const struct node *node, uint16_t limit, enum verdict_reason reason);
/* The key was charged under that budget: it is recorded, told soon if little is left, and counted. */
void note_charged(struct node *node, struct entry *entry, const struct budget *budget, uint64_t cost,
                  uint64_t now_ns);
/* What is untold of the key is told as soon as can be. */
void hurry_if_untold(struct node *node, const struct entry *entry);

/* ---- untold.c: own spends from being recorded to being told ---- */
bool untold_create(struct node *node);
void untold_destroy(struct node *node);
/* The entry's key has spends that are untold, at node->open[entry->open_index]. */
bool is_in_open(const struct node *node, const struct entry *entry);
/* All that is untold, ring by ring. Alone. */
void untold_visit(const struct node *node, void (*visit)(void *context, const struct spend *spend), void *context);
/* How many there are. Alone. */
uint32_t untold_count(const struct node *node);
/* Asks memory for the entry's untold spend, if there is any. */
void untold_prefetch(const struct node *node, const struct entry *entry);
/* So many more keys can be recorded by this thread. */
bool untold_has_room(const struct node *node, uint32_t keys);
/* Something is about to be recorded. */
void note_open(struct node *node, uint64_t now_ns);
/* The key's untold spend, begun if there is none; there is room for one. */
struct spend *open_spend(struct node *node, struct entry *entry);
/* So much is untold of this thread's that it should be told now. */
bool untold_wants_push(const struct node *node);
/* If the key has untold spends, they are told with the next batch. */
void untold_urge(struct node *node, const struct entry *entry);
/*
 * Batches are closed: of all that is urgent; of that, and of others as fast as the pace allows, but no more than is
 * worked on in a step; of everything.
 */
void tell_urgent(struct node *node);
void tell_at_pace(struct node *node);
void tell_all(struct node *node);
/* Of as much as one step may work on, where that is not all; true if it was. */
bool tell_some(struct node *node);
/* Of what is urgent, if that is as much as one step may work on. */
void tell_much_urgent(struct node *node);
/* For how long the oldest one has waited. */
uint64_t untold_age_ns(const struct node *node);
void untold_check(const struct node *node);

/* ---- check.c: several keys at once ---- */
/* Asks memory for all of them: worth it before they are looked up one by one. */
void touch_charges(const struct node *node, const struct charge *charges, size_t count);
/* Decides over all and charges all; taken[i]: charges[i] was charged. False: none was. */
bool check_charges(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
                   struct verdict *verdicts, bool *taken);

/* The stripes of all keys of all charges, until table_unlock: what was decided still holds when it is charged. */
void hold_keys(struct node *node, const struct charge *charges, size_t count, struct table_held *held);
/* node_check by whoever holds the keys; the time is that of request_time. */
bool check_held(struct node *node, const struct charge *charges, size_t count, bool take, uint64_t now_ns,
                struct verdict *verdicts);

/* ---- return.c: giving back ---- */
/* node_return by whoever holds the keys. */
uint64_t return_held(struct node *node, const struct charge *charges, size_t count, uint64_t tokens,
                     uint64_t now_ns);
/* What a reservation holds of a LOG begins anew; false: it cannot, and ends as it would have. */
bool hold_anew(struct node *node, const struct charge *charge, uint64_t now_ns);

/* ---- reserve.c ---- */
/* Returns what ended reservations hold. */
void reserve_step(struct node *node);

/* ---- counters.c: what the store is told ---- */
bool counters_create(struct node *node);
void counters_destroy(struct node *node);
/* The key's state has changed: it is told to the store, if its limit is to be kept. */
void counters_touch(struct node *node, struct entry *entry);
/* False: the store could not be told of one more key. */
bool counters_have_room(const struct node *node, const struct entry *entry);
void counters_emit(struct node *node, struct effects *effects);
/* All of them are to be told again. */
void counters_retell(struct node *node);
void counters_restore(struct node *node, const struct counter *counters, size_t count);

/* ---- limits.c: the limits that are in use ---- */
bool limits_create(struct node *node, struct error *error);
void limits_destroy(struct node *node);
/* Frees those that nobody uses any more, when few are left. */
void limits_sweep(struct node *node);

/* ---- settle.c: own batches, until everybody has them; apply.c: those of others ---- */
/* Takes the message's batches in, which was made at `made_ns` or later; true if anything was applied. */
bool receive_batches(struct node *node, const struct message *message, const int *member_map, uint64_t made_ns);
bool inbox_drain(struct node *node);
/* The index of a limit that a peer told us of; -1: it makes no sense, or there are too many. */
int limit_of_terms(struct node *node, const struct limit_terms *terms);
/* Whoever goes through a batch's spends is at that one: memory that those a little further on need is asked for. */
void prefetch_spends(const struct node *node, const struct batch *batch, uint32_t index);
/* The entry that a spend of a batch concerns; NULL: a cell that has expired. It may have another limit. */
struct entry *entry_of_spend(struct node *node, const struct spend *spend, uint64_t at_ns);
/*
 * Of the tokens that `batch` returned to a key, in excess of what it spent, what a full bucket has lost since, in
 * units: it is charged again when the tokens are credited.
 */
int64_t lost_units(struct node *node, const struct entry *entry, uint64_t tokens, const struct batch *batch);
/* The key is about to be charged: see peaks.h. */
void note_peak(struct node *node, const struct entry *entry);
void settle_acknowledged(struct node *node);
/*
 * Settles the batches of an own origin up to that number, which everybody has, and takes them out of its log; if not
 * `at_once`, as many as this step has time for.
 */
void settle_up_to(struct node *node, struct origin *mine, uint64_t everywhere, bool at_once);

/* ---- inbox.c: batches that wait for what they depend on, or for the snapshot of a joining node ---- */
/* Some batch of that origin waits. */
bool inbox_holds(const struct node *node, uint32_t origin_uid);
/* That batch waits: what a record says it is. */
bool inbox_has(const struct node *node, uint32_t uid, const struct batch_record *record);
/* All parts wait that belong to this one. */
bool inbox_has_all(const struct node *node, const struct batch *part);
/* Parts of something of that origin arrive: it is being told. */
bool inbox_gathers(const struct node *node, uint32_t uid);
/* Of what was merged in several ways only one is gathered: the first, unless the rest of it does not come. */
bool inbox_wants_part(struct node *node, const struct batch *part);
/* At the limit, whatever is further from its turn than `batch` gives way. False: there is no place for it. */
bool inbox_make_room(struct node *node, const struct batch *batch);
/* The batch belongs to the inbox until it is taken out. */
void inbox_put(struct node *node, struct batch *batch);
void inbox_take(struct node *node, struct batch *batch);

/* ---- publish.c: what is said; gossip.c: how what is heard is understood ---- */
void gossip_publish(struct node *node, struct effects *effects);
void gossip_header(struct node *node, enum message_kind kind);
/* False: the message is not for us or not sound. Afterwards node->in is closed. */
void gossip_receive(struct node *node, struct bytes bytes, enum message_kind kind, struct effects *effects);

/* ---- snapshot_ask.c, snapshot.c, snapshot_serve.c: asking for parts of the table, taking, giving them ---- */
/* An active peer to ask, or -1. */
int snapshot_donor(const struct node *node);
void snapshot_start(struct node *node, uint32_t donor);
/* Asks for what is missing; when nothing is, the snapshot is taken. */
void snapshot_ask(struct node *node, struct effects *effects);
/* Batches that cannot come any more are replaced by a snapshot of somebody who had them. */
void snapshot_catch_up(struct node *node, struct effects *effects);
/* The part that was asked for; NULL: it was not. */
struct part *snapshot_asked(struct snapshot *snapshot, uint64_t prefix, uint32_t bits);
/* It was answered: it is merged, or its halves are to be asked for. */
void snapshot_answered(struct snapshot *snapshot, struct part *part, bool is_split);
/* There is room for it. */
void snapshot_add_page(struct snapshot *snapshot, const struct page *page);
/* All parts are merged: what every one contains counts as applied, once all is told that was spent before. */
void snapshot_finish(struct node *node, struct effects *effects);
void snapshot_serve(struct node *node, const struct message *request, struct effects *effects);
void snapshot_take(struct node *node, const struct message *reply, const int *member_map, struct effects *effects);
void snapshot_abandon(struct node *node);
/* True if the snapshot that gave this key's state already contained batch `last` of that origin slot. */
bool snapshot_contains(const struct node *node, struct key_id id, uint32_t slot, uint64_t last);
void snapshot_forget_pages(struct node *node);

#endif
