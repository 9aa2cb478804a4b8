/*
 * GET /v1/live by a node that is alone: what an event says, how much of it there is at most, and who reads.
 */
#include "http/live.h"

#include "http/call.h"
#include "tests/lib/served.h"

#include <jansson.h>

static struct http_settings settings;
static struct http *http;
static struct http_session sessions[HTTP_LIVE_MAX + 1];
static enum serve_status status;
static char answer[2 * 128 * 1024];

static void begin(void)
{
    settings = (struct http_settings){0};
    served_open();
    http = http_create(&served.commands, &settings);
    assert(http != NULL);
    memset(sessions, 0, sizeof sessions);
}

static void end(void)
{
    http_destroy(&http);
    served_close();
}

static struct turn now(void)
{
    return (struct turn){.now_ns = served.now_ns, .wall_ns = served.wall_ns};
}

static const char *ask_from(struct http_session *session, const char *method, const char *address)
{
    struct output output = output_over(answer, 128 * 1024);
    char request[64];
    size_t consumed;
    http_open(session, address);
    (void)snprintf(request, sizeof request, "%s /v1/live HTTP/1.1\r\nHost: a\r\n\r\n", method);
    status = http_serve(http, session, bytes_of(request), &output, now(), &consumed);
    answer[output.size] = '\0';
    return answer;
}

static const char *ask(struct http_session *session, const char *method)
{
    return ask_from(session, method, "10.0.0.1:1234");
}

static const char *body(void)
{
    const char *blank = strstr(answer, "\r\n\r\n");
    return blank != NULL ? blank + 4 : "";
}

/* What the next event is. */
static const char *feed(void)
{
    struct output output = output_over(answer, 128 * 1024);
    http_make_event(http, now());
    OK(http_feed(http, &sessions[0], &output), "it goes on");
    answer[output.size] = '\0';
    return answer;
}

/* The JSON of an event; NULL: it is none. */
static json_t *read_event(const char *text)
{
    const size_t size = strlen(text);
    if (strncmp(text, "data: ", 6) != 0 || size < 8 || strcmp(text + size - 2, "\n\n") != 0)
        return NULL;
    return strchr(text, '\n') == text + size - 2 ? json_loadb(text + 6, size - 8, 0, NULL) : NULL;
}

#define BOUND(name, limit)                                                                                         \
    "{\"service\":\"\",\"rule\":\"" name "\",\"limit\":" #limit ",\"overshoot\":0,\"worst_debt\":0}"

static void test_event(void)
{
    begin();
    served.commands.started_ns = served.now_ns;
    served_wait_ms(1500);
    OK(ask(&sessions[0], "GET") && status == SERVE_FEED, "an answer that goes on");
    OK(strncmp(answer, "HTTP/1.1 200 OK\r\n", 17) == 0, "200");
    OK(strstr(answer, "\r\nContent-Type: text/event-stream\r\n") != NULL, "of events");
    OK(strstr(answer, "Content-Length") == NULL && strstr(answer, "\r\nConnection: close\r\n") != NULL,
       "which ends with the connection");
    OK_STRING(body(),
              "data: {\"time_ms\":1795219203500,\"uptime_ms\":1500,\"version\":\"1.2.3\",\"node\":\"alone\","
              "\"region\":\"here\",\"state\":\"active\",\"decides\":true,\"config\":\"same\","
              "\"share\":1.000000,\"peers\":[{\"name\":\"alone\",\"region\":\"here\",\"self\":true,"
              "\"state\":\"active\",\"decides\":true,\"share\":1.000000,\"heard_ms\":0,\"round_trip_ms\":null,"
              "\"unacknowledged_batches\":0,\"log_batches\":0,\"config_differs\":false,"
              "\"clock\":\"unmeasured\",\"clock_rate_millionths\":1000000,\"clock_jumps\":0,"
              "\"forgotten\":false}],"
              "\"admitted_requests\":0,"
              "\"refused_requests\":0,\"refused_by_reason\":{\"capacity\":0,\"share\":0,\"isolation\":0,"
              "\"too_large\":0,\"deny_list\":0,\"limit_zero\":0,\"log_full\":0,"
              "\"keys_full\":0,\"central_down\":0,\"not_ready\":0,\"config_differs\":0},"
              "\"worst_debt_tokens\":0,\"bounds\":[" BOUND("slow", 5) "," BOUND(
                  "default", 100) "],\"rules\":[],\"bounds_left_out\":0,\"rules_left_out\":0}\n\n",
              "the first one comes with the head");
    for (int i = 0; i < 7; i++)
        (void)served_ask("CHECK user=bob RULE slow");
    OK(strstr(feed(), "\"admitted_requests\":5,\"refused_requests\":2,\"refused_by_reason\":{\"capacity\":2,") !=
           NULL,
       "the next one counts decisions");
    json_t *event = read_event(answer);
    OK(event != NULL, "it is one line of JSON");
    json_decref(event);
    http_close(http, &sessions[0]);
    OK(ask(&sessions[1], "HEAD") && status == SERVE_MORE && body()[0] == '\0', "HEAD has a head alone");
    OK_U64(served.commands.stats.http_live, 0, "and reads nothing");
    end();
}

