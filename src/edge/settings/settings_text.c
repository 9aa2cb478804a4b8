#include "edge/settings/settings_text.h"

#include "cluster/node.h"

#include <cyaml/cyaml.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* ---- the schema ---- */

#define TEXT(structure, key, member)                                                                               \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct structure, member, 0,             \
                           SETTINGS_VALUE_BYTES)
#define TEXT_KEY(structure, key) TEXT(structure, #key, key)
#define LIST(key, entry, most)                                                                                     \
    CYAML_FIELD_SEQUENCE_COUNT(#key "s", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct settings_text, key##s,   \
                               key##_count, &entry, 0, most)

static const cyaml_schema_field_t listen_fields[] = {
    TEXT_KEY(listen_text, clients),
    TEXT_KEY(listen_text, gossip),
    TEXT_KEY(listen_text, snapshots),
    TEXT_KEY(listen_text, http),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t http_fields[] = {
    TEXT_KEY(http_text, limit_headers),
    TEXT_KEY(http_text, request_headers),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t table_fields[] = {
    TEXT_KEY(table_text, keys),
    TEXT_KEY(table_text, listed_spends),
    TEXT_KEY(table_text, populate),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t rules_fields[] = {
    TEXT_KEY(rules_text, services),
    TEXT_KEY(rules_text, rules),
    TEXT_KEY(rules_text, service_rules),
    TEXT_KEY(rules_text, service_keys),
    TEXT_KEY(rules_text, service_reservations),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t clients_fields[] = {
    TEXT_KEY(clients_text, request_timeout),
    TEXT_KEY(clients_text, auth_timeout),
    TEXT_KEY(clients_text, idle_timeout),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t region_fields[] = {
    TEXT_KEY(region_text, name),
    TEXT_KEY(region_text, weight),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t peer_fields[] = {
    TEXT_KEY(peer_text, node),
    TEXT_KEY(peer_text, region),
    TEXT_KEY(peer_text, gossip),
    TEXT_KEY(peer_text, snapshots),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t limit_fields[] = {
    TEXT_KEY(limit_text, name),      TEXT_KEY(limit_text, capacity),          TEXT_KEY(limit_text, rate),
    TEXT_KEY(limit_text, overshoot), TEXT(limit_text, "default", is_default), CYAML_FIELD_END,
};

static const cyaml_schema_value_t region_entry = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct region_text, region_fields),
};
static const cyaml_schema_value_t peer_entry = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct peer_text, peer_fields),
};
static const cyaml_schema_value_t limit_entry = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct limit_text, limit_fields),
};

static const cyaml_schema_field_t settings_fields[] = {
    TEXT_KEY(settings_text, node),
    TEXT_KEY(settings_text, region),
    CYAML_FIELD_MAPPING("listen", CYAML_FLAG_OPTIONAL, struct settings_text, listen, listen_fields),
    TEXT_KEY(settings_text, advertise),
    LIST(region, region_entry, NODE_REGIONS_MAX),
    LIST(peer, peer_entry, NODE_PEERS_MAX - 1),
    LIST(limit, limit_entry, NAMED_LIMITS_MAX),
    TEXT_KEY(settings_text, interval),
    TEXT_KEY(settings_text, early_push),
    TEXT_KEY(settings_text, silent_after),
    TEXT_KEY(settings_text, join_timeout),
    TEXT_KEY(settings_text, leave_timeout),
    TEXT_KEY(settings_text, forget_after),
    CYAML_FIELD_MAPPING("table", CYAML_FLAG_OPTIONAL, struct settings_text, table, table_fields),
    CYAML_FIELD_MAPPING("rules", CYAML_FLAG_OPTIONAL, struct settings_text, rules, rules_fields),
    CYAML_FIELD_MAPPING("clients", CYAML_FLAG_OPTIONAL, struct settings_text, clients, clients_fields),
    CYAML_FIELD_MAPPING("http", CYAML_FLAG_OPTIONAL, struct settings_text, http, http_fields),
    TEXT_KEY(settings_text, unknown_service),
    TEXT_KEY(settings_text, reservations),
    TEXT_KEY(settings_text, reservation_ttl_max),
    TEXT_KEY(settings_text, unlisted_peers),
    TEXT_KEY(settings_text, gossip_pace),
    TEXT_KEY(settings_text, log_keys),
    TEXT_KEY(settings_text, message_max),
    TEXT_KEY(settings_text, max_connections),
    TEXT_KEY(settings_text, threads),
    TEXT_KEY(settings_text, state_dir),
    TEXT_KEY(settings_text, state_sync),
    TEXT_KEY(settings_text, secret),
    TEXT_KEY(settings_text, password),
    TEXT_KEY(settings_text, log_level),
    TEXT_KEY(settings_text, debug),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t settings_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct settings_text, settings_fields),
};

/* ---- what libcyaml says, as one sentence ---- */

enum { COMPLAINT_BYTES = 200 };

/* libcyaml logs a complaint, then where it stood, from the inside out. */
struct complaint {
    char text[COMPLAINT_BYTES];
    char path[OUTLINE_PATH_BYTES];
};

static void prepend(char path[OUTLINE_PATH_BYTES], const char *part)
{
    char longer[2 * OUTLINE_PATH_BYTES];
    const char *separator = path[0] && path[0] != '[' ? "." : "";
    (void)snprintf(longer, sizeof longer, "%s%s%s", part, separator, path);
    memcpy(path, longer, OUTLINE_PATH_BYTES - 1);
    path[OUTLINE_PATH_BYTES - 1] = '\0';
}

__attribute__((format(printf, 3, 0))) static void listen_to_cyaml(cyaml_log_t level, void *context,
                                                                  const char *format, va_list arguments)
{
    static const char entry[] = "  in sequence entry '";
    (void)level;
    struct complaint *complaint = context;
    char line[COMPLAINT_BYTES], key[OUTLINE_PATH_BYTES - 8];
    if (vsnprintf(line, sizeof line, format, arguments) < 0)
        return;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, " in mapping field '%87[^']'", key) == 1) {
        prepend(complaint->path, key);
    } else if (strncmp(line, entry, sizeof entry - 1) == 0) {
        /* libcyaml counts the entry that it is in. */
        unsigned long count = strtoul(line + sizeof entry - 1, NULL, 10);
        (void)snprintf(key, sizeof key, "[%lu]", count > 0 ? count - 1 : 0);
        prepend(complaint->path, key);
    } else if (!complaint->text[0]) {
        const char *said = strncmp(line, "Load: ", 6) == 0 ? line + 6 : line;
        memcpy(complaint->text, said, strlen(said) + 1);
    }
}

