#include "tests/lib/http_asked.h"

#include "http/json_arena.h"

struct http_asked asked;

void http_asked_begin_with(uint32_t address_reservations)
{
    asked.settings = (struct http_settings){0};
    served_plan(1024, 0);
    served.options.address_reservations_max = address_reservations;
    served_begin();
    json_arena_prepare(7);
    asked.http = http_create(&served.commands, &asked.settings);
    assert(asked.http != NULL);
    asked.session = (struct http_session){0};
    http_open(&asked.session, "10.0.0.1:1234");
}

void http_asked_begin(void)
{
    http_asked_begin_with(0);
}

void http_asked_limits_by(enum http_limit_fields fields)
{
    asked.settings.limit_fields = fields;
    http_take_settings(asked.http, &asked.settings);
}

void http_asked_end(void)
{
    http_destroy(&asked.http);
    served_close();
}

struct turn http_asked_now(void)
{
    return (struct turn){.now_ns = served.now_ns, .wall_ns = served.wall_ns};
}

const char *http_ask(const char *bytes)
{
    struct output output = output_over(asked.answer, 128 * 1024);
    struct bytes input = bytes_of(bytes);
    asked.status = http_serve(asked.http, &asked.session, input, &output, http_asked_now(), &asked.consumed);
    asked.answer[output.size] = '\0';
    return asked.answer;
}

const char *http_get(const char *target)
{
    char request[1024];
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target);
    return http_ask(request);
}

const char *http_post(const char *path, const char *body)
{
    static char request[80000];
    (void)snprintf(request, sizeof request,
                   "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                   path, strlen(body), body);
    return http_ask(request);
}

unsigned http_code(const char *text)
{
    return strncmp(text, "HTTP/1.1 ", 9) == 0 ? (unsigned)strtoul(text + 9, NULL, 10) : 0;
}

const char *http_body_of(const char *text)
{
    const char *blank = strstr(text, "\r\n\r\n");
    return blank != NULL ? blank + 4 : "";
}

const char *http_field(const char *text, const char *name)
{
    static char value[128];
    char line[64];
    (void)snprintf(line, sizeof line, "\r\n%s: ", name);
    const char *at = strstr(text, line);
    if (at == NULL || at > http_body_of(text))
        return "";
    at += strlen(line);
    (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\r"), at);
    return value;
}
