/*
 * settings_print prints all settings through libyaml's emitter, in the order of the table of keys,
 * and computes the digest of the settings that all peers must share.
 */
#include "edge/settings/settings.h"

#include "base/units.h"
#include "edge/settings/settings_http.h"
#include "edge/settings/settings_keys.h"
#include "edge/settings/settings_takeover.h"
#include "edge/settings/settings_users.h"

#include <string.h>
#include <strings.h>
#include <yaml.h>

struct printer {
    const struct settings *settings;
    yaml_emitter_t emitter;
    bool good; /* nothing has failed so far; after a failure nothing is written */
};

/* ---- YAML ---- */

/* `made`: the result of the initialisation of *event. */
static void emit(struct printer *printer, int made, yaml_event_t *event)
{
    if (made && printer->good)
        printer->good = yaml_emitter_emit(&printer->emitter, event) != 0;
    else if (made)
        yaml_event_delete(event);
    printer->good = printer->good && made;
}

static void put_scalar(struct printer *printer, const char *text, yaml_scalar_style_t style)
{
    yaml_event_t event;
    int size = (int)strlen(text);
    emit(printer, yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, size, 1, 1, style),
         &event);
}

/* A value that all readers of YAML understand in one way, such as a number with a unit. */
static void put(struct printer *printer, const char *key, const char *text)
{
    put_scalar(printer, key, YAML_PLAIN_SCALAR_STYLE);
    put_scalar(printer, text, YAML_PLAIN_SCALAR_STYLE);
}

/* Quotes are for other readers of YAML, which take off, 1e3 or 12:30 for something else, and for
 * characters that need escapes. The emitter adds the quotes that YAML itself demands. */
static yaml_scalar_style_t style_of(const char *text)
{
    static const char *const words[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
    for (const char *at = text; *at; at++)
        if (*at < ' ' || *at > '~')
            return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(text, words[i]) == 0)
            return YAML_SINGLE_QUOTED_SCALAR_STYLE;
    return strchr("0123456789+-.~<=", text[0]) ? YAML_SINGLE_QUOTED_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE;
}

static void put_text(struct printer *printer, const char *key, const char *text)
{
    put_scalar(printer, key, YAML_PLAIN_SCALAR_STYLE);
    put_scalar(printer, text, style_of(text));
}

static void put_number(struct printer *printer, const char *key, uint64_t number)
{
    char text[UNITS_TEXT_BYTES];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    put(printer, key, text);
}

static void begin_map(struct printer *printer)
{
    yaml_event_t event;
    emit(printer, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE), &event);
}

static void end_map(struct printer *printer)
{
    yaml_event_t event;
    emit(printer, yaml_mapping_end_event_initialize(&event), &event);
}

/* ---- values ---- */

/* The shortest decimal. */
static void put_billionths(struct printer *printer, const char *key, uint64_t parts)
{
    const uint64_t one = 1000000000;
    char out[UNITS_TEXT_BYTES];
    size_t size = (size_t)snprintf(out, sizeof out, "%llu.%09llu", (unsigned long long)(parts / one),
                                   (unsigned long long)(parts % one));
    while (out[size - 1] == '0')
        size--;
    size -= out[size - 1] == '.';
    out[size] = '\0';
    put(printer, key, out);
}

/* A weight, of 2^32. Reading rounds down, so the least decimal that reaches the weight is the one that was written. */
static void put_weight(struct printer *printer, const char *key, uint64_t weight)
{
    put_billionths(printer, key, (weight * UINT64_C(1000000000) + SHARE_ONE - 1) / SHARE_ONE);
}

static void put_regions(struct printer *printer)
{
    const struct node_options *node = &printer->settings->node;
    for (uint32_t i = 0; i < node->region_count; i++) {
        begin_map(printer);
        put_text(printer, "name", node->regions[i].region);
        put_weight(printer, "weight", node->regions[i].weight);
        if (node->regions[i].floor_billionths > 0)
            put_billionths(printer, "floor", node->regions[i].floor_billionths);
        end_map(printer);
    }
}

