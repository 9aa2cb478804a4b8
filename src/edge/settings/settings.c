#include "edge/settings/settings.h"

#include "base/units.h"
#include "edge/settings/settings_cluster.h"
#include "edge/settings/settings_http.h"
#include "edge/settings/settings_outline.h"
#include "edge/settings/settings_reach.h"
#include "edge/settings/settings_reader.h"
#include "edge/settings/settings_text.h"
#include "rules/ruleset.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#define MILLISECOND ((uint64_t)1000000)
#define SECOND (1000 * MILLISECOND)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)

enum {
    DEFAULT_CLIENTS_PORT = 7070,
    DEFAULT_TABLE_KEYS = 1048576,
    DEFAULT_GOSSIP_PACE = 250000,
    DEFAULT_LOG_KEYS = 1048576,
    DEFAULT_MESSAGE_MAX_BYTES = 1 << 20,
    DEFAULT_MAX_CONNECTIONS = 10000,
    DEFAULT_RESERVATIONS = 65536,
    DEFAULT_UNLISTED_PEERS = 8,
    RESERVATIONS_MOST = 1 << 24,
    LISTED_SPENDS_MOST = 1 << 30,
    RULES_MOST = 1000000,
    MESSAGE_LEAST_BYTES = 64 << 10,
    MESSAGE_MOST_BYTES = 64 << 20,
};

/* As many as the processors that this process may use. */
static uint32_t threads_by_default(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : SETTINGS_THREADS_MAX;
    return count < 1 ? 1 : count > SETTINGS_THREADS_MAX ? SETTINGS_THREADS_MAX : (uint32_t)count;
}

static void set_defaults(struct settings *settings)
{
    memset(settings, 0, sizeof *settings);
    struct node_options *node = &settings->node;
    (void)snprintf(node->region, sizeof node->region, "default");
    (void)snprintf(settings->clients_address, NODE_ADDRESS_BYTES, "127.0.0.1:%d", DEFAULT_CLIENTS_PORT);
    (void)snprintf(settings->gossip_address, NODE_ADDRESS_BYTES, "127.0.0.1:%d", DEFAULT_CLIENTS_PORT + 1);
    node->interval_ns = 100 * MILLISECOND;
    node->join_timeout_ns = 2 * SECOND;
    node->leave_timeout_ns = 2 * SECOND;
    node->table_keys = DEFAULT_TABLE_KEYS;
    node->tell_pace = DEFAULT_GOSSIP_PACE;
    node->log_keys_max = DEFAULT_LOG_KEYS;
    node->message_max_bytes = DEFAULT_MESSAGE_MAX_BYTES;
    node->reservations_max = DEFAULT_RESERVATIONS;
    node->events_max = NODE_EVENTS_DEFAULT;
    node->rules = (struct rule_caps){NODE_SERVICES_MAX, SETTINGS_RULES, SETTINGS_SERVICE_RULES};
    settings->reservation_ttl_max_ns = HOUR;
    settings->max_connections = DEFAULT_MAX_CONNECTIONS;
    settings->request_timeout_ns = settings->auth_timeout_ns = 10 * SECOND;
    settings->threads = threads_by_default();
    settings->log_level = LOG_LEVEL_INFO;
}

/* ---- limits ---- */

static bool read_overshoot(const struct settings_reader *reader, const char *path, const char *text,
                           uint64_t capacity, uint64_t *overshoot)
{
    uint64_t millionths;
    *overshoot = capacity;
    if (!text)
        return true;
    if (units_parse_percent(bytes_of(text), &millionths) && millionths <= RULE_OVERSHOOT_MAX) {
        /* Capacities are below 2^40 and millionths below 2^24: 128 bits are more than enough. */
        *overshoot = (uint64_t)((__extension__(unsigned __int128) capacity) * millionths / 1000000);
        return true;
    }
    if (units_parse_count(bytes_of(text), overshoot) && *overshoot <= LIMIT_CAPACITY_MAX)
        return true;
    return reader_wrong(reader, path, text, "a part of the capacity from 0%% to 1000%%, or tokens from 0 to %llu",
                        (unsigned long long)LIMIT_CAPACITY_MAX);
}

