/*
 * Requests and their answers, whole, by a node that is alone: the text that a client sends and the text that it reads.
 */
#include "http/http.h"

#include "tests/lib/http_asked.h"

#define SLOW(left, retry, reset)                                                                                   \
    "\"rule\":\"slow\",\"limit\":5,\"remaining\":" #left ",\"available_now\":" #left ",\"retry_after_ms\":" #retry \
    ",\"reset_after_ms\":" #reset ",\"window_ms\":300000"

static void test_gateway(void)
{
    http_asked_begin();
    OK_STRING(http_body_of(http_get("/check?user=a&rule=slow")), "{\"allowed\":true," SLOW(4, 0, 60000) "}\n",
              "one of five");
    OK_U64(http_code(asked.answer), 200, "is allowed");
    OK_STRING(http_field(asked.answer, "X-RateLimit-Limit"), "5", "the limit is told");
    OK_STRING(http_field(asked.answer, "X-RateLimit-Remaining"), "4", "and what is left");
    OK_STRING(http_field(asked.answer, "X-RateLimit-Reset"), "60", "and when it is full again");
    OK_STRING(http_field(asked.answer, "Date"), "Sat, 21 Nov 2026 00:00:02 GMT", "and the time");
    for (int i = 0; i < 4; i++)
        (void)http_get("/check?user=a&rule=slow");
    OK_STRING(http_body_of(http_get("/check?user=a&rule=slow")),
              "{\"allowed\":false," SLOW(0, 60000, 300000) ",\"reason\":\"capacity\"}\n", "the sixth is not");
    OK_U64(http_code(asked.answer), 429, "with the status for it");
    OK_STRING(http_field(asked.answer, "X-RateLimit-Reason"), "capacity", "and the reason in the head");
    OK_STRING(http_field(asked.answer, "Retry-After"), "60", "and when to come again");
    OK_STRING(http_field(asked.answer, "X-RateLimit-Reset"), "60", "which is the only time that is told");
    OK_U64(http_code(http_get("/check?user=a&rule=slow&denied=403")), 403, "for nginx by another status");
    served_wait_ms(1);
    (void)http_get("/check?user=a&rule=slow");
    OK_STRING(http_field(asked.answer, "Retry-After"), "60", "parts of a second are rounded up");
    served_wait_ms(59998);
    OK_U64(http_code(http_get("/check?user=a&rule=slow")), 429, "a millisecond before, it is too early");
    served_wait_ms(1);
    OK_U64(http_code(http_get("/check?user=a&rule=slow")), 200, "at the time, it is not");
    (void)http_ask("HEAD /check?user=b HTTP/1.1\r\nHost: a\r\n\r\n");
    OK(http_code(asked.answer) == 200 && http_body_of(asked.answer)[0] == '\0' &&
           strcmp(http_field(asked.answer, "Content-Length"), "0") != 0,
       "HEAD has the head of GET");
    http_asked_limits_by(HTTP_LIMIT_DRAFT_10);
    (void)http_get("/check?user=c&rule=slow");
    OK_STRING(http_field(asked.answer, "RateLimit-Policy"), "\"slow\";q=5;w=300", "the draft's policy");
    OK_STRING(http_field(asked.answer, "RateLimit"), "\"slow\";r=4;t=60", "and state");
    http_asked_limits_by(HTTP_LIMIT_NONE);
    OK_STRING(http_field(http_get("/check?user=c&rule=slow"), "RateLimit"), "", "or nothing");
    http_asked_end();
}

static void test_soft(void)
{
    http_asked_begin();
    OK(set_rules("{id: lenient, by: user, rate: 1/m, burst: 1, mode: soft}"), "a soft rule");
    OK(strstr(http_get("/check?user=a"), "Over-Limit") == NULL && strstr(asked.answer, "over_limit") == NULL,
       "within its limit nothing is said");
    OK_STRING(http_body_of(http_get("/check?user=a")),
              "{\"allowed\":true,\"rule\":\"lenient\",\"limit\":1,\"remaining\":0,\"available_now\":0,"
              "\"retry_after_ms\":0,\"reset_after_ms\":60000,\"window_ms\":60000,\"over_limit\":true}\n",
              "over it: allowed, and said");
    OK(http_code(asked.answer) == 200 && strcmp(http_field(asked.answer, "X-RateLimit-Over-Limit"), "true") == 0 &&
           http_field(asked.answer, "Retry-After")[0] == '\0',
       "in the head too");
    http_asked_limits_by(HTTP_LIMIT_DRAFT_10);
    OK_STRING(http_field(http_get("/check?user=a"), "X-RateLimit-Over-Limit"), "true",
              "also beside the fields of the draft");
    http_asked_limits_by(HTTP_LIMIT_NONE);
    OK_STRING(http_field(http_get("/check?user=a"), "X-RateLimit-Over-Limit"), "", "not where no limit is told");
    http_asked_end();
}

