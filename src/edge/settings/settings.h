/*
 * settings: the content of the config file, checked, with units turned into numbers and with
 * defaults filled in.
 *
 * The one idea: after settings_read everything in struct settings is usable as it is. A mistake in
 * the file is one sentence with file, line, key, value and the expected value.
 * config/headgated.yaml documents every key. Of settings that a daemon runs with, settings_take alone changes some
 * (settings_changes.h).
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_H

#include "base/error.h"
#include "base/gate.h"
#include "cluster/node.h"
#include "edge/process/log.h"
#include "edge/settings/central_settings.h"
#include "edge/settings/grpc_settings.h"
#include "edge/settings/http_settings.h"
#include "edge/settings/user_settings.h"
#include "edge/store/store.h"
#include "limit/named_limit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    SETTINGS_SECRET_BYTES = 257, /* with the terminator */
    SETTINGS_PATH_BYTES = 257,   /* with the terminator */
    SETTINGS_WARNING_BYTES = 512,
    /* of http.request_headers, as it is printed */
    SETTINGS_HEADERS_BYTES = HTTP_SOURCES_MAX * (2 * HTTP_SOURCE_BYTES + 2),
    SETTINGS_FILE_MAX_BYTES = 1 << 20,
    SETTINGS_KEYS_MAX = 128, /* more than there are keys */
    /* the default of rules.rules */
    SETTINGS_RULES = 50000,
    /* the default of rules.service_rules */
    SETTINGS_SERVICE_RULES = 1000,
    SETTINGS_CONNECTIONS_MAX = 1000000,
    SETTINGS_THREADS_MAX = GATE_THREADS_MAX,
};

/* A secret, and where it stands if not in the config itself. */
struct settings_secret {
    char text[SETTINGS_SECRET_BYTES]; /* from wherever it comes; "": there is none, or it is not fetched yet */
    char file[SETTINGS_PATH_BYTES];   /* "": it is in no file */
    char variable[USER_NAME_BYTES];   /* "": in no variable of the environment */
    unsigned line;                    /* of the config, which says that it is in one of these */
};

/* What peers seal messages with, from the first on, which this daemon seals with. */
struct settings_secrets {
    uint32_t count;
    struct settings_secret secret[NODE_SEALS_MAX];
};

/* How members sign what they say of themselves: see cluster/members/proofs.h. */
enum settings_signatures {
    SIGNATURES_OFF,
    SIGNATURES_LEARN,    /* the newest key that a member itself has brought counts */
    SIGNATURES_PINNED,   /* the first one, until an operator accepts another */
    SIGNATURES_REQUIRED, /* the same, and who has none is not heard */
};

