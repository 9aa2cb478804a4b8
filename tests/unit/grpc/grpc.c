/*
 * ShouldRateLimit, by a client of HTTP/2 in memory and a node that is alone.
 */
#include "tests/lib/grpc_asked.h"
#include "tests/lib/grpc_client.h"
#include "tests/lib/served.h"

enum { MEMORY = 4 << 20, DESCRIPTORS = 40 };

/* What gRPC calls a status. */
enum { EXHAUSTED = 8 };

static void begin(void)
{
    grpc_client_begin(MEMORY, 65535);
    bool good = set_rules("{id: per-user, service: edge, by: user, rate: 60/m, burst: 5}") &&
                set_rules("{id: per-path, service: edge, by: [user, path], rate: 2/m}") &&
                set_rules("{id: hourly, service: edge, by: org, algorithm: fixed_window, limit: 3, window: 1h}") &&
                set_rules("{id: odd, service: edge, by: odd, algorithm: fixed_window, limit: 3, window: 90m}") &&
                set_rules("{id: monthly, service: edge, by: plan, algorithm: quota, limit: 9, window: month}") &&
                set_rules("{id: dark, service: edge, by: shade, rate: 1/m, mode: shadow}") &&
                set_rules("{id: bad, service: edge, by: ip, rate: 9/m, deny: ['ip=6.6.6.6']}") &&
                set_rules("{id: all, service: edge, endpoint: /all, by: [], rate: 1/m}") &&
                set_rules("{id: free, service: edge, by: free, rate: unlimited}");
    assert(good);
}

static void test_answers(void)
{
    begin();
    OK_STRING(grpc_ask("edge", "user=bob"), "OK: OK per-user 60/2 4 in 1000", "a bucket has its rate and unit");
    const int32_t stream =
        grpc_client_ask(GRPC_RATE_LIMIT,
                        grpc_packed("edge", 0, &(struct grpc_asked){.entries = "user=bob", .hits = 9}, 1), NULL,
                        NULL, true);
    grpc_client_run();
    OK_STRING(
        grpc_told(stream),
        "OVER: OVER per-user 60/2 4 in 1000; X-RateLimit-Limit: 5; X-RateLimit-Remaining: 4; X-RateLimit-Reset: 1; "
        "X-RateLimit-Reason: too_large",
        "what is too much is over, with heads for the gateway's client");
    OK_STRING(grpc_ask("edge", "org=acme"), "OK: OK hourly 3/3 2 in 3598000", "a window has its limit");
    OK_STRING(grpc_ask("edge", "odd=1"), "OK: OK odd 3/0 2 in 5398000", "and no unit where it is none");
    OK_STRING(grpc_ask("edge", "plan=pro"), "OK: OK monthly 9/5 8 in 863998000", "a quota is of the month");
    OK_STRING(grpc_ask("edge", "ip=6.6.6.6"), "OVER: OVER bad 0/0 0", "what is denied for good has no end");
    OK_STRING(grpc_ask("edge", "free=1"), "OK: OK", "what is unlimited has no limit");
    OK_STRING(grpc_ask("edge", "other=1"), "OK: OK", "nor has what no rule is about");
    OK_STRING(grpc_ask("edge", "endpoint=/all"), "OK: OK all 1/2 0 in 60000", "no identifier");
    OK_STRING(grpc_ask("edge", "endpoint=/all?q=1"), "OVER: OVER all 1/2 0 in 60000", "is one key");
    OK_STRING(grpc_ask("edge", "rule=none user=bob"), "OK: OK", "a rule that does not exist limits nothing");
    OK_STRING(grpc_ask("default", "user=bob"), "OK: OK default 100/1 99 in 10",
              "the domain default has the config's limits");
    OK_STRING(grpc_ask("edge-2", "user=bob"), "OK: OK", "an unknown domain has none");
    OK_U64(served.commands.stats.grpc_unknown_domains, 1, "and is counted");
    OK_STRING(grpc_ask("edge", "org=a rule=per-user"), "OK: OK", "nor does one that is about others");
    OK_U64(served.commands.stats.grpc_unknown_rules, 1, "and the former is counted");
    OK_U64(served.commands.stats.grpc_errors, 0, "none of these is an error");
    grpc_client_end();
}

