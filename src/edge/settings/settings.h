/*
 * settings: what the config file says, checked, with units turned into numbers and defaults filled in.
 *
 * The one idea: after settings_read everything is usable as it is; a mistake is one sentence with file, line,
 * key, value and what was expected. config/headgated.yaml documents every key. Nothing here is changed later.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_H

#include "base/error.h"
#include "base/gate.h"
#include "cluster/node.h"
#include "edge/process/log.h"
#include "edge/store/store.h"
#include "limit/named_limit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    SETTINGS_SECRET_BYTES = 257, /* with the terminator */
    SETTINGS_PATH_BYTES = 257,   /* with the terminator */
    SETTINGS_WARNING_BYTES = 512,
    SETTINGS_FILE_MAX_BYTES = 1 << 20,
    SETTINGS_RULES = 50000,        /* the defaults of rules.rules */
    SETTINGS_SERVICE_RULES = 1000, /* and rules.service_rules */
    SETTINGS_CONNECTIONS_MAX = 1000000,
    SETTINGS_THREADS_MAX = GATE_LANES_MAX,
};

/* Not to be copied: node.limits points at `limits`. */
struct settings {
    struct node_options node; /* incarnation and seed are left 0: whoever starts the node draws them */
    struct named_limits limits;
    char clients_address[NODE_ADDRESS_BYTES]; /* where to listen, as the next two; */
    char gossip_address[NODE_ADDRESS_BYTES];  /* where peers reach them is in `node` */
    char snapshot_address[NODE_ADDRESS_BYTES];
    char advertise[NODE_ADDRESS_BYTES];   /* "": as in the addresses to listen on */
    char secret[SETTINGS_SECRET_BYTES];   /* "": there is none */
    bool secret_is_none;                  /* the config says so: strangers may be peers */
    char password[SETTINGS_SECRET_BYTES]; /* "": clients need none */
    uint32_t max_connections;             /* over all threads */
    uint64_t request_timeout_ns;          /* for a request that was begun to be whole, */
    uint64_t auth_timeout_ns;             /* for the password, where there is one, */
    uint64_t idle_timeout_ns;             /* and for the next request; 0: no matter how long */
    uint32_t threads;                     /* that serve clients; at least 1 */
    uint64_t reservation_ttl_max_ns;      /* of RESERVE and RENEW */
    uint64_t service_keys_max;            /* see node_set_tenant_keys_max */
    char state_dir[SETTINGS_PATH_BYTES];  /* "": the default, see state_dir.h; "none": nothing is kept */
    enum store_sync state_sync;
    enum log_level log_level;
    bool debug;
    char warning[SETTINGS_WARNING_BYTES]; /* what may be meant and may be a mistake; "": nothing */
    bool table_populate;                  /* all of its memory is asked for at once, in the background */
};

/*
 * Reads the file at `path`. False with EX_NOINPUT (66) when it cannot be read, EX_CONFIG (78) for what is wrong in
 * it. sodium_init comes first.
 */
bool settings_read(struct settings *settings, const char *path, struct error *error);

/* The same for a text that is in memory already; `file` is its name for sentences. */
bool settings_parse(struct settings *settings, struct bytes text, const char *file, struct error *error);

/* Writes all settings, defaults included and secrets too, as YAML that reads back to the same. */
bool settings_print(const struct settings *settings, FILE *out);

/* What must be equal at all peers (limits, weights, interval), as one number under the cluster's hash key. */
uint64_t settings_digest(const struct settings *settings);

#endif
