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
#include "cluster/aside.h"
#include "cluster/message.h"
#include "cluster/node.h"
#include "cluster/peaks.h"
#include "cluster/refundable.h"

#include <stdalign.h>
#include <stdatomic.h>

#define OPEN_INDEX_MAX ((1u << 20) - 1) /* what entry.open_index can hold */

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
    ROUNDS = 16,
    WAIT_PARTS = 64,
    LOG_RETURN_INTERVALS = 4, /* for messages to travel: see heeded_until_ns() in return.c */
    LOG_RETURN_PARTS = 4,
    HEARING_INTERVALS = 4, /* since its last message: whoever is heard directly, */
    REST_INTERVALS = 3,    /* and between two of one that is at rest: see rest.c */
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
    bool refuses;          /* as of its newest message known here it decides nothing: see accord.c */
    uint64_t config;       /* digest of that incarnation's config; 0: not known */
    bool forgotten;        /* left because an operator, or forget_after, said so */
    bool share_freed;      /* left for good, and everything of it is applied here */
    bool has_store;        /* it began with counters of its store, as it says itself */
    enum peer_state state; /* JOINING, ACTIVE or LEFT, as last told */
    char name[NODE_NAME_BYTES];
    char region[NODE_NAME_BYTES];
    char gossip_address[NODE_ADDRESS_BYTES];
    char snapshot_address[NODE_ADDRESS_BYTES];
    uint64_t incarnation; /* 0: never heard */
    uint64_t retired_incarnation;
    uint64_t store_known;     /* what the store of that incarnation had is known here; 0: of none */
    uint64_t knows_stores;    /* bit i: it knows what the store of member i had */
    uint64_t number;          /* of its newest message known here */
    uint64_t heard_ns;        /* when a newer message became known, at first or second hand; 0: never */
    uint64_t heard_awake_ns;  /* the same as awake_ns(): see silence.c */
    uint64_t heard_direct_ns; /* at first hand */
    bool silence_told;        /* what the log last said of it */
    bool flaps;               /* it was silent again soon after it had been heard again */
    uint64_t returned_ns;     /* awake_ns() when it was last heard again; 0: never */
    uint64_t left_ns;
    uint64_t echo, echo_number;             /* its message `echo_number` told that it knew ours up to `echo` */
    uint64_t hears;                         /* bit i: it hears member i directly; its own: it is at rest */
    uint64_t knows_ended[ORIGINS_MAX / 64]; /* bit o: it told us itself that the incarnation of origin o is over */
    uint64_t acknowledged;                  /* own batches up to this one, in the causal sense */
    uint64_t made_ns;                       /* its newest message was made then or later, on our clock */
    uint64_t answers_ns; /* the same, if the message before that was heard as well: it repeats nothing; or 0 */
    uint64_t covered_ns; /* what it had charged its keys with until then is charged here: see pay.c */
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
        behind_at; /* somebody has more, and `behind_at` is all we have had since; 0: not so */
    /* Kept for nobody any longer, since all have it: up to this number. Own ones stand in the log until settled. */
    uint64_t forgotten;
    uint64_t dropped; /* applied here, but not kept although somebody may lack it: up to this number */
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
    uint64_t backed;  /* slots whose memory the system has given */
    uint32_t batches; /* that it is of */
    bool failed;      /* there was no memory */
};

/* What is left of a sorted batch. */
struct merge_source {
    const struct spend *at, *end;
    uint64_t order; /* the limit and the first bits of the id at `at`: few comparisons need a look at the batch */
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
    uint64_t span_ns;        /* what is merged into one was closed within so long */

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
    uint64_t beyond[ORIGINS_MAX];  /* it may have some up to there, since its donor had parts: or `applied` */
};

/* A batch to be said now. */
struct due {
    uint32_t slot;
    struct batch *batch;
    bool spare; /* said already, and not overdue */
};

/* A batch in the inbox of which some is applied, and which is next: it takes several steps. */
struct begun {
    struct batch *batch; /* NULL: none is */
    uint32_t slot;       /* of its origin */
    uint32_t applied_count;
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
    bool of_store;  /* of what the donor's store had, while it joins itself: see store_exchange.c */
    bool done;      /* since this incarnation began to join */
    uint32_t donor; /* member */
    uint64_t donor_incarnation;
    uint64_t donor_knows_stores; /* as in its member, when the snapshot began */
    uint64_t started_ns;
    uint64_t awaits_since_ns;  /* since when a donor is given time to hear of us; 0: it is not */
    uint64_t refused_ns;       /* when a part could last not be taken since batches were dropped; 0: never */
    uint64_t refused_since_ns; /* and when first, since a snapshot was whole; 0: not since then */
    uint32_t depth;            /* bits of the first part that was not split; 0: there is none yet */
    uint32_t todo_count, asked_count;
    struct part todo[SNAPSHOT_TODO_MAX], asked[SNAPSHOT_ASKED_MAX];
    uint64_t retired[NODE_PEERS_MAX]; /* by member: incarnations whose spends every part contains whole */
    uint32_t page_count, page_room;
    struct page *page; /* by prefix, ascending, each kept until everything applied here is beyond it; may be NULL */
};

