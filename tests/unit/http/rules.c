/* A change of rules over HTTP is answered when it is on the disk, or with what became of it; others behind it wait. */
#include "http/http.h"
#include "http/json_arena.h"
#include "tests/lib/slow_disk.h"

static struct http_settings settings;
static struct http *http;
static struct http_session session;
static char answers[2 * 128 * 1024];
static struct output output;

static struct turn now(void)
{
    return (struct turn){.now_ns = served.now_ns, .wall_ns = served.wall_ns};
}

static void begin(void)
{
    settings = (struct http_settings){0};
    slow_disk_open();
    json_arena_prepare(7);
    http = http_create(&served.commands, &settings);
    assert(http != NULL);
    session = (struct http_session){0};
    http_open(&session, "10.0.0.1:1234");
}

static void end_all(void)
{
    http_close(http, &session);
    http_destroy(&http);
    slow_disk_close();
}

/* What is left of the bytes is to be served afterwards: *rest. */
static enum serve_status serve(const char *bytes, const char **rest)
{
    size_t consumed;
    output = output_over(answers, sizeof answers / 2);
    const enum serve_status status = http_serve(http, &session, bytes_of(bytes), &output, now(), &consumed);
    *rest = bytes + consumed;
    return status;
}

static bool resume(void)
{
    served_step((struct event){.kind = EVENT_WAKE});
    slow_disk_keep();
    return http_resume(http, &session, &output, now());
}

static const char *resumed(void)
{
    const uint64_t end_ns = clock_monotonic_ns() + WAIT_S * SECOND_NS;
    while (!resume() && clock_monotonic_ns() < end_ns)
        sleep_a_little();
    answers[output.size] = '\0';
    return answers;
}

