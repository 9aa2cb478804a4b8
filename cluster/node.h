/*
 * node: one peer of the cluster as a step function.
 *
 * The one idea: everything that happens to a peer is an event that carries its time; everything that a
 * peer does to the world is an effect that it returns. The same events give the same effects, bit for bit,
 * so that a whole cluster runs in one process on simulated time. The request path is a plain call between
 * steps. A node does no I/O, reads no clock and draws no randomness but from its seed. One thread at a time, but for
 * decisions: see node_use_lane.
 */
#ifndef HEADGATE_CLUSTER_NODE_H
#define HEADGATE_CLUSTER_NODE_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "limit/charge.h"
#include "limit/limit.h"
#include "limit/named_limit.h"
#include "limit/reservation.h"
#include "limit/table.h"
#include "limit/verdict.h"
#include "rules/rulebook.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NODE_NAME_BYTES = 64,     /* of a node or a region, with the terminator */
    NODE_ADDRESS_BYTES = 128, /* "host:port", with the terminator */
    NODE_PEERS_MAX = 64,      /* members of a cluster, this node included */
    NODE_REGIONS_MAX = 32,
    NODE_NOTICE_BYTES = 240,
    NODE_LIMITS_DEFAULT = 4096,
    NODE_EVENTS_DEFAULT = 1 << 20,
    NODE_TENANTS_MAX = 4096,
    NODE_LANES_MAX = 64,
};

struct region_weight {
    char region[NODE_NAME_BYTES];
    uint64_t weight; /* in 1/SHARE_ONE; the sum over all regions is at most SHARE_ONE */
};

/* A peer that the config names: it counts as a member, with a reserved share, before it was ever heard. */
struct node_peer_options {
    char name[NODE_NAME_BYTES];
    char region[NODE_NAME_BYTES];
    char gossip_address[NODE_ADDRESS_BYTES];   /* where it publishes */
    char snapshot_address[NODE_ADDRESS_BYTES]; /* where it answers requests */
};

/* What one mistake may cost. 0: the default. */
struct rule_caps {
    uint32_t services_max;      /* 4,096 */
    uint32_t rules_max;         /* of all services: 50,000 */
    uint32_t service_rules_max; /* of one service: 1,000 */
};

struct node_options {
    char name[NODE_NAME_BYTES]; /* unique in the cluster */
    char region[NODE_NAME_BYTES];
    char gossip_address[NODE_ADDRESS_BYTES]; /* as others reach this node */
    char snapshot_address[NODE_ADDRESS_BYTES];
    uint32_t region_count, peer_count;
    struct region_weight regions[NODE_REGIONS_MAX];
    struct node_peer_options peers[NODE_PEERS_MAX];
    uint64_t interval_ns;      /* between two batches */
    uint64_t early_push_share; /* a key's unsent spends that are sent at once, as a part of capacity in
                                  1/SHARE_ONE; 0: 1/(4 * peers) */
    uint64_t silent_after_ns;  /* without a message, a peer is called silent */
    uint64_t join_timeout_ns;  /* without an active peer to be heard, a starting node goes on alone */
    uint64_t forget_after_ns;  /* a silent peer is forgotten after this long; 0: never */
    uint64_t leave_timeout_ns; /* how long a leaving node waits for acknowledgements */
    uint64_t table_keys;
    uint64_t log_keys_max; /* spends (key, tokens) kept for peers that lack them */
    uint64_t tell_pace;    /* keys a second that peers are told of, but for urgent ones; 0: 250,000 */
    uint32_t untold_max;   /* keys whose spends are to be told; at most about 2^20; 0: as many as the table has */
    uint64_t message_max_bytes; /* of one message either way */
    uint32_t step_keys;         /* that one step works on, about; the rest follows at once. 0: 2,048 */
    uint32_t lanes;             /* threads of requests, see node_use_lane; 0: one */
    uint32_t reservations_max;  /* at the same time; 0: none can be made */
    uint64_t incarnation;       /* > 0, larger at every start of the same name (e.g. wall-clock ns at start) */
    uint64_t seed;
    struct hash_key hash_key;
    const struct named_limits *limits; /* of the config: interned in that order; only read by node_create */
    uint32_t limits_max;               /* different limits at once, those included; 0: NODE_LIMITS_DEFAULT */
    uint32_t events_max;    /* spends that sliding logs and leases list at once; 0: NODE_EVENTS_DEFAULT */
    uint64_t config_digest; /* of what must be equal everywhere */
    struct rule_caps rules;
};

