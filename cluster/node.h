/*
 * node: one peer of the cluster as a step function.
 *
 * The one idea: all that happens to a peer is an event with its time, and all that a peer does to
 * the world is an effect that a step returns. The same events give the same effects, bit for bit,
 * so a whole cluster runs in one process on simulated time. A request is a plain call between
 * steps. A node does no I/O, reads no clock, and draws randomness from its seed only. One thread at
 * a time may call a node, except for decisions: see node_use_thread.
 */
#ifndef HEADGATE_CLUSTER_NODE_H
#define HEADGATE_CLUSTER_NODE_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "cluster/node_event.h"
#include "cluster/node_limits.h"
#include "cluster/node_options.h"
#include "cluster/node_report.h"
#include "cluster/node_rules.h"
#include "cluster/node_weights.h"
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

/*
 * NULL with `error`: memory is short or an option is out of range. A node does nothing before
 * EVENT_START.
 */
struct node *node_create(const struct node_options *options, struct error *error);
void node_destroy(struct node **node);

/*
 * Handles one event; clears `effects` first. A notice tells an EVENT_FORGET or EVENT_MUTE of an
 * unknown name.
 */
void node_step(struct node *node, const struct event *event, struct effects *effects);

/* ---- limits ---- */

/*
 * The index of the limit with these terms; -1 with `error`: the terms are out of range, or too many
 * limits are in use.
 */
int node_intern_limit(struct node *node, const struct limit_terms *terms, struct error *error);
/* The same for terms from any client: new terms are refused once half of all limits are in use. */
int node_intern_guest_limit(struct node *node, const struct limit_terms *terms, struct error *error);
/* The index that these terms have already; -1: they are new. */
int node_find_limit(const struct node *node, const struct limit_terms *terms);
/* The limit with that index; valid until the next node_step. */
const struct limit *node_limit(const struct node *node, uint16_t index);
/*
 * Weights of a rule: terms with their number (limit_weights_number) are divided by them from now on, at this node. The
 * weights must be sorted as there, and add up to LIMIT_WEIGHTS_WHOLE at most. False, with `error`: there are too many
 * different ones.
 */
bool node_note_weights(struct node *node, const struct limit_weight *weights, uint32_t count, struct error *error);
/* The region that is the home of that limit; NULL: it has none, or no region of this node's config. */
const char *node_home(const struct node *node, uint16_t index);
/* True: this node, or its region, is the home of that limit. */
bool node_is_home(const struct node *node, uint16_t index);

/*
 * Bounds the keys of each tenant: a new key beyond the bound is refused with VERDICT_KEYS_FULL.
 * Tenant 0 (limits of the config and of other servers' dialects) is bounded while some service has
 * rules; otherwise it may fill the table. 0: no bound.
 */
void node_set_tenant_keys_max(struct node *node, uint64_t keys);
/* Messages of peers are sealed with the first of these keys from now on, and those with any of them are read. */
void node_set_seals(struct node *node, const struct node_seals *seals);

/* ---- requests ---- */

enum {
    NODE_EACH_MAX = 64,  /* requests in a run */
    NODE_KEYS_MAX = 256, /* keys of all runs of a call */
};

/*
 * A reservation that a request asks for. Its tokens are held for `ttl_ns`, and are then returned,
 * unless node_commit or node_cancel comes before.
 */
struct hold {
    uint64_t ttl_ns;
    uint64_t holder;             /* who asks, see struct reservation_owner */
    enum reservations_room room; /* out: without room the request is refused, whatever its limits allow */
    struct reservation_id id;    /* out, if the request is allowed: valid at this node only */
};

/*
 * A request that may wait: where this node's share alone refuses it, the caller holds it and asks
 * again. Requests that wait for one key are decided in the order in which they came.
 */