/* How many more readers the address gets. */
static uint32_t read_from(const char *address, uint32_t *used)
{
    const uint32_t before = *used;
    while (*used < HTTP_LIVE_MAX) {
        (void)ask_from(&sessions[*used], "GET", address);
        if (status != SERVE_FEED)
            break;
        ++*used;
    }
    return *used - before;
}

static void test_readers(void)
{
    uint32_t used = 0;
    begin();
    OK_U64(read_from("10.0.0.1:1", &used), HTTP_LIVE_MAX / 2, "one address has half of the places");
    OK(strncmp(answer, "HTTP/1.1 503 ", 13) == 0 && status == SERVE_MORE,
       "one more may not, and may ask for something else");
    OK(strstr(answer, "\r\nRetry-After: 5\r\n") != NULL, "it is told when to come again");
    OK(strstr(body(), "16 of 16 connections that read /v1/live have this address: expected fewer than the 16 that "
                      "are free") != NULL,
       "and why: %s", body());
    http_close(http, &sessions[used]);
    OK_U64(served.commands.stats.http_live, HTTP_LIVE_MAX / 2, "and is none that goes");
    OK_U64(read_from("[2001:db8::1]:1", &used), HTTP_LIVE_MAX / 4, "another one half of the rest");
    OK_U64(read_from("[2001:db8::2]:1", &used), 0, "which is a /64");
    OK_U64(read_from("10.0.0.1:2", &used), 0, "and a port is no address");
    http_close(http, &sessions[3]);
    sessions[3] = (struct http_session){0};
    (void)ask_from(&sessions[3], "GET", "10.0.0.1:3");
    OK(status == SERVE_MORE, "one that goes leaves its place to others, while few are free");
    OK_U64(read_from("10.0.0.2:1", &used) + read_from("10.0.0.3:1", &used) + read_from("10.0.0.4:1", &used) +
               read_from("10.0.0.5:1", &used),
           HTTP_LIVE_MAX / 4, "many addresses have the rest");
    (void)ask_from(&sessions[3], "GET", "10.0.0.6:1");
    OK(status == SERVE_FEED, "the last place is for an address that has none");
    OK_U64(served.commands.stats.http_live, HTTP_LIVE_MAX, "so many may read");
    (void)ask_from(&sessions[HTTP_LIVE_MAX], "GET", "10.0.0.7:1");
    OK(strstr(body(), "32 connections read /v1/live already: expected fewer") != NULL, "then nobody more: %s",
       body());
    for (uint32_t i = 0; i < used; i++)
        http_close(http, &sessions[i]);
    OK_U64(served.commands.stats.http_live, 0, "all go");
    memset(sessions, 0, sizeof sessions);
    used = 0;
    OK_U64(read_from("10.0.0.1:1", &used), HTTP_LIVE_MAX / 2, "and come again");
    end();
}