struct node;

/* NULL with `error` set when memory is short or an option is out of range. Nothing happens before EVENT_START. */
struct node *node_create(const struct node_options *options, struct error *error);
void node_destroy(struct node **node);

enum event_kind {
    EVENT_START, /* once, first */
    EVENT_WAKE, /* the time that the last effects asked for has come, or node_wants_step said so; never too often */
    EVENT_MESSAGE,  /* `bytes`: a message that a peer published */
    EVENT_REQUEST,  /* `bytes`: a peer asks; the same step returns exactly one EFFECT_REPLY */
    EVENT_RESPONSE, /* `bytes`: the reply to one of our EFFECT_REQUESTs; lost ones need no event */
    EVENT_FORGET,   /* `name`: the operator declares a peer gone for good */
    EVENT_MUTE,    /* `name`, `mute_in`, `mute_out`: drop what comes from / goes to that peer, for demonstrations */
    EVENT_STOP,    /* leave gracefully; effects.left becomes true when done, at the latest after leave_timeout_ns */
    EVENT_RESTORE, /* before EVENT_START, as often as needed: what the store kept. It never comes back in effects */
    EVENT_RETELL,  /* the store has lost what it was told: all counters come out in effects again, in parts */
    EVENT_RULES,   /* `rules`: an operator's change; effects.rules says what came of it, or that it is in work */
    EVENT_HEALTH,  /* `health`: what a service says of itself */
};

struct rule_name {
    struct bytes service, id;
};

/* A change of rules: the whole of it, or nothing. Needs no peer. */
struct rule_changes {
    struct bytes text;               /* rules to set: a document (rule_text.h); "" if there are none */
    const char *file;                /* what errors call it */
    const struct rule_name *deleted; /* rules to end */
    size_t deleted_count;
    struct bytes author;           /* who asks, for the history; "": this node */
    struct bytes note;             /* why, for the history */
    uint32_t share_millionths;     /* a canary: of the keys; 0: for all. Deleted rules have none. */
    uint64_t watch_ms;             /* a canary: becomes general after this long; 0: never by itself */
    uint32_t threshold_millionths; /* a canary: how much the denial rate may rise */
};

/* Rules that already are as asked for (and are not in a canary) stay as they are and are no change. */
struct rules_result {
    bool asked;   /* the step was an EVENT_RULES */
    bool in_work; /* what comes of it is not known yet: see node_rules_result, with this ticket */
    bool refused; /* nothing changed: `error` says which field of which rule, and why */
    uint64_t ticket;
    struct error error;
    size_t changed_rules, unchanged_rules;
    struct rule_stamp stamp; /* of the change; 0 if nothing changed */
};

/* How a service is: a number, or how long its answers took. Its adaptive rules are scaled by it everywhere. */
struct health_report {
    struct bytes service;
    uint32_t health_millionths; /* unless there are samples: 1,000,000 is healthy */
    const uint64_t *latency_ns; /* samples, oldest first */
    size_t latency_count;
};

/*
 * What a key of a persistent limit has used, for the store. Absolute: the newest stands for all before it. `number`: of
 * a bucket the ns until it is full, else the tokens used (see bucket_number). 0: nothing is used any more.
 */
struct counter {
    struct limit_terms terms;
    struct key_id id;
    uint64_t number;
    uint64_t expires_ns; /* cells, on this node's clock; else 0 */
};

struct event {
    enum event_kind kind;
    uint64_t now_ns;    /* monotonic, of this node; what is earlier than the last event counts as the last */
    uint64_t wall_ms;   /* unix time, for histories that people read; 0: not told */
    struct bytes bytes; /* the caller's, valid during the step; may be anything: nonsense is counted and dropped */
    const char *name;
    bool mute_in, mute_out;
    const struct rule_changes *rules; /* the caller's, like all of these */
    const struct health_report *health;
    const struct rule_record *versions; /* nonsense among them is told in a notice and left out */
    size_t version_count;
    const struct counter *counters; /* numbers as of now_ns; they only lower what a key has left */
    size_t counter_count;
};