/* Keys that the store has to be told of: a ring. */
struct changed {
    struct key_id *id;
    uint32_t first, count, room;
};

/* A part of the table. */
struct wait_part {
    uint64_t visited_ns; /* what was marked before the last round came by was spent then at the latest */
    uint32_t careful;    /* for so many rounds each key is looked at */
};

/* Keys with spends that wait to be paid off are looked at in rounds through the table: see pay.c. */
struct waits {
    uint64_t look_ns;          /* when it goes on; UINT64_MAX: nothing waits */
    uint64_t place;            /* in the table, up to which this round has come */
    uint64_t round;            /* its number */
    uint64_t round_ns;         /* how long it takes */
    uint64_t late_ns[2];       /* for how long news of others was missing in it, at most; and in the one before */
    uint64_t began_ns[ROUNDS]; /* when round r began, at r % ROUNDS; what waits began to after the last of them */
    uint32_t visits_most[2];   /* that anything which waits has had, in this round and the one before */
    uint64_t tick_ns;          /* the longest one of limits under which spends may wait */
    struct wait_part part[WAIT_PARTS];
};

/* Keys that are full again are forgotten in rounds through the table: see forget.c. */
struct forgetting {
    uint64_t place;                    /* in the table, up to which rounds have come */
    uint64_t work, requests;           /* for which no place was looked at yet; requests that were counted */
    uint64_t hurry_places, freed_keys; /* left of a fast round, 0: there is none; what it has forgotten */
    uint64_t began_ns, began_requests; /* when the last one began; `requests` then */
    uint64_t again_ns;                 /* when it is looked whether there has to be one, */
    bool watches;                      /* in a step that is made for that, if need be */
};

/*
 * What the requests of one thread write of the node besides the table; steps gather it from all lanes. A ring's spends
 * belong to their keys: whoever holds a key's stripe of the table may change its spend in any ring. Where a ring begins
 * and ends is its lane's alone.
 */
struct lane {
    alignas(64) struct spend *open; /* open_places of them, in node->open; what is not `untold` in it is a gap */
    uint32_t *urgent;               /* indices in node->open of urgent ones, in all rings */
    uint32_t open_first, open_span; /* of open_places, from the oldest one on, gaps included: see untold.c */
    uint32_t open_count;            /* untold ones */
    uint32_t urgent_count;
    uint32_t waits_more; /* keys began to wait in this thread, less those whose wait ended in it: modulo 2^32 */
    bool push_wanted, hurry_wanted;                                /* since the last step: see the node's */
    bool step_wanted;                                              /* a reservation ends before the next one */
    uint64_t open_since_ns;                                        /* since when something is untold in this ring */
    uint64_t spent_ns;                                             /* when something was last spent or returned */
    uint64_t admitted_requests, refused_requests, admitted_tokens; /* see node_stats, as the next two */
    uint64_t returned_tokens, limit_drops;
    struct changed changed;
};

struct node {
    struct node_options options;
    struct limit_set limits;
    struct random random;
    enum peer_state state; /* of this node */
    bool superseded;       /* a newer incarnation of this name lives somewhere else: see rival */
    bool stopping;
    bool alone; /* no other peer exists */
    bool somebody_silent;
    struct {
        bool decides;  /* our config is the one in use */
        bool asks;     /* it will be, when whoever has another one has heard message `asked_number` */
        bool told_out; /* the log says that it is not */
        uint64_t asked_number;
    } accord;
    struct {
        uint64_t incarnation, number; /* the newest that was heard of it */
        uint64_t heard_awake_ns;      /* when something newer was */
    } rival;
    uint64_t now_ns;           /* never runs backwards */
    uint64_t wake_ns;          /* when the last step asked for the next one */
    uint64_t lost_ns;          /* in which this node did not get to run: see awake_ns() */
    uint64_t stalled_ns;       /* awake_ns() as the last stall ended; 0: there was none */
    uint64_t started_awake_ns; /* awake_ns() at started_ns */
    uint64_t incarnation, number;
    uint64_t made_ns[ECHOES_MAX]; /* when message n was made, at n % ECHOES_MAX */
    uint32_t incarnation_changes; /* since the start of the process */
    bool has_store;               /* counters of the store were restored before this incarnation */
    bool has_merged;              /* and an active peer's table was merged into them */
    uint64_t store_asked_ns;      /* when a peer last asked for them; 0: never */
    uint64_t store_taken_ns;      /* when a part of what a peer's store had was last taken; 0: never */
    uint64_t born_ns;             /* EVENT_START */
    uint64_t started_ns, stop_ns, farewell_ns;
    uint64_t hello_ns; /* when those who do not know us are told of us again */