static const char *put(const char *target, const char *body)
{
    static char request[200000];
    (void)snprintf(request, sizeof request,
                   "PUT %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                   target, strlen(body), body);
    return request;
}

static bool is_in_force(const char *id)
{
    return rulebook_find(node_rulebook(served.node), bytes_of("shop"), bytes_of(id)) != NULL;
}

static void test_slow_disk(void)
{
    const char *rest;
    char request[2048];
    begin();
    slow_disk_set(true, false);
    (void)snprintf(request, sizeof request, "%sGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
                   put("/v1/rules/shop/x", "{\"rate\":\"1/s\"}"));
    OK(serve(request, &rest) == SERVE_WAIT && strncmp(rest, "GET", 3) == 0, "PUT waits, and what is behind it");
    slow_disk_wait_begun();
    bool early = false;
    for (unsigned i = 0; i < 100; i++)
        early |= resume();
    OK(!early && output.size == 0, "nothing is answered while the disk writes");
    OK(is_in_force("x"), "though the rule is in force already");
    slow_disk_set(false, false);
    OK(strncmp(resumed(), "HTTP/1.1 201 Created\r\n", 22) == 0, "it is answered when it is written");
    OK(serve(rest, &rest) == SERVE_MORE && strncmp(answers, "HTTP/1.1 200 OK\r\n", 17) == 0, "and then the rest");
    slow_disk_set(true, false);
    OK(serve("DELETE /v1/rules/shop/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", &rest) == SERVE_WAIT,
       "DELETE waits as well");
    struct http_session first = session;
    session = (struct http_session){0};
    OK(serve("DELETE /v1/rules/shop/x HTTP/1.1\r\nHost: a\r\n\r\n", &rest) == SERVE_WAIT,
       "and so does whoever finds the rule gone already");
    slow_disk_set(false, false);
    OK(strncmp(resumed(), "HTTP/1.1 404 ", 13) == 0, "until it is gone on the disk");
    session = first;
    output.size = 0;
    OK(strncmp(resumed(), "HTTP/1.1 200 ", 13) == 0 && strstr(answers, "\r\nConnection: close\r\n") != NULL,
       "the first one is told so");
    OK(serve("GET", &rest) == SERVE_CLOSE, "and closed, as it asked");
    end_all();
}

static void test_full_disk(void)
{
    const char *rest;
    begin();
    slow_disk_set(false, true);
    (void)serve(put("/v1/rules/shop/x", "{\"rate\":\"1/s\"}"), &rest);
    OK(strncmp(resumed(), "HTTP/1.1 500 ", 13) == 0 &&
           strstr(answers, "is in force and told to peers, but") != NULL,
       "a disk that fails is told, and what became of the change");
    (void)serve("DELETE /v1/rules/shop/never HTTP/1.1\r\nHost: a\r\n\r\n", &rest);
    OK(strncmp(answers, "HTTP/1.1 404 ", 13) == 0, "of a rule that never was, nothing is to be kept");
    slow_disk_set(false, false);
    OK(wait_until_written(served.commands.store), "when the disk takes it, it is written");
    (void)serve(put("/v1/rules/shop/x", "{\"rate\":\"1/s\"}"), &rest);
    OK(strncmp(resumed(), "HTTP/1.1 200 ", 13) == 0, "and said again, it is well");
    end_all();
}

/* A client that goes while its change waits leaves nothing behind. */
static void test_gone(void)
{
    const char *rest;
    begin();
    slow_disk_set(true, false);
    OK(serve(put("/v1/rules/shop/x?dry_run=true", "{\"rate\":\"1/s\"}"), &rest) == SERVE_MORE,
       "a dry run has nothing to wait for");
    OK(serve(put("/v1/rules/shop/x", "{\"rate\":\"1/s\"}"), &rest) == SERVE_WAIT, "a change has");
    slow_disk_wait_begun();
    http_close(http, &session);
    OK(session.change == NULL && is_in_force("x"), "its client may go");
    slow_disk_set(false, false);
    end_all();
}

/* The longest rule that there may be, as it is read and as it is written. */
static void test_longest(void)
{
    static char body[64 << 10];
    size_t size = (size_t)snprintf(body, sizeof body, "{\"rate\":\"1/s\",\"deny\":[");
    const char *rest;
    begin();
    for (int i = 0; i < 240; i++)
        size +=
            (size_t)snprintf(body + size, sizeof body - size, "%s\"user=%d\\\"%0100d\"", i > 0 ? "," : "", i, i);
    (void)snprintf(body + size, sizeof body - size, "]}");
    (void)serve(put("/v1/rules/shop/long", body), &rest);
    OK(strncmp(resumed(), "HTTP/1.1 201 ", 13) == 0, "a long rule is made: %.20s", answers);
    OK(serve("GET /v1/rules/shop/long HTTP/1.1\r\nHost: a\r\n\r\n", &rest) == SERVE_MORE &&
           strncmp(answers, "HTTP/1.1 200 ", 13) == 0,
       "and read");
    answers[output.size] = '\0';
    OK(strstr(answers, "\"user=239\\\"0") != NULL && strcmp(answers + output.size - 4, "\"]}\n") == 0,
       "to its end");
    end_all();
}

static bool says(const char *piece)
{
    answers[output.size] = '\0';
    return strstr(answers, piece) != NULL;
}

/* Versions as they were: made, changed on trial, and ended; and where the answer has no room for all their rules. */
static void test_history(void)
{
    const char *rest;
    begin();
    (void)serve("GET /v1/rules/shop/x/history HTTP/1.1\r\nHost: a\r\n\r\n", &rest);
    OK(says("HTTP/1.1 404 "), "a rule that was never there has no history");
    (void)serve(put("/v1/rules/shop/x?note=in%20May", "{\"rate\":\"1/s\"}"), &rest);
    (void)resumed();
    (void)serve(put("/v1/rules/shop/x?canary=10%25&watch=60s&threshold=5%25", "{\"rate\":\"2/s\"}"), &rest);
    (void)resumed();
    OK(serve("GET /v1/rules/shop/x/history HTTP/1.1\r\nHost: a\r\n\r\n", &rest) == SERVE_MORE, "history");
    OK(says("{\"versions\":[{\"version\":1,\"change\":\"2.") && says("{\"version\":2,\"change\":\"1."),
       "newest first");
    OK(says("\"in_force\":true,\"deleted\":false,\"canary\":\"10%\",\"note\":null,\"rule\":{\"id\":\"x\",") &&
           says("\"rate\":\"2/s\"}}"),
       "the one on trial");
    OK(says("\"in_force\":true,\"deleted\":false,\"canary\":null,\"note\":\"in May\",\"rule\":{\"id\":\"x\","),
       "and the one that all others have");
    (void)serve("DELETE /v1/rules/shop/x HTTP/1.1\r\nHost: a\r\n\r\n", &rest);
    (void)resumed();
    (void)serve("GET /v1/rules/shop/x/history HTTP/1.1\r\nHost: a\r\n\r\n", &rest);
    OK(says("\"in_force\":false,\"deleted\":true,\"canary\":null,\"note\":null,\"rule\":null}"),
       "its end is a version");
    (void)serve("GET /v1/rules/shop/history HTTP/1.1\r\nHost: a\r\n\r\n", &rest);
    OK(says("HTTP/1.1 404 ") && says("there is no such rule"), "a rule may have that name");
    (void)serve("PUT /v1/rules/shop/x/history HTTP/1.1\r\nHost: a\r\n\r\n", &rest);
    OK(says("HTTP/1.1 404 "), "a history is not written");
    end_all();
}

/* A rule of 22 KB in as many versions as are kept: the answer has all versions, and the rules that fit. */
static void test_long_history(void)
{
    static char body[32 << 10];
    const char *rest;
    uint32_t versions = 0, rules = 0;
    begin();
    for (int n = 0; n < RULE_VERSIONS_KEPT; n++) {
        size_t size = (size_t)snprintf(body, sizeof body, "{\"rate\":\"%d/s\",\"deny\":[", n + 1);
        for (int i = 0; i < 100; i++)
            size +=
                (size_t)snprintf(body + size, sizeof body - size, "%s\"user=%d%0200d\"", i > 0 ? "," : "", i, 0);
        (void)snprintf(body + size, sizeof body - size, "]}");
        (void)serve(put("/v1/rules/shop/long", body), &rest);
        (void)resumed();
    }
    OK(serve("GET /v1/rules/shop/long/history HTTP/1.1\r\nHost: a\r\n\r\n", &rest) == SERVE_MORE, "a long history");
    answers[output.size] = '\0';
    for (const char *at = answers; (at = strstr(at, "\"version\":")) != NULL; at++)
        versions++;
    for (const char *at = answers; (at = strstr(at, "\"rule\":{")) != NULL; at++)
        rules++;
    OK(versions == RULE_VERSIONS_KEPT && rules > 2 && rules < versions, "%u versions, %u with their rules",
       versions, rules);
    OK(strcmp(answers + output.size - 4, "}]}\n") == 0, "to its end");
    end_all();
}

static void test_named_by_another(void)
{
    const char *rest;
    begin();
    (void)serve(put("/v1/rules/shop/a", "{\"rate\":\"1/s\"}"), &rest);
    (void)resumed();
    (void)serve(put("/v1/rules/shop/b", "{\"rate\":\"1/s\",\"replaces\":[\"a\"]}"), &rest);
    (void)resumed();
    (void)serve("DELETE /v1/rules/shop/a HTTP/1.1\r\nHost: a\r\n\r\n", &rest);
    OK(says("HTTP/1.1 409 ") && is_in_force("a"), "the end of a rule that another one names is a conflict");
    end_all();
}

int main(void)
{
    store_scene_begin();
    slow_disk_init();
    test_slow_disk();
    test_full_disk();
    test_gone();
    test_longest();
    test_history();
    test_long_history();
    test_named_by_another();
    return end();
}
