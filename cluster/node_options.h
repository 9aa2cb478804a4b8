/*
 * node_options: what a node is made from: who it is, its peers and regions, times, and the bounds of all that it keeps.
 *
 * The one idea: everything that could grow has its bound here, and everything that differs from run to run (name,
 * incarnation, seed, secret) comes from here, so that the same options and the same events make the same run. Where the
 * values come from is not known here: see edge/settings.h.
 */
#ifndef HEADGATE_CLUSTER_NODE_OPTIONS_H
#define HEADGATE_CLUSTER_NODE_OPTIONS_H

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
    NODE_SERVICES_MAX = 4094, /* tenant 0 is the config, the last one nobody: see table_claim */
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
    uint32_t services_max;      /* NODE_SERVICES_MAX, and at most that */
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
    uint32_t unlisted_max;     /* members that `peers` does not name, at the same time; 0: none */
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
    uint64_t message_max_bytes;        /* of one message either way */
    uint32_t step_keys;                /* that one step works on, about; the rest follows at once. 0: 2,048 */
    uint32_t lanes;                    /* threads of requests, see node_use_lane; 0: one */
    uint32_t reservations_max;         /* at the same time; 0: none can be made */
    uint32_t service_reservations_max; /* of one service; 0: as many as there are */
    uint64_t incarnation; /* > 0, larger at every start of the same name (e.g. wall-clock ns at start) */
    uint64_t seed;
    struct hash_key hash_key;
    const struct named_limits *limits; /* of the config: interned in that order; only read by node_create */
    uint32_t limits_max;               /* different limits at once, those included; 0: NODE_LIMITS_DEFAULT */
    uint32_t events_max;    /* spends that sliding logs and leases list at once; 0: NODE_EVENTS_DEFAULT */
    uint64_t config_digest; /* of what must be equal everywhere */
    struct rule_caps rules;
    bool
        unknown_service_open; /* requests of a service that no rule is about are allowed, else MATCH_UNKNOWN_SERVICE */
};

#endif