struct await {
    struct key_id ahead;   /* requests that came before wait for this key, */
    uint64_t ahead_tokens; /* and want so many of its tokens: this request must not overtake them. 0: none wait */
    uint64_t
        waiting_tokens;   /* asked again: what all requests want that wait for its key, with itself; 0: it is new */
    uint32_t repeats;     /* so many more of the same wait behind it, and their tokens are asked for with its own */
    bool last;            /* it is not held, whatever refuses it */
    bool held;            /* out: it is refused for now, and not counted. Then: */
    struct key_id key;    /* out: which key refuses it, */
    uint64_t tokens;      /* out: how many tokens it wants of that key, with its repeats, */
    uint32_t patience_ms; /* out: and for how long it may wait, at most PATIENCE_MAX_MS */
};

/* Requests with the same charges, except for the ids of their keys. */
struct run {
    const struct charge *charge; /* charge_count, at most CHARGES_MAX; ids in them are not read */
    uint32_t charge_count;       /* 0 without a hold: no request is decided, and `allowed` stays as it is */
    uint32_t request_count;      /* 1 to NODE_EACH_MAX; with a sliding window or a hold: 1 */
    bool take;                   /* false: decides and charges nothing */
    struct verdict *verdicts;    /* charge_count for each request, in order; NULL: not wanted */
    struct hold *hold;           /* `take` and `verdicts` must be set; NULL: the tokens are spent for good */
    struct await *await;         /* of one request; likewise; NULL: no request waits */
    uint64_t allowed;            /* out: bit i: request i is allowed */
};

/*
 * Decides runs of requests in order, and all charges of a request at once, which must be of
 * different keys. Allowed: each charge that is not a shadow allows the request, and all charges are
 * made if `take`. Else none is made. The verdict of a shadow says what the shadow would have
 * decided. `ids` has one id for each charge of the first request of the first run, then the ids of
 * the second request, and so on: at most NODE_KEYS_MAX in all. The memory of a few keys is
 * prefetched while the keys before them are decided. Callers should have called node_prefetch_tags
 * for each id before. The keys of one request are locked at a time. No allocation.
 */
void node_decide(struct node *node, struct run *runs, uint32_t run_count, const struct key_id *ids,
                 uint64_t now_ns);
/*
 * Counts a request that takes tokens and was decided elsewhere, as node_decide counts its own. `reason`: of the
 * refusal, or VERDICT_ALLOWED.
 */
void node_count_request(struct node *node, enum verdict_reason reason, uint64_t tokens);
void node_prefetch_tags(const struct node *node, struct key_id id);

/* The time of the last step: since then keys have changed by refill and by requests alone. */
uint64_t node_stepped_ns(const struct node *node);

/*
 * Gives tokens back to each key: at most `tokens`, at most the cost of its charge, at most the
 * tokens that this node has spent of the key and not given back, and none that a reservation holds.
 * Returns the least that was given to any of the keys.
 */
uint64_t node_return(struct node *node, const struct charge *charges, size_t count, uint64_t tokens,
                     uint64_t now_ns);
/*
 * Gives back all tokens of the keys that this node spent and no reservation holds. Returns the
 * number of keys that got any.
 */
uint32_t node_reset_key(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns);

/* ---- reservations ---- */

enum reserve_status {
    RESERVE_DONE,
    RESERVE_UNKNOWN, /* no such id: never made here, or ended */
    RESERVE_REFUSED, /* a lease cannot be taken anew; it ends as it would have */
    RESERVE_LATER,   /* it is of the former process, and this node has not joined yet: nothing changes */
};

/* What a request used of what charges with that `counts` count. */
struct used_cost {
    uint32_t counts; /* as in struct charge */
    uint64_t tokens;
    /* out: the least that was charged to any of these keys without a lease; `tokens` if there is none */
    uint64_t charged;
};
/*
 * The request used so many tokens of each cost; there may be none. Where a charge holds more, the rest is returned.
 * Where a charge holds less, the rest is taken as far as its limit allows, of a sliding window only until the window is
 * over. A lease (charge.lease) ends: all its tokens are returned. A charge of which none of the costs is keeps what was
 * reserved.
 */
enum reserve_status node_commit(struct node *node, struct reservation_id id, struct used_cost *costs, size_t count,
                                uint64_t now_ns);