static bool read_limit(const struct settings_reader *reader, struct settings *settings,
                       const struct limit_text *text, unsigned index, bool *is_default)
{
    struct named_limits *set = &settings->limits;
    char path[OUTLINE_PATH_BYTES], name[LIMIT_NAME_BYTES];
    uint64_t capacity = 0, rate, period_ns, overshoot;
    (void)snprintf(path, sizeof path, "limits[%u].name", index);
    if (!read_name(reader, path, text->name, name, sizeof name, "a name for the limit"))
        return false;
    int twin = named_limit_find(set, bytes_of(name));
    if (twin >= 0)
        return reader_wrong(reader, path, name, "a name that limits[%d] does not have already", twin);
    (void)snprintf(path, sizeof path, "limits[%u].capacity", index);
    if (!text->capacity)
        return reader_missing(reader, path, "a number of tokens");
    if (!read_count(reader, path, text->capacity, 1, LIMIT_CAPACITY_MAX, &capacity))
        return false;
    (void)snprintf(path, sizeof path, "limits[%u].rate", index);
    if (!text->rate)
        return reader_missing(reader, path, "tokens per time such as 100/s or 6000/m");
    if (!units_parse_rate(bytes_of(text->rate), &rate, &period_ns))
        return reader_wrong(reader, path, text->rate, "tokens per time such as 100/s, 6000/m or 5/10s");
    (void)snprintf(path, sizeof path, "limits[%u].overshoot", index);
    if (!read_overshoot(reader, path, text->overshoot, capacity, &overshoot))
        return false;
    (void)snprintf(path, sizeof path, "limits[%u].default", index);
    if (!read_bool(reader, path, text->is_default, is_default))
        return false;
    struct error error;
    (void)snprintf(path, sizeof path, "limits[%u]", index);
    const struct limit_terms terms = {.capacity = capacity,
                                      .rate = rate,
                                      .period_ns = period_ns,
                                      .overshoot = overshoot};
    if (!named_limit_init(&set->limit[set->count], bytes_of(name), &terms, &error))
        return reader_fail(reader, path, "limits[%u] '%s': %s", index, name, error.text);
    twin = named_limit_find_id(set, set->limit[set->count].id);
    if (twin >= 0)
        return reader_fail(reader, path,
                           "limits[%u].name '%s' and limits[%d].name '%s' have the same hash: expected one of them "
                           "to be renamed",
                           index, name, twin, set->limit[twin].name);
    set->count++;
    return true;
}

static bool read_limits(const struct settings_reader *reader, struct settings *settings,
                        const struct settings_text *text)
{
    int by_default = -1;
    if (text->limit_count == 0)
        return reader_missing(reader, "limits", "at least one limit with name, capacity and rate");
    for (unsigned i = 0; i < text->limit_count; i++) {
        bool is_default = false;
        if (!read_limit(reader, settings, &text->limits[i], i, &is_default))
            return false;
        if (is_default && by_default >= 0) {
            char path[OUTLINE_PATH_BYTES];
            (void)snprintf(path, sizeof path, "limits[%u].default", i);
            return reader_wrong(reader, path, "true", "one default, and limits[%d] is it already", by_default);
        }
        by_default = is_default ? (int)i : by_default;
    }
    if (by_default < 0 && text->limit_count > 1)
        return reader_fail(reader, "limits",
                           "limits has no default: expected `default: true` at one of the %u limits",
                           text->limit_count);
    settings->limits.by_default = by_default < 0 ? 0 : (uint16_t)by_default;
    settings->node.limits = &settings->limits;
    return true;
}

/* ---- the rest ---- */

static bool read_early_push(const struct settings_reader *reader, const char *text, uint64_t *share)
{
    uint64_t millionths;
    if (!text || strcmp(text, "auto") == 0)
        return true;
    if (!units_parse_percent(bytes_of(text), &millionths) || millionths < 1 || millionths > 1000000)
        return reader_wrong(reader, "early_push", text, "auto, or a percentage above 0%% and up to 100%%");
    *share = (millionths << 32) / 1000000;
    return true;
}