    struct member member[NODE_PEERS_MAX];
    struct origin origin[ORIGINS_MAX];
    uint32_t member_end, origin_end; /* from there on no slot was ever used */
    uint32_t me;                     /* member index of this node */
    uint32_t my_slot;                /* origin slot of this incarnation */
    uint32_t last_uid;
    uint32_t peer_count; /* members that have not left, this node included */

    struct budget *budget; /* by limit, as the next four: limits.room of them */
    int64_t *early_units;  /* a key's unsent tokens, none of them paid off, that ask for an early push */
    int64_t *soon_units;   /* unsettled ones that our share of the refill pays off within an interval; -1: none */
    int64_t *worst_debt_units;
    uint64_t *doubted_tokens;
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
    struct refundable refundable;
    uint64_t tenant_keys_max; /* 0: as many as fit */
    uint64_t converted_ns;    /* when a key last got another limit; 0: never */

    /* Own spends that no peer was told of: see untold.c. */
    struct lane *lane;
    uint32_t lane_count;
    struct spend *open;               /* the rings of all lanes, one behind the other */
    uint32_t open_room, open_places;  /* of each ring: for requests; and for what these evict besides */
    uint32_t batch_max;               /* keys in a batch */
    struct spend *telling, *sorted;   /* scratch for batch_max of them */
    uint32_t telling_count;           /* gathered, and in no batch yet: see tell_ahead */
    bool told_ahead;                  /* what may be told is: only the message is missing */
    bool telling_orphans;             /* some of these are of keys that were evicted since */
    bool telling_spans;               /* some were gathered by an earlier step */
    uint64_t telling_since_ns;        /* nothing of that is older */
    uint64_t pace, credit, credit_ns; /* see tell_at_pace */
    uint32_t slice_keys, push_keys;   /* as many untold ones are worth a message; call for one now */
    struct waits waits;
    struct forgetting forgetting;
    uint64_t tell_ns;  /* when more may be told; UINT64_MAX: nothing waits for the pace */
    bool push_wanted;  /* spends since the last step call for an early push */
    bool push_waits;   /* the last step saw it, but it was too early */
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
    struct begun begun;
    uint64_t log_keys;       /* over all origins */
    uint64_t compacted_ns;   /* when merging was last tried; 0: never */
    uint64_t compacted_keys; /* what it left of a log that was too large; 0: the log is not */
    uint64_t everywhere;     /* own batches up to this one are acknowledged by all */
    struct merger merger;
    struct tally tally;
    struct aside aside;

    /* The work of a step is bounded: see step_has_time(). */
    uint32_t step_keys, step_left;
    uint32_t settle_part, settled_keys; /* own spends that a step may settle, see part_to_settle; it has settled */
    uint32_t apply_room;                /* others' that it may still apply */
    uint64_t step_worked;
    bool step_again;                /* something was left for a step that follows at once: */
    bool apply_left;                /* batches that could be applied, */
    bool apply_waits;               /* (some until logs are merged) */
    bool settle_left, settled_last; /* or settled (which had its turn first), */
    bool publish_left;              /* or said, */
    bool retells;                   /* or counters that the store is told again: from this part of the table on */
    uint32_t retell_bits;
    uint64_t retell_next;
    struct snapshot snapshot;
    uint64_t demand_ns;        /* when demands were last averaged */
    uint64_t unsealed_told_ns; /* when the last notice about such a message was given; 0: never */
    uint64_t implausible_told_ns,
        crowded_told_ns; /* the same of incarnations, and of members beyond unlisted_max */

    struct plane *plane; /* rules; see plane.h */
    struct node_stats stats;
    struct message in, header; /* scratch: too large for the stack */
    struct due due[PUBLISH_BATCHES_MAX];
};

#endif
