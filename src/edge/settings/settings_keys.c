/*
 * The table, and what follows from it alone: which keys are known, and how simple values are read.
 */
#include "edge/settings/settings_keys.h"

#include "edge/settings/settings_tls.h"
#include "rules/ruleset.h"

#include <string.h>

#define MILLISECOND ((uint64_t)1000000)
#define SECOND (1000 * MILLISECOND)
#define DAY (24 * 3600 * SECOND)
#define TABLE_KEYS_MOST ((uint64_t)1 << 36)
#define LOG_KEYS_MOST ((uint64_t)1 << 32)
#define GRPC_MEMORY_LEAST_BYTES ((uint64_t)1 << 20)
#define GRPC_MEMORY_MOST_BYTES ((uint64_t)1 << 40)

enum {
    GOSSIP_PACE_LEAST = 1000,
    GOSSIP_PACE_MOST = 50000000,
    RESERVATIONS_MOST = 1 << 24,
    LISTED_SPENDS_MOST = 1 << 30,
    RULES_MOST = 1000000,
    MESSAGE_LEAST_BYTES = 64 << 10,
    MESSAGE_MOST_BYTES = 64 << 20,
};

/* ---- the table ---- */

static const struct reader_choices unknown_services = {"error or open", {"error", "open"}};
static const struct reader_choices limit_fields = {"x-ratelimit, draft-10 or none",
                                                   {"x-ratelimit", "draft-10", "none"}};
static const struct reader_choices spellings = {"merge-slashes, keep-slashes, ignore-case or as-written",
                                                {"merge-slashes", "keep-slashes", "ignore-case",
                                                 "as-written"}}; /* as enum path_spelling has them */
static const struct reader_choices syncs = {"normal or full", {"normal", "full"}};
static const struct reader_choices signatures = {"off, learn, pinned or required",
                                                 {"off", "learn", "pinned", "required"}};
static const struct reader_choices forgets = {"anyone or majority", {"anyone", "majority"}};
static const struct reader_choices log_formats = {"text or json", {"text", "json"}};
static const struct reader_choices log_levels = {"error, warning, info or debug",
                                                 {"error", "warning", "info", "debug"}};

/* What follows the path in a row. A member whose type does not fit the form does not compile. */
#define FORM(member, ...)                                                                                          \
    _Generic(((struct settings *)NULL)->member, __VA_ARGS__), offsetof(struct settings, member)
#define MAP KEY_MAP, 0, 0, 0, NULL
#define LIST(most) KEY_LIST, 0, 0, most, NULL
#define ENTRY KEY_ENTRY, 0, 0, 0, NULL
#define TEXT(member) FORM(member[0], char : KEY_TEXT), 0, 0, NULL
#define SECRET(member) FORM(member, struct settings_secret : KEY_SECRET), 0, 0, NULL
#define SECRETS(member) FORM(member, struct settings_secrets : KEY_SECRETS), 0, 0, NULL
#define HEADERS(member) FORM(member, struct http_settings : KEY_HEADERS), 0, 0, NULL
#define DURATION(member, least, most) FORM(member, uint64_t : KEY_DURATION), least, most, NULL
#define OR_OFF(member, least, most) FORM(member, uint64_t : KEY_DURATION_OR_OFF), least, most, NULL
#define COUNT(member, least, most) FORM(member, uint64_t : KEY_COUNT, uint32_t : KEY_SMALL_COUNT), least, most, NULL
#define SIZE(member, least, most) FORM(member, uint64_t : KEY_SIZE), least, most, NULL
#define CHOICE(member, choices) FORM(member, bool : KEY_BOOL, unsigned : KEY_CHOICE), 0, 0, choices

