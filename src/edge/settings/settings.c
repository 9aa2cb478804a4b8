#include "edge/settings/settings.h"

#include "base/number.h"
#include "base/units.h"
#include "edge/process/text_file.h"
#include "edge/settings/settings_central.h"
#include "edge/settings/settings_cluster.h"
#include "edge/settings/settings_http.h"
#include "edge/settings/settings_keys.h"
#include "edge/settings/settings_pipes.h"
#include "edge/settings/settings_place.h"
#include "edge/settings/settings_reach.h"
#include "edge/settings/settings_reader.h"
#include "edge/settings/settings_secrets.h"
#include "edge/settings/settings_shape.h"
#include "edge/settings/settings_takeover.h"
#include "edge/settings/settings_tls.h"
#include "edge/settings/settings_users.h"
#include "edge/settings/settings_weights.h"
#include "rules/ruleset.h"

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
    SETTINGS_NODES_MAX = 4096, /* keys and values of a config */
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
    node->grants = true;
    node->rules = (struct rule_caps){NODE_SERVICES_MAX, SETTINGS_RULES, SETTINGS_SERVICE_RULES};
    settings->reservation_ttl_max_ns = HOUR;
    settings->max_connections = DEFAULT_MAX_CONNECTIONS;
    settings->request_timeout_ns = settings->auth_timeout_ns = 10 * SECOND;
    settings->grpc.memory_bytes = (uint64_t)64 << 20;
    settings->threads = threads_by_default();
    settings->log_level = LOG_LEVEL_INFO;
    settings->signatures = SIGNATURES_LEARN;
    settings->sandbox = true;
}

/* ---- limits ---- */

static bool read_overshoot(const struct settings_reader *reader, uint64_t capacity, uint64_t *overshoot)
{
    const char *text = reader_text(reader, "overshoot");
    uint64_t millionths;
    *overshoot = capacity;
    if (!text)
        return true;
    if (units_parse_percent(bytes_of(text), &millionths) && millionths <= RULE_OVERSHOOT_MAX) {
        /* Capacities are below 2^40 and millionths below 2^24: 128 bits are more than enough. */
        *overshoot = (uint64_t)((uint128)capacity * millionths / 1000000);
        return true;
    }
    if (units_parse_count(bytes_of(text), overshoot) && *overshoot <= LIMIT_CAPACITY_MAX)
        return true;
    return reader_wrong(reader, "overshoot", text,
                        "a part of the capacity from 0%% to 1000%%, or tokens from 0 to %llu",
                        (unsigned long long)LIMIT_CAPACITY_MAX);
}

static bool read_terms(const struct settings_reader *reader, struct limit_terms *terms)
{
    const char *rate = reader_text(reader, "rate");
    *terms = (struct limit_terms){0};
    if (!reader_text(reader, "capacity"))
        return reader_missing(reader, "capacity", "a number of tokens");
    if (!read_count(reader, "capacity", 1, LIMIT_CAPACITY_MAX, &terms->capacity))
        return false;
    if (!rate)
        return reader_missing(reader, "rate", "tokens per time such as 100/s or 6000/m");
    if (!units_parse_rate(bytes_of(rate), &terms->rate, &terms->period_ns))
        return reader_wrong(reader, "rate", rate, "tokens per time such as 100/s, 6000/m or 5/10s");
    return read_overshoot(reader, terms->capacity, &terms->overshoot);
}

static bool read_patience(const struct settings_reader *reader, uint16_t *patience_ms)
{
    uint64_t patience_ns = 0;
    if (!read_duration(reader, "patience", MILLISECOND, PATIENCE_MAX_MS * MILLISECOND, &patience_ns))
        return false;
    *patience_ms = (uint16_t)((patience_ns + MILLISECOND - 1) / MILLISECOND);
    return true;
}

/* `reader` is within the limit's entry. */
static bool read_limit(const struct settings_reader *reader, struct named_limits *set, unsigned index,
                       bool *is_default)
{
    char name[LIMIT_NAME_BYTES];
    struct limit_terms terms;
    struct error error;
    unsigned chosen = false;
    if (!read_name(reader, "name", name, sizeof name, "a name for the limit"))
        return false;
    int twin = named_limit_find(set, bytes_of(name));
    if (twin >= 0)
        return reader_wrong(reader, "name", name, "a name that limits[%d] does not have already", twin);
    if (!read_terms(reader, &terms) || !read_choice(reader, "default", &reader_booleans, &chosen))
        return false;
    *is_default = chosen;
    if (!named_limit_init(&set->limit[set->count], bytes_of(name), &terms, &error))
        return reader_fail(reader, "", "limits[%u] '%s': %s", index, name, error.text);
    if (!read_patience(reader, &set->limit[set->count].patience_ms))
        return false;
    twin = named_limit_find_id(set, set->limit[set->count].id);
    if (twin >= 0)
        return reader_fail(reader, "",
                           "limits[%u].name '%s' and limits[%d].name '%s' have the same hash: expected one of them "
                           "to be renamed",
                           index, name, twin, set->limit[twin].name);
    set->count++;
    return true;
}

