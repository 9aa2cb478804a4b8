/*
 * A request of /check that is recognised is answered as if it had been parsed: whatever changed between the two, and
 * whatever else is different. Most of it by asking the same of two threads' HTTP, one of which never knows a shape.
 */
#include "http/shapes.h"

#include "base/random.h"
#include "http/call.h"
#include "tests/lib/served.h"

enum { REQUEST_BYTES = 4096, RANDOM_ROUNDS = 4000 };

static struct http_settings settings;
static struct http *http, *parser; /* `parser` forgets its shapes after each request */
static struct http_session session, parsed_session;
static size_t consumed;
static char answer[128 * 1024], parsed[128 * 1024];

static void add_source(const char *gives, const char *header)
{
    struct http_source *source = &settings.source[settings.source_count++];
    (void)snprintf(source->gives, sizeof source->gives, "%s", gives);
    (void)snprintf(source->header, sizeof source->header, "%s", header);
}

static void take_settings(void)
{
    http_take_settings(http, &settings);
    http_take_settings(parser, &settings);
}

static void begin(void)
{
    settings = (struct http_settings){0};
    served_plan(1024, 0);
    served_begin();
    json_arena_prepare(7);
    http = http_create(&served.commands, &settings);
    parser = http_create(&served.commands, &settings);
    assert(http != NULL && parser != NULL);
    session = parsed_session = (struct http_session){0};
    http_open(&session, "10.0.0.1:1234");
    http_open(&parsed_session, "10.0.0.1:1235");
}

static void end(void)
{
    http_destroy(&http);
    http_destroy(&parser);
    served_close();
}

static struct turn now(void)
{
    return (struct turn){.now_ns = served.now_ns, .wall_ns = served.wall_ns};
}

static const char *serve(struct http *by, struct http_session *asks, struct bytes input, char *text)
{
    struct output output = output_over(text, sizeof answer - 1);
    (void)http_serve(by, asks, input, &output, now(), &consumed);
    text[output.size] = '\0';
    return text;
}

static const char *ask_bytes(const char *bytes)
{
    return serve(http, &session, bytes_of(bytes), answer);
}

static uint64_t recognised(void)
{
    return http->shapes.learning.recognised;
}

/* The status, what is left, and whether the request was recognised: "200 4 known". */
static const char *told_of(const char *bytes)
{
    static char told[64];
    const uint64_t before = recognised();
    const char *left = strstr(ask_bytes(bytes), "\"remaining\":");
    (void)snprintf(told, sizeof told, "%.3s %.*s%s", answer[0] ? answer + 9 : "no answer",
                   left ? (int)strcspn(left + 12, ",") : 1, left ? left + 12 : "-",
                   recognised() > before ? " known" : "");
    return told;
}

#define HEAD(line) line " HTTP/1.1\r\nHost: a\r\nX-User: u1\r\n\r\n"
#define SLOW(user) HEAD("GET /check?tier=t&user=" user)

static void slow_down(const char *by)
{
    char rule[80];
    (void)snprintf(rule, sizeof rule, "{id: slow, by: %s, rate: 1/m, burst: 5}", by);
    OK(set_rules(rule), "a rule");
}

static void test_values(void)
{
    begin();
    slow_down("user");
    OK_STRING(told_of(SLOW("alice")), "200 4", "the first request is parsed");
    OK_STRING(told_of(SLOW("bob")), "200 4 known", "another value is recognised, and has a key of its own");
    OK_STRING(told_of(SLOW("alice")), "200 3 known", "the same value has the same key");
    OK_STRING(told_of(SLOW("%61lice")), "200 2", "a value that has to be decoded is parsed");
    OK_STRING(told_of(SLOW("a.b-c_d~e:f@g/h")), "200 4 known", "many bytes stand for themselves");
    OK_STRING(told_of(SLOW("a+b")), "200 4", "a blank does not");
    OK_STRING(told_of(SLOW("a b")), "400 -", "nor do two words of the line");
    ask_bytes(SLOW("alice"));
    OK_STRING(told_of(SLOW("")), "400 -", "an empty value is none");
    OK_STRING(told_of(SLOW("a&user=b")), "400 -", "nothing is said twice");
    OK_STRING(told_of(SLOW("a&ip=1.2.3.4")), "200 4", "more identifiers are another shape");
    OK_STRING(told_of(SLOW("a#b")), "200 4", "a fragment is parsed");
    OK_U64(http->shapes.learning.trust > 0, 1, "after all of them there is trust left");
    end();
}

