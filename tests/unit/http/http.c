/*
 * Requests and their answers, whole, by a node that is alone: the text that a client sends and the text that it reads.
 */
#include "http/http.h"

#include "http/json_arena.h"
#include "tests/lib/served.h"

static struct http_settings settings;
static struct http *http;
static struct http_session session;
static enum serve_status status;
static size_t consumed;
static char answer[2 * 128 * 1024];

static void begin_with(uint32_t address_reservations)
{
    settings = (struct http_settings){0};
    served_plan(1024, 0);
    served.options.address_reservations_max = address_reservations;
    served_begin();
    json_arena_prepare(7);
    http = http_create(&served.commands, &settings);
    assert(http != NULL);
    session = (struct http_session){0};
    http_open(&session, "10.0.0.1:1234");
}

static void begin(void)
{
    begin_with(0);
}

static void tell_limits_by(enum http_limit_fields fields)
{
    settings.limit_fields = fields;
    http_take_settings(http, &settings);
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

/* What is answered to these bytes, one answer or several. */
static const char *ask_bytes(const char *bytes)
{
    struct output output = output_over(answer, 128 * 1024);
    struct bytes input = bytes_of(bytes);
    status = http_serve(http, &session, input, &output, now(), &consumed);
    answer[output.size] = '\0';
    return answer;
}

static const char *get(const char *target)
{
    char request[1024];
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target);
    return ask_bytes(request);
}