static bool read_times(const struct settings_reader *reader, struct node_options *node,
                       const struct settings_text *text)
{
    if (!read_duration(reader, "interval", text->interval, MILLISECOND, 60 * SECOND, &node->interval_ns))
        return false;
    node->silent_after_ns = 10 * node->interval_ns > SECOND ? 10 * node->interval_ns : SECOND;
    bool forget = text->forget_after && strcmp(text->forget_after, "off") != 0;
    if (!read_duration(reader, "silent_after", text->silent_after, 2 * node->interval_ns, DAY,
                       &node->silent_after_ns) ||
        !read_duration(reader, "join_timeout", text->join_timeout, 0, DAY, &node->join_timeout_ns) ||
        !read_duration(reader, "leave_timeout", text->leave_timeout, 0, DAY, &node->leave_timeout_ns))
        return false;
    uint64_t ns;
    if (forget && !units_parse_duration(bytes_of(text->forget_after), &ns))
        return reader_wrong(reader, "forget_after", text->forget_after, "off, or a duration such as 1h");
    return !forget || read_duration(reader, "forget_after", text->forget_after, node->silent_after_ns, 366 * DAY,
                                    &node->forget_after_ns);
}

static bool read_text(const struct settings_reader *reader, const char *path, const char *text,
                      char out[SETTINGS_SECRET_BYTES])
{
    if (!text)
        return true;
    if (!text[0])
        return reader_wrong(reader, path, text, "at least one character, or no such key");
    (void)snprintf(out, SETTINGS_SECRET_BYTES, "%s", text); /* never longer than SETTINGS_VALUE_BYTES */
    return true;
}

/* A count that is kept in 32 bits. */
static bool read_small_count(const struct settings_reader *reader, const char *path, const char *text,
                             uint64_t least, uint64_t most, uint32_t *count)
{
    uint64_t value = *count;
    if (!read_count(reader, path, text, least, most, &value))
        return false;
    *count = (uint32_t)value;
    return true;
}

static bool read_sizes(const struct settings_reader *reader, struct settings *settings,
                       const struct settings_text *text)
{
    struct node_options *node = &settings->node;
    return read_count(reader, "table.keys", text->table.keys, 1, (uint64_t)1 << 36, &node->table_keys) &&
           read_count(reader, "gossip_pace", text->gossip_pace, 1000, 50000000, &node->tell_pace) &&
           read_count(reader, "log_keys", text->log_keys, 1, (uint64_t)1 << 32, &node->log_keys_max) &&
           read_size(reader, "message_max", text->message_max, MESSAGE_LEAST_BYTES, MESSAGE_MOST_BYTES,
                     &node->message_max_bytes) &&
           read_small_count(reader, "max_connections", text->max_connections, 1, SETTINGS_CONNECTIONS_MAX,
                            &settings->max_connections) &&
           read_small_count(reader, "threads", text->threads, 1, SETTINGS_THREADS_MAX, &settings->threads);
}

static bool read_reservations(const struct settings_reader *reader, struct settings *settings,
                              const struct settings_text *text)
{
    static const char none[] = "no such key, as there are no reservations";
    struct node_options *node = &settings->node;
    if (!read_small_count(reader, "reservations", text->reservations, 0, RESERVATIONS_MOST,
                          &node->reservations_max))
        return false;
    node->service_reservations_max =
        node->reservations_max - node->reservations_max / 4; /* so that others find room */
    if (node->reservations_max == 0 && text->rules.service_reservations)
        return reader_wrong(reader, "rules.service_reservations", text->rules.service_reservations, "%s", none);
    if (node->reservations_max == 0 && text->reservation_ttl_max)
        return reader_wrong(reader, "reservation_ttl_max", text->reservation_ttl_max, "%s", none);
    return read_small_count(reader, "rules.service_reservations", text->rules.service_reservations, 1,
                            node->reservations_max, &node->service_reservations_max) &&
           read_duration(reader, "reservation_ttl_max", text->reservation_ttl_max, SECOND, DAY,
                         &settings->reservation_ttl_max_ns);
}