static void test_shadow(void)
{
    begin();
    OK_STRING(grpc_ask("edge", "shade=1"), "OK: OK dark 1/2 0 in 60000", "a shadow says what it would do");
    OK_STRING(grpc_ask("edge", "shade=1"), "OK: OK dark 1/2 0 in 60000", "and refuses nothing");
    grpc_client_end();
}

static void test_hits(void)
{
    begin();
    OK_STRING(grpc_ask_hits("user=ann", 3, false), "OK: OK per-user 60/2 2 in 3000",
              "as many as the descriptor says");
    OK_STRING(grpc_ask_hits("user=ann", 0, false), "OK: OK per-user 60/2 2 in 3000", "none is a look");
    OK_STRING(grpc_ask_all("edge", 2, &(struct grpc_asked){.entries = "user=ann", .hits = -1}, 1),
              "OK: OK per-user 60/2 0 in 5000", "or as the request says");
    OK_STRING(grpc_ask_hits("user=ann", 0, false), "OVER: OVER per-user 60/2 0 in 1000",
              "a look says whether a hit would be");
    OK_STRING(grpc_ask_all("edge", 5, &(struct grpc_asked){.entries = "user=ann", .hits = 1}, 1),
              "OVER: OVER per-user 60/2 0 in 1000", "the descriptor goes first");
    OK_STRING(grpc_ask_hits("user=ann", 2, true), "OK: OK per-user 60/2 2 in 3000", "hits come back");
    OK_STRING(grpc_ask_hits("user=ann", 1000, true), "OK: OK per-user 60/2 5 in 0", "no more than were taken");
    OK_STRING(grpc_ask_hits("user=ann", 1, false), "OK: OK per-user 60/2 4 in 1000", "so nothing is gained");
    OK_STRING(grpc_ask_hits("user=ann", 1000000000001, false),
              "status 3: descriptor 0: hits_addend is 1000000000001: expected at most 1000000000000", "too many");
    grpc_client_end();
}

/* What a request costs of something by name, beside its hits. */
static void test_costs(void)
{
    begin();
    bool good = set_rules("{id: volume, service: edge, by: user, counts: bytes, rate: 1000/m}");
    assert(good);
    OK_STRING(grpc_ask("edge", "user=lea cost.bytes=600"), "OK: OK per-user 60/2 4 in 1000", "600 of 1000 bytes");
    OK_STRING(grpc_ask("edge", "user=lea cost.bytes=600"), "OVER: OVER volume 1000/2 400 in 12000",
              "and no 600 more");
    OK_STRING(grpc_ask_hits("user=lea", 0, false), "OK: OK per-user 60/2 4 in 1000", "which takes no hit either");
    OK_STRING(grpc_ask_hits("user=lea cost.bytes=400", 0, false), "OK: OK per-user 60/2 4 in 1000",
              "a look is allowed");
    OK_STRING(grpc_ask("edge", "user=lea cost.bytes=401"), "OVER: OVER volume 1000/2 400 in 60",
              "and takes nothing");
    OK_STRING(grpc_ask_hits("user=lea cost.bytes=999", 0, false), "OK: OK per-user 60/2 4 in 1000",
              "nor is it ever over");
    OK_STRING(grpc_ask_hits("user=lea cost.bytes=600", 1, true), "OK: OK per-user 60/2 5 in 0", "all comes back");
    OK_STRING(grpc_ask("edge", "user=lea cost.bytes=9e99"), "OVER: OVER volume 1000/2 1000 in 0",
              "nonsense is too much");
    const struct grpc_asked both[] = {{.entries = "user=lea cost.bytes=300", .hits = -1},
                                      {.entries = "user=lea cost.bytes=500", .hits = -1}};
    OK_STRING(grpc_ask_all("edge", 0, both, 2), "OK: OK per-user 60/2 4 in 1000, OK per-user 60/2 4 in 1000",
              "two descriptors are one request");
    OK_STRING(grpc_ask("edge", "user=lea cost.bytes=501"), "OVER: OVER volume 1000/2 500 in 60",
              "of the larger cost");
    grpc_client_end();
}

