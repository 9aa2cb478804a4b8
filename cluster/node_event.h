/*
 * node_event: what a step is told, and what it asks of the world.
 *
 * The one idea: an event and its effects are plain data. The caller does what the effects say, in their order; all of
 * them are valid until the next step. Nothing here decides what a node does: see node.h.
 */
#ifndef HEADGATE_CLUSTER_NODE_EVENT_H
#define HEADGATE_CLUSTER_NODE_EVENT_H

#include "base/bytes.h"
#include "base/hash.h"
#include "cluster/node_limits.h"
#include "cluster/node_options.h"
#include "cluster/node_rules.h"
#include "cluster/node_weights.h"
#include "limit/limit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rule_record;
struct rule_version;

/* ---- events ---- */

enum event_kind {
    EVENT_START,        /* once, first */
    EVENT_WAKE,         /* effects.next_wake_ns has come, or node_wants_step; extra ones do no harm */
    EVENT_MESSAGE,      /* `bytes`: a message that a peer published */
    EVENT_REQUEST,      /* `bytes`: a peer asks; the same step returns exactly one EFFECT_REPLY */
    EVENT_RESPONSE,     /* `bytes`: the reply to an own EFFECT_REQUEST; a lost one needs no event */
    EVENT_FORGET,       /* `name`: the operator declares a peer gone for good */
    EVENT_MUTE,         /* `name`, `mute_in`, `mute_out`: drop messages from / to a peer, for demos */
    EVENT_STOP,         /* leave; effects.left tells the end, at the latest after leave_timeout_ns */
    EVENT_RESTORE,      /* before EVENT_START, repeatable: the store's content; never in effects */
    EVENT_RETELL,       /* the store has lost its counters: effects tell all again, in parts */
    EVENT_RULES,        /* `rules`: an operator's change; effects.rules has the result or `in_work` */
    EVENT_HEALTH,       /* `health`: the health of a service */
    EVENT_WEIGHTS,      /* `weights`: an operator's new weights; node_weights_result has the result */
    EVENT_WEIGHTS_KEPT, /* the store has written the weights_text of effects up to `weights_number` */
    EVENT_LIMITS,       /* `limits`: what a reload has read of the config's; node_limits_result has the result */
    EVENT_KEY,          /* `name`, `key`: the operator says which key that peer has; NULL: the next one is learnt */
    EVENT_ROTATE,       /* `signing`: this node has another key from now on, with a handover from its former one */
};

/*
 * The used tokens of a key of a persistent limit, for the store. The figure is absolute: the newest
 * one replaces all before. `number`: of a bucket the ns until it is full, else the used tokens (see
 * bucket_number). 0: no token is used.
 */
struct counter {
    struct limit_terms terms;
    struct key_id id;
    uint64_t number;
    /* On this node's clock. Of a cell: when it expires; of a log: when the last of its tokens ends. Else 0. */
    uint64_t expires_ns;
    /* Of a log: its parts among those of the effects, or of the event. None: all its tokens end with the last. */
    uint32_t part_count;
    size_t first_part;
};

enum { COUNTER_PARTS_MAX = 16 };

/* Tokens of a log that count until then, on this node's clock. Those of one counter: newest first. */
struct counter_part {
    uint64_t ends_ns, tokens;
};

struct event {
    enum event_kind kind;
    uint64_t now_ns;    /* this node's monotonic clock; a time before the last counts as the last */
    uint64_t wall_ms;   /* unix time, for histories that people read; 0: unknown */
    uint64_t clock_ns;  /* the clock that node_held_ppm slows to now_ns; 0: it is not slowed */
    struct bytes bytes; /* the caller's, valid in the step; nonsense is counted and dropped */
    /*
     * Of a message: who is at the other end of the connection, as its certificate proves; all its names, between
     * commas. Messages of others are dropped then. NULL: nothing proves it.
     */
    const char *from;
    const char *name;
    bool mute_in, mute_out;
    const struct rule_changes *rules; /* the caller's, like all pointers here */
    const struct weights_change *weights;
    struct bytes weights_text; /* of EVENT_RESTORE: what the store kept last, */
    uint64_t weights_number;   /* and its number */
    struct bytes keys_text;    /* the same of keys of members: see proofs.h */
    uint64_t keys_number;
    const struct named_limits *limits;
    struct bytes limits_text; /* the same of the limits of configs: see limit_list.h */
    uint64_t limits_number;
    const uint8_t *key; /* NODE_KEY_BYTES */
    const struct node_signing *signing;
    const struct health_report *health;
    const struct rule_record *versions; /* nonsense among them is left out, with a notice */
    size_t version_count;
    /* `number` as of now_ns; counters only lower what a key has left */
    const struct counter *counters;
    size_t counter_count;
    const struct counter_part *counter_parts;
};

/* ---- effects ---- */

enum effect_kind {
    EFFECT_PUBLISH,    /* send `bytes` to every peer that listens */
    EFFECT_REQUEST,    /* send `bytes` to `address`, a snapshot address; EVENT_RESPONSE answers */
    EFFECT_REPLY,      /* answer the EVENT_REQUEST of this step with `bytes` */
    EFFECT_CONNECT,    /* listen to the messages of `address` (a gossip address), and keep trying */
    EFFECT_DISCONNECT, /* stop listening to `address` */
};

struct effect {
    enum effect_kind kind;
    char name[NODE_NAME_BYTES]; /* the member at `address` */
    char address[NODE_ADDRESS_BYTES];
    size_t offset, size; /* the message in effects.arena */
};

enum notice_level { NOTICE_INFO, NOTICE_WARNING };

/* A sentence for operators: "eu-west is silent". Never one per packet. */
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
    /*
     * The time for the next node_step(EVENT_WAKE); UINT64_MAX: none is needed. The time of this
     * step: at once, after waiting requests.
     */
    uint64_t next_wake_ns;
    bool left; /* a graceful leave is complete */
    /*
     * Versions that came into the rulebook. The store must keep all of a step in one transaction.
     * Valid until the next step, like the rest.
     */
    size_t version_count, version_room;
    struct rule_version **version;
    struct rules_result rules;
    /* Not empty: the store must keep this in place of what it had, and EVENT_WEIGHTS_KEPT says when it does. */
    struct bytes weights_text;
    uint64_t weights_number;
    struct bytes keys_text; /* the same of the keys of members; nobody waits for that */
    uint64_t keys_number;
    struct bytes limits_text; /* the same of the limits of configs; nobody waits for that, either */
    uint64_t limits_number;
    size_t counter_count, counter_room; /* as of this step */
    struct counter *counter;
    size_t counter_part_count, counter_part_room; /* of logs among the counters */
    struct counter_part *counter_part;
};

void effects_init(struct effects *effects);
void effects_close(struct effects *effects);

static inline struct bytes effect_bytes(const struct effects *effects, const struct effect *effect)
{
    return (struct bytes){(const char *)effects->arena + effect->offset, effect->size};
}

#endif
