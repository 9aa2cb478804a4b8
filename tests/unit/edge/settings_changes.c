/*
 * What differs between two configs: every key is found, and the right ones are taken over.
 */
#include "edge/settings/settings_changes.h"

#include "edge/settings/settings_keys.h"
#include "edge/settings/settings_place.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

static struct settings *now, *next;

static bool parse(struct settings *settings, const char *lines)
{
    char text[2048];
    struct error error;
    (void)snprintf(text, sizeof text, "node: a\n%s%s\nlimits: [{name: default, capacity: 5, rate: 1/s}]\n",
                   strstr(lines, "secret") != NULL && strstr(lines, "users") == NULL ? "" : "secret: s\n", lines);
    const bool good = settings_parse(settings, bytes_of(text), "c.yaml", &error);
    if (!good)
        printf("# %s\n", error.text);
    return good;
}

/* "taken; restart" */
static const char *changes(const char *before, const char *after)
{
    static char text[2 * SETTINGS_CHANGES_BYTES + 4];
    char taken[SETTINGS_CHANGES_BYTES], restart[SETTINGS_CHANGES_BYTES];
    struct settings_changes found;
    if (!parse(now, before) || !parse(next, after))
        return "wrong config";
    settings_compare(now, next, &found);
    (void)snprintf(text, sizeof text, "%s; %s",
                   settings_print_paths(found.taken, found.taken_count, taken, sizeof taken),
                   settings_print_paths(found.restart, found.restart_count, restart, sizeof restart));
    return text;
}