enum effect_kind {
    EFFECT_PUBLISH,    /* send `bytes` to every peer that listens */
    EFFECT_REQUEST,    /* send `bytes` to `address` (a snapshot address); the answer comes as EVENT_RESPONSE */
    EFFECT_REPLY,      /* answer the EVENT_REQUEST of this step with `bytes` */
    EFFECT_CONNECT,    /* listen to what `address` (a gossip address) publishes, and keep trying */
    EFFECT_DISCONNECT, /* stop listening to `address` */
};

struct effect {
    enum effect_kind kind;
    char address[NODE_ADDRESS_BYTES];
    size_t offset, size; /* the message in effects.arena */
};

enum notice_level { NOTICE_INFO, NOTICE_WARNING };

/* Something that an operator wants to read: "eu-west is silent". Never one per packet. */
struct notice {
    enum notice_level level;
    char text[NODE_NOTICE_BYTES];
};

struct effects {
    size_t effect_count, effect_room; /* effects in order of emission */
    struct effect *effect;
    size_t notice_count, notice_room;
    struct notice *notice;
    size_t arena_size, arena_room;
    uint8_t *arena;
    uint64_t
        next_wake_ns; /* call node_step(EVENT_WAKE) then; UINT64_MAX: not needed. The time of this step: again at
                              once, when requests that wait were served */
    bool left;        /* a graceful leave is complete */
    /* Versions that came into the rulebook, for the store: all of a step in one transaction. Valid like the rest. */
    size_t version_count, version_room;
    struct rule_version **version;
    struct rules_result rules;
    size_t counter_count, counter_room; /* as of this step */
    struct counter *counter;
};

void effects_init(struct effects *effects);
void effects_close(struct effects *effects);

static inline struct bytes effect_bytes(const struct effects *effects, const struct effect *effect)
{
    return (struct bytes){(const char *)effects->arena + effect->offset, effect->size};
}

/* The index by which calls name the limit with these terms; -1 with `error`: out of range, or too many are in use. */
int node_intern_limit(struct node *node, const struct limit_terms *terms, struct error *error);
/* The same for terms that any client may bring: refused, if new, once half of all limits are in use. */
int node_intern_guest_limit(struct node *node, const struct limit_terms *terms, struct error *error);
/* The index that one of the two gave for these terms; -1: they are new. */
int node_find_limit(const struct node *node, const struct limit_terms *terms);
/* The limit of an index that was given; valid until the next node_step. */
const struct limit *node_limit(const struct node *node, uint16_t index);

/* Handles one event; `effects` is cleared first. Forgetting an unknown name is told in effects.notice. */
void node_step(struct node *node, const struct event *event, struct effects *effects);

/* Decides and, if allowed, takes `cost` tokens of key `id` under limit `limit` (an index). No allocation. */
struct verdict node_admit(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns);
/* The same decision without the figures: what the fast path needs. */
bool node_can_access(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns);
/* What node_admit would answer; takes nothing. */
struct verdict node_peek(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns);

/*
 * Decides over all charges of one request (1 to CHARGES_MAX, of different keys) at once: true if each that is not a
 * shadow allows, and then, if `take`, all are charged; otherwise none is. verdicts[i] is that of charges[i]; a
 * shadow's says what it would have said. No allocation.
 */
bool node_check(struct node *node, const struct charge *charges, size_t count, bool take, uint64_t now_ns,
                struct verdict *verdicts);
/* node_check of one charge that is taken, without its figures: what the fast path needs. */
bool node_takes(struct node *node, const struct charge *charge, uint64_t now_ns);
/*
 * Gives tokens back to each of the keys: as many as its charge would cost, at most `tokens`, at most what is taken
 * of it as seen here. Returns the least that any of them was given.
 */
uint64_t node_return(struct node *node, const struct charge *charges, size_t count, uint64_t tokens,
                     uint64_t now_ns);
/* Gives back everything that is taken of the keys, as seen here. */
void node_reset_key(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns);

/*
 * Takes the charges as node_check does and keeps them under `id` for `ttl_ns`: then what they hold is returned,
 * unless node_commit or node_cancel came before. Ids are this process's own. VERDICT_OVERLOAD: no more fit.
 */
bool node_reserve(struct node *node, const struct charge *charges, size_t count, uint64_t ttl_ns, uint64_t now_ns,
                  struct verdict *verdicts, struct reservation_id *id);

enum reserve_status {
    RESERVE_DONE,
    RESERVE_UNKNOWN, /* there is none of that id: never made here, or ended */
    RESERVE_REFUSED, /* a lease that would have to be taken anew, and cannot be; it ends as it would have */
};

