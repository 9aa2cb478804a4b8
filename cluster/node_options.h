/*
 * node_options: all that a node is made from: its name, peers and regions, times, and bounds.
 *
 * The one idea: everything that could grow has its bound here. Everything that differs between runs
 * (name, incarnation, seed, secret) comes from here too, so the same options and events make the
 * same run. edge/settings/settings.h fills the options from the config.
 */
#ifndef HEADGATE_CLUSTER_NODE_OPTIONS_H
#define HEADGATE_CLUSTER_NODE_OPTIONS_H

#include "base/bytes.h"
#include "base/hash.h"
#include "limit/named_limit.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    NODE_NAME_BYTES = 64,     /* of a node or a region, with the terminator */
    NODE_ADDRESS_BYTES = 128, /* "host:port", with the terminator */
    NODE_PEERS_MAX = 64,      /* members of a cluster, this node included */
    NODE_REGIONS_MAX = 32,
    NODE_NOTICE_BYTES = 240,
    NODE_LIMITS_DEFAULT = 4096,
    NODE_EVENTS_DEFAULT = 1 << 20,
    /* tenant 0 is the config, the last tenant no service: see table_claim */
    NODE_SERVICES_MAX = 4094,
    NODE_THREADS_MAX = 64,
};

struct region_weight {
    char region[NODE_NAME_BYTES];
    uint64_t weight;           /* in 1/SHARE_ONE; the sum over all regions is at most SHARE_ONE */
    uint64_t floor_billionths; /* the least weight by demand; 0: the default */
};

/* A peer that the config names: a member with a reserved share, even before it is heard. */
struct node_peer_options {
    char name[NODE_NAME_BYTES];
    char region[NODE_NAME_BYTES];
    char gossip_address[NODE_ADDRESS_BYTES];   /* where the peer publishes */
    char snapshot_address[NODE_ADDRESS_BYTES]; /* where the peer answers requests */
};

enum { NODE_SEALS_MAX = 4 };

/* The keys that messages of peers are sealed with. */
struct node_seals {
    uint32_t count;
    struct hash_key key[NODE_SEALS_MAX]; /* the first one seals, and each of them is accepted */
};

enum { NODE_KEY_BYTES = 32, NODE_PROOF_BYTES = 64 };

/* What another key of a member means that is known here by a key. */
enum node_keys {
    KEYS_LEARNT, /* the member itself may bring another one, as a restart without its state does */
    KEYS_PINNED, /* an operator must accept it: until then the member is not heard */
    /* the same, and who signs nothing is not heard, nor is anybody believed about a name without a key */
    KEYS_REQUIRED,
};

/* A key that followed another one, and what that one has signed of it: see members/handover.h. */
struct node_handover {
    bool is_there;
    uint8_t former[NODE_KEY_BYTES], proof[NODE_PROOF_BYTES];
};

/*
 * Signatures of members (members/proofs.h). Both functions must be pure: the same bytes give the same answer. NULL:
 * this node signs nothing; it looks at no signature.
 */
struct node_signing {
    enum node_keys keys;
    uint8_t key[NODE_KEY_BYTES]; /* the public half of what `sign` signs with */
    struct node_handover handover;
    void (*sign)(const void *context, struct bytes text, uint8_t proof[NODE_PROOF_BYTES]);
    bool (*check)(const uint8_t key[NODE_KEY_BYTES], struct bytes text, const uint8_t proof[NODE_PROOF_BYTES]);
    const void *context; /* for `sign` */
};

/* Whose word makes a member forgotten: see members/votes.h. */
enum node_forget { FORGET_BY_ANYONE, FORGET_BY_MAJORITY };

/* Bounds on the cost of one mistake in rules. 0: the default. */
struct rule_caps {
    uint32_t services_max;      /* default and most: NODE_SERVICES_MAX */
    uint32_t rules_max;         /* of all services; default 50,000 */
    uint32_t service_rules_max; /* of one service; default 1,000 */
};