static void test_long_values(void)
{
    static const struct {
        int size;
        const char *told;
    } cases[] = {{256, "200 4 known"}, {257, "200 4"}, {257, "200 3"}, {8300, "414 -"}};
    static char request[10000];
    begin();
    slow_down("user");
    (void)ask_bytes(SLOW("a"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(request, sizeof request,
                       "GET /check?tier=t&user=%0*d HTTP/1.1\r\nHost: a\r\nX-User: u1\r\n\r\n", cases[i].size, 7);
        OK_STRING(told_of(request), cases[i].told, "a value of %d bytes", cases[i].size);
    }
    end();
}

/* Other bytes than those of values are others for good. */
static void test_other_bytes(void)
{
    static const char *const others[] = {
        "GET /check?tier=t&user=alice HTTP/1.1\r\nX-User: u1\r\nHost: a\r\n\r\n",
        "GET /check?tier=t&user=alice HTTP/1.1\r\nHost: b\r\nX-User: u1\r\n\r\n",
        "GET /check?tier=t&user=alice HTTP/1.1\r\nHost: a\r\nX-User: u2\r\n\r\n",
        "GET /check?user=alice&tier=t HTTP/1.1\r\nHost: a\r\nX-User: u1\r\n\r\n",
        "HEAD /check?tier=t&user=alice HTTP/1.1\r\nHost: a\r\nX-User: u1\r\n\r\n",
        "GET /check?tier=t&user=alice HTTP/1.0\r\nHost: a\r\nX-User: u1\r\n\r\n",
        "GET /check?tier=t&user=alice HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET /check?tier=t&user=alice HTTP/1.1\r\nHost: a\r\nX-User: u1\r\nContent-Length: 4\r\n\r\nbody",
        "GET /check?tier=t&user=alice HTTP/1.1\nHost: a\nX-User: u1\n\n",
        "GET /v1/hot?tier=t&user=alice HTTP/1.1\r\nHost: a\r\nX-User: u1\r\n\r\n",
    };
    begin();
    slow_down("user");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)ask_bytes(SLOW("alice"));
        const uint64_t before = recognised();
        (void)ask_bytes(others[i]);
        OK_U64(recognised(), before, "other bytes %zu are not recognised", i);
        if (strstr(answer, "Connection: close") != NULL)
            session = (struct http_session){.known = true};
    }
    OK_STRING(told_of(SLOW("bob")), "200 4 known", "the first shape is known all the same");
    end();
}

/* The rest comes later, at every byte; and many come at once. */
static void test_pieces(void)
{
    static const char request[] = SLOW("alice"),
                      six[] = SLOW("a") SLOW("b") SLOW("a") SLOW("%61") SLOW("c") SLOW("a");
    const size_t size = sizeof request - 1;
    uint32_t wrong = 0;
    begin();
    slow_down("user");
    (void)ask_bytes(SLOW("x"));
    for (size_t cut = 1; cut < size; cut++) {
        (void)ask_bytes("GET /check?tier=t&user=alice&cost=0 HTTP/1.1\r\nHost: a\r\n\r\n");
        (void)serve(http, &session, (struct bytes){request, cut}, answer);
        wrong += answer[0] != '\0' || consumed != 0;
        (void)serve(http, &session, (struct bytes){request, size}, answer);
        wrong += consumed != size || strstr(answer, cut <= 5 ? "\"allowed\":true" : "\"allowed\":false") == NULL;
    }
    OK_U64(wrong, 0, "in two pieces each request is decided once");
    for (int i = 0; i < 100; i++)
        (void)ask_bytes(SLOW("x"));
    const uint64_t before = recognised();
    (void)ask_bytes(six);
    uint32_t answers = 0;
    for (const char *at = answer; (at = strstr(at, "HTTP/1.1 200")) != NULL; at++)
        answers++;
    OK(answers == 6 && consumed == sizeof six - 1, "six at once have six answers");
    OK_U64(recognised() - before, 5, "of which one is parsed");
    OK_STRING(told_of(SLOW("a")), "200 0 known", "and all were charged");
    end();
}