static void test_once(void)
{
    begin();
    const struct grpc_asked both[] = {{.entries = "user=kim", .hits = -1},
                                      {.entries = "user=kim path=/a", .hits = -1}};
    OK_STRING(grpc_ask_all("edge", 0, both, 2), "OK: OK per-user 60/2 4 in 1000, OK per-path 2/2 1 in 30000",
              "a key that two descriptors name");
    OK_STRING(grpc_ask_hits("user=kim", 0, false), "OK: OK per-user 60/2 4 in 1000", "is charged once");
    const struct grpc_asked more[] = {{.entries = "user=kim", .hits = 1}, {.entries = "user=kim", .hits = 3}};
    OK_STRING(grpc_ask_all("edge", 0, more, 2), "OK: OK per-user 60/2 3 in 2000, OK per-user 60/2 1 in 4000",
              "with the most that any of them asks");
    const struct grpc_asked back[] = {{.entries = "user=kim", .hits = 1, .back = true},
                                      {.entries = "user=kim", .hits = 1, .back = true}};
    OK_STRING(grpc_ask_all("edge", 0, back, 2), "OK: OK per-user 60/2 2 in 3000, OK per-user 60/2 2 in 3000",
              "and is given back once");
    const struct grpc_asked order[] = {{.entries = "user=x1", .hits = 1},
                                       {.entries = "user=x2", .hits = 6},
                                       {.entries = "none=1", .hits = 1},
                                       {.entries = "user=x3", .hits = 2}};
    OK_STRING(grpc_ask_all("edge", 0, order, 4),
              "OVER: OK per-user 60/2 4 in 1000, OVER per-user 60/2 5 in 0, OK, OK per-user 60/2 3 in 2000",
              "each descriptor by itself, in order");
    grpc_client_end();
}

static void test_brought(void)
{
    const struct grpc_asked two = {.entries = "tenant=a", .hits = -1, .limit = 2, .unit = 2};
    struct grpc_asked other = {.entries = "tenant=b", .hits = -1, .limit = 2, .unit = 2};
    begin();
    OK_STRING(grpc_ask_all("edge", 0, &two, 1), "OK: OK  2/2 1 in 30000", "a limit of the descriptor");
    OK_STRING(grpc_ask_all("edge", 0, &two, 1), "OK: OK  2/2 0 in 60000", "counts");
    OK_STRING(grpc_ask_all("edge", 0, &two, 1), "OVER: OVER  2/2 0 in 30000", "and refuses");
    OK_STRING(grpc_ask_all("edge", 0, &other, 1), "OK: OK  2/2 1 in 30000", "each descriptor by itself");
    other.back = true;
    OK_STRING(grpc_ask_all("edge", 0, &other, 1), "OK: OK  2/2 2 in 0", "hits come back");
    other = (struct grpc_asked){.entries = "tenant=b", .hits = 1, .limit = 0, .unit = 2};
    OK_STRING(grpc_ask_all("edge", 0, &other, 1), "OVER: OVER  0/2 0", "a limit of nothing admits nothing");
    other = (struct grpc_asked){.entries = "tenant=b", .hits = 1, .limit = 5, .unit = 9};
    OK_STRING(grpc_ask_all("edge", 0, &other, 1), "status 3: descriptor 0: limit has no unit that is known",
              "no unit");
    OK_STRING(grpc_ask_all("edge-2", 0, &two, 1), "OK: OK", "in an unknown domain it is none");
    static const int units[] = {1, 2, 3, 4, 5, 6, 7};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        other = (struct grpc_asked){.entries = "tenant=b", .hits = 1, .limit = UINT32_MAX, .unit = units[i]};
        OK(strncmp(grpc_ask_all("edge", 0, &other, 1), "OK: OK  4294967295/", 19) == 0,
           "the largest number of a unit is counted: %s", grpc_ask_all("edge", 0, &other, 1));
    }
    grpc_client_end();
}