static bool read_caps(const struct settings_reader *reader, struct settings *settings,
                      const struct settings_text *text)
{
    struct node_options *node = &settings->node;
    const struct rules_text *rules = &text->rules;
    uint64_t keys = node->table_keys - node->table_keys / 4; /* so that others always find room */
    bool sealed = settings->secret[0] || settings->secret_is_none;
    node->unlisted_max = sealed ? DEFAULT_UNLISTED_PEERS : 0; /* whoever says nothing of strangers gets none */
    settings->service_keys_max = keys;
    return read_small_count(reader, "table.listed_spends", text->table.listed_spends, 1, LISTED_SPENDS_MOST,
                            &node->events_max) &&
           read_bool(reader, "table.populate", text->table.populate, &settings->table_populate) &&
           read_small_count(reader, "rules.services", rules->services, 1, NODE_SERVICES_MAX,
                            &node->rules.services_max) &&
           read_small_count(reader, "rules.rules", rules->rules, 1, RULES_MOST, &node->rules.rules_max) &&
           read_small_count(reader, "rules.service_rules", rules->service_rules, 1, SERVICE_RULES_MAX,
                            &node->rules.service_rules_max) &&
           read_count(reader, "rules.service_keys", rules->service_keys, 1, (uint64_t)1 << 36,
                      &settings->service_keys_max) &&
           read_small_count(reader, "unlisted_peers", text->unlisted_peers, 0, NODE_PEERS_MAX - 1,
                            &node->unlisted_max) &&
           read_reservations(reader, settings, text);
}

static bool read_unknown_service(const struct settings_reader *reader, const char *text, bool *open)
{
    if (text && strcmp(text, "error") != 0 && strcmp(text, "open") != 0)
        return reader_wrong(reader, "unknown_service", text, "error or open");
    *open = text && text[0] == 'o';
    return true;
}

static bool read_state(const struct settings_reader *reader, struct settings *settings,
                       const struct settings_text *text)
{
    const char *sync = text->state_sync;
    if (sync && strcmp(sync, "normal") != 0 && strcmp(sync, "full") != 0)
        return reader_wrong(reader, "state_sync", sync, "normal or full");
    settings->state_sync = sync && sync[0] == 'f' ? STORE_SYNC_FULL : STORE_SYNC_NORMAL;
    if (!text->state_dir)
        return true;
    if (!text->state_dir[0])
        return reader_wrong(reader, "state_dir", text->state_dir, "a directory, none, or no such key");
    (void)snprintf(settings->state_dir, sizeof settings->state_dir, "%s", text->state_dir);
    return true;
}

/* Without a secret whoever reaches the ports for peers is one: nobody gets that by leaving a line out. */
static bool read_secret(const struct settings_reader *reader, struct settings *settings,
                        const struct settings_text *text)
{
    settings->secret_is_none = text->secret && strcmp(text->secret, "none") == 0;
    if (!text->secret && text->peer_count > 0)
        return reader_fail(reader, "peers",
                           "peers are named, but secret is missing: expected a long random text, the same at all "
                           "peers, or none where no stranger can reach their ports");
    return settings->secret_is_none || read_text(reader, "secret", text->secret, settings->secret);
}

/* How long clients may be silent. */
static bool read_clients(const struct settings_reader *reader, struct settings *settings,
                         const struct settings_text *text)
{
    const struct clients_text *clients = &text->clients;
    const bool idle = clients->idle_timeout && strcmp(clients->idle_timeout, "off") != 0;
    uint64_t ns;
    if (clients->auth_timeout && !settings->password[0])
        return reader_wrong(reader, "clients.auth_timeout", clients->auth_timeout,
                            "no such key, as there is no password to wait for");
    if (idle && !units_parse_duration(bytes_of(clients->idle_timeout), &ns))
        return reader_wrong(reader, "clients.idle_timeout", clients->idle_timeout, "off, or a duration such as 1h");
    return read_duration(reader, "clients.request_timeout", clients->request_timeout, SECOND, DAY,
                         &settings->request_timeout_ns) &&
           read_duration(reader, "clients.auth_timeout", clients->auth_timeout, SECOND, DAY,
                         &settings->auth_timeout_ns) &&
           (!idle || read_duration(reader, "clients.idle_timeout", clients->idle_timeout, SECOND, 366 * DAY,
                                   &settings->idle_timeout_ns));
}