/*
 * It used `actual` tokens of each key: of charges that hold more the rest is returned, of those that hold less the
 * rest is taken as far as their limits allow, and of a sliding window only until it is over. Leases (charge.lease) are
 * over: all that they hold is returned.
 * *charged (may be NULL): the least that was charged to any key that holds no lease; `actual` where all do.
 */
enum reserve_status node_commit(struct node *node, struct reservation_id id, uint64_t actual, uint64_t now_ns,
                                uint64_t *charged);
enum reserve_status node_cancel(struct node *node, struct reservation_id id, uint64_t now_ns);
/* It ends `ttl_ns` from now; what it holds of limits whose spends end by themselves is held anew. */
enum reserve_status node_renew(struct node *node, struct reservation_id id, uint64_t ttl_ns, uint64_t now_ns);
uint32_t node_reservations(const struct node *node);

/* A new key of a tenant that has so many is refused with VERDICT_OVERLOAD; tenant 0 has no limit. 0: nobody has. */
void node_set_tenant_keys_max(struct node *node, uint64_t keys);

/*
 * node_takes for up to NODE_EACH_MAX keys under charges that are alike: like->id does not matter. Bit i of what it
 * returns: ids[i] was allowed. Worth it where node_prefetch_tags was called for all of them before.
 */
enum { NODE_EACH_MAX = 64 };
uint64_t node_takes_each(struct node *node, const struct charge *like, const struct key_id *ids, uint32_t count,
                         uint64_t now_ns);

/*
 * Memory is asked for what decisions over several keys will need: of each key the tags, as soon as it is known; then,
 * of all together, what the tags lead to, and what that leads to.
 */
void node_prefetch_tags(const struct node *node, struct key_id id);
void node_prefetch_each(struct node *node, const struct key_id *ids, uint32_t count);
/* node_check for keys that were among them. */
bool node_check_near(struct node *node, const struct charge *charges, size_t count, bool take, uint64_t now_ns,
                     struct verdict *verdicts);
/*
 * Several threads may decide for one node at the same time, each under a number of its own, 0 to lanes - 1, that it
 * says once: all calls that take charges or a reservation, and those that only look at limits and rules. Everything
 * else, steps above all, is called by one thread alone, while no other decides (see base/gate.h).
 */
void node_use_lane(uint32_t lane);

/*
 * True when spends of this thread's since the last step call for an early push: step with EVENT_WAKE soon.
 */
bool node_wants_step(const struct node *node);

/* ---- rules ---- */

struct ruleset;
/* The rules in force, compiled (match.h): for the request path. Whole changes only. The node's. */
struct ruleset *node_rules(struct node *node);
/*
 * What became of a change that takes more than a step, once it is in force or refused; false: it is in work. The last
 * 64 are remembered; of earlier ones it is said that it is not known.
 */
bool node_rules_result(const struct node *node, uint64_t ticket, struct rules_result *result);
/* All rules and their histories; valid until the next step. */
const struct rulebook *node_rulebook(const struct node *node);

/* ---- what operators see ---- */

enum peer_state { PEER_JOINING, PEER_ACTIVE, PEER_SILENT, PEER_LEFT };
const char *peer_state_name(enum peer_state state);

struct peer_report {
    char name[NODE_NAME_BYTES];
    char region[NODE_NAME_BYTES];
    char gossip_address[NODE_ADDRESS_BYTES];
    enum peer_state state;
    bool self;
    bool config_differs;
    uint64_t incarnation;   /* 0: never heard */
    uint64_t share;         /* in 1/SHARE_ONE, as this node sees it; 0 for whoever has none yet */
    uint64_t heard_ago_ns;  /* UINT64_MAX: never */
    uint64_t round_trip_ns; /* smoothed, of batch and acknowledgement; 0: not measured yet */
    uint64_t lag_batches;   /* own batches that it has not acknowledged */
    uint64_t log_batches;   /* batches of its making that are kept for others */
};

/* Fills up to `room` reports, this node first, and returns how many there are. */
size_t node_peers(const struct node *node, uint64_t now_ns, struct peer_report *reports, size_t room);