static void test_changes(void)
{
    begin();
    OK(set_rules("{id: u, by: user, rate: 1/m, burst: 5}"), "a rule");
    (void)ask_bytes(HEAD("GET /check?user=a"));
    OK_STRING(told_of(HEAD("GET /check?user=a")), "200 3 known", "is known");
    OK(set_rules("{id: u, by: user, rate: 1/m, burst: 9}"), "another burst");
    OK_STRING(told_of(HEAD("GET /check?user=b")), "200 8", "the change is seen at once");
    OK_STRING(told_of(HEAD("GET /check?user=b")), "200 7 known", "and learned");
    OK(set_rules("{id: u, by: user, rate: 1/m, burst: 9, deny: [user=bad]}"), "a value decides");
    for (int i = 0; i < 20; i++)
        (void)ask_bytes(HEAD("GET /check?user=c&cost=0"));
    OK_STRING(told_of(HEAD("GET /check?user=bad")), "429 0", "it is denied");
    OK_STRING(told_of(HEAD("GET /check?user=b")), "200 6", "and nothing is known");
    OK(set_rules("{id: u, by: user, rate: 1/m, burst: 9}"), "no value decides");
    (void)ask_bytes(HEAD("GET /check?user=b"));
    OK_STRING(told_of(HEAD("GET /check?user=b")), "200 4 known", "known again");
    settings.limit_fields = HTTP_LIMIT_NONE;
    take_settings();
    OK_STRING(told_of(HEAD("GET /check?user=b")), "200 3", "other settings are other shapes");
    OK(strstr(answer, "X-RateLimit-Limit") == NULL, "which say what the answer has");
    OK_STRING(told_of(HEAD("GET /check?user=b")), "200 2 known", "and are learned");
    add_source("user", "x-user");
    take_settings();
    OK_STRING(told_of(HEAD("GET /check?ip=7")), "200 8", "a field may become an identifier");
    OK_STRING(told_of(HEAD("GET /check?ip=7")), "200 7 known", "of a shape");
    served.commands.password = "geheim";
    OK_STRING(told_of(HEAD("GET /check?ip=7")), "401 -", "where a password is needed nothing is known");
    served.commands.password = NULL;
    end();
}

#define WITH(fields) "GET /check?tier=t HTTP/1.1\r\nHost: a\r\n" fields "\r\n"

