/*
 * settings_text: the config file's shape: which keys there are, as libcyaml's schema.
 *
 * The one idea: every value is kept as the text that stands in the file, so that units are read, and
 * mistakes told, in one place (settings.c) in the operator's own words. Reading and writing use the same
 * schema. What a value means is not known here.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_TEXT_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_TEXT_H

#include "base/bytes.h"
#include "base/error.h"
#include "edge/settings/settings_outline.h"

#include <stdint.h>
#include <stdio.h>

enum { SETTINGS_VALUE_BYTES = 256 }; /* the longest value */

/* A key that is absent is NULL. */
struct listen_text {
    char *clients, *gossip, *snapshots, *http;
};

struct http_text {
    char *limit_headers, *request_headers;
};

struct table_text {
    char *keys, *listed_spends, *populate;
};

struct rules_text {
    char *services, *rules, *service_rules, *service_keys, *service_reservations;
};

struct clients_text {
    char *request_timeout, *auth_timeout, *idle_timeout;
};

struct region_text {
    char *name, *weight;
};

struct peer_text {
    char *node, *region, *gossip, *snapshots;
};

struct limit_text {
    char *name, *capacity, *rate, *overshoot, *is_default;
};

struct settings_text {
    char *node, *region;
    struct listen_text listen;
    char *advertise;
    struct region_text *regions;
    struct peer_text *peers;
    struct limit_text *limits;
    uint32_t region_count, peer_count, limit_count;
    char *interval, *early_push, *silent_after, *join_timeout, *leave_timeout, *forget_after;
    struct table_text table;
    struct rules_text rules;
    struct clients_text clients;
    struct http_text http;
    char *unknown_service, *reservation_ttl_max;
    char *reservations, *unlisted_peers, *gossip_pace, *log_keys, *message_max, *max_connections, *threads,
        *state_dir, *state_sync, *secret, *password, *log_level, *debug;
};

/*
 * Parses `yaml`, which `outline` describes; `file` is its name for sentences. False with EX_CONFIG for an unknown
 * key, a list where a value should be, too many entries. The result is freed by settings_text_free.
 */
struct settings_text *settings_text_parse(struct bytes yaml, const struct outline *outline, const char *file,
                                          struct error *error);
void settings_text_free(struct settings_text **text);

/* Writes `text` as YAML that settings_text_parse reads. */
bool settings_text_write(const struct settings_text *text, FILE *out);

#endif