static bool read_rest(const struct settings_reader *reader, struct settings *settings,
                      const struct settings_text *text)
{
    if (!read_secret(reader, settings, text) ||
        !read_early_push(reader, text->early_push, &settings->node.early_push_share) ||
        !read_times(reader, &settings->node, text) || !read_sizes(reader, settings, text) ||
        !read_caps(reader, settings, text) ||
        !read_unknown_service(reader, text->unknown_service, &settings->node.unknown_service_open) ||
        !read_state(reader, settings, text) || !read_text(reader, "password", text->password, settings->password) ||
        !read_clients(reader, settings, text) || !read_bool(reader, "debug", text->debug, &settings->debug))
        return false;
    settings->node.threads = settings->threads;
    if (text->log_level && !log_level_parse(bytes_of(text->log_level), &settings->log_level))
        return reader_wrong(reader, "log_level", text->log_level, "error, warning, info or debug");
    return true;
}

/* In the order in which later checks need earlier results. */
static bool read_all(const struct settings_reader *reader, struct settings *settings,
                     const struct settings_text *text)
{
    struct node_options *node = &settings->node;
    if (!read_name(reader, "node", text->node, node->name, sizeof node->name, "this node's name"))
        return false;
    return settings_read_cluster(settings, reader, text) &&
           settings_read_http(reader, settings, text->listen.http, text->http.limit_headers,
                              text->http.request_headers) &&
           read_limits(reader, settings, text) && read_rest(reader, settings, text) &&
           settings_check_reach(settings, reader);
}

bool settings_parse(struct settings *settings, struct bytes text, const char *file, struct error *error)
{
    struct outline outline;
    struct settings_text *values = NULL;
    set_defaults(settings);
    bool good = outline_read(&outline, text, file, error);
    if (good) {
        values = settings_text_parse(text, &outline, file, error);
        good = values != NULL;
    }
    if (good) {
        struct settings_reader reader = {.file = file, .outline = &outline, .error = error};
        good = read_all(&reader, settings, values);
        settings_text_free(&values);
    }
    outline_close(&outline);
    if (!good)
        return false;
    hash_key_from_secret(&settings->node.hash_key, settings->secret, strlen(settings->secret));
    settings->node.config_digest = settings_digest(settings);
    return true;
}

/* ---- the file ---- */

/* The whole file, on the heap; NULL with `error` set. */
static char *read_file(const char *path, size_t *size, struct error *error)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    bool known = file && fstat(fileno(file), &status) == 0;
    char *text = NULL;
    if (!known)
        (void)error_set(error, EX_NOINPUT, "%s cannot be read: %s", path, strerror(errno));
    else if (S_ISDIR(status.st_mode))
        (void)error_set(error, EX_NOINPUT, "%s is a directory: expected a config file", path);
    else if (!(text = malloc(SETTINGS_FILE_MAX_BYTES + 1)))
        (void)error_set(error, EX_OSERR, "out of memory while reading %s", path);
    if (text) {
        *size = fread(text, 1, SETTINGS_FILE_MAX_BYTES + 1, file);
        bool failed = ferror(file) != 0;
        if (failed)
            (void)error_set(error, EX_NOINPUT, "%s cannot be read: %s", path, strerror(errno));
        else if (*size > SETTINGS_FILE_MAX_BYTES)
            (void)error_set(error, EX_CONFIG, "%s is larger than 1 MiB: expected a config file", path);
        if (failed || *size > SETTINGS_FILE_MAX_BYTES) {
            free(text);
            text = NULL;
        }
    }
    if (file)
        (void)fclose(file);
    return text;
}

bool settings_read(struct settings *settings, const char *path, struct error *error)
{
    size_t size;
    char *text = read_file(path, &size, error);
    if (!text)
        return false;
    bool good = settings_parse(settings, (struct bytes){text, size}, path, error);
    free(text);
    return good;
}