static const cyaml_schema_field_t *fields_at(const char *path)
{
    if (path[0] == '\0')
        return settings_fields;
    if (strncmp(path, "listen", 6) == 0)
        return listen_fields;
    if (strncmp(path, "table", 5) == 0)
        return table_fields;
    if (strncmp(path, "rules", 5) == 0)
        return rules_fields;
    if (strncmp(path, "clients", 7) == 0)
        return clients_fields;
    if (strncmp(path, "http", 4) == 0)
        return http_fields;
    if (strncmp(path, "regions[", 8) == 0)
        return region_fields;
    if (strncmp(path, "peers[", 6) == 0)
        return peer_fields;
    if (strncmp(path, "limits[", 7) == 0)
        return limit_fields;
    return settings_fields;
}

static bool unknown_key(const struct complaint *complaint, const char *key, const struct outline *outline,
                        const char *file, struct error *error)
{
    char path[OUTLINE_PATH_BYTES * 2], known[400];
    size_t size = 0;
    (void)snprintf(path, sizeof path, "%s%s%.90s", complaint->path, complaint->path[0] ? "." : "", key);
    for (const cyaml_schema_field_t *field = fields_at(complaint->path); field->key; field++) {
        int length = snprintf(known + size, sizeof known - size, "%s%s", size > 0 ? ", " : "", field->key);
        if (length > 0 && size + (size_t)length < sizeof known)
            size += (size_t)length;
    }
    return error_set(error, EX_CONFIG, "%s:%u: %s is not a known key: expected one of %s", file,
                     outline_line(outline, path), path, known);
}

static const char *kind_name(enum outline_kind kind)
{
    switch (kind) {
    case OUTLINE_VALUE:
        return "a single value";
    case OUTLINE_MAP:
        return "a mapping";
    case OUTLINE_LIST:
        return "a list";
    }
    return "?";
}

static bool wrong_shape(const struct complaint *complaint, const struct outline *outline, const char *file,
                        struct error *error)
{
    const struct outline_node *node = outline_find(outline, complaint->path);
    bool is_list = strcmp(complaint->path, "regions") == 0 || strcmp(complaint->path, "peers") == 0 ||
                   strcmp(complaint->path, "limits") == 0;
    bool is_map = complaint->path[0] == '\0' || strcmp(complaint->path, "listen") == 0 ||
                  strcmp(complaint->path, "table") == 0 || strcmp(complaint->path, "rules") == 0 ||
                  strcmp(complaint->path, "clients") == 0 || strcmp(complaint->path, "http") == 0 ||
                  complaint->path[strlen(complaint->path) - 1] == ']';
    return error_set(error, EX_CONFIG, "%s:%u: %s is %s: expected %s", file, outline_line(outline, complaint->path),
                     complaint->path[0] ? complaint->path : "the file",
                     node ? kind_name(node->kind) : "something else",
                     is_list  ? "a list, each entry after a dash"
                     : is_map ? "a mapping of keys to values"
                              : "a single value");
}