/* In the order in which --print-config has them. */
const struct settings_key settings_keys[] = {
    {"node", TEXT(node.name)},
    {"region", TEXT(node.region)},
    {"listen", MAP},
    {"listen.clients", TEXT(clients_address)},
    {"listen.gossip", TEXT(gossip_address)},
    {"listen.snapshots", TEXT(snapshot_address)},
    {"listen.http", TEXT(http_address)},
    {"listen.clients_tls", TEXT(clients_tls_address)},
    {"listen.http_tls", TEXT(http_tls_address)},
    {"listen.grpc", TEXT(grpc_address)},
    {"listen.grpc_tls", TEXT(grpc_tls_address)},
    {"tls", MAP},
    {"tls.certificate", TEXT(tls_certificate)},
    {"tls.key", TEXT(tls_key)},
    {"tls.client_ca", TEXT(tls_client_ca)},
    {"advertise", TEXT(advertise)},
    {"regions", LIST(NODE_REGIONS_MAX)},
    {"regions.name", ENTRY},
    {"regions.weight", ENTRY},
    {"regions.floor", ENTRY},
    {"weights_by_demand", OR_OFF(node.weights_by_demand_ns, 0, 0)},
    {"peers", LIST(NODE_PEERS_MAX - 1)},
    {"peers.node", ENTRY},
    {"peers.region", ENTRY},
    {"peers.gossip", ENTRY},
    {"peers.snapshots", ENTRY},
    {"peers_tls", MAP},
    {"peers_tls.ca", TEXT(peers_tls_ca)},
    {"peers_tls.certificate", TEXT(peers_tls_certificate)},
    {"peers_tls.key", TEXT(peers_tls_key)},
    {"limits", LIST(NAMED_LIMITS_MAX)},
    {"limits.name", ENTRY},
    {"limits.capacity", ENTRY},
    {"limits.rate", ENTRY},
    {"limits.overshoot", ENTRY},
    {"limits.patience", ENTRY},
    {"limits.default", ENTRY},
    {"interval", DURATION(node.interval_ns, MILLISECOND, 60 * SECOND)},
    {"silent_after", DURATION(node.silent_after_ns, 0, 0)},
    {"join_timeout", DURATION(node.join_timeout_ns, 0, DAY)},
    {"leave_timeout", DURATION(node.leave_timeout_ns, 0, DAY)},
    {"forget_after", OR_OFF(node.forget_after_ns, 0, 0)},
    {"forget", CHOICE(node.forget, &forgets)},
    {"takeover_after", OR_OFF(node.takeover_after_ns, 0, 0)},
    {"table", MAP},
    {"table.keys", COUNT(node.table_keys, 1, TABLE_KEYS_MOST)},
    {"table.listed_spends", COUNT(node.events_max, 1, LISTED_SPENDS_MOST)},
    {"table.populate", CHOICE(table_populate, &reader_booleans)},
    {"rules", MAP},
    {"rules.services", COUNT(node.rules.services_max, 1, NODE_SERVICES_MAX)},
    {"rules.rules", COUNT(node.rules.rules_max, 1, RULES_MOST)},
    {"rules.service_rules", COUNT(node.rules.service_rules_max, 1, SERVICE_RULES_MAX)},
    {"rules.service_keys", COUNT(service_keys_max, 1, TABLE_KEYS_MOST)},
    {"rules.service_reservations", COUNT(node.service_reservations_max, 0, 0)},
    {"clients", MAP},
    {"clients.request_timeout", DURATION(request_timeout_ns, SECOND, DAY)},
    {"clients.auth_timeout", DURATION(auth_timeout_ns, SECOND, DAY)},
    {"clients.idle_timeout", OR_OFF(idle_timeout_ns, SECOND, 366 * DAY)},
    {"http", MAP},
    {"http.limit_headers", CHOICE(http.limit_fields, &limit_fields)},
    {"http.request_headers", HEADERS(http)},
    {"http.endpoint_spelling", CHOICE(http.endpoint_spelling, &spellings)},
    {"grpc", MAP},
    {"grpc.limit_headers", CHOICE(grpc.limit_fields, &limit_fields)},
    {"grpc.endpoint_spelling", CHOICE(grpc.endpoint_spelling, &spellings)},
    {"grpc.memory", SIZE(grpc.memory_bytes, GRPC_MEMORY_LEAST_BYTES, GRPC_MEMORY_MOST_BYTES)},
    {"unknown_service", CHOICE(node.unknown_service_open, &unknown_services)},
    {"grants", CHOICE(node.grants, &reader_booleans)},
    {"reservations", COUNT(node.reservations_max, 0, RESERVATIONS_MOST)},
    {"address_reservations", COUNT(node.address_reservations_max, 0, 0)},
    {"reservation_ttl_max", DURATION(reservation_ttl_max_ns, SECOND, DAY)},
    {"unlisted_peers", COUNT(node.unlisted_max, 0, NODE_PEERS_MAX - 1)},
    {"gossip_pace", COUNT(node.tell_pace, GOSSIP_PACE_LEAST, GOSSIP_PACE_MOST)},
    {"log_keys", COUNT(node.log_keys_max, 1, LOG_KEYS_MOST)},
    {"message_max", SIZE(node.message_max_bytes, MESSAGE_LEAST_BYTES, MESSAGE_MOST_BYTES)},
    {"max_connections", COUNT(max_connections, 1, SETTINGS_CONNECTIONS_MAX)},
    {"threads", COUNT(threads, 1, SETTINGS_THREADS_MAX)},
    {"state_dir", TEXT(state_dir)},
    {"state_sync", CHOICE(state_sync, &syncs)},
    {"signatures", CHOICE(signatures, &signatures)},
    {"secret", SECRET(secret)},
    {"secret_file", TEXT(secret.file)},
    {"secret_env", TEXT(secret.variable)},
    {"secrets", SECRETS(secrets)},
    {"secrets.secret_file", ENTRY},
    {"secrets.secret_env", ENTRY},
    {"hash_seed", SECRET(hash_seed)},
    {"hash_seed_file", TEXT(hash_seed.file)},
    {"hash_seed_env", TEXT(hash_seed.variable)},
    {"password", SECRET(password)},
    {"password_file", TEXT(password.file)},
    {"password_env", TEXT(password.variable)},
    {"users", LIST(USERS_MAX)},
    {"users.name", ENTRY},
    {"users.roles", ENTRY},
    {"users.services", ENTRY},
    {"users.secret", ENTRY},
    {"users.secret_file", ENTRY},
    {"users.secret_env", ENTRY},
    {"users.password_hash", ENTRY},
    {"central", MAP},
    {"central.address", TEXT(central.address)},
    {"central.sentinels", TEXT(central.sentinels)},
    {"central.master", TEXT(central.master)},
    {"central.user", TEXT(central.user)},
    {"central.password", TEXT(central.password)},
    {"central.password_file", TEXT(central.password_file)},
    {"central.password_env", TEXT(central.password_env)},
    {"central.prefix", TEXT(central.prefix)},
    {"central.tls", CHOICE(central.tls, &reader_booleans)},
    {"central.tls_ca", TEXT(central.tls_ca)},
    {"central.tls_certificate", TEXT(central.tls_certificate)},
    {"central.tls_key", TEXT(central.tls_key)},
    {"central.tls_name", TEXT(central.tls_name)},
    {"central.timeout", DURATION(central.timeout_ns, MILLISECOND, 5 * SECOND)},
    {"log_level", CHOICE(log_level, &log_levels)},
    {"log_format", CHOICE(log_format, &log_formats)},
    {"refusal_log", TEXT(refusal_log)},
    {"remember_names", CHOICE(remember_names, &reader_booleans)},
    {"sandbox", CHOICE(sandbox, &reader_booleans)},
    {"debug", CHOICE(debug, &reader_booleans)},
    {NULL, ENTRY},
};
_Static_assert(sizeof settings_keys / sizeof settings_keys[0] <= SETTINGS_KEYS_MAX,
               "key_line has a place for each");