static void test_post(void)
{
    http_asked_begin();
    OK_STRING(http_body_of(
                  http_post("/v1/check", "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\",\"cost\":2}")),
              "{\"allowed\":true," SLOW(3, 0, 120000) "}\n", "a check takes");
    OK_STRING(http_body_of(
                  http_post("/v1/peek", "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\",\"cost\":9}")),
              "{\"allowed\":false,\"rule\":\"slow\",\"limit\":5,\"remaining\":3,\"available_now\":3,\"retry_after_"
              "ms\":null,"
              "\"reset_after_ms\":120000,\"window_ms\":300000,\"reason\":\"too_large\"}\n",
              "a peek does not; what never fits has no time to come again");
    OK_STRING(http_field(asked.answer, "Retry-After"), "", "nor in the head");
    OK_STRING(http_body_of(
                  http_post("/v1/refund", "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\",\"cost\":1}")),
              "{\"refunded\":1}\n", "a refund gives back");
    OK_STRING(http_body_of(http_post("/v1/reset", "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\"}")),
              "{\"reset\":1}\n", "a reset gives all back");
    (void)http_post("/v1/reserve",
                    "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\",\"cost\":3,\"ttl_ms\":9000}");
    const char *id = strstr(asked.answer, "\"reservation\":\"");
    OK(http_code(asked.answer) == 200 && id != NULL, "a reservation takes");
    char commit[128], counted[128], cancel[128];
    (void)snprintf(commit, sizeof commit, "{\"reservation\":\"%.32s\",\"cost\":1}", id ? id + 15 : "");
    (void)snprintf(counted, sizeof counted, "{\"reservation\":\"%.32s\",\"cost\":1,\"costs\":{\"rows\":7}}",
                   id ? id + 15 : "");
    (void)snprintf(cancel, sizeof cancel, "{\"reservation\":\"%.32s\"}", id ? id + 15 : "");
    OK_STRING(http_body_of(http_post("/v1/commit", commit)), "{\"charged\":1}\n", "and says later what it cost");
    OK_U64(http_code(http_post("/v1/commit", commit)), 404, "once");
    OK_U64(http_code(http_post("/v1/commit", counted)), 404, "whatever else it cost");
    OK_STRING(http_body_of(http_post("/v1/cancel", cancel)), "{\"cancelled\":false}\n",
              "what is over is not cancelled");
    OK_STRING(served_ask("PEEK user=a RULE slow"), "[1 5 4 0 60000 'slow']", "RESP sees the same key");
    OK_STRING(
        http_body_of(http_post("/v1/check", "{\"identifiers\":{\"user\":7},\"verbose\":true,\"rule\":\"slow\"}")),
        "{\"allowed\":true,\"rule\":\"slow\",\"limit\":5,\"remaining\":4,\"available_now\":4,\"retry_after_ms\":0,"
        "\"reset_after_ms\":60000,\"window_ms\":300000,\"rules\":[{\"allowed\":true,\"rule\":\"slow\","
        "\"endpoint\":\"*\",\"by\":\"\",\"algorithm\":\"token_bucket\",\"mode\":\"enforce\",\"why\":\"config\","
        "\"canary\":false,\"limit\":5,\"remaining\":4,\"available_now\":4,\"retry_after_ms\":0,\"reset_after_ms\":"
        "60000,"
        "\"window_ms\":300000,\"reason\":\"allowed\"}]}\n",
        "a number may be an id; verbose tells each rule");
    http_asked_end();
}

