#include "edge/settings/settings_changes.h"

#include "edge/settings/settings_http.h"
#include "edge/settings/settings_keys.h"
#include "edge/settings/settings_tls.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What a running daemon takes over, where may_take says nothing else. */
static const char *const taken[] = {"limits", "clients.request_timeout", "clients.auth_timeout",
                                    "clients.idle_timeout", "log_level"};

/* ---- lists ---- */

static bool regions_differ(const struct node_options *now, const struct node_options *next)
{
    bool differ = now->region_count != next->region_count;
    for (uint32_t i = 0; i < now->region_count && !differ; i++)
        differ = strcmp(now->regions[i].region, next->regions[i].region) != 0 ||
                 now->regions[i].weight != next->regions[i].weight ||
                 now->regions[i].floor_billionths != next->regions[i].floor_billionths;
    return differ;
}

static bool peers_differ(const struct node_options *now, const struct node_options *next)
{
    bool differ = now->peer_count != next->peer_count;
    for (uint32_t i = 0; i < now->peer_count && !differ; i++) {
        const struct node_peer_options *a = &now->peers[i], *b = &next->peers[i];
        differ = strcmp(a->name, b->name) != 0 || strcmp(a->region, b->region) != 0 ||
                 strcmp(a->gossip_address, b->gossip_address) != 0 ||
                 strcmp(a->snapshot_address, b->snapshot_address) != 0;
    }
    return differ;
}

static bool users_differ(const struct users_settings *now, const struct users_settings *next)
{
    bool differ = now->count != next->count;
    for (uint32_t i = 0; i < now->count && !differ; i++) {
        const struct user_settings *a = &now->user[i], *b = &next->user[i];
        differ = strcmp(a->name, b->name) != 0 || a->roles != b->roles || strcmp(a->services, b->services) != 0 ||
                 strcmp(a->secret, b->secret) != 0 || strcmp(a->secret_file, b->secret_file) != 0 ||
                 strcmp(a->secret_env, b->secret_env) != 0 || strcmp(a->password_hash, b->password_hash) != 0;
    }
    return differ;
}

/* The paths of files and the names of variables have keys of their own. */
static bool texts_differ(const struct settings_secret *now, const struct settings_secret *next)
{
    return strcmp(now->text, next->text) != 0;
}

static bool secrets_differ(const struct settings_secrets *now, const struct settings_secrets *next)
{
    bool differ = now->count != next->count;
    for (uint32_t i = 0; i < now->count && !differ; i++) {
        const struct settings_secret *a = &now->secret[i], *b = &next->secret[i];
        differ = texts_differ(a, b) || strcmp(a->file, b->file) != 0 || strcmp(a->variable, b->variable) != 0;
    }
    return differ;
}

static bool lists_differ(const char *path, const struct settings *now, const struct settings *next)
{
    if (strcmp(path, "regions") == 0)
        return regions_differ(&now->node, &next->node);
    if (strcmp(path, "peers") == 0)
        return peers_differ(&now->node, &next->node);
    if (strcmp(path, "limits") == 0)
        return !named_limits_equal(&now->limits, &next->limits);
    assert(strcmp(path, "users") == 0); /* a new list of the config is compared here, too */
    return users_differ(&now->users, &next->users);
}

/* ---- keys ---- */

static bool headers_differ(const struct http_settings *now, const struct http_settings *next)
{
    char a[SETTINGS_HEADERS_BYTES], b[SETTINGS_HEADERS_BYTES];
    settings_print_sources(now, a);
    settings_print_sources(next, b);
    return strcmp(a, b) != 0;
}

static bool differs(const struct settings_key *key, const struct settings *now, const struct settings *next)
{
    const void *a = (const char *)now + key->at, *b = (const char *)next + key->at;
    switch (key->form) {
    case KEY_LIST:
        return lists_differ(key->path, now, next);
    case KEY_TEXT:
        return strcmp(a, b) != 0;
    case KEY_SECRET:
        return texts_differ(a, b) ||
               (a == (const void *)&now->secret && now->secret_is_none != next->secret_is_none);
    case KEY_SECRETS:
        return secrets_differ(a, b);
    case KEY_DURATION:
    case KEY_DURATION_OR_OFF:
    case KEY_COUNT:
    case KEY_SIZE:
        return memcmp(a, b, sizeof(uint64_t)) != 0;
    case KEY_SMALL_COUNT:
        return memcmp(a, b, sizeof(uint32_t)) != 0;
    case KEY_CHOICE:
        return memcmp(a, b, sizeof(unsigned)) != 0;
    case KEY_BOOL:
        return *(const bool *)a != *(const bool *)b;
    case KEY_HEADERS:
        return headers_differ(a, b);
    case KEY_MAP:
    case KEY_ENTRY:
        return false;
    }
    return false;
}

/*
 * Whether clients must say who they are is settled at the start, for connections that are there as well. Room for
 * connections, and the memory of gRPC, are taken at the start. Ids of keys never change while a daemon runs.
 */