static void test_keys(void)
{
    static const struct {
        const char *before, *after, *changes;
    } rows[] = {
        {"region: r", "region: r", "; "},
        {"log_level: info", "log_level: debug", "log_level; "},
        {"clients: {idle_timeout: 5s}", "clients: {idle_timeout: off, request_timeout: 9s}",
         "clients.request_timeout, clients.idle_timeout; "},
        {"password: a\nclients: {auth_timeout: 5s}", "password: b\nclients: {auth_timeout: 6s}",
         "clients.auth_timeout, password; "},
        {"region: r", "password: b", "; region, regions, password"},
        {"users: [{name: u, roles: read, secret: a}]", "users: [{name: u, roles: read, secret: b}]", "users; "},
        {"users: [{name: u, roles: read, secret: a}]", "users: [{name: u, roles: check, secret: a}]", "users; "},
        {"users: [{name: u, roles: check, secret: a}]", "users: [{name: u, roles: check, services: s, secret: a}]",
         "users; "},
        {"users: [{name: u, roles: read, secret: a}]", "node_region: x", "wrong config"},
        {"users: [{name: u, roles: read, secret: a}]", "log_level: info", "; users"},
        {"max_connections: 10", "max_connections: 9", "max_connections; "},
        {"interval: 100ms", "interval: 99ms", "; interval"},
        {"interval: 100ms", "interval: 200ms", "; interval, silent_after"},
        {"threads: 1", "threads: 2", "; threads"},
        {"state_sync: normal", "state_sync: full", "; state_sync"},
        {"grants: true", "grants: false", "; grants"},
        {"message_max: 1MiB", "message_max: 2MiB", "; message_max"},
        {"secret: a", "secrets: [a, b]\nhash_seed: a", "secret, secrets, hash_seed; "},
        {"secrets: [a, b]\nhash_seed: a", "secrets: [b, a]\nhash_seed: a", "secrets; "},
        {"secrets: [b, a]\nhash_seed: a", "secrets: [b]\nhash_seed: a", "secrets; "},
        {"secrets: [b]\nhash_seed: a", "secrets: [b]\nhash_seed: b", "; hash_seed"},
        {"secret: a", "secret: b", "; secret"},
        {"secrets: [b]\nhash_seed: a", "secrets: [{secret_file: /b}]\nhash_seed: a", "secrets; "},
        {"secrets: [{secret_env: A}]\nhash_seed: a", "secrets: [{secret_env: B}]\nhash_seed: a", "secrets; "},
        {"secret_file: /a\nhash_seed: a", "secret_file: /b\nhash_seed: a", "secret_file; "},
        {"secret_file: /a\nhash_seed: a", "secret_env: A\nhash_seed_file: /a",
         "; secret_file, secret_env, hash_seed, hash_seed_file"},
        {"password_file: /a", "password_env: A", "password_file, password_env; "},
        {"password_file: /a", "log_level: info", "; password_file"},
        {"secret: none", "secrets: [b]\nhash_seed: ''", "wrong config"},
        {"secret: none", "secret: a", "; secret"},
        {"state_dir: /a", "state_dir: /b", "; state_dir"},
        {"listen: {clients: '127.0.0.1:7070'}", "listen: {clients: '127.0.0.1:8070'}", "; listen.clients"},
        {"listen: {http: '127.0.0.1:8000'}",
         "listen: {http: '127.0.0.1:8000'}\nhttp: {request_headers: 'user=X-U'}", "http.request_headers; "},
        {"listen: {http: '127.0.0.1:8000'}\nhttp: {request_headers: 'user=X-U', limit_headers: none}",
         "listen: {http: '127.0.0.1:8000'}\nhttp: {request_headers: 'user=X-V'}",
         "http.limit_headers, http.request_headers; "},
        {"region: default", "listen: {http: '127.0.0.1:8000'}\nhttp: {request_headers: 'user=X-U'}",
         "; listen.http, http.request_headers"},
        {"listen: {grpc: '127.0.0.1:8000'}",
         "listen: {grpc: '127.0.0.1:8000'}\ngrpc: {limit_headers: none, memory: 8MiB}",
         "grpc.limit_headers, grpc.memory; "},
        {"listen: {http: '127.0.0.1:8000', grpc: '127.0.0.1:8001'}",
         "listen: {http: '127.0.0.1:8000', grpc: '127.0.0.1:8001'}\nhttp: {endpoint_spelling: ignore-case}\n"
         "grpc: {endpoint_spelling: as-written}",
         "http.endpoint_spelling, grpc.endpoint_spelling; "},
        {"listen: {grpc: '127.0.0.1:8000'}\ngrpc: {limit_headers: none}", "region: default",
         "; listen.grpc, grpc.limit_headers"},
        {"listen: {http_tls: '127.0.0.1:8000'}\ntls: {certificate: /a, key: /b}",
         "listen: {http_tls: '127.0.0.1:8000'}\ntls: {certificate: /a, key: /c, client_ca: /d}",
         "tls.key, tls.client_ca; "},
        {"listen: {http_tls: '127.0.0.1:8000'}\ntls: {certificate: /a, key: /b}", "region: default",
         "; listen.http_tls, tls.certificate, tls.key"},
        {"region: r\nregions: [{name: r, weight: 0.5}, {name: s, weight: 0.5}]",
         "region: r\nregions: [{name: r, weight: 0.6}, {name: s, weight: 0.4}]", "; regions"},
        {"region: default\nregions: [{name: default, weight: 1}]\n"
         "peers: [{node: b, region: default, gossip: '127.0.0.1:1', snapshots: '127.0.0.1:2'}]",
         "region: default\nregions: [{name: default, weight: 1}]\n"
         "peers: [{node: b, region: default, gossip: '127.0.0.1:1', snapshots: '127.0.0.1:3'}]",
         "; peers"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        OK_STRING(changes(rows[i].before, rows[i].after), rows[i].changes, "%s", rows[i].after);
}

static void test_rooms(void)
{
    (void)(parse(now, "region: default") && parse(next, "region: default"));
    now->connections_room = now->max_connections;
    next->max_connections = now->max_connections + 1;
    struct settings_changes found;
    settings_compare(now, next, &found);
    OK(found.taken_count == 0 && found.restart_count == 1, "room for more connections is made at the start only");
    now->grpc_room_bytes = now->grpc.memory_bytes;
    next->grpc.memory_bytes = now->grpc_room_bytes + 1;
    settings_compare(now, next, &found);
    OK(found.taken_count == 0 && found.restart_count == 2, "so is the memory of gRPC");
    next->grpc.memory_bytes = now->grpc.memory_bytes;
    next->limits.limit[0].terms.overshoot++;
    settings_compare(now, next, &found);
    OK(found.taken_count == 1 && strcmp(found.taken[0], "limits") == 0, "limits are compared by their terms");
    next->limits.limit[0].terms.overshoot--;
    next->limits.limit[0].patience_ms++;
    settings_compare(now, next, &found);
    OK(found.taken_count == 1 && strcmp(found.taken[0], "limits") == 0, "and by their patience");
    settings_keep_limits(now, next, &found);
    OK(found.taken_count == 0 && found.restart_count == 2 && strcmp(found.restart[1], "limits") == 0 &&
           named_limits_equal(&now->limits, &next->limits),
       "limits that the daemon cannot take wait for a restart");
    found.taken[found.taken_count++] = "peers_tls.ca";
    settings_note_renewed(&found, "tls.certificate");
    settings_note_renewed(&found, "peers_tls");
    OK(found.renewed_count == 1 && strcmp(found.renewed[0], "tls.certificate") == 0,
       "files that are new are named unless their key is");
}

static void test_central(void)
{
    struct settings_changes found;
    OK_STRING(changes("central: {address: 'a:1'}", "central: {address: 'b:1', user: u, password: p, timeout: 1s}"),
              "central.address, central.user, central.password, central.timeout; ", "another central store");
    OK_STRING(changes("central: {address: 'a:1'}", "region: default"), "; central.address", "none any more");
    (void)(parse(now, "central: {address: 'a:1', password: a}") &&
           parse(next, "central: {address: 'a:1', password: a}"));
    next->central.tls_digest[0]++;
    settings_compare(now, next, &found);
    OK(found.taken_count == 0 && found.renewed_count == 1 && strcmp(found.renewed[0], "central") == 0,
       "what is new in a file of it is named");
    settings_take(now, next);
    settings_compare(now, next, &found);
    OK(found.renewed_count == 0, "and taken over");
}

/* What is taken over differs no more, and nothing else has become another. */
static void test_take(void)
{
    struct settings_changes found;
    bool good =
        parse(now, "password: a\nlog_level: info\ninterval: 100ms\nusers: [{name: u, roles: read, secret: a}]") &&
        parse(next, "password: b\nlog_level: error\ninterval: 99ms\nmax_connections: 7\n"
                    "clients: {idle_timeout: 5s, auth_timeout: 6s, request_timeout: 7s}\n"
                    "users: [{name: v, roles: check, secret: b}]");
    settings_take(now, next);
    settings_compare(now, next, &found);
    OK(good && found.taken_count == 0 && found.restart_count == 1, "all but what needs a restart is taken over");
    OK(now->node.interval_ns == 100000000 && strcmp(now->password.text, "b") == 0 &&
           now->users.user[0].name[0] == 'v',
       "as it is meant");
    OK(settings_line(now, "password") == 3 && settings_line(now, "clients.auth_timeout") == 7 &&
           settings_line(now, "region") == 0 && settings_line(now, "users.name") == 0,
       "the lines of its keys are those of the new file");
    good = parse(next, "log_level: debug\ninterval: 100ms");
    settings_take(now, next);
    OK(good && now->password.text[0] == 'b' && now->users.count == 1 && now->log_level == LOG_LEVEL_DEBUG,
       "who is asked for a secret is asked until the end");
}

static void test_paths(void)
{
    static const char *const paths[] = {"one", "two", "three"};
    char text[SETTINGS_CHANGES_BYTES];
    OK_STRING(settings_print_paths(paths, 3, text, sizeof text), "one, two, three", "paths");
    OK_STRING(settings_print_paths(paths, 3, text, 9), "one, two", "cut to their room");
    OK_STRING(settings_print_paths(paths, 3, text, 7), "one, t", "anywhere");
    OK_STRING(settings_print_paths(paths, 0, text, 1), "", "none");
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    now = calloc(1, sizeof *now);
    next = calloc(1, sizeof *next);
    assert(now != NULL && next != NULL);
    test_keys();
    test_rooms();
    test_central();
    test_take();
    test_paths();
    free(now);
    free(next);
    return tap_done();
}
