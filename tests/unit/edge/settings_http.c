/*
 * What a config says of HTTP and gRPC: where they are served, and what heads say; and what it may not say.
 */
#include "edge/settings/settings_http.h"

#include "tests/lib/tap.h"

#include <sodium.h>
#include <stdlib.h>

static struct settings settings;
static struct error error;

/* A config with these lines. */
static bool reads(const char *lines)
{
    char text[2048];
    (void)snprintf(text, sizeof text, "node: a\n%s\nlimits: [{name: default, capacity: 5, rate: 1/s}]\n", lines);
    error.text[0] = '\0';
    return settings_parse(&settings, bytes_of(text), "c.yaml", &error);
}

static void test_values(void)
{
    char text[SETTINGS_HEADERS_BYTES];
    OK(reads("region: r") && settings.http_address[0] == '\0', "HTTP is off unless it is asked for");
    OK(reads("listen: {http: '127.0.0.1:7073'}") && strcmp(settings.http_address, "127.0.0.1:7073") == 0,
       "an address");
    OK(settings.http.limit_fields == HTTP_LIMIT_X && settings.http.source_count == 0 &&
           settings.http.endpoint_spelling == PATH_MERGE_SLASHES,
       "and what else is by default");
    OK(reads("listen: {http: '*:7073'}\nhttp: {limit_headers: draft-10, request_headers: 'ip=X-Real-IP, "
             "user=X-User'}"),
       "all of it");
    OK(settings.http.limit_fields == HTTP_LIMIT_DRAFT_10 && settings.http.source_count == 2, "is read");
    OK(reads("listen: {http_tls: '*:1', grpc: '*:2'}\ntls: {certificate: c, key: k}\n"
             "http: {endpoint_spelling: ignore-case}\ngrpc: {endpoint_spelling: as-written}") &&
           settings.http.endpoint_spelling == PATH_IGNORE_CASE &&
           settings.grpc.endpoint_spelling == PATH_AS_WRITTEN,
       "the spelling of endpoints: %s", error.text);
    OK(reads("listen: {http: '*:7073'}\nhttp: {endpoint_spelling: keep-slashes, request_headers: 'ip=X-Real-IP, "
             "user=X-User'}") &&
           settings.http.endpoint_spelling == PATH_KEEP_SLASHES,
       "of each kind");
    OK_STRING(settings.http.source[0].header, "x-real-ip", "names of headers are small");
    settings_print_sources(&settings.http, text);
    OK_STRING(text, "ip=x-real-ip,user=x-user", "and printed as they are written");
}

static void test_grpc(void)
{
    OK(reads("region: r") && settings.grpc_address[0] == '\0', "gRPC is off unless it is asked for");
    OK(reads("listen: {grpc: '127.0.0.1:7074'}") && strcmp(settings.grpc_address, "127.0.0.1:7074") == 0,
       "an address");
    OK(settings.grpc.limit_fields == HTTP_LIMIT_X && settings.grpc.memory_bytes == 64 << 20,
       "and what else is by default");
    OK(reads("listen: {grpc: '*:7074'}\ngrpc: {limit_headers: none, memory: 8MiB}") &&
           settings.grpc.limit_fields == HTTP_LIMIT_NONE && settings.grpc.memory_bytes == 8 << 20,
       "all of it");
}

static void test_printed(void)
{
    static struct settings again;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    OK(reads(
           "listen: {http: '*:7073', grpc: '*:7074'}\nhttp: {limit_headers: none, request_headers: 'ip=X-Real-IP, "
           "tier=X-Tier', endpoint_spelling: ignore-case}\ngrpc: {limit_headers: draft-10, memory: 8MiB, "
           "endpoint_spelling: as-written}") &&
           out != NULL && settings_print(&settings, out),
       "settings are printed");
    (void)fclose(out);
    OK(settings_parse(&again, (struct bytes){text, size}, "printed.yaml", &error) &&
           strcmp(again.http_address, settings.http_address) == 0 &&
           memcmp(&again.http, &settings.http, sizeof again.http) == 0 &&
           strcmp(again.grpc_address, settings.grpc_address) == 0 &&
           again.grpc.endpoint_spelling == PATH_AS_WRITTEN && again.grpc.limit_fields == HTTP_LIMIT_DRAFT_10 &&
           again.grpc.memory_bytes == 8 << 20,
       "and read back to the same");
    free(text);
}