enum reserve_status node_cancel(struct node *node, struct reservation_id id, uint64_t now_ns);
/*
 * The reservation ends `ttl_ns` from now. Tokens of limits whose spends end by themselves are held
 * anew.
 */
enum reserve_status node_renew(struct node *node, struct reservation_id id, uint64_t ttl_ns, uint64_t now_ns);

/*
 * An open reservation, for the next process of this daemon: numbers that mean the same there. Times are of this node's
 * clock. What its charges name of limits and tenants means nothing.
 */
enum { NODE_FIRST_NS = 1 }; /* stands for any time before this node's clock began */
struct node_reservation {
    struct reservation_kept kept;
    uint64_t incarnation; /* of the start that held it in the end: only the next start may have it again */
    /* of the key of each charge: what is used of it, by whomever; of a LOG 0, since it has what is held anew */
    struct counter key[CHARGES_MAX];
};
/*
 * True: its reservations may go on in the next process. Either no peer counts what they hold, since this node has been
 * alone in the end, or from its start on; or all peers do: this node has left, and all of them had acknowledged all of
 * its spends.
 */
bool node_keeps_reservations(const struct node *node);
/*
 * The next open reservation; *place is 0 at first. False: there is none left. Nobody may call the node in between, but
 * for this.
 */
bool node_keep_reservation(struct node *node, uint32_t *place, uint64_t now_ns, struct node_reservation *next);
/*
 * Opens a reservation of the former process again, and takes what it holds from its keys: at once where
 * node_keeps_reservations says that this node is alone, else when this node has joined, and until then calls that name
 * it are answered RESERVE_LATER. One whose time is over ends in a step after that, and gives back what it held. Where
 * peers know of a start of this node since the one that held it, what it held counts as used: that start may have given
 * it back. To be called after EVENT_START, and before the first request. False: it has no room, or its limits have
 * none: it ends, and what it held counts as used.
 */
bool node_recall_reservation(struct node *node, const struct node_reservation *former, uint64_t now_ns);

/* ---- threads ---- */

/*
 * Several threads may decide for one node at the same time. Each must first say its own number
 * here, once: 0 to options.threads - 1. Then it may make all calls that take charges or a reservation, and
 * calls that only read limits and rules. All other calls, steps first of all, must come from one
 * thread while no other thread decides (see base/gate.h).
 */
void node_use_thread(uint32_t thread);

/*
 * True when spends of this thread since the last step need an early push: the caller should step
 * with EVENT_WAKE soon.
 */
bool node_wants_step(const struct node *node);

/* ---- rules ---- */

struct ruleset;
/*
 * The rules in force, compiled (match.h), for requests. Only whole changes appear in it. Belongs to
 * the node.
 */
struct ruleset *node_rules(struct node *node);
/*
 * The result of a change that takes more than one step: true once the change is in force or
 * refused; false: it is in work. The last 64 results are kept; for an earlier ticket the result
 * says that it is unknown.
 */
bool node_rules_result(const struct node *node, uint64_t ticket, struct rules_result *result);
/*
 * True while rules of peers may be on their way: this node has not joined yet, or a heard peer has
 * other versions.
 */
bool node_rules_may_lack(const struct node *node);
/*
 * The text of the rule as this node would set it now: `home: none` is gone, and the home is there that the node would
 * give it. *rule may become another one, of that text. `room`: RULE_TEXT_MAX_BYTES + 1 bytes for the text.
 */
struct bytes node_rule_as_set(const struct node *node, struct rule **rule, char *room);
/* All rules and their histories; valid until the next step. */
const struct rulebook *node_rulebook(const struct node *node);

/* ---- memory ---- */

/* Visits all memory that is read at random, for callers that choose its pages: see table_memory. */
void node_visit_memory(struct node *node, void (*visit)(void *context, void *memory, size_t bytes), void *context);

/* ---- for tests and the simulator ---- */

/* Asserts every invariant; O(everything). */
void node_validate(const struct node *node);
/*
 * The three numbers of a key, refilled up to now_ns; a full bucket if the key is not in the table.
 */
struct bucket node_bucket(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns);

#endif
