/*
 * /v1/check and /check of requests that wait for their share: one node of two, whose other half is never heard from, so
 * that only refill brings rights.
 */
#include "commands/patient.h"
#include "commands/replay.h"
#include "http/http.h"
#include "http/json_arena.h"
#include "tests/lib/served.h"

static struct http_settings settings;
static struct http *http;
static struct http_session session;
static struct replays *replays;
static char answer[128 * 1024];
static size_t consumed;

static void begin(void)
{
    settings = (struct http_settings){0};
    served_open_with(1024, 1);
    json_arena_prepare(7);
    replays = replays_create(&served.commands.hash_key);
    assert(replays != NULL);
    served.commands.replays = replays;
    http = http_create(&served.commands, &settings);
    assert(http != NULL);
    session = (struct http_session){0};
    http_open(&session, "10.0.0.1:1234");
    while (strcmp(served_ask("CAN_ACCESS ann"), "1") == 0)
        ;
}

static void end(void)
{
    http_close(http, &session);
    http_destroy(&http);
    served_close();
    replays_destroy(&replays);
}

static struct turn now(void)
{
    return (struct turn){.now_ns = served.now_ns, .wall_ns = served.wall_ns};
}

static enum serve_status serve(const char *request)
{
    struct output output = output_over(answer, sizeof answer - 1);
    enum serve_status status = http_serve(http, &session, bytes_of(request), &output, now(), &consumed);
    answer[output.size] = '\0';
    return status;
}

static const char *posted(const char *body)
{
    static char request[4096];
    (void)snprintf(request, sizeof request,
                   "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: "
                   "%zu\r\n\r\n%s",
                   strlen(body), body);
    return request;
}

/* As the listener does, a millisecond at a time. Returns the status of the answer. */
static unsigned until_answered(const char *request)
{
    enum serve_status status = SERVE_WAIT;
    for (uint32_t i = 0; status == SERVE_WAIT && i < 10000; i++) {
        struct output output = output_over(answer, sizeof answer - 1);
        served_wait_ms(1);
        waiting_begin_round(&served.commands.waiting);
        if (http_resume(http, &session, &output, now()))
            status = serve(request);
    }
    return (unsigned)strtoul(answer + 9, NULL, 10);
}

static uint64_t admitted(void)
{
    struct node_stats stats;
    node_stats(served.node, &stats);
    return stats.admitted_tokens;
}

#define ANN "{\"identifiers\":{\"user\":\"ann\"}"

static void test_waits(void)
{
    begin();
    const uint64_t before = admitted(), requests = served.commands.stats.http_requests;
    const char *request = posted(ANN ",\"patience_ms\":1000,\"idempotency_key\":\"k\"}");
    OK(serve(request) == SERVE_WAIT && consumed == 0 && answer[0] == '\0', "a request waits");
    OK_U64(until_answered(request), 200, "until it is admitted");
    OK_U64(admitted(), before + 1, "and is charged once");
    OK_U64(served.commands.stats.http_requests, requests + 1, "as one request");
    OK(serve(request) == SERVE_MORE && admitted() == before + 1, "its key stands for the answer");
    OK_U64(served.commands.stats.replayed_answers, 1, "which is given again");
    request = posted(ANN ",\"patience_ms\":5,\"cost\":30}");
    OK(serve(request) == SERVE_WAIT && until_answered(request) == 429, "another one is refused at its deadline");
    OK_U64(served.commands.stats.patience_refused, 1, "and counted");
    request = "GET /check?user=ann&patience_ms=100 HTTP/1.1\r\nHost: a\r\n\r\n";
    while (strcmp(served_ask("CAN_ACCESS ann"), "1") == 0)
        ;
    OK(serve(request) == SERVE_WAIT && until_answered(request) == 200, "a gateway's waits as well");
    end();
}

/* A gateway's header names who asks; which header that is changes while a request waits. */
static void test_settings_change(void)
{
    static const char request[] = "GET /check?patience_ms=100 HTTP/1.1\r\nHost: a\r\nX-A: ann\r\nX-B: bob\r\n\r\n";
    begin();
    settings = (struct http_settings){.source_count = 1, .source = {{.header = "x-a", .gives = "user"}}};
    http_take_settings(http, &settings);
    OK(serve(request) == SERVE_WAIT, "a request waits");
    settings.source[0].header[2] = 'b';
    settings.limit_fields = HTTP_LIMIT_DRAFT_10;
    http_take_settings(http, &settings);
    const uint64_t before = admitted();
    OK(until_answered(request) == 200 && admitted() == before + 1 &&
           strstr(answer, "X-RateLimit-Limit: 100") != NULL,
       "it is answered by the settings that it began with");
    OK(serve(request) == SERVE_MORE && strstr(answer, "RateLimit: \"default\";r=") != NULL,
       "the next one by the others: another user, who need not wait");
    while (strcmp(served_ask("CAN_ACCESS bob"), "1") == 0)
        ;
    OK(serve(request) == SERVE_WAIT && session.kept > 0, "one more waits");
    http_close(http, &session);
    OK(session.kept == 0, "and keeps nothing when it goes");
    end();
}

static void test_does_not(void)
{
    begin();
    OK(serve(posted(ANN "}")) == SERVE_MORE && strstr(answer, " 429 ") != NULL, "who has no patience is refused");
    OK(serve(posted("[" ANN ",\"patience_ms\":5}]")) == SERVE_MORE && strstr(answer, " 400 ") != NULL,
       "a batch has none");
    OK(serve(posted(ANN ",\"patience_ms\":5001}")) == SERVE_MORE &&
           strstr(answer, "PATIENCE is '5001': expected milliseconds from 0 to 5000") != NULL,
       "there is a bound");
    OK(serve("GET /v1/explain?user=ann&patience_ms=5 HTTP/1.1\r\nHost: a\r\n\r\n") == SERVE_MORE &&
           strstr(answer, "waits for nothing") != NULL,
       "an explanation waits for nothing");
    OK(serve(posted(ANN ",\"patience_ms\":5000}")) == SERVE_WAIT, "who waits");
    http_close(http, &session);
    OK(served.commands.stats.patience_waiting == 0 && session.waiting == 0, "may go");
    end();
}

/* A body is refused for what is wrong with it. */
static void test_faults(void)
{
    begin();
    OK(serve(posted(ANN ",\"cost\":9223372036854775808}")) == SERVE_MORE &&
           strstr(answer, "\"detail\":\"line 1, column 56: a number of more than 64 bits: expected") != NULL,
       "a number may be too large to be read: %s", strstr(answer, "\"detail"));
    OK(serve(posted("{\"identifiers\":{\"user\":\"a\\u0000b\"}}")) == SERVE_MORE &&
           strstr(answer, ": \\\\u0000 in a text: expected other characters\"") != NULL,
       "a text may have a character that is not taken: %s", strstr(answer, "\"detail"));
    OK(serve(posted("{\"identifiers\":}")) == SERVE_MORE &&
           strstr(answer, "\"the body is no JSON: line 1, column 16: ") != NULL,
       "or it is no JSON: %s", strstr(answer, "\"detail"));
    end();
}

int main(void)
{
    test_waits();
    test_settings_change();
    test_does_not();
    test_faults();
    return tap_done();
}