static bool may_take(const char *path, const struct settings *now, const struct settings *next)
{
    if (strncmp(path, "password", 8) == 0 || strcmp(path, "users") == 0)
        return settings_secret_is_given(&now->password) == settings_secret_is_given(&next->password) &&
               settings_have_passwords(now) == settings_have_passwords(next);
    if (strcmp(path, "max_connections") == 0)
        return now->connections_room == 0 || next->max_connections <= now->connections_room;
    if (strncmp(path, "secret", 6) == 0 || strncmp(path, "hash_seed", 9) == 0)
        return memcmp(&now->node.hash_key, &next->node.hash_key, sizeof now->node.hash_key) == 0 &&
               settings_have_secret(now) == settings_have_secret(next);
    if (strncmp(path, "tls.", 4) == 0)
        return settings_has_tls(now) == settings_has_tls(next);
    if (strncmp(path, "peers_tls.", 10) == 0)
        return settings_has_peers_tls(now) == settings_has_peers_tls(next);
    if (strncmp(path, "central.", 8) == 0)
        return settings_have_central(now) == settings_have_central(next);
    if (strcmp(path, "grpc.memory") == 0 && now->grpc_room_bytes > 0 &&
        next->grpc.memory_bytes > now->grpc_room_bytes)
        return false;
    if (strncmp(path, "http.", 5) == 0)
        return settings_serve_http(now) == settings_serve_http(next);
    if (strncmp(path, "grpc.", 5) == 0)
        return settings_serve_grpc(now) == settings_serve_grpc(next);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(taken[i], path) == 0)
            return true;
    return false;
}

void settings_compare(const struct settings *now, const struct settings *next, struct settings_changes *changes)
{
    changes->taken_count = changes->restart_count = changes->renewed_count = 0;
    for (const struct settings_key *key = settings_keys; key->path; key++) {
        if (!differs(key, now, next))
            continue;
        assert(changes->taken_count + changes->restart_count < SETTINGS_CHANGES_MAX);
        if (may_take(key->path, now, next))
            changes->taken[changes->taken_count++] = key->path;
        else
            changes->restart[changes->restart_count++] = key->path;
    }
    if (may_take("central.", now, next) && !central_settings_equal(&now->central, &next->central))
        settings_note_renewed(changes, "central");
}

void settings_keep_limits(const struct settings *now, struct settings *next, struct settings_changes *changes)
{
    next->limits = now->limits;
    assert(changes->restart_count < SETTINGS_CHANGES_MAX);
    for (uint32_t i = 0; i < changes->taken_count; i++) {
        if (strcmp(changes->taken[i], "limits") != 0)
            continue;
        changes->restart[changes->restart_count++] = changes->taken[i];
        memmove(&changes->taken[i], &changes->taken[i + 1],
                (--changes->taken_count - i) * sizeof changes->taken[0]);
    }
}

void settings_note_renewed(struct settings_changes *changes, const char *path)
{
    for (uint32_t i = 0; i < changes->taken_count; i++)
        if (strncmp(changes->taken[i], path, strlen(path)) == 0)
            return;
    assert(changes->renewed_count < SETTINGS_RENEWED_MAX);
    changes->renewed[changes->renewed_count++] = path;
}

void settings_take(struct settings *now, const struct settings *next)
{
    memcpy(now->key_line, next->key_line, sizeof now->key_line);
    if (may_take("tls.", now, next)) {
        memcpy(now->tls_certificate, next->tls_certificate, sizeof now->tls_certificate);
        memcpy(now->tls_key, next->tls_key, sizeof now->tls_key);
        memcpy(now->tls_client_ca, next->tls_client_ca, sizeof now->tls_client_ca);
    }
    if (may_take("peers_tls.", now, next)) {
        memcpy(now->peers_tls_ca, next->peers_tls_ca, sizeof now->peers_tls_ca);
        memcpy(now->peers_tls_certificate, next->peers_tls_certificate, sizeof now->peers_tls_certificate);
        memcpy(now->peers_tls_key, next->peers_tls_key, sizeof now->peers_tls_key);
    }
    now->request_timeout_ns = next->request_timeout_ns;
    now->auth_timeout_ns = next->auth_timeout_ns;
    now->idle_timeout_ns = next->idle_timeout_ns;
    now->log_level = next->log_level;
    now->limits = next->limits;
    if (may_take("secrets", now, next)) {
        now->secret = next->secret;
        now->hash_seed = next->hash_seed;
        now->secrets = next->secrets;
        now->node.seals = next->node.seals;
    }
    if (may_take("max_connections", now, next))
        now->max_connections = next->max_connections;
    if (may_take("http.", now, next))
        now->http = next->http;
    if (may_take("grpc.", now, next)) {
        now->grpc.limit_fields = next->grpc.limit_fields;
        now->grpc.endpoint_spelling = next->grpc.endpoint_spelling;
    }
    if (may_take("grpc.memory", now, next))
        now->grpc.memory_bytes = next->grpc.memory_bytes;
    if (may_take("central.", now, next))
        now->central = next->central;
    if (may_take("users", now, next)) {
        now->password = next->password;
        now->users = next->users;
    }
}

const char *settings_print_paths(const char *const *paths, uint32_t count, char *text, size_t room)
{
    size_t size = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count && size < room; i++)
        size += (size_t)snprintf(text + size, room - size, "%s%s", i > 0 ? ", " : "", paths[i]);
    return text;
}