static const char *post(const char *path, const char *body)
{
    static char request[80000];
    (void)snprintf(request, sizeof request,
                   "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                   path, strlen(body), body);
    return ask_bytes(request);
}

static unsigned code(const char *text)
{
    return strncmp(text, "HTTP/1.1 ", 9) == 0 ? (unsigned)strtoul(text + 9, NULL, 10) : 0;
}

static const char *body(const char *text)
{
    const char *blank = strstr(text, "\r\n\r\n");
    return blank != NULL ? blank + 4 : "";
}

static const char *field(const char *text, const char *name)
{
    static char value[128];
    char line[64];
    (void)snprintf(line, sizeof line, "\r\n%s: ", name);
    const char *at = strstr(text, line);
    if (at == NULL || at > body(text))
        return "";
    at += strlen(line);
    (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\r"), at);
    return value;
}

#define SLOW(left, retry, reset)                                                                                   \
    "\"rule\":\"slow\",\"limit\":5,\"remaining\":" #left ",\"available_now\":" #left ",\"retry_after_ms\":" #retry \
    ",\"reset_after_ms\":" #reset ",\"window_ms\":300000"

static void test_gateway(void)
{
    begin();
    OK_STRING(body(get("/check?user=a&rule=slow")), "{\"allowed\":true," SLOW(4, 0, 60000) "}\n", "one of five");
    OK_U64(code(answer), 200, "is allowed");
    OK_STRING(field(answer, "X-RateLimit-Limit"), "5", "the limit is told");
    OK_STRING(field(answer, "X-RateLimit-Remaining"), "4", "and what is left");
    OK_STRING(field(answer, "X-RateLimit-Reset"), "60", "and when it is full again");
    OK_STRING(field(answer, "Date"), "Sat, 21 Nov 2026 00:00:02 GMT", "and the time");
    for (int i = 0; i < 4; i++)
        (void)get("/check?user=a&rule=slow");
    OK_STRING(body(get("/check?user=a&rule=slow")),
              "{\"allowed\":false," SLOW(0, 60000, 300000) ",\"reason\":\"capacity\"}\n", "the sixth is not");
    OK_U64(code(answer), 429, "with the status for it");
    OK_STRING(field(answer, "X-RateLimit-Reason"), "capacity", "and the reason in the head");
    OK_STRING(field(answer, "Retry-After"), "60", "and when to come again");
    OK_STRING(field(answer, "X-RateLimit-Reset"), "60", "which is the only time that is told");
    OK_U64(code(get("/check?user=a&rule=slow&denied=403")), 403, "for nginx by another status");
    served_wait_ms(1);
    (void)get("/check?user=a&rule=slow");
    OK_STRING(field(answer, "Retry-After"), "60", "parts of a second are rounded up");
    served_wait_ms(59998);
    OK_U64(code(get("/check?user=a&rule=slow")), 429, "a millisecond before, it is too early");
    served_wait_ms(1);
    OK_U64(code(get("/check?user=a&rule=slow")), 200, "at the time, it is not");
    (void)ask_bytes("HEAD /check?user=b HTTP/1.1\r\nHost: a\r\n\r\n");
    OK(code(answer) == 200 && body(answer)[0] == '\0' && strcmp(field(answer, "Content-Length"), "0") != 0,
       "HEAD has the head of GET");
    tell_limits_by(HTTP_LIMIT_DRAFT_10);
    (void)get("/check?user=c&rule=slow");
    OK_STRING(field(answer, "RateLimit-Policy"), "\"slow\";q=5;w=300", "the draft's policy");
    OK_STRING(field(answer, "RateLimit"), "\"slow\";r=4;t=60", "and state");
    tell_limits_by(HTTP_LIMIT_NONE);
    OK_STRING(field(get("/check?user=c&rule=slow"), "RateLimit"), "", "or nothing");
    end();
}

static void test_soft(void)
{
    begin();
    OK(set_rules("{id: lenient, by: user, rate: 1/m, burst: 1, mode: soft}"), "a soft rule");
    OK(strstr(get("/check?user=a"), "Over-Limit") == NULL && strstr(answer, "over_limit") == NULL,
       "within its limit nothing is said");
    OK_STRING(body(get("/check?user=a")),
              "{\"allowed\":true,\"rule\":\"lenient\",\"limit\":1,\"remaining\":0,\"available_now\":0,"
              "\"retry_after_ms\":0,\"reset_after_ms\":60000,\"window_ms\":60000,\"over_limit\":true}\n",
              "over it: allowed, and said");
    OK(code(answer) == 200 && strcmp(field(answer, "X-RateLimit-Over-Limit"), "true") == 0 &&
           field(answer, "Retry-After")[0] == '\0',
       "in the head too");
    tell_limits_by(HTTP_LIMIT_DRAFT_10);
    OK_STRING(field(get("/check?user=a"), "X-RateLimit-Over-Limit"), "true", "also beside the fields of the draft");
    tell_limits_by(HTTP_LIMIT_NONE);
    OK_STRING(field(get("/check?user=a"), "X-RateLimit-Over-Limit"), "", "not where no limit is told");
    end();
}

static void test_post(void)
{
    begin();
    OK_STRING(body(post("/v1/check", "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\",\"cost\":2}")),
              "{\"allowed\":true," SLOW(3, 0, 120000) "}\n", "a check takes");
    OK_STRING(body(post("/v1/peek", "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\",\"cost\":9}")),
              "{\"allowed\":false,\"rule\":\"slow\",\"limit\":5,\"remaining\":3,\"available_now\":3,\"retry_after_"
              "ms\":null,"
              "\"reset_after_ms\":120000,\"window_ms\":300000,\"reason\":\"too_large\"}\n",
              "a peek does not; what never fits has no time to come again");
    OK_STRING(field(answer, "Retry-After"), "", "nor in the head");
    OK_STRING(body(post("/v1/refund", "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\",\"cost\":1}")),
              "{\"refunded\":1}\n", "a refund gives back");
    OK_STRING(body(post("/v1/reset", "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\"}")), "{\"reset\":1}\n",
              "a reset gives all back");
    (void)post("/v1/reserve", "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\",\"cost\":3,\"ttl_ms\":9000}");
    const char *id = strstr(answer, "\"reservation\":\"");
    OK(code(answer) == 200 && id != NULL, "a reservation takes");
    char commit[128], counted[128], cancel[128];
    (void)snprintf(commit, sizeof commit, "{\"reservation\":\"%.32s\",\"cost\":1}", id ? id + 15 : "");
    (void)snprintf(counted, sizeof counted, "{\"reservation\":\"%.32s\",\"cost\":1,\"costs\":{\"rows\":7}}",
                   id ? id + 15 : "");
    (void)snprintf(cancel, sizeof cancel, "{\"reservation\":\"%.32s\"}", id ? id + 15 : "");
    OK_STRING(body(post("/v1/commit", commit)), "{\"charged\":1}\n", "and says later what it cost");
    OK_U64(code(post("/v1/commit", commit)), 404, "once");
    OK_U64(code(post("/v1/commit", counted)), 404, "whatever else it cost");
    OK_STRING(body(post("/v1/cancel", cancel)), "{\"cancelled\":false}\n", "what is over is not cancelled");
    OK_STRING(served_ask("PEEK user=a RULE slow"), "[1 5 4 0 60000 'slow']", "RESP sees the same key");
    OK_STRING(
        body(post("/v1/check", "{\"identifiers\":{\"user\":7},\"verbose\":true,\"rule\":\"slow\"}")),
        "{\"allowed\":true,\"rule\":\"slow\",\"limit\":5,\"remaining\":4,\"available_now\":4,\"retry_after_ms\":0,"
        "\"reset_after_ms\":60000,\"window_ms\":300000,\"rules\":[{\"allowed\":true,\"rule\":\"slow\","
        "\"endpoint\":\"*\",\"by\":\"\",\"algorithm\":\"token_bucket\",\"mode\":\"enforce\",\"why\":\"config\","
        "\"canary\":false,\"limit\":5,\"remaining\":4,\"available_now\":4,\"retry_after_ms\":0,\"reset_after_ms\":"
        "60000,"
        "\"window_ms\":300000,\"reason\":\"allowed\"}]}\n",
        "a number may be an id; verbose tells each rule");
    end();
}

/* Rules that count something by a name. */
static void test_costs(void)
{
    begin();
    OK(set_rules("{id: traffic, service: c, counts: bytes, algorithm: fixed_window, limit: 1000, window: 1h}"),
       "a rule");
    OK_U64(code(post("/v1/check",
                     "{\"identifiers\":{\"user\":\"a\"},\"service_id\":\"c\",\"costs\":{\"bytes\":600}}")),
           200, "a cost by its name");
    OK_U64(code(post("/v1/check",
                     "{\"identifiers\":{\"user\":\"a\"},\"service_id\":\"c\",\"costs\":{\"bytes\":600}}")),
           429, "is charged");
    OK_U64(code(get("/check?user=a&service_id=c&cost.bytes=401")), 429, "so does a gateway say it");
    OK_U64(code(get("/check?user=a&service_id=c&cost.bytes=400")), 200, "and it is charged");
    OK_U64(code(get("/check?user=a&service_id=c&cost=1000")), 200, "the rule is about no other request");
    OK_STRING(body(post("/v1/refund",
                        "{\"identifiers\":{\"user\":\"a\"},\"service_id\":\"c\",\"costs\":{\"bytes\":7}}")),
              "{\"refunded\":7}\n", "a refund gives back what it names");
    char commit[160];
    OK_U64(code(post("/v1/reserve", "{\"identifiers\":{\"user\":\"b\"},\"service_id\":\"c\",\"ttl_ms\":9000,"
                                    "\"costs\":{\"bytes\":600}}")),
           200, "a reservation takes what it names");
    const char *id = strstr(answer, "\"reservation\":\"");
    (void)snprintf(commit, sizeof commit, "{\"reservation\":\"%.32s\",\"cost\":1,\"costs\":{\"bytes\":1200}}",
                   id ? id + 15 : "");
    OK_STRING(body(post("/v1/commit", commit)), "{\"charged\":1,\"costs\":{\"bytes\":1000}}\n",
              "and its end says what it used of that, as far as there was more");
    (void)get("/v1/explain?user=a&service_id=c");
    OK(strstr(answer, "\"traffic\"") != NULL, "an explanation is about all rules");
    OK_STRING(body(post("/v1/reset", "{\"identifiers\":{\"user\":\"a\"},\"service_id\":\"c\"}")), "{\"reset\":1}\n",
              "so is a reset");
    end();
}

/* The clients of one address have a part of all reservations, as with RESP. */
static void test_reservations_of_an_address(void)
{
    static const char one[] = "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\",\"ttl_ms\":9000}";
    begin_with(1);
    OK_U64(code(post("/v1/reserve", one)), 200, "a client reserves");
    OK_U64(code(post("/v1/reserve", one)), 503, "until its address has its part");
    OK(strstr(answer, "fewer than the config's address_reservations") != NULL, "and is told which limit that is");
    (void)snprintf(session.address, sizeof session.address, "10.0.0.2:1234");
    OK_U64(code(post("/v1/reserve", one)), 200, "a client at another address finds room");
    end();
}

/* The status, and the field that a problem names. */
static const char *problem(const char *text)
{
    static char told[128];
    const char *at = strstr(text, "\"field\":\"");
    (void)snprintf(told, sizeof told, "%u %.*s", code(text), at ? (int)strcspn(at + 9, "\"") : 0, at ? at + 9 : "");
    return told;
}

static void test_problems(void)
{
    static const struct {
        const char *path, *body, *expected;
    } cases[] = {
        {"/v1/check", "", "400 "},
        {"/v1/check", "{", "400 "},
        {"/v1/check", "7", "400 "},
        {"/v1/check", "{}", "400 identifiers"},
        {"/v1/check", "{\"identifiers\":7}", "400 identifiers"},
        {"/v1/check", "{\"identifiers\":{\"ip\":true}}", "400 identifiers.ip"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"\"}}", "400 identifiers.ip"},
        {"/v1/check", "{\"identifiers\":{\"i p\":\"1\"}}", "400 identifiers.i p"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"cost\":-1}", "400 cost"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"cost\":1.5}", "400 cost"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"cost\":\"1\"}", "400 cost"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"costs\":7}", "400 costs"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"costs\":{\"bytes\":\"7\"}}", "400 costs.bytes"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"costs\":{\"b/s\":7}}", "400 costs.b/s"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"costs\":{\"b\":7},\"drain\":true}", "400 costs"},
        {"/v1/reserve", "{\"identifiers\":{\"ip\":\"1\"},\"costs\":{\"b\":-7},\"ttl_ms\":9}", "400 costs.b"},
        {"/v1/commit", "{\"reservation\":\"x\",\"cost\":1,\"costs\":{\"b\":\"7\"}}", "400 costs.b"},
        {"/v1/commit", "{\"reservation\":\"x\",\"costs\":{\"b\":7}}", "400 cost"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"priority\":\"x\"}", "400 priority"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"verbose\":1}", "400 verbose"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"tire\":\"pro\"}", "400 tire"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"cost\":1,\"cost\":2}", "400 "},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"service_id\":\"nix\"}", "400 service_id"},
        {"/v1/check", "{\"identifiers\":{\"ip\":\"1\"},\"rule\":\"nix\"}", "400 rule"},
        {"/v1/check", "[]", "400 "},
        {"/v1/check", "[{\"identifiers\":{\"ip\":\"1\"},\"rule\":\"slow\"},{\"cost\":7}]", "400 [1].identifiers"},
        {"/v1/check", "[{\"identifiers\":{\"ip\":\"1\"},\"rule\":\"slow\"},7]", "400 [1]"},
        {"/v1/refund", "{\"identifiers\":{\"ip\":\"1\"},\"verbose\":true}", "400 verbose"},
        {"/v1/reserve", "{\"identifiers\":{\"ip\":\"1\"}}", "400 ttl_ms"},
        {"/v1/reserve", "{\"identifiers\":{\"ip\":\"1\"},\"ttl_ms\":0}", "400 ttl_ms"},
        {"/v1/commit", "{\"reservation\":\"x\"}", "400 cost"},
        {"/v1/commit", "{\"reservation\":\"x\",\"cost\":1}", "400 reservation"},
        {"/v1/cancel", "{}", "400 reservation"},
        {"/v1/nix", "{}", "404 "},
        {"/healthz", "{}", "405 "},
    };
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        OK_STRING(problem(post(cases[i].path, cases[i].body)), cases[i].expected, "%s %s", cases[i].path,
                  cases[i].body);
        OK(strcmp(field(answer, "Content-Type"), "application/problem+json") == 0 && status == SERVE_MORE,
           "a problem, and the connection stays");
    }
    OK_STRING(served_ask("PEEK ip=1 RULE slow"), "[1 5 5 0 0 'slow']", "none of them took anything");
    OK_STRING(field(get("/v1/check"), "Allow"), "POST", "other methods are named");
    OK_STRING(field(post("/healthz", "{}"), "Allow"), "GET, HEAD", "of each path");
    OK_STRING(problem(ask_bytes(
                  "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}")),
              "415 Content-Type", "a body that a web page may send is refused");
    end();
}