/* Rules that count something by a name. */
static void test_costs(void)
{
    http_asked_begin();
    OK(set_rules("{id: traffic, service: c, counts: bytes, algorithm: fixed_window, limit: 1000, window: 1h}"),
       "a rule");
    OK_U64(http_code(
               http_post("/v1/check",
                         "{\"identifiers\":{\"user\":\"a\"},\"service_id\":\"c\",\"costs\":{\"bytes\":600}}")),
           200, "a cost by its name");
    OK_U64(http_code(
               http_post("/v1/check",
                         "{\"identifiers\":{\"user\":\"a\"},\"service_id\":\"c\",\"costs\":{\"bytes\":600}}")),
           429, "is charged");
    OK_U64(http_code(http_get("/check?user=a&service_id=c&cost.bytes=401")), 429, "so does a gateway say it");
    OK_U64(http_code(http_get("/check?user=a&service_id=c&cost.bytes=400")), 200, "and it is charged");
    OK_U64(http_code(http_get("/check?user=a&service_id=c&cost=1000")), 200, "the rule is about no other request");
    OK_STRING(http_body_of(
                  http_post("/v1/refund",
                            "{\"identifiers\":{\"user\":\"a\"},\"service_id\":\"c\",\"costs\":{\"bytes\":7}}")),
              "{\"refunded\":7}\n", "a refund gives back what it names");
    char commit[160];
    OK_U64(http_code(http_post("/v1/reserve",
                               "{\"identifiers\":{\"user\":\"b\"},\"service_id\":\"c\",\"ttl_ms\":9000,"
                               "\"costs\":{\"bytes\":600}}")),
           200, "a reservation takes what it names");
    const char *id = strstr(asked.answer, "\"reservation\":\"");
    (void)snprintf(commit, sizeof commit, "{\"reservation\":\"%.32s\",\"cost\":1,\"costs\":{\"bytes\":1200}}",
                   id ? id + 15 : "");
    OK_STRING(http_body_of(http_post("/v1/commit", commit)), "{\"charged\":1,\"costs\":{\"bytes\":1000}}\n",
              "and its end says what it used of that, as far as there was more");
    (void)http_get("/v1/explain?user=a&service_id=c");
    OK(strstr(asked.answer, "\"traffic\"") != NULL, "an explanation is about all rules");
    OK_STRING(http_body_of(http_post("/v1/reset", "{\"identifiers\":{\"user\":\"a\"},\"service_id\":\"c\"}")),
              "{\"reset\":1}\n", "so is a reset");
    http_asked_end();
}

/* The clients of one address have a part of all reservations, as with RESP. */
static void test_reservations_of_an_address(void)
{
    static const char one[] = "{\"identifiers\":{\"user\":\"a\"},\"rule\":\"slow\",\"ttl_ms\":9000}";
    http_asked_begin_with(1);
    OK_U64(http_code(http_post("/v1/reserve", one)), 200, "a client reserves");
    OK_U64(http_code(http_post("/v1/reserve", one)), 503, "until its address has its part");
    OK(strstr(asked.answer, "fewer than the config's address_reservations") != NULL,
       "and is told which limit that is");
    (void)snprintf(asked.session.address, sizeof asked.session.address, "10.0.0.2:1234");
    OK_U64(http_code(http_post("/v1/reserve", one)), 200, "a client at another address finds room");
    http_asked_end();
}

/* The status, and the field that a problem names. */
static const char *problem(const char *text)
{
    static char told[128];
    const char *at = strstr(text, "\"field\":\"");
    (void)snprintf(told, sizeof told, "%u %.*s", http_code(text), at ? (int)strcspn(at + 9, "\"") : 0,
                   at ? at + 9 : "");
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
    http_asked_begin();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        OK_STRING(problem(http_post(cases[i].path, cases[i].body)), cases[i].expected, "%s %s", cases[i].path,
                  cases[i].body);
        OK(strcmp(http_field(asked.answer, "Content-Type"), "application/problem+json") == 0 &&
               asked.status == SERVE_MORE,
           "a problem, and the connection stays");
    }
    OK_STRING(served_ask("PEEK ip=1 RULE slow"), "[1 5 5 0 0 'slow']", "none of them took anything");
    OK_STRING(http_field(http_get("/v1/check"), "Allow"), "POST", "other methods are named");
    OK_STRING(http_field(http_post("/healthz", "{}"), "Allow"), "GET, HEAD", "of each path");
    OK_STRING(problem(http_ask(
                  "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}")),
              "415 Content-Type", "a body that a web page may send is refused");
    http_asked_end();
}

