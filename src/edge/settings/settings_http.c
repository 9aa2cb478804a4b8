#include "edge/settings/settings_http.h"

#include "edge/settings/settings_listen.h"

#include <stdio.h>
#include <string.h>

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

static bool read_sources(const struct settings_reader *reader, struct http_settings *http)
{
    const char *text = reader_text(reader, "http.request_headers");
    if (text == NULL)
        return true;
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

bool settings_check_port(const struct settings_reader *reader, const struct settings *settings, const char *path,
                         const char *address)
{
    struct settings_listen others[SETTINGS_LISTENS];
    settings_listens(settings, others);
    const unsigned port = address_port(address);
    for (size_t i = 0; i < SETTINGS_LISTENS; i++)
        if (port != 0 && address != others[i].address && address_port(others[i].address) == port)
            return reader_fail(reader, path, "%s has port %u: expected another one than %s", path, port,
                               others[i].path);
    return true;
}

/* Reads the address `path`, "listen.http". The group `name` has an effect if there is one, plain or with TLS. */
static bool read_service(const struct settings_reader *reader, const struct settings *settings, const char *name,
                         const char *path, const char *path_tls, char *address)
{
    const bool served = reader_text(reader, path) != NULL || reader_text(reader, path_tls) != NULL;
    if (!served && reader_count(reader, name) > 0)
        return reader_fail(reader, name, "%s has no effect without %s: expected an address there, or at %s", name,
                           path, path_tls);
    return read_address(reader, path, address) && settings_check_port(reader, settings, path, address);
}

bool settings_read_http(const struct settings_reader *reader, struct settings *settings)
{
    return read_service(reader, settings, "http", "listen.http", "listen.http_tls", settings->http_address) &&
           read_service(reader, settings, "grpc", "listen.grpc", "listen.grpc_tls", settings->grpc_address) &&
           read_sources(reader, &settings->http);
}

/* No longer than the text that was read, so that it is read again. */
void settings_print_sources(const struct http_settings *http, char *text)
{
    size_t size = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < http->source_count; i++)
        size += (size_t)snprintf(text + size, SETTINGS_HEADERS_BYTES - size, "%s%s=%s", i > 0 ? "," : "",
                                 http->source[i].gives, http->source[i].header);
}