/* Counters and gauges, as an X-macro so that INFO, docs and tests cannot drift apart: X(name, what it counts) */
#define NODE_STATS(X)                                                                                              \
    X(admitted_requests, "requests allowed")                                                                       \
    X(refused_requests, "requests refused")                                                                        \
    X(admitted_tokens, "tokens handed out here")                                                                   \
    X(returned_tokens, "tokens given back here: refunds, and what reservations did not use")                       \
    X(settled_tokens, "own tokens that every peer has acknowledged")                                               \
    X(applied_tokens, "tokens that other peers reported spent")                                                    \
    X(batches_closed, "own batches closed")                                                                        \
    X(batches_applied, "batches of other peers applied")                                                           \
    X(batches_duplicate, "batches received again and ignored")                                                     \
    X(batches_waiting, "batches received early, waiting for what they depend on (now)")                            \
    X(batches_resent, "batches sent again or passed on for another peer")                                          \
    X(batches_compacted, "batches merged because the log was at its limit")                                        \
    X(messages_published, "messages published")                                                                    \
    X(messages_received, "messages received and understood")                                                       \
    X(messages_invalid, "messages dropped as nonsense")                                                            \
    X(messages_unsealed, "messages dropped because damaged or of another secret")                                  \
    X(messages_muted, "messages dropped by DEBUG DROP")                                                            \
    X(bytes_published, "bytes published")                                                                          \
    X(bytes_received, "bytes received")                                                                            \
    X(snapshots_served, "snapshot pages served")                                                                   \
    X(snapshots_taken, "snapshots taken from a peer")                                                              \
    X(log_batches, "batches kept for peers that lack them (now)")                                                  \
    X(log_keys, "spends kept for peers that lack them (now)")                                                      \
    X(open_keys, "spends that no peer was told of yet (now)")                                                      \
    X(spends_paid_off, "spends that refill had paid off before anybody was told of them")                          \
    X(open_oldest_ms, "for how many milliseconds the oldest of them has waited (now)")                             \
    X(rule_changes, "changes of rules made here, automatic ones included")                                         \
    X(rule_versions_fetched, "versions of rules that came from peers")                                             \
    X(rule_versions_invalid, "versions of rules that were dropped as nonsense")                                    \
    X(rule_scans, "times that a peer was asked for its rules")                                                     \
    X(step_keys_max, "most keys that one step worked on")                                                          \
    X(limit_drops, "items dropped at a limit: inbox, members, unknown rules")                                      \
    X(config_mismatches, "messages from peers whose config differs")                                               \
    X(settle_ns, "smoothed time from a spend to its acknowledgement by all (now)")                                 \
    X(worst_debt_tokens, "most tokens below zero that any key was seen at here")

struct node_stats {
#define X(name, help) uint64_t name;
    NODE_STATS(X)
#undef X
};

void node_stats(const struct node *node, struct node_stats *stats);
void node_table_stats(const struct node *node, struct table_stats *stats);
/* All memory that is read at random, for those who know how it is best backed: see table_memory. */
void node_visit_memory(struct node *node, void (*visit)(void *context, void *memory, size_t bytes), void *context);

struct node_status {
    enum peer_state state;           /* of this node itself */
    uint32_t peers, reachable_peers; /* members that hold or await a share, this node included */
    uint64_t share;                  /* in 1/SHARE_ONE */
    bool config_differs;             /* some peer's config digest is another */
    uint64_t config_digest;
};
void node_status(const struct node *node, struct node_status *status);

/* All that stands behind a decision about one key, in tokens (fractions kept). */
struct explanation {
    double settled_tokens, unsettled_tokens, allowance_tokens;
    double share;
    uint64_t capacity_tokens, overshoot_tokens;
    double
        in_flight_bound_tokens; /* sum over other peers of min(C, demand * (interval + latency)), and what they do not
                                   tell because refill pays it off: see accounting */
    double overshoot_bound_tokens;      /* the smaller of declared and in-flight */
    double worst_debt_tokens;           /* measured: most tokens below zero seen here for any key of this limit */
    char last_spender[NODE_NAME_BYTES]; /* "" = nobody known */
    bool tracked;                       /* false: nothing owed, the key is full */
};
void node_explain(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns, struct explanation *out);

/* ---- for tests and the simulator ---- */

/* Asserts every invariant; O(everything). */
void node_validate(const struct node *node);
/* The three numbers of a key, refilled up to now_ns; a full bucket if it is not tracked. */
struct bucket node_bucket(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns);

#endif