static void test_json_bounds(void)
{
    static char many[HTTP_BODY_MAX_BYTES];
    size_t size = 0;
    begin();
    memset(many, '[', 3000);
    many[3000] = '\0';
    OK_U64(code(post("/v1/check", many)), 400, "a deep body is refused");
    for (size_t i = 0; i < 20000; i++) {
        memcpy(many + size, i == 0 ? "[{}" : ",{}", 3);
        size += 3;
    }
    memcpy(many + size, "]", 2);
    OK_U64(code(post("/v1/check", many)), 413, "and one that needs too much memory");
    OK_U64(code(post("/v1/check", "{\"identifiers\":{\"ip\":\"1\"}}")), 200, "the next one finds all of it again");
    size = 0;
    for (size_t i = 0; i < 101; i++)
        size += (size_t)snprintf(many + size, sizeof many - size, "%s{\"identifiers\":{\"ip\":%zu}}",
                                 i == 0 ? "[" : ",", i);
    (void)snprintf(many + size, sizeof many - size, "]");
    OK_U64(code(post("/v1/check", many)), 400, "a batch has a bound");
    many[size - strlen(",{\"identifiers\":{\"ip\":100}}")] = ']';
    many[size - strlen(",{\"identifiers\":{\"ip\":100}}") + 1] = '\0';
    OK_U64(code(post("/v1/check", many)), 200, "and may be as large as that");
    end();
}