static void test_errors(void)
{
    struct grpc_asked asked[DESCRIPTORS];
    for (size_t i = 0; i < DESCRIPTORS; i++)
        asked[i] = (struct grpc_asked){.entries = "user=bob", .hits = 1};
    begin();
    OK_STRING(grpc_ask("", "user=bob"), "status 3: the domain is empty: expected the name of a service of rules",
              "no domain");
    OK_STRING(grpc_ask_all("edge", 0, asked, 0), "status 3: there are 0 descriptors: expected 1 to 32",
              "no descriptor");
    OK_STRING(grpc_ask_all("edge", 0, asked, 33), "status 3: there are 33 descriptors: expected 1 to 32",
              "too many");
    const struct grpc_asked last[] = {{.entries = "user=bob", .hits = 1}, {.entries = "u:v=bob", .hits = 1}};
    OK(strncmp(grpc_ask_all("edge", 0, last, 2), "status 3: descriptor 1, entry u:v: dimension 'u:v'", 49) == 0,
       "a key that is no dimension");
    OK_STRING(grpc_ask("edge", "user=bob"), "OK: OK per-user 60/2 4 in 1000", "what is wrong charges nothing");
    int32_t stream = grpc_client_ask(GRPC_RATE_LIMIT, bytes_of("\xff\xff\xff"), NULL, NULL, true);
    grpc_client_run();
    OK_STRING(grpc_told(stream), "status 3: the message is no envoy.service.ratelimit.v3.RateLimitRequest",
              "no message");
    static char many[16000];
    for (size_t i = 0; i < sizeof many; i += 2)
        memcpy(many + i, "\x12", 2); /* a descriptor of nothing */
    stream = grpc_client_ask(GRPC_RATE_LIMIT, (struct bytes){many, sizeof many}, NULL, NULL, true);
    grpc_client_run();
    OK_I64(grpc_client_heard(stream)->status, EXHAUSTED, "more than there is memory to read");
    stream = grpc_client_ask("/envoy.service.ratelimit.v3.RateLimitService/Other", bytes_of(""), NULL, NULL, true);
    grpc_client_run();
    OK_STRING(grpc_told(stream), "status 12: there is no such method", "another method");
    OK_U64(served.commands.stats.grpc_errors, 7, "errors are counted");
    grpc_client_end();
}

/* The same requests in pieces of any size have the same answers. */
static void test_pieces(void)
{
    static const size_t pieces[] = {1, 2, 3, 7, 50, 0};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        int32_t stream[5];
        begin();
        client.piece = pieces[i];
        for (size_t at = 0; at < 5; at++)
            stream[at] =
                grpc_client_ask(GRPC_RATE_LIMIT,
                                grpc_packed("edge", 0, &(struct grpc_asked){.entries = "org=acme", .hits = -1}, 1),
                                NULL, NULL, true);
        grpc_client_run();
        OK(strncmp(grpc_told(stream[0]), "OK: OK hourly 3/3 2", 19) == 0 &&
               strncmp(grpc_told(stream[2]), "OK: OK hourly 3/3 0", 19) == 0 &&
               strncmp(grpc_told(stream[4]), "OVER: OVER hourly 3/3 0", 23) == 0 && client.pending_size == 0,
           "in pieces of %zu bytes", pieces[i]);
        grpc_client_end();
    }
}

static void test_deadlines(void)
{
    const struct grpc_asked asked = {.entries = "user=bob", .hits = -1};
    begin();
    int32_t stream = grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, &asked, 1), NULL, "100m", false);
    grpc_client_run();
    served_wait_ms(100);
    grpc_client_say(stream, bytes_of(""), true);
    grpc_client_run();
    OK_STRING(grpc_told(stream), "status 4: grpc-timeout is over", "a request that is whole too late");
    OK_STRING(grpc_ask_hits("user=bob", 0, false), "OK: OK per-user 60/2 5 in 0", "charges nothing");
    stream = grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, &asked, 1), NULL, "1S", true);
    grpc_client_run();
    OK_STRING(grpc_told(stream) + 4,
              "OK per-user 60/2 4 in 1000; X-RateLimit-Limit: 5; X-RateLimit-Remaining: 4; "
              "X-RateLimit-Reset: 1",
              "one that is not is answered");
    stream = grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, &asked, 1), NULL, "soon", true);
    grpc_client_run();
    OK_STRING(grpc_told(stream), "status 3: grpc-timeout is no number and unit", "a time that is none");
    stream = grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, &asked, 1), NULL, NULL, false);
    grpc_client_run();
    OK_U64(client.pending_size, 1, "the listener watches a request that is not whole");
    served_wait_ms(10000);
    (void)grpc_ask("edge", "user=bob");
    OK_STRING(grpc_told(stream), "status 4: the request is not whole after clients.request_timeout",
              "whoever drips is refused though others of the connection are answered");
    OK_U64(client.pending_size, 0, "and nothing is left of it");
    grpc_client_end();
}

