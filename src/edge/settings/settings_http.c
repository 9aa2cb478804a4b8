#include "edge/settings/settings_http.h"

#include <stdio.h>
#include <string.h>

static const char *const limit_fields_names[] =
    {[HTTP_LIMIT_X] = "x-ratelimit", [HTTP_LIMIT_DRAFT_10] = "draft-10", [HTTP_LIMIT_NONE] = "none"};

const char *http_limit_fields_name(enum http_limit_fields fields)
{
    return limit_fields_names[fields];
}

static bool read_limit_fields(const struct settings_reader *reader, const char *text,
                              enum http_limit_fields *fields)
{
    for (unsigned i = 0; i < sizeof limit_fields_names / sizeof limit_fields_names[0]; i++) {
        if (strcmp(text, limit_fields_names[i]) != 0)
            continue;
        *fields = (enum http_limit_fields)i;
        return true;
    }
    return reader_wrong(reader, "http.limit_headers", text, "x-ratelimit, draft-10 or none");
}

static bool consists_of(struct bytes word, const char *others)
{
    for (size_t i = 0; i < word.size; i++) {
        const char c = word.data[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && (c == '\0' || strchr(others, c) == NULL))
            return false;
    }
    return word.size > 0 && word.size < HTTP_SOURCE_BYTES;
}

static void copy_small(char to[HTTP_SOURCE_BYTES], struct bytes word, bool small)
{
    for (size_t i = 0; i < word.size; i++)
        to[i] = (char)(small && word.data[i] >= 'A' && word.data[i] <= 'Z' ? word.data[i] + 32 : word.data[i]);
    to[word.size] = '\0';
}

/* "ip=X-Real-IP" */
static bool add_source(struct http_settings *http, struct bytes word)
{
    const char *equals = memchr(word.data, '=', word.size);
    if (equals == NULL || http->source_count == HTTP_SOURCES_MAX)
        return false;
    const struct bytes gives = {word.data, (size_t)(equals - word.data)};
    const struct bytes header = {equals + 1, word.size - gives.size - 1};
    struct http_source *source = &http->source[http->source_count];
    if (!consists_of(gives, "-._") || !consists_of(header, "!#$%&'*+-.^_`|~"))
        return false;
    copy_small(source->gives, gives, false);
    copy_small(source->header, header, true);
    for (uint32_t i = 0; i < http->source_count; i++)
        if (strcmp(http->source[i].gives, source->gives) == 0)
            return false;
    http->source_count++;
    return true;
}

static bool read_sources(const struct settings_reader *reader, const char *text, struct http_settings *http)
{
    for (const char *at = text; *at;) {
        const size_t blanks = strspn(at, ", "), size = strcspn(at + blanks, ", ");
        const struct bytes word = {at + blanks, size};
        at += blanks + size;
        if (size > 0 && !add_source(http, word))
            return reader_wrong(reader, "http.request_headers", text,
                                "at most %d of name=Header, each name once, e.g. ip=X-Real-IP, user=X-User-Id",
                                HTTP_SOURCES_MAX);
    }
    return true;
}

static bool check_port(const struct settings_reader *reader, const struct settings *settings)
{
    const unsigned port = address_port(settings->http_address);
    const struct {
        const char *path, *address;
    } others[] = {{"listen.clients", settings->clients_address},
                  {"listen.gossip", settings->gossip_address},
                  {"listen.snapshots", settings->snapshot_address}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (port != 0 && address_port(others[i].address) == port)
            return reader_fail(reader, "listen.http", "listen.http has port %u: expected another one than %s", port,
                               others[i].path);
    return true;
}

bool settings_read_http(const struct settings_reader *reader, struct settings *settings, const char *address,
                        const char *limit_headers, const char *request_headers)
{
    if (address == NULL && (limit_headers != NULL || request_headers != NULL))
        return reader_fail(reader, "http", "http has no effect without listen.http: expected an address there");
    if (address == NULL)
        return true;
    return read_address(reader, "listen.http", address, settings->http_address) && check_port(reader, settings) &&
           (limit_headers == NULL || read_limit_fields(reader, limit_headers, &settings->http.limit_fields)) &&
           (request_headers == NULL || read_sources(reader, request_headers, &settings->http));
}

void settings_print_sources(const struct http_settings *http, char *text)
{
    size_t size = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < http->source_count; i++)
        size += (size_t)snprintf(text + size, SETTINGS_HEADERS_BYTES - size, "%s%s=%s", i > 0 ? ", " : "",
                                 http->source[i].gives, http->source[i].header);
}
