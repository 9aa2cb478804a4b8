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
#include "cluster/node_options.h"
#include "cluster/node_report.h"
#include "limit/bucket.h"
#include "limit/charge.h"
#include "limit/limit.h"
#include "limit/reservation.h"
#include "limit/verdict.h"
#include "rules/rulebook.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;

/* NULL with `error` set when memory is short or an option is out of range. Nothing happens before EVENT_START. */
struct node *node_create(const struct node_options *options, struct error *error);
void node_destroy(struct node **node);

/* ---- what happens to it ---- */

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
    bool asked;   /* the step was an EVENT_RULES; of an EVENT_HEALTH only `refused` and `error` are told */
    bool in_work; /* what comes of it is not known yet: see node_rules_result, with this ticket */
    bool refused; /* nothing changed: `error` says which field of which rule, and why */
    uint64_t ticket;
    struct error error;
    size_t changed_rules, unchanged_rules;
    size_t warnings;         /* of the changed rules, so many admit nothing at some daemon: */
    struct error warning;    /* which the first one is, and what to write instead */
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

/* ---- what comes of it ---- */

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
    /* Call node_step(EVENT_WAKE) then; UINT64_MAX: not needed. This step's time: at once, after requests that wait. */
    uint64_t next_wake_ns;
    bool left; /* a graceful leave is complete */
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

/* Handles one event; `effects` is cleared first. Forgetting an unknown name is told in effects.notice. */
void node_step(struct node *node, const struct event *event, struct effects *effects);

/* ---- limits ---- */

/* The index by which calls name the limit with these terms; -1 with `error`: out of range, or too many are in use. */
int node_intern_limit(struct node *node, const struct limit_terms *terms, struct error *error);
/* The same for terms that any client may bring: refused, if new, once half of all limits are in use. */
int node_intern_guest_limit(struct node *node, const struct limit_terms *terms, struct error *error);
/* The index that one of the two gave for these terms; -1: they are new. */
int node_find_limit(const struct node *node, const struct limit_terms *terms);
/* The limit of an index that was given; valid until the next node_step. */
const struct limit *node_limit(const struct node *node, uint16_t index);

/*
 * A new key of a tenant that has so many is refused with VERDICT_OVERLOAD. Tenant 0, the config's limits and the doors
 * of other servers, has this limit while some service has rules; alone it may fill the table. 0: nobody has a limit.
 */
void node_set_tenant_keys_max(struct node *node, uint64_t keys);

/* ---- requests ---- */

/*
 * Decides over all charges of one request (0 to CHARGES_MAX, of different keys) at once: true if each that is not a
 * shadow allows, and then, if `take`, all are charged; otherwise none is. verdicts[i] is that of charges[i]; a
 * shadow's says what it would have said. No allocation.
 */
bool node_decide_one(struct node *node, const struct charge *charges, size_t count, bool take, uint64_t now_ns,
                     struct verdict *verdicts);

enum {
    NODE_EACH_MAX = 64,  /* requests in a run */
    NODE_KEYS_MAX = 256, /* keys of all runs of a call */
};

/* Requests that fall under the same charges, but for the ids of their keys. */
struct run {
    const struct charge *charge; /* charge_count of them, at most CHARGES_MAX; their ids do not count */
    uint32_t charge_count;       /* 0: nothing is decided, and `allowed` stays as it is */
    uint32_t request_count;      /* 1 to NODE_EACH_MAX; more than one: no charge is of a sliding window */
    bool take;                   /* false: decides and charges nothing */
    struct verdict
        *verdicts;    /* charge_count of the first request, then of the second, and so on; NULL: not wanted */
    uint64_t allowed; /* out: bit i: request i is allowed */
};

/*
 * Decides runs of requests in order, each request as node_decide_one would. `ids` are those of the first request of
 * the first run, one for each charge, then those of the second request, and so on: NODE_KEYS_MAX at most in all.
 * Memory is asked for a few keys at a time, while the keys before them are decided. Callers should have called
 * node_prefetch_tags for each id before. The keys of one request are locked at a time. No allocation.
 */
void node_decide(struct node *node, struct run *runs, uint32_t run_count, const struct key_id *ids,
                 uint64_t now_ns);
void node_prefetch_tags(const struct node *node, struct key_id id);

/*
 * Gives tokens back to each of the keys: as many as its charge would cost, at most `tokens`, at most what this node has
 * spent of it and not given back, nothing that a reservation holds. Returns the least that any of them was given.
 */
uint64_t node_return(struct node *node, const struct charge *charges, size_t count, uint64_t tokens,
                     uint64_t now_ns);
/*
 * Gives back all that this node spent of the keys and that no reservation holds. Of how many keys that was something.
 */
uint32_t node_reset_key(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns);

/* ---- reservations ---- */

/*
 * Takes the charges as node_decide_one does and keeps them under `id` for `ttl_ns`: then what they hold is returned,
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
/* Whether a reservation that takes these charges has room. Without room it is refused, whatever the limits say. */
enum reservations_room node_reservations_room(struct node *node, const struct charge *charges, size_t count);

/* ---- threads ---- */

/*
 * Several threads may decide for one node at the same time, each under a number of its own, 0 to lanes - 1, that it
 * says once: all calls that take charges or a reservation, and those that only look at limits and rules. Everything
 * else, steps above all, is called by one thread alone, while no other decides (see base/gate.h).
 */
void node_use_lane(uint32_t lane);

/* True when spends of this thread's since the last step call for an early push: step with EVENT_WAKE soon. */
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
/* Rules of peers may be on their way: this node has not joined yet, or a peer that it hears has other versions. */
bool node_rules_may_lack(const struct node *node);
/* All rules and their histories; valid until the next step. */
const struct rulebook *node_rulebook(const struct node *node);

/* ---- its memory ---- */

/* All memory that is read at random, for those who know how it is best backed: see table_memory. */
void node_visit_memory(struct node *node, void (*visit)(void *context, void *memory, size_t bytes), void *context);

/* ---- for tests and the simulator ---- */

/* Asserts every invariant; O(everything). */
void node_validate(const struct node *node);
/* The three numbers of a key, refilled up to now_ns; a full bucket if it is not tracked. */
struct bucket node_bucket(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns);

#endif