const char *settings_key_name(const struct settings_key *key, const char *group)
{
    size_t size = strlen(group);
    if (size == 0)
        return strchr(key->path, '.') ? NULL : key->path;
    return strncmp(key->path, group, size) == 0 && key->path[size] == '.' ? key->path + size + 1 : NULL;
}

const char *settings_key_idle(const struct settings_key *key, const struct settings *settings)
{
    if (settings->node.reservations_max == 0 &&
        (strcmp(key->path, "rules.service_reservations") == 0 || strcmp(key->path, "address_reservations") == 0 ||
         strcmp(key->path, "reservation_ttl_max") == 0))
        return "there are no reservations";
    if (!settings_have_passwords(settings) && strcmp(key->path, "clients.auth_timeout") == 0)
        return "there is no password to wait for";
    if (settings->users.count == 0 && strcmp(key->path, "users") == 0)
        return "there are no users";
    if (!settings_have_central(settings) && strcmp(key->path, "central") == 0)
        return "there is no central store";
    if (!settings_serve_http(settings) && strcmp(key->path, "http") == 0)
        return "HTTP is not served";
    if (!settings_has_tls(settings) && strcmp(key->path, "tls") == 0)
        return "no port speaks TLS";
    if (!settings_has_peers_tls(settings) && strcmp(key->path, "peers_tls") == 0)
        return "peers speak in clear";
    if (!settings_serve_grpc(settings) && strcmp(key->path, "grpc") == 0)
        return "gRPC is not served";
    return NULL;
}

/* ---- values ---- */

static bool read_key(const struct settings_reader *reader, const struct settings_key *key, void *at)
{
    const char *path = key->path;
    unsigned index;
    switch (key->form) {
    case KEY_DURATION:
        return read_duration(reader, path, key->least, key->most, at);
    case KEY_DURATION_OR_OFF:
        return read_duration_or_off(reader, path, key->least, key->most, at);
    case KEY_COUNT:
        return read_count(reader, path, key->least, key->most, at);
    case KEY_SMALL_COUNT:
        return read_small_count(reader, path, key->least, key->most, at);
    case KEY_SIZE:
        return read_size(reader, path, key->least, key->most, at);
    case KEY_BOOL:
        index = *(bool *)at;
        if (!read_choice(reader, path, key->choices, &index))
            return false;
        *(bool *)at = index == 1;
        return true;
    case KEY_CHOICE:
        return read_choice(reader, path, key->choices, at);
    case KEY_MAP:
    case KEY_LIST:
    case KEY_ENTRY:
    case KEY_TEXT:
    case KEY_SECRET:
    case KEY_SECRETS:
    case KEY_HEADERS:
        return true;
    }
    return true;
}

bool settings_read_simple(const struct settings_reader *reader, struct settings *settings)
{
    for (const struct settings_key *key = settings_keys; key->path; key++)
        if ((key->most > 0 || key->choices) && !read_key(reader, key, (char *)settings + key->at))
            return false;
    for (const struct settings_key *key = settings_keys; key->path; key++) {
        const char *idle = settings_key_idle(key, settings), *text = idle ? reader_text(reader, key->path) : NULL;
        if (text)
            return reader_wrong(reader, key->path, text, "no such key, as %s", idle);
    }
    return true;
}