static bool explain(cyaml_err_t status, const struct complaint *complaint, const struct outline *outline,
                    const char *file, struct error *error)
{
    char key[COMPLAINT_BYTES];
    unsigned line = outline_line(outline, complaint->path);
    if (sscanf(complaint->text, "Unexpected key: %199[^\n]", key) == 1)
        return unknown_key(complaint, key, outline, file, error);
    if (sscanf(complaint->text, "Mapping field already seen: %199[^\n]", key) == 1)
        return error_set(error, EX_CONFIG, "%s:%u: %s is given twice: expected it once", file,
                         outline_last_line(outline, complaint->path), complaint->path[0] ? complaint->path : key);
    if (strncmp(complaint->text, "Excessive entries", 17) == 0) {
        char path[OUTLINE_PATH_BYTES], first[2 * OUTLINE_PATH_BYTES];
        memcpy(path, complaint->path, sizeof path);
        path[strcspn(path, "[")] = '\0';
        unsigned most = strcmp(path, "regions") == 0 ? NODE_REGIONS_MAX
                        : strcmp(path, "peers") == 0 ? NODE_PEERS_MAX - 1
                                                     : NAMED_LIMITS_MAX;
        (void)snprintf(first, sizeof first, "%s[%u]", path, most);
        return error_set(error, EX_CONFIG, "%s:%u: %s has too many entries: expected at most %u", file,
                         outline_line(outline, first), path, most);
    }
    if (status == CYAML_ERR_STRING_LENGTH_MAX)
        return error_set(error, EX_CONFIG, "%s:%u: %s is too long: expected at most %d bytes", file, line,
                         complaint->path, SETTINGS_VALUE_BYTES);
    if (status == CYAML_ERR_INVALID_VALUE || status == CYAML_ERR_UNEXPECTED_EVENT)
        return wrong_shape(complaint, outline, file, error);
    if (status == CYAML_ERR_OOM)
        return error_set(error, EX_OSERR, "out of memory while reading %s", file);
    return error_set(error, EX_CONFIG, "%s:%u: %s%s cannot be used: %s", file, line, complaint->path,
                     complaint->path[0] ? "" : "the file",
                     complaint->text[0] ? complaint->text : cyaml_strerror(status));
}

/* ---- reading and writing ---- */

static cyaml_config_t config_of(struct complaint *complaint)
{
    return (cyaml_config_t){
        .log_fn = listen_to_cyaml,
        .log_ctx = complaint,
        .log_level = CYAML_LOG_ERROR,
        .mem_fn = cyaml_mem,
        .flags = CYAML_CFG_STYLE_BLOCK | CYAML_CFG_NO_ALIAS,
    };
}

struct settings_text *settings_text_parse(struct bytes yaml, const struct outline *outline, const char *file,
                                          struct error *error)
{
    struct complaint complaint = {0};
    cyaml_config_t config = config_of(&complaint);
    cyaml_data_t *data = NULL;
    cyaml_err_t status = CYAML_OK;
    if (outline->count > 0)
        status = cyaml_load_data((const uint8_t *)yaml.data, yaml.size, &config, &settings_schema, &data, NULL);
    if (status != CYAML_OK)
        (void)explain(status, &complaint, outline, file, error);
    else if (!data)
        (void)error_set(error, EX_CONFIG, "%s:1: the file is empty: expected at least the keys node and limits",
                        file);
    return data;
}

void settings_text_free(struct settings_text **text)
{
    struct complaint complaint = {0};
    cyaml_config_t config = config_of(&complaint);
    (void)cyaml_free(&config, &settings_schema, *text, 0);
    *text = NULL;
}

bool settings_text_write(const struct settings_text *text, FILE *out)
{
    struct complaint complaint = {0};
    cyaml_config_t config = config_of(&complaint);
    char *yaml = NULL;
    size_t size = 0;
    if (cyaml_save_data(&yaml, &size, &config, &settings_schema, text, 0) != CYAML_OK)
        return false;
    bool written = fwrite(yaml, 1, size, out) == size;
    (void)cyaml_mem(NULL, yaml, 0);
    return written;
}