static void test_many(void)
{
    static char input[100 * 64];
    struct output output = output_over(answer, 128 * 1024);
    size_t size = 0;
    begin();
    for (int i = 0; i < 100; i++)
        size += (size_t)snprintf(input + size, sizeof input - size,
                                 "GET /check?user=u%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
    struct turn turn = now();
    turn.work_max = 100;
    status = http_serve(http, &session, (struct bytes){input, size}, &output, turn, &consumed);
    OK(status == SERVE_ENOUGH && consumed > 0 && consumed < size && http_worked(http) >= 100,
       "a turn has a bound, as for RESP");
    OK_U64(served.commands.stats.http_requests > 0, 1, "requests are counted");
    OK(ask_bytes("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n") && status == SERVE_MORE, "a 404 does not close");
    OK(ask_bytes("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET / ") && status == SERVE_CLOSE &&
           strcmp(field(answer, "Connection"), "close") == 0,
       "what asks to be closed is");
    OK(ask_bytes("nonsense\r\n") && status == SERVE_CLOSE && code(answer) == 400, "and what is no HTTP");
    end();
}

static const char *with(const char *authorization)
{
    char request[512];
    (void)snprintf(request, sizeof request, "GET /check?user=a HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\n\r\n",
                   authorization);
    return ask_bytes(request);
}

static void test_password(void)
{
    struct output output = output_over(answer, 128 * 1024);
    begin();
    served.commands.password = "sesame";
    OK_U64(code(get("/check?user=a")), 401, "who has no password is told so");
    OK(strncmp(field(answer, "WWW-Authenticate"), "Bearer", 6) == 0 && !session.known, "and how to say it");
    OK_U64(code(get("/healthz")), 200, "whether the daemon is alive, everybody may ask");
    OK_U64(code(get("/readyz")), 200, "and whether it is ready");
    OK(!session.known, "without being known for it");
    OK_U64(code(with("Bearer sesame")), 200, "the password lets in");
    OK(session.known, "and makes the client known");
    OK_U64(code(with("Basic ZGVmYXVsdDpzZXNhbWU=")), 200, "in the form of browsers as well");
    OK_U64(code(with("Basic cm9vdDpzZXNhbWU=")), 0, "for no other user");
    OK(status == SERVE_DELAY && http_delay_ms(&session) == SESSION_DELAY_MS, "a wrong one has to wait");
    OK(http_resume(http, &session, &output, now()), "and then");
    answer[output.size] = '\0';
    OK_U64(code(answer), 401, "is refused");
    for (int i = 0; i < 3; i++)
        OK(with("Bearer guess") && status == SERVE_DELAY, "again");
    OK(with("Bearer guess") && status == SERVE_CLOSE && code(answer) == 401, "the fifth ends the connection");
    for (int i = 0; i < 40; i++) {
        session = (struct http_session){0};
        http_open(&session, "10.0.0.1:77");
        (void)with("Bearer guess");
    }
    OK_U64(served.commands.stats.auth_failures, GUESSES_MAX, "an address has so many guesses, with AUTH together");
    OK(code(answer) == 401 && strcmp(field(answer, "Retry-After"), "") != 0 && status == SERVE_CLOSE,
       "then it is told for how long it is barred");
    end();
}

static const struct {
    const char *request;
    unsigned roles; /* a bit for each user of test_users: who is not told 403 */
} role_rows[] = {
    {"GET /check?user=a", 1},
    {"POST /check?user=a", 1},
    {"POST /v1/check", 1 + 16},
    {"POST /v1/peek", 1 + 2 + 16},
    {"POST /v1/refund", 1 + 16},
    {"POST /v1/reset", 4},
    {"POST /v1/reserve", 1 + 16},
    {"POST /v1/commit", 1 + 16},
    {"POST /v1/cancel", 1 + 16},
    {"POST /v1/renew", 1 + 16},
    {"GET /v1/explain?user=a&service_id=shop", 1 + 2 + 16},
    {"GET /v1/explain?user=a&service_id=other", 1 + 2},
    {"GET /v1/nodes", 2},
    {"GET /v1/weights", 2 + 8},
    {"POST /v1/weights", 8},
    {"GET /v1/rules", 2 + 4},
    {"HEAD /v1/rules", 2 + 4},
    {"POST /v1/rules", 4},
    {"GET /v1/rules/shop/u", 2 + 4},
    {"GET /v1/rules/shop/u/history", 2 + 4},
    {"PUT /v1/rules/shop/u", 4},
    {"DELETE /v1/rules/shop/u", 4},
    {"GET /v1/hot", 2},
    {"GET /metrics", 2},
    {"HEAD /v1/live", 2},
    {"GET /healthz", 31},
    {"GET /", 31},
};

/* What each role may do by HTTP: the table of paths, seen from outside. */
static void test_users(void)
{
    static const struct users_settings known =
        {.count = 5,
         .user = {{.name = "check", .roles = ROLE_CHECK, .secret = "s:1"},
                  {.name = "read", .roles = ROLE_READ, .secret = "s:2"},
                  {.name = "rules", .roles = ROLE_RULES, .secret = "s:3"},
                  {.name = "admin", .roles = ROLE_ADMIN, .secret = "s:4"},
                  {.name = "shop", .roles = ROLE_CHECK, .services = "shop", .secret = "s:5"}}};
    begin();
    struct users *users = users_create(&known);
    OK(users != NULL && set_rules("rules: [{id: u, service: shop, by: user, rate: 1000/s}, "
                                  "{id: u, service: other, by: user, rate: 1000/s}]"),
       "users and rules");
    served.commands.users = users;
    for (size_t i = 0; i < sizeof role_rows / sizeof role_rows[0]; i++)
        for (uint32_t user = 0; user < known.count; user++) {
            char request[512];
            (void)snprintf(request, sizeof request,
                           "%s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s:%s\r\nContent-Length: 0\r\n\r\n",
                           role_rows[i].request, known.user[user].name, known.user[user].secret);
            const unsigned got = code(ask_bytes(request));
            http_close(http, &session);
            session = (struct http_session){0};
            http_open(&session, "10.0.0.1:1234");
            OK((got != 403) == ((role_rows[i].roles >> user & 1) != 0) && got != 401, "%s: %s gets %u",
               known.user[user].name, role_rows[i].request, got);
        }
    OK_U64(code(with("Basic cmVhZDpzOjI=")), 403, "Basic names a user as well");
    OK(strstr(answer, "\"title\":\"Forbidden\"") && strstr(answer, "the user read has no role that may do this"),
       "and a problem says who lacks what");
    OK_U64(code(with("Basic Y2hlY2s6czox")), 200, "which is this request's alone");
    OK(with("Bearer s:1") && status == SERVE_DELAY, "a secret without its name is wrong");
    served.commands.password = "read:odd";
    session = (struct http_session){0};
    http_open(&session, "10.0.0.2:1234");
    OK(with("Bearer read:odd") && status == SERVE_DELAY, "a user's name before the colon is a user's name");
    session = (struct http_session){0};
    http_open(&session, "10.0.0.2:1234");
    served.commands.password = "a:b";
    OK_U64(code(with("Bearer a:b")), 200, "else the password of the config may have one");
    served.commands.users = NULL;
    users_destroy(&users);
    end();
}

/* A client that asks on while the daemon leaves is told to connect elsewhere, behind all that it has asked already. */
static void test_leaving(void)
{
#define PLAIN "GET /check?user=a HTTP/1.1\r\nHost: a\r\n\r\n"
    begin();
    OK_STRING(field(ask_bytes(PLAIN), "Connection"), "", "a connection goes on");
    http_leave(http);
    OK_STRING(field(ask_bytes(PLAIN PLAIN "GET /check"), "Connection"), "", "one that has begun another request");
    OK(status == SERVE_MORE && consumed == 2 * strlen(PLAIN), "may finish it");
    (void)ask_bytes(PLAIN "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n");
    const char *second = strstr(answer + 1, "HTTP/1.1 ");
    OK(second != NULL && code(answer) == 200 && code(second) == 404, "two requests at once are answered");
    OK(status == SERVE_CLOSE && strstr(answer, "Connection: ") > second,
       "then the connection ends, and it is told");
    OK_STRING(field(second, "Connection"), "close", "as HTTP tells it");
    end();
#undef PLAIN
}

int main(void)
{
    test_leaving();
    test_gateway();
    test_soft();
    test_post();
    test_costs();
    test_reservations_of_an_address();
    test_problems();
    test_json_bounds();
    test_many();
    test_password();
    test_users();
    return tap_done();
}