static bool read_limits(const struct settings_reader *reader, struct settings *settings)
{
    struct settings_reader entry;
    uint32_t count = reader_count(reader, "limits");
    int by_default = -1;
    if (count == 0)
        return reader_missing(reader, "limits", "at least one limit with name, capacity and rate");
    for (uint32_t i = 0; reader_entry(reader, "limits", i, &entry); i++) {
        bool is_default = false;
        if (!read_limit(&entry, &settings->limits, i, &is_default))
            return false;
        if (is_default && by_default >= 0)
            return reader_wrong(&entry, "default", "true", "one default, and limits[%d] is it already", by_default);
        by_default = is_default ? (int)i : by_default;
    }
    if (by_default < 0 && count > 1)
        return reader_fail(reader, "limits",
                           "limits has no default: expected `default: true` at one of the %u limits", count);
    settings->limits.by_default = by_default < 0 ? 0 : (uint16_t)by_default;
    settings->node.limits = &settings->limits;
    return true;
}

/* ---- values that depend on others, or have a form of their own ---- */

/* A path. Who writes one of these words instead does not mean a file of that name. */
static bool read_path(const struct settings_reader *reader, const char *path, char *out, size_t room,
                      const char *expected)
{
    static const char *const words[] = {"off", "no", "false", "none"};
    const char *text = reader_text(reader, path);
    const bool may_be_none = strcmp(path, "state_dir") == 0;
    for (size_t i = 0; text && i < sizeof words / sizeof words[0] - may_be_none; i++)
        if (strcmp(text, words[i]) == 0)
            return reader_wrong(reader, path, text, "%s", expected);
    return read_text(reader, path, out, room, expected);
}

static bool read_texts(const struct settings_reader *reader, struct settings *settings)
{
    return settings_read_secrets(reader, settings) &&
           read_path(reader, "state_dir", settings->state_dir, sizeof settings->state_dir,
                     "a directory, none, or no such key") &&
           read_path(reader, "refusal_log", settings->refusal_log, sizeof settings->refusal_log,
                     "a file, or no such key");
}

/* That a default directory cannot be had is known only at the start: persist_key.c. */
static bool check_signatures(const struct settings_reader *reader, const struct settings *settings)
{
    const bool is_required = settings->signatures == SIGNATURES_REQUIRED;
    const bool is_pinned = is_required || settings->signatures == SIGNATURES_PINNED;
    if (is_pinned && strcmp(settings->state_dir, "none") == 0)
        return reader_wrong(
            reader, "signatures", is_required ? "required" : "pinned",
            "off or learn, or a state_dir, as a key that is not kept would be another one after each "
            "restart");
    if (is_required && !settings_has_peers_tls(settings))
        return reader_wrong(
            reader, "signatures", "required",
            "pinned, or peers_tls, as without it whoever has the secret can repeat what others have "
            "signed");
    return true;
}

/* The defaults that follow from other settings, where the config does not say more. */
static void derive(const struct settings_reader *reader, struct settings *settings)
{
    struct node_options *node = &settings->node;
    bool sealed = settings_have_secret(settings) || settings->secret_is_none;
    if (!reader_text(reader, "unlisted_peers"))
        node->unlisted_max = sealed ? DEFAULT_UNLISTED_PEERS : 0;
    /* Three quarters, so that other services always find room. */
    if (!reader_text(reader, "rules.service_keys"))
        settings->service_keys_max = node->table_keys - node->table_keys / 4;
    node->service_reservations_max = node->reservations_max - node->reservations_max / 4;
    node->silent_after_ns = 10 * node->interval_ns > SECOND ? 10 * node->interval_ns : SECOND;
    node->threads = settings->threads;
}

/* The default is half of what one service may have, so that clients at other addresses always find room. */
static bool read_address_reservations(const struct settings_reader *reader, struct node_options *node)
{
    node->address_reservations_max = node->service_reservations_max - node->service_reservations_max / 2;
    return read_small_count(reader, "address_reservations", 1, node->reservations_max,
                            &node->address_reservations_max);
}