static void put_peers(struct printer *printer)
{
    const struct node_options *node = &printer->settings->node;
    for (uint32_t i = 0; i < node->peer_count; i++) {
        begin_map(printer);
        put_text(printer, "node", node->peers[i].name);
        put_text(printer, "region", node->peers[i].region);
        put_text(printer, "gossip", node->peers[i].gossip_address);
        put_text(printer, "snapshots", node->peers[i].snapshot_address);
        end_map(printer);
    }
}

static void put_limits(struct printer *printer)
{
    const struct named_limits *limits = &printer->settings->limits;
    for (uint32_t i = 0; i < limits->count; i++) {
        const struct named_limit *limit = &limits->limit[i];
        char rate[UNITS_TEXT_BYTES], patience[UNITS_TEXT_BYTES];
        begin_map(printer);
        put_text(printer, "name", limit->name);
        put_number(printer, "capacity", limit->terms.capacity);
        put(printer, "rate", units_format_rate(rate, sizeof rate, limit->terms.rate, limit->terms.period_ns));
        put_number(printer, "overshoot", limit->terms.overshoot);
        if (limit->patience_ms > 0)
            put(printer, "patience",
                units_format_duration(patience, sizeof patience, limit->patience_ms * UINT64_C(1000000)));
        if (i == limits->by_default)
            put(printer, "default", "true");
        end_map(printer);
    }
}

static void put_users(struct printer *printer)
{
    const struct users_settings *users = &printer->settings->users;
    for (uint32_t i = 0; i < users->count; i++) {
        const struct user_settings *user = &users->user[i];
        char roles[USER_ROLES_BYTES];
        begin_map(printer);
        put_text(printer, "name", user->name);
        put_text(printer, "roles", settings_print_roles(user->roles, roles));
        if (user->services[0])
            put_text(printer, "services", user->services);
        if (user->secret_file[0])
            put_text(printer, "secret_file", user->secret_file);
        else if (user->secret_env[0])
            put_text(printer, "secret_env", user->secret_env);
        else if (user->password_hash[0])
            put_text(printer, "password_hash", user->password_hash);
        else
            put_text(printer, "secret", user->secret);
        end_map(printer);
    }
}

static void put_list(struct printer *printer, const char *name)
{
    yaml_event_t event;
    put_scalar(printer, name, YAML_PLAIN_SCALAR_STYLE);
    emit(printer, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE), &event);
    if (strcmp(name, "regions") == 0)
        put_regions(printer);
    else if (strcmp(name, "peers") == 0)
        put_peers(printer);
    else if (strcmp(name, "users") == 0)
        put_users(printer);
    else
        put_limits(printer);
    emit(printer, yaml_sequence_end_event_initialize(&event), &event);
}

/* What stands elsewhere is not printed; the keys that say where are. */
static void put_secret(struct printer *printer, const char *key, const struct settings_secret *secret)
{
    const struct settings *settings = printer->settings;
    if (secret == &settings->secret && settings->secret_is_none)
        put_text(printer, key, "none");
    else if (settings_secret_is_here(secret))
        put_text(printer, key, secret->text);
}

static void put_secrets(struct printer *printer, const char *key, const struct settings_secrets *secrets)
{
    yaml_event_t event;
    if (secrets->count == 0)
        return;
    put_scalar(printer, key, YAML_PLAIN_SCALAR_STYLE);
    emit(printer, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE), &event);
    for (uint32_t i = 0; i < secrets->count; i++) {
        const struct settings_secret *secret = &secrets->secret[i];
        if (settings_secret_is_here(secret)) {
            put_scalar(printer, secret->text, style_of(secret->text));
            continue;
        }
        begin_map(printer);
        put_text(printer, secret->file[0] ? "secret_file" : "secret_env",
                 secret->file[0] ? secret->file : secret->variable);
        end_map(printer);
    }
    emit(printer, yaml_sequence_end_event_initialize(&event), &event);
}