/* Must not be copied: node.limits points at `limits`. */
struct settings {
    /* incarnation and seed stay 0: the caller that starts the node must draw both */
    struct node_options node;
    struct named_limits limits;
    /* the address on which the daemon listens to clients */
    char clients_address[NODE_ADDRESS_BYTES];
    /*
     * The address on which the daemon listens to gossip; the next one is for snapshots. `node` has
     * the addresses at which peers reach the daemon.
     */
    char gossip_address[NODE_ADDRESS_BYTES];
    char snapshot_address[NODE_ADDRESS_BYTES];
    /* the address on which the daemon serves HTTP; "": HTTP is not served */
    char http_address[NODE_ADDRESS_BYTES];
    /* the addresses on which the daemon serves the same over TLS; "": nowhere */
    char clients_tls_address[NODE_ADDRESS_BYTES];
    char http_tls_address[NODE_ADDRESS_BYTES];
    /* files in PEM; "" without such an address */
    char tls_certificate[SETTINGS_PATH_BYTES];
    char tls_key[SETTINGS_PATH_BYTES];
    char tls_client_ca[SETTINGS_PATH_BYTES]; /* "": clients need no certificate */
    /* files in PEM of what peers are shown and demanded; "": peers speak in clear */
    char peers_tls_ca[SETTINGS_PATH_BYTES];
    char peers_tls_certificate[SETTINGS_PATH_BYTES];
    char peers_tls_key[SETTINGS_PATH_BYTES];
    struct http_settings http;
    /* the address on which the daemon serves gRPC; "": gRPC is not served */
    char grpc_address[NODE_ADDRESS_BYTES];
    char grpc_tls_address[NODE_ADDRESS_BYTES]; /* the same over TLS */
    struct grpc_settings grpc;
    /* the host at which peers reach the daemon; "": the host of the listening addresses */
    char advertise[NODE_ADDRESS_BYTES];
    struct settings_secret secret;    /* not given: the config has no such key */
    struct settings_secrets secrets;  /* instead of it */
    struct settings_secret hash_seed; /* of the hash key of ids; not given: the secret is it */
    /* the config says `secret: none`: strangers may be peers */
    bool secret_is_none;
    struct settings_secret password; /* of the user default; not given: there is none */
    struct users_settings users;
    struct central_settings central;
    uint32_t max_connections; /* of all threads together */
    /* for how many connections the daemon made room at its start (0: not yet), and whether the config asks for more */
    uint32_t connections_room;
    uint32_t threads; /* number of workers; at least 1 */
    bool connections_cut;
    uint64_t grpc_room_bytes; /* the memory that the daemon took for gRPC at its start; 0: not yet */
    /* the time in which a request that has begun must be complete */
    uint64_t request_timeout_ns;
    /* the time in which a client must give the password, if there is one */
    uint64_t auth_timeout_ns;
    /* the time in which the next request must come; 0: no limit */
    uint64_t idle_timeout_ns;
    uint64_t reservation_ttl_max_ns; /* the longest time of RESERVE and RENEW */
    uint64_t service_keys_max;       /* see node_set_tenant_keys_max */
    /* of the regions of `node`, as the file has them: in billionths, and where; line 0: the file has none */
    uint64_t region_billionths[NODE_REGIONS_MAX];
    unsigned region_line[NODE_REGIONS_MAX];
    /* where the keys of the table of settings_keys.h stand in the file; see settings_place.h */
    unsigned key_line[SETTINGS_KEYS_MAX];
    /* "": the default of state_dir.h; "none": no state is kept */
    char state_dir[SETTINGS_PATH_BYTES];
    enum store_sync state_sync;
    enum settings_signatures signatures;
    enum log_level log_level;
    enum log_format log_format;
    char refusal_log[SETTINGS_PATH_BYTES]; /* the file of refusals; "": none is written */
    bool debug;
    bool sandbox;          /* the process gives up what it has no use for, once it has started */
    bool remember_names;   /* HOT and the log of refusals may show names of keys */
    bool has_open_secrets; /* the config has secrets, and every user of the machine may read it */
    /* a sentence about a value that may be a mistake; "": none */
    char warning[SETTINGS_WARNING_BYTES];
    /* the system backs all memory of the table at the start, in the background */
    bool table_populate;
};

/*
 * Reads the file at `path`. False: `error` has EX_NOINPUT (66) if the file cannot be read, or
 * EX_CONFIG (78) if its content is wrong. The caller must have called sodium_init.
 */
bool settings_read(struct settings *settings, const char *path, struct error *error);
/* The same, in a daemon that runs: refuses pipes, since to open a pipe waits for whoever writes to it. */
bool settings_read_again(struct settings *settings, const char *path, struct error *error);

/* Reads a text in memory; `file` is its name in sentences about mistakes. */
bool settings_parse(struct settings *settings, struct bytes text, const char *file, struct error *error);

/* True: HTTP is served, plain or over TLS. */
static inline bool settings_serve_http(const struct settings *settings)
{
    return settings->http_address[0] || settings->http_tls_address[0];
}
/* The same of gRPC. */
static inline bool settings_serve_grpc(const struct settings *settings)
{
    return settings->grpc_address[0] || settings->grpc_tls_address[0];
}

/* True: rules may have sync: central. */
static inline bool settings_have_central(const struct settings *settings)
{
    return settings->central.address[0] != '\0' || settings->central.sentinels[0] != '\0';
}

/* True: the config says the secret, or where it is. */
static inline bool settings_secret_is_given(const struct settings_secret *secret)
{
    return secret->text[0] || secret->file[0] || secret->variable[0];
}
/* True: the secret stands in the config itself. */
static inline bool settings_secret_is_here(const struct settings_secret *secret)
{
    return secret->text[0] && !secret->file[0] && !secret->variable[0];
}

/* True: clients must say who they are. */
static inline bool settings_have_passwords(const struct settings *settings)
{
    return settings_secret_is_given(&settings->password) || settings->users.count > 0;
}

/* True: messages of peers are sealed. */
static inline bool settings_have_secret(const struct settings *settings)
{
    return settings_secret_is_given(&settings->secret) || settings->secrets.count > 0;
}

/* Writes all settings, with defaults and secrets, as YAML that reads back to the same settings. */
bool settings_print(const struct settings *settings, FILE *out);

/*
 * One number for all that must be equal at all peers (limits, weights, interval), under the
 * cluster's hash key.
 */
uint64_t settings_digest(const struct settings *settings);

/* Hashes of keys come from `key`, whatever the config says. Must not be called once anything has hashed a key. */
void settings_use_hash_key(struct settings *settings, const struct hash_key *key);

#endif