/* With less, messages of all these daemons might not fit, and nobody would hear them. */
static bool check_message_max(const struct settings_reader *reader, const struct settings *settings)
{
    const struct node_options *node = &settings->node;
    const uint32_t all = 1 + node->peer_count + node->unlisted_max;
    const uint32_t members = all < NODE_PEERS_MAX ? all : NODE_PEERS_MAX;
    const uint64_t least = node_message_least_bytes(members);
    return members == 1 || node->message_max_bytes >= least ||
           reader_wrong(reader, "message_max", reader_text(reader, "message_max"),
                        "at least %lluKiB for %u daemons (peers, unlisted_peers and this one)",
                        (unsigned long long)least / 1024, members);
}

/* In the order in which later checks need earlier results. */
static bool read_all(const struct settings_reader *reader, struct settings *settings)
{
    struct node_options *node = &settings->node;
    if (!read_name(reader, "node", node->name, sizeof node->name, "this node's name") ||
        !settings_read_cluster(settings, reader) || !settings_read_http(reader, settings) ||
        !settings_read_tls(reader, settings) || !read_limits(reader, settings) || !read_texts(reader, settings) ||
        !settings_read_users(reader, settings) || !settings_read_central(reader, settings) ||
        !settings_read_simple(reader, settings) || !check_signatures(reader, settings))
        return false;
    derive(reader, settings);
    return read_duration(reader, "silent_after", 2 * node->interval_ns, DAY, &node->silent_after_ns) &&
           read_duration_or_off(reader, "forget_after", node->silent_after_ns, 366 * DAY, &node->forget_after_ns) &&
           settings_read_takeover(settings, reader) && settings_read_weights(settings, reader) &&
           read_small_count(reader, "rules.service_reservations", 1, node->reservations_max,
                            &node->service_reservations_max) &&
           read_address_reservations(reader, node) && check_message_max(reader, settings) &&
           settings_check_reach(settings, reader);
}

void settings_use_hash_key(struct settings *settings, const struct hash_key *key)
{
    settings->node.hash_key = *key;
    settings->node.config_digest = settings_digest(settings);
}

bool settings_parse(struct settings *settings, struct bytes text, const char *file, struct error *error)
{
    const struct yaml_source source = {.text = text,
                                       .file = file,
                                       .exit_status = EX_CONFIG,
                                       .nodes_max = SETTINGS_NODES_MAX};
    struct yaml_tree tree;
    set_defaults(settings);
    bool good = yaml_tree_read(&tree, &source, error);
    if (good && tree.count == 0)
        good = error_set(error, EX_CONFIG, "%s:1: the file is empty: expected at least the keys node and limits",
                         file);
    const struct settings_reader reader = {file, &tree, tree.nodes, error};
    good = good && settings_check_keys(&reader) && read_all(&reader, settings);
    if (good)
        settings_note_lines(&reader, settings);
    yaml_tree_close(&tree);
    if (!good)
        return false;
    settings_derive_keys(settings);
    return true;
}

/* ---- the file ---- */

static bool read_file(struct settings *settings, const char *path, bool running, struct error *error)
{
    size_t size;
    char *text = text_file_read(path, SETTINGS_FILE_MAX_BYTES, "a config file", &size, error);
    if (!text)
        return false;
    bool good = size <= SETTINGS_FILE_MAX_BYTES
                    ? settings_parse(settings, (struct bytes){text, size}, path, error)
                    : error_set(error, EX_CONFIG, "%s is larger than 1 MiB: expected a config file", path);
    free(text);
    struct stat status;
    settings->has_open_secrets =
        good && settings_has_secrets_here(settings) && stat(path, &status) == 0 && (status.st_mode & S_IROTH) != 0;
    if (!good || (running && !settings_refuse_pipes(settings, path, error)) ||
        !settings_fetch_secrets(settings, path, error))
        return false;
    settings_derive_keys(settings);
    return true;
}

bool settings_read(struct settings *settings, const char *path, struct error *error)
{
    return read_file(settings, path, false, error);
}

bool settings_read_again(struct settings *settings, const char *path, struct error *error)
{
    if (text_file_is_pipe(path))
        return error_set(error, EX_NOINPUT,
                         "%s is a pipe: expected a config file, as a daemon that runs waits for nobody", path);
    return read_file(settings, path, true, error);
}