static void test_json_bounds(void)
{
    static char many[HTTP_BODY_MAX_BYTES];
    size_t size = 0;
    http_asked_begin();
    memset(many, '[', 3000);
    many[3000] = '\0';
    OK_U64(http_code(http_post("/v1/check", many)), 400, "a deep body is refused");
    for (size_t i = 0; i < 20000; i++) {
        memcpy(many + size, i == 0 ? "[{}" : ",{}", 3);
        size += 3;
    }
    memcpy(many + size, "]", 2);
    OK_U64(http_code(http_post("/v1/check", many)), 413, "and one that needs too much memory");
    OK_U64(http_code(http_post("/v1/check", "{\"identifiers\":{\"ip\":\"1\"}}")), 200,
           "the next one finds all of it again");
    size = 0;
    for (size_t i = 0; i < 101; i++)
        size += (size_t)snprintf(many + size, sizeof many - size, "%s{\"identifiers\":{\"ip\":%zu}}",
                                 i == 0 ? "[" : ",", i);
    (void)snprintf(many + size, sizeof many - size, "]");
    OK_U64(http_code(http_post("/v1/check", many)), 400, "a batch has a bound");
    many[size - strlen(",{\"identifiers\":{\"ip\":100}}")] = ']';
    many[size - strlen(",{\"identifiers\":{\"ip\":100}}") + 1] = '\0';
    OK_U64(http_code(http_post("/v1/check", many)), 200, "and may be as large as that");
    http_asked_end();
}

static void test_many(void)
{
    static char input[100 * 64];
    struct output output = output_over(asked.answer, 128 * 1024);
    size_t size = 0;
    http_asked_begin();
    for (int i = 0; i < 100; i++)
        size += (size_t)snprintf(input + size, sizeof input - size,
                                 "GET /check?user=u%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
    struct turn turn = http_asked_now();
    turn.work_max = 100;
    asked.status =
        http_serve(asked.http, &asked.session, (struct bytes){input, size}, &output, turn, &asked.consumed);
    OK(asked.status == SERVE_ENOUGH && asked.consumed > 0 && asked.consumed < size &&
           http_worked(asked.http) >= 100,
       "a turn has a bound, as for RESP");
    OK_U64(served.commands.stats.http_requests > 0, 1, "requests are counted");
    OK(http_ask("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n") && asked.status == SERVE_MORE, "a 404 does not close");
    OK(http_ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET / ") && asked.status == SERVE_CLOSE &&
           strcmp(http_field(asked.answer, "Connection"), "close") == 0,
       "what asks to be closed is");
    OK(http_ask("nonsense\r\n") && asked.status == SERVE_CLOSE && http_code(asked.answer) == 400,
       "and what is no HTTP");
    http_asked_end();
}

/* A client that asks on while the daemon leaves is told to connect elsewhere, behind all that it has asked already. */
static void test_leaving(void)
{
#define PLAIN "GET /check?user=a HTTP/1.1\r\nHost: a\r\n\r\n"
    http_asked_begin();
    OK_STRING(http_field(http_ask(PLAIN), "Connection"), "", "a connection goes on");
    http_leave(asked.http);
    OK_STRING(http_field(http_ask(PLAIN PLAIN "GET /check"), "Connection"), "",
              "one that has begun another request");
    OK(asked.status == SERVE_MORE && asked.consumed == 2 * strlen(PLAIN), "may finish it");
    (void)http_ask(PLAIN "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n");
    const char *second = strstr(asked.answer + 1, "HTTP/1.1 ");
    OK(second != NULL && http_code(asked.answer) == 200 && http_code(second) == 404,
       "two requests at once are answered");
    OK(asked.status == SERVE_CLOSE && strstr(asked.answer, "Connection: ") > second,
       "then the connection ends, and it is told");
    OK_STRING(http_field(second, "Connection"), "close", "as HTTP tells it");
    http_asked_end();
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
    return tap_done();
}