struct node_options {
    char name[NODE_NAME_BYTES]; /* unique in the cluster */
    char region[NODE_NAME_BYTES];
    char gossip_address[NODE_ADDRESS_BYTES]; /* the address by which others reach this node */
    char snapshot_address[NODE_ADDRESS_BYTES];
    uint32_t region_count, peer_count;
    struct region_weight regions[NODE_REGIONS_MAX];
    struct node_peer_options peers[NODE_PEERS_MAX];
    uint32_t unlisted_max;    /* most members at a time that `peers` does not name; 0: none */
    uint64_t interval_ns;     /* between two batches */
    uint64_t silent_after_ns; /* a peer without a message for so long is silent */
    uint64_t join_timeout_ns; /* a starting node that hears no active peer then goes on alone */
    uint64_t forget_after_ns; /* a silent peer is forgotten after this; 0: never */
    /*
     * Rights end by themselves after this, and who is gone is not waited for: see members/takeover.h. 0: never.
     * All must name each other: unlisted_max is 0 then.
     */
    uint64_t takeover_after_ns;
    uint64_t leave_timeout_ns; /* how long a leaving node waits for acknowledgements */
    uint64_t table_keys;
    uint64_t log_keys_max;             /* most spends (key, tokens) kept for peers that lack them */
    uint64_t tell_pace;                /* keys told a second, without urgent ones; 0: 250,000 */
    uint32_t untold_max;               /* keys with untold spends, to about 2^20; 0: table_keys */
    uint64_t message_max_bytes;        /* of one message, sent or received */
    uint32_t step_keys;                /* keys of one step, about; others follow; 0: 2,048 */
    uint32_t threads;                  /* threads that decide requests, see node_use_thread; 0: one */
    uint32_t reservations_max;         /* most open reservations; 0: none can be made */
    uint32_t service_reservations_max; /* the same of one service; 0: no other bound */
    uint32_t address_reservations_max; /* the same of one client's address; 0: no other bound */
    /* above 0, larger at every start of the same name (e.g. the wall clock in ns) */
    uint64_t incarnation;
    uint64_t seed;
    struct hash_key hash_key; /* of ids: all peers have the same, for as long as counters count */
    struct node_seals seals;  /* count 0: the hash key is the only one */
    struct node_signing signing;
    enum node_forget forget;
    const struct named_limits *limits; /* of the config, in order; only node_create reads them */
    uint32_t limits_max;               /* limits at once, these included; 0: NODE_LIMITS_DEFAULT */
    uint32_t events_max;               /* spends in logs and leases; 0: NODE_EVENTS_DEFAULT */
    uint64_t config_digest;            /* of all settings that must be equal at all peers */
    struct rule_caps rules;
    bool unknown_service_open;     /* requests of unknown services pass; else MATCH_UNKNOWN_SERVICE */
    bool keeps_weights;            /* the caller keeps effects' weights_text, and answers by EVENT_WEIGHTS_KEPT */
    uint64_t weights_by_demand_ns; /* the shortest time between two changes, see members/weights_auto.h; 0: none */
    uint64_t weights_tokens_least; /* nothing follows from less demand in that time; 0: 1,000 */
    bool weights_all_propose;      /* whoever is first: for tests */
    bool has_central;              /* rules may have sync: central */
    bool grants;                   /* asks peers for rights of keys, and grants rights: see spend/voucher.h */
    uint32_t rights_places;        /* most keys with vouchers, and most grants that have not settled; 0: 4,096 */
    bool grants_eager; /* asks as if all refused clients came back, whatever they did before: for tests */
    /*
     * A clock that runs at the rate of events' now_ns, and also while the machine sleeps or a request is worked on;
     * any thread may call it. NULL: vouchers age by now_ns alone.
     */
    uint64_t (*sleepless_ns)(void);
};

/*
 * The least message_max_bytes with which all messages of a cluster of so many members fit, however long their names
 * and all else is that they say: tests/unit/cluster/message_room.c adds it up. A message that is too large is heard by
 * nobody. A node with less works for as long as its messages happen to fit.
 */
static inline uint64_t node_message_least_bytes(uint32_t members)
{
    return (uint64_t)(88 + 7 * members) * 1024;
}

#endif