/* Identifiers that stand in fields of the head. */
static void test_fields(void)
{
    begin();
    slow_down("ip");
    add_source("ip", "x-forwarded-for");
    add_source("user", "x-user");
    add_source("size", "content-length");
    add_source("way", "connection");
    add_source("trace", "x-trace");
    take_settings();
    (void)ask_bytes(WITH("X-User: u1\r\nX-Forwarded-For: 9.9.9.9, 10.0.0.1 \r\n"));
    OK_STRING(told_of(WITH("X-User: u2\r\nX-Forwarded-For: 9.9.9.9, 10.0.0.1 \r\n")), "200 3 known",
              "the address counts");
    OK_STRING(told_of(WITH("X-User: u2\r\nX-Forwarded-For: 9.9.9.9, 10.0.0.2 \r\n")), "200 4 known",
              "which stands behind another one, and is a value as well");
    OK_STRING(told_of(WITH("X-User: u2\r\nX-Forwarded-For: 9.9.9.8, 10.0.0.2 \r\n")), "200 3",
              "other addresses before it are other bytes");
    OK_STRING(told_of(WITH("X-User: u2\r\nX-Forwarded-For: 9.9.9.9, 10.0.0.2, 10.0.0.3 \r\n")), "200 4",
              "and the last one counts");
    OK_STRING(told_of(WITH("X-User: u1\r\nX-User: u2\r\nX-Forwarded-For: 9.9.9.9, 10.0.0.1 \r\n")), "400 -",
              "a field twice is an error");
    for (int i = 0; i < 40; i++) {
        (void)ask_bytes("GET /check?tier=t HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        (void)ask_bytes("GET /check?tier=t HTTP/1.1\r\nHost: a\r\nConnection: te\r\n\r\n");
        (void)ask_bytes("GET /check?tier=t HTTP/1.1\r\nHost: a\r\nX-Trace: t\r\ntraceparent: t\r\n\r\n");
    }
    const uint64_t before = recognised();
    (void)ask_bytes(
        "GET /check?tier=t HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody" WITH("X-Trace: 1\r\n"));
    OK(strstr(answer, "HTTP/1.1 200") != NULL && strstr(answer + 9, "HTTP/1.1 200") != NULL &&
           strstr(answer, "HTTP/1.1 400") == NULL,
       "a length that is an identifier as well is the length of a body");
    (void)ask_bytes("GET /check?tier=t HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    OK(strstr(answer, "Connection: close") != NULL, "and a connection ends where the client says so");
    OK_U64(recognised(), before, "because such requests are parsed, as those with a trace are");
    end();
}

/* A field that gives an identifier and something else as well. */
static void test_fields_for_two(void)
{
    begin();
    OK(set_rules("{id: e, by: user, endpoint: /a, rate: 1/m, burst: 5}"), "a rule of a path");
    add_source("user", "x-user");
    add_source("path", "x-uri");
    add_source("endpoint", "x-uri");
    add_source("size", "x-size");
    add_source("cost", "x-size");
    take_settings();
    for (int i = 0; i < 40; i++) {
        (void)ask_bytes(WITH("X-User: v\r\nX-Uri: /b\r\n"));
        (void)ask_bytes(WITH("X-User: v\r\nX-Size: 1\r\n"));
    }
    OK_STRING(told_of(WITH("X-User: u\r\nX-Uri: /a\r\n")), "200 4", "the path decides which rules count");
    OK_STRING(told_of(WITH("X-User: w\r\nX-Size: 100\r\n")), "200 0", "and a size is the cost");
    end();
}

static void test_gateways(void)
{
    begin();
    add_source("user", "x-user");
    take_settings();
    (void)ask_bytes("GET /check/a/b?c=d HTTP/1.1\r\nHost: a\r\nX-User: u\r\n\r\n");
    (void)ask_bytes("GET /check/a/b?c=d HTTP/1.1\r\nHost: a\r\nX-User: v\r\n\r\n");
    OK_U64(recognised(), 1, "a path below is recognised");
    OK(set_rules("{id: e, by: user, endpoint: /a/c, rate: 1/m, burst: 1}"), "a rule of another path");
    for (int i = 0; i < 3; i++)
        (void)ask_bytes("GET /check/a/b?c=d HTTP/1.1\r\nHost: a\r\nX-User: v\r\n\r\n");
    OK(recognised() == 3 && strstr(answer, "\"default\"") != NULL, "is about no such request");
    OK(strstr(ask_bytes("GET /check/a/c?c=d HTTP/1.1\r\nHost: a\r\nX-User: v\r\n\r\n"), "\"rule\":\"e\"") != NULL,
       "but of that one");
    OK(strncmp(ask_bytes("GET /check/a/c?c=d HTTP/1.1\r\nHost: a\r\nX-User: v\r\n\r\n"), "HTTP/1.1 429", 12) == 0,
       "which it refuses");
    (void)ask_bytes(HEAD("GET /check?tier=t&denied=403&cost=600&user=a"));
    for (int i = 0; i < 40; i++)
        (void)ask_bytes(HEAD("GET /check?tier=t&denied=403&cost=600&user=a"));
    OK(strncmp(answer, "HTTP/1.1 403", 12) == 0, "a gateway has its status");
    const uint64_t before = recognised();
    (void)ask_bytes(HEAD("GET /check?tier=t&denied=403&cost=600&user=b"));
    OK(recognised() == before + 1 && strncmp(answer, "HTTP/1.1 403", 12) == 0, "recognised or not");
    (void)ask_bytes("HEAD /check?user=z HTTP/1.1\r\nHost: a\r\n\r\n");
    OK(strstr(answer, "\r\n\r\n")[4] == '\0', "HEAD has no body");
    end();
}

/* No shape is learned of a path that is written otherwise, and each request has its key. */
static void test_spelling(void)
{
    static const char *const others[] = {"//a/b", "/a/%62", "/x/../a/b?c", "/a//b#c"};
    char request[200];
    begin();
    OK(set_rules("{id: e, by: user, endpoint: /a/b, rate: 1/m, burst: 400}"), "a rule of a path");
    add_source("user", "x-user");
    add_source("endpoint", "x-uri");
    take_settings();
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
            (void)snprintf(request, sizeof request, WITH("X-User: u\r\nX-Uri: %s\r\n"), others[i]);
            (void)ask_bytes(request);
            OK(strstr(answer, "\"rule\":\"e\"") != NULL, "%s is counted", others[i]);
            (void)snprintf(request, sizeof request, "GET /check%s HTTP/1.1\r\nHost: a\r\nX-User: u\r\n\r\n",
                           others[i]);
            OK(strstr(ask_bytes(request), "\"rule\":\"e\"") != NULL, "also behind /check");
        }
    OK_U64(recognised(), 0, "each was parsed");
    OK_STRING(told_of(WITH("X-User: u\r\nX-Uri: /a/b\r\n")), "200 375", "and all had one key");
    for (int i = 0; i < 60; i++)
        (void)ask_bytes(WITH("X-User: u\r\nX-Uri: /a/b\r\n"));
    OK_STRING(told_of(WITH("X-User: u\r\nX-Uri: /a/b\r\n")), "200 314 known", "as what is written so");
    const uint64_t before = recognised();
    settings.endpoint_spelling = PATH_AS_WRITTEN;
    take_settings();
    for (int i = 0; i < 60; i++)
        (void)ask_bytes(WITH("X-User: u\r\nX-Uri: //a/b\r\n"));
    OK(strstr(answer, "\"rule\":\"e\"") == NULL && recognised() > before,
       "another spelling of the config is another shape");
    settings.endpoint_spelling = PATH_MERGE_SLASHES;
    take_settings();
    OK_STRING(told_of(WITH("X-User: u\r\nX-Uri: //a/b\r\n")), "200 313", "which is void with the next");
    end();
}

/* ---- the same of two ---- */

static const struct {
    const char *before, *behind; /* of a value */
} lines[] = {{"GET /check?user=", "&ip=7"}, {"GET /check?ip=", "&tier=t"},       {"GET /check?user=", "&cost=2"},
             {"POST /check?user=", ""},     {"GET /check?user=", "&denied=403"}, {"GET /check?user=%20", ""}};
static const char *const fields[] = {"Host: a\r\n",
                                     "Host: a\r\nX-Ip: 1.2.3.4\r\n",
                                     "X-Ip: 1.2.3.5\r\nHost: a\r\n",
                                     "Host: a\r\nConnection: keep-alive\r\n",
                                     "host:a\r\nContent-Length: 0\r\n",
                                     "Host: a\r\nX-Ip: \r\n"};

/* A request of the client `side`; both sides have the same users but for their first letter. */
static size_t make_request(char *text, size_t room, char side, const uint32_t draw[5])
{
    const size_t line_kinds = sizeof lines / sizeof lines[0], field_kinds = sizeof fields / sizeof fields[0];
    /* mostly a few kinds, so that they are learned */
    const size_t line = draw[0] % 8 > 0 ? draw[4] % 2 : draw[1] % line_kinds,
                 field = draw[0] % 8 > 1 ? draw[4] % 2 : draw[2] % field_kinds;
    return (size_t)snprintf(text, room, "%s%c%u%s HTTP/1.1\r\n%s\r\n", lines[line].before, side, draw[3] % 5,
                            lines[line].behind, fields[field]);
}

/* The answers to some requests of both sides. *size: of the requests of ours. */
static void ask_both(struct random *random, size_t *size)
{
    char ours[REQUEST_BYTES], other[REQUEST_BYTES];
    struct output output = output_over(parsed, sizeof parsed - 1);
    *size = 0;
    for (uint64_t many = random_below(random, 3) + 1; many > 0; many--) {
        uint32_t draw[5];
        for (int i = 0; i < 5; i++)
            draw[i] = (uint32_t)random_below(random, 1000);
        const size_t other_size = make_request(other, sizeof other, 'b', draw);
        parser->shapes = (struct http_shapes){0};
        (void)http_serve(parser, &parsed_session, (struct bytes){other, other_size}, &output, now(), &consumed);
        *size += make_request(ours + *size, sizeof ours - *size, 'a', draw);
    }
    parsed[output.size] = '\0';
    (void)serve(http, &session, (struct bytes){ours, *size}, answer);
}

static void test_equal(void)
{
    uint32_t unequal = 0;
    begin();
    add_source("ip", "x-ip");
    take_settings();
    struct random random;
    random_seed(&random, 7);
    for (uint32_t i = 0; i < RANDOM_ROUNDS; i++) {
        size_t size;
        ask_both(&random, &size);
        unequal += strcmp(answer, parsed) != 0 || consumed != size;
        if (i % 500 == 499)
            OK(set_rules(i % 1000 == 999 ? "{id: u, by: user, rate: 1/m, burst: 5}"
                                         : "{id: u, by: [user, ip], rate: 1/s, burst: 7}"),
               "rules change");
        if (i % 100 == 99)
            served_wait_ms(random_below(&random, 2000));
    }
    OK_U64(unequal, 0, "both are answered the same");
    OK(recognised() > RANDOM_ROUNDS / 2, "of which %u were recognised", (unsigned)recognised());
    OK_U64(parser->shapes.learning.recognised, 0, "by one of them");
    end();
}

int main(void)
{
    test_values();
    test_long_values();
    test_other_bytes();
    test_pieces();
    test_changes();
    test_fields();
    test_fields_for_two();
    test_gateways();
    test_spelling();
    test_equal();
    return tap_done();
}