static void test_options_change(void)
{
    const struct grpc_asked asked = {.entries = "user=bob", .hits = -1};
    struct grpc_options options = {.limit_fields = HTTP_LIMIT_NONE,
                                   .memory_bytes = MEMORY,
                                   .request_timeout_ns = 1000 * SERVED_MS};
    begin();
    const int32_t early = grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, &asked, 1), NULL, NULL, false);
    grpc_client_run();
    grpc_take_options(client.grpc, &options);
    const int32_t late = grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, &asked, 1), NULL, NULL, false);
    grpc_client_run();
    served_wait_ms(1000);
    OK_STRING(grpc_ask_hits("user=bob", 0, false), "OK: OK per-user 60/2 5 in 0", "others are asked about");
    OK_STRING(grpc_told(late), "status 4: the request is not whole after clients.request_timeout",
              "a request has the time of its beginning");
    grpc_client_say(early, bytes_of(""), true);
    grpc_client_run();
    OK(strstr(grpc_told(early), "; X-RateLimit-Limit: 5; ") != NULL, "and its fields of the answer");
    options.memory_bytes = 1;
    grpc_take_options(client.grpc, &options);
    grpc_client_close();
    grpc_client_connect(65535);
    grpc_client_run();
    OK_U64(served.commands.stats.grpc_no_memory, 1, "a bound on memory counts at once");
    grpc_client_end();
}

static void test_password(void)
{
    const struct grpc_asked asked = {.entries = "user=bob", .hits = -1};
    begin();
    served.commands.password = "open sesame";
    int32_t stream = grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, &asked, 1), NULL, NULL, true);
    grpc_client_run();
    OK_STRING(grpc_told(stream), "status 16: expected authorization: Bearer and the password of the config",
              "no password");
    OK(!client.session.known && client.status == SERVE_MORE, "the client stays a stranger, and connected");
    stream = grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, &asked, 1), "Bearer open sesame", NULL, true);
    grpc_client_run();
    OK(strncmp(grpc_told(stream), "OK: OK per-user", 15) == 0 && client.session.known, "the right one");
    stream = grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, &asked, 1), "Bearer sesame", NULL, true);
    grpc_client_run();
    OK_STRING(grpc_told(stream), "status 16: the password is wrong", "a wrong one");
    OK(client.status == SERVE_CLOSE, "ends the connection");
    OK_U64(served.commands.stats.auth_failures, 1, "and is counted");
    grpc_client_end();
}

/* With users and no password of the config, strangers are as little let in. */
static void test_users(void)
{
    static const struct users_settings known =
        {.count = 3,
         .user = {{.name = "gateway", .roles = ROLE_CHECK, .services = "edge", .secret = "s1"},
                  {.name = "grafana", .roles = ROLE_READ, .secret = "s2"},
                  {.name = "other", .roles = ROLE_CHECK, .services = "shop", .secret = "s3"}}};
    static const struct {
        const char *bearer, *answer;
    } rows[] = {{"Bearer gateway:s1", "OK: OK per-user"},
                {"Bearer grafana:s2", "status 7: the user grafana has no role that may do this"},
                {"Bearer other:s3", "status 7: NOPERM user 'other' may ask for the services shop only"},
                {NULL, "status 16: expected authorization: Bearer and a user's name and secret, with a colon"},
                {"Bearer gateway:s2", "status 16: the password is wrong"}};
    const struct grpc_asked asked = {.entries = "user=bob", .hits = -1};
    begin();
    struct users *users = users_create(&known);
    served.commands.users = users;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int32_t stream =
            grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, &asked, 1), rows[i].bearer, NULL, true);
        grpc_client_run();
        OK(strncmp(grpc_told(stream), rows[i].answer, strlen(rows[i].answer)) == 0, "%s: %s",
           rows[i].bearer ? rows[i].bearer : "nothing", rows[i].answer);
    }
    /* A reload while a request is on its way: the place of the user who is gone is another's. */
    static const struct users_settings next = {.count = 1,
                                               .user = {{.name = "new", .roles = ROLE_CHECK, .secret = "s4"}}};
    grpc_client_close();
    grpc_client_connect(65535);
    const int32_t begun =
        grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, &asked, 1), "Bearer gateway:s1", NULL, false);
    grpc_client_run();
    users_update(users, &next);
    grpc_client_say(begun, bytes_of(""), true);
    grpc_client_run();
    OK_STRING(grpc_told(begun), "status 16: the user who asks is gone", "a user who is gone asks nothing any more");
    served.commands.users = NULL;
    users_destroy(&users);
    grpc_client_end();
}

int main(void)
{
    test_answers();
    test_shadow();
    test_hits();
    test_costs();
    test_once();
    test_brought();
    test_errors();
    test_pieces();
    test_deadlines();
    test_options_change();
    test_password();
    test_users();
    return tap_done();
}