static void put_headers(struct printer *printer, const char *key, const struct http_settings *http)
{
    char text[SETTINGS_HEADERS_BYTES];
    settings_print_sources(http, text);
    if (text[0])
        put_text(printer, key, text);
}

static void put_group(struct printer *printer, const char *group);

static void put_key(struct printer *printer, const struct settings_key *key, const char *name)
{
    const struct settings *settings = printer->settings;
    const void *at = (const char *)settings + key->at;
    char text[UNITS_TEXT_BYTES];
    switch (key->form) {
    case KEY_MAP:
        put_scalar(printer, name, YAML_PLAIN_SCALAR_STYLE);
        put_group(printer, key->path);
        return;
    case KEY_LIST:
        put_list(printer, name);
        return;
    case KEY_TEXT:
        if (*(const char *)at)
            put_text(printer, name, at);
        return;
    case KEY_DURATION_OR_OFF:
        if (*(const uint64_t *)at == 0) {
            put_text(printer, name, "off");
            return;
        }
        __attribute__((fallthrough));
    case KEY_DURATION:
        put(printer, name, units_format_duration(text, sizeof text, *(const uint64_t *)at));
        return;
    case KEY_COUNT:
        put_number(printer, name, *(const uint64_t *)at);
        return;
    case KEY_SMALL_COUNT:
        put_number(printer, name, *(const uint32_t *)at);
        return;
    case KEY_SIZE:
        put(printer, name, units_format_size(text, sizeof text, *(const uint64_t *)at));
        return;
    case KEY_BOOL:
        put(printer, name, key->choices->name[*(const bool *)at]);
        return;
    case KEY_CHOICE:
        put_text(printer, name, key->choices->name[*(const unsigned *)at]);
        return;
    case KEY_SECRET:
        put_secret(printer, name, at);
        return;
    case KEY_SECRETS:
        put_secrets(printer, name, at);
        return;
    case KEY_HEADERS:
        put_headers(printer, name, at);
        return;
    case KEY_ENTRY:
        return;
    }
}

static void put_group(struct printer *printer, const char *group)
{
    begin_map(printer);
    for (const struct settings_key *key = settings_keys; key->path; key++) {
        const char *name = settings_key_name(key, group);
        if (name && !settings_key_idle(key, printer->settings))
            put_key(printer, key, name);
    }
    end_map(printer);
}

bool settings_print(const struct settings *settings, FILE *out)
{
    struct printer printer = {.settings = settings, .good = true};
    yaml_event_t event;
    if (!yaml_emitter_initialize(&printer.emitter))
        return false;
    yaml_emitter_set_output_file(&printer.emitter, out);
    yaml_emitter_set_unicode(&printer.emitter, 1);
    yaml_emitter_set_width(&printer.emitter, -1); /* each value stays on one line */
    emit(&printer, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), &event);
    emit(&printer, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1), &event);
    put_group(&printer, "");
    emit(&printer, yaml_document_end_event_initialize(&event, 1), &event);
    emit(&printer, yaml_stream_end_event_initialize(&event), &event);
    yaml_emitter_delete(&printer.emitter);
    return printer.good;
}

/* ---- the digest ---- */

/*
 * Lists may stand in another order in another file, so their entries are summed up by adding
 * hashes, which no order changes.
 */
uint64_t settings_digest(const struct settings *settings)
{
    const struct hash_key *key = &settings->node.hash_key;
    char line[NODE_NAME_BYTES + 100];
    uint64_t sum = 0;
    int size = snprintf(line, sizeof line, "interval %llu ns", (unsigned long long)settings->node.interval_ns);
    sum += hash_64(key, line, (size_t)size);
    for (uint32_t i = 0; i < settings->node.region_count; i++) {
        const struct region_weight *region = &settings->node.regions[i];
        size = snprintf(line, sizeof line, "region %s weight %llu", region->region,
                        (unsigned long long)region->weight);
        sum += hash_64(key, line, (size_t)size);
    }
    sum += settings_takeover_digest(settings);
    sum += named_limits_digest(&settings->limits, key);
    return sum;
}