#define LONG "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijkl"

static void fill(int service, int rule_count)
{
    static char text[64 * 1024];
    size_t size = (size_t)snprintf(text, sizeof text, "rules:\n");
    for (int i = 0; i < rule_count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "- {id: " LONG "%03d, service: " LONG "%d, endpoint: /%d, by: user, rate: 1/m, "
                                 "burst: 1}\n",
                                 i, service, i);
    assert(size < sizeof text);
    OK(set_rules(text), "%d rules", rule_count);
}

/* A reload takes the user of a reader away, or its role. */
static void test_user(void)
{
    begin();
    struct user reader = {.name = "ann", .edition = 3, .roles = ROLE_READ};
    OK(ask(&sessions[0], "GET") && status == SERVE_FEED, "somebody reads");
    sessions[0].reader = &reader;
    sessions[0].reader_edition = 3;
    OK(strstr(feed(), "data: ") != NULL, "as long as its user is there");
    struct output none = output_over(answer, sizeof answer);
    reader.roles = ROLE_CHECK;
    OK(!http_feed(http, &sessions[0], &none), "and has the role");
    reader.roles = ROLE_READ;
    reader.edition = 4;
    OK(!http_feed(http, &sessions[0], &none) && none.size == 0, "no other one that has its place");
    http_close(http, &sessions[0]);
    end();
}

/* Thousands of overrides leave room for other rules: sheets are no rules to look at, and amounts are told once. */
static void test_overrides(void)
{
    static char text[64 * 1024];
    begin();
    size_t size =
        (size_t)snprintf(text, sizeof text,
                         "rules:\n- {id: own, service: o, by: org, rate: 9/m}\n- {id: zz, service: o, rate: "
                         "8/m}\n- {id: own.s, service: o, by: org, overrides_of: own, overrides: [");
    for (int i = 0; i < 250; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "{for: c%d, amount: %d/m},", i, 10 + i % 50);
    size += (size_t)snprintf(text + size, sizeof text - size, "]}\n");
    assert(size < sizeof text);
    OK(set_rules(text), "a rule with a sheet");
    json_t *event = read_event(feed());
    OK_U64(json_array_size(json_object_get(event, "rules")), 2, "a sheet is no rule to look at");
    OK_U64(json_array_size(json_object_get(event, "bounds")), 8 + 1 + 2,
           "eight bounds of a rule with many amounts");
    OK(strstr(answer, "{\"service\":\"o\",\"rule\":\"own\",\"limit\":9,") &&
           strstr(answer, "\"rule\":\"zz\",\"limit\":8,"),
       "its own one, and those of others");
    OK_U64((uint64_t)json_integer_value(json_object_get(event, "bounds_left_out")), 251 - 8 - 4 * 7,
           "the others are counted");
    json_decref(event);
    end();
}

static void test_bounds(void)
{
    begin();
    for (int i = 0; i < 3; i++)
        fill(i, 100);
    json_t *event = read_event(feed());
    const size_t size = strlen(answer);
    OK(event != NULL && size <= HTTP_LONG_BYTES, "an event has an end");
    const size_t shown = json_array_size(json_object_get(event, "rules"));
    OK_U64(shown, 200, "with so many rules");
    OK(json_integer_value(json_object_get(event, "rules_left_out")) == 100, "and the number of the others");
    OK(json_integer_value(json_object_get(event, "bounds_left_out")) == 102 &&
           json_array_size(json_object_get(event, "bounds")) == 200,
       "as of bounds");
    json_decref(event);
    end();
}

int main(void)
{
    test_event();
    test_readers();
    test_user();
    test_overrides();
    test_bounds();
    return tap_done();
}