/* The longest value, with one blank between two names, is printed so that it can be read. */
static void test_longest(void)
{
    char lines[512] = "listen: {http: '*:1'}\nhttp:\n  request_headers: ";
    char *text = NULL;
    size_t size = strlen(lines), value = size, printed;
    for (int i = 10; i < 22; i++)
        size += (size_t)snprintf(lines + size, sizeof lines - size, "%s%d=%0*d", i > 10 ? " " : "", i,
                                 i == 10 ? 22 : 17, i);
    FILE *out = open_memstream(&text, &printed);
    OK(reads(lines) && settings.http.source_count == 12 && out && settings_print(&settings, out),
       "a value of %zu bytes: %s", size - value, error.text);
    (void)fclose(out);
    OK(settings_parse(&settings, (struct bytes){text, printed}, "printed.yaml", &error), "reads back: %s",
       error.text);
    free(text);
}

static void test_mistakes(void)
{
    static const struct {
        const char *lines, *sentence;
    } cases[] = {
        {"listen: {http: 'here'}", "c.yaml:2: listen.http is 'here': expected"},
        {"listen: {http: '127.0.0.1:7070'}", "listen.http has port 7070: expected another one than listen.clients"},
        {"listen: {http: '127.0.0.1:7071'}", "listen.http has port 7071: expected another one than listen.gossip"},
        {"listen: {http: '127.0.0.1:7072'}",
         "listen.http has port 7072: expected another one than listen.snapshots"},
        {"http: {limit_headers: none}", "http has no effect without listen.http"},
        {"http: {endpoint_spelling: ignore-case}", "http has no effect without listen.http"},
        {"listen: {http: '*:1'}\ngrpc: {endpoint_spelling: ignore-case}", "grpc has no effect without listen.grpc"},
        {"listen: {http: '*:1'}\nhttp: {endpoint_spelling: lower}",
         "c.yaml:3: http.endpoint_spelling is 'lower': expected merge-slashes, keep-slashes, ignore-case or "
         "as-written"},
        {"listen: {http: '*:7073', grpc: '*:7073'}",
         "listen.grpc has port 7073: expected another one than listen.http"},
        {"grpc: {memory: 8MiB}", "grpc has no effect without listen.grpc"},
        {"listen: {grpc: '*:1'}\ngrpc: {memory: 8}", "c.yaml:3: grpc.memory is '8': expected"},
        {"listen: {http: '*:1'}\nhttp: {limit_headers: draft-3}",
         "c.yaml:3: http.limit_headers is 'draft-3': expected x-ratelimit, draft-10 or none"},
        {"listen: {http: '*:1'}\nhttp: {request_headers: X-Real-IP}",
         "c.yaml:3: http.request_headers is 'X-Real-IP'"},
        {"listen: {http: '*:1'}\nhttp: {request_headers: 'ip=A, ip=B'}", "each name once"},
        {"listen: {http: '*:1'}\nhttp: {request_headers: 'ip=A B:'}", "expected at most 12 of name=Header"},
        {"listen: {http: '*:1'}\nhttp: {headers: none}", "http"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        OK(!reads(cases[i].lines) && strstr(error.text, cases[i].sentence) != NULL, "%s", error.text);
    char many[1024] = "listen: {http: '*:1'}\nhttp: {request_headers: '";
    size_t size = strlen(many);
    for (int i = 0; i < 13; i++)
        size += (size_t)snprintf(many + size, sizeof many - size, "a%d=b%d ", i, i);
    (void)snprintf(many + size, sizeof many - size, "'}");
    OK(!reads(many) && strstr(error.text, "at most 12") != NULL, "more than there is room for");
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    test_values();
    test_grpc();
    test_printed();
    test_longest();
    test_mistakes();
    return tap_done();
}
