/* A request that comes again with its idempotency key is charged once, and answered as before. */
#include "http/http.h"

#include "commands/replay.h"
#include "http/json_arena.h"
#include "tests/lib/served.h"

static struct http_settings settings;
static struct http *http;
static struct http_session session;
static struct replays *replays;
static const char *caller = ""; /* a line of the head */
static char answer[128 * 1024], first[128 * 1024];

static void begin(void)
{
    settings = (struct http_settings){0};
    served_open();
    json_arena_prepare(7);
    replays = replays_create(&served.commands.hash_key);
    assert(replays != NULL);
    served.commands.replays = replays;
    http = http_create(&served.commands, &settings);
    assert(http != NULL);
    session = (struct http_session){0};
    http_open(&session, "10.0.0.1:1234");
}

static void end(void)
{
    http_destroy(&http);
    served_close();
    replays_destroy(&replays);
}

/* `key`: of the field of the head; NULL: none. */
static unsigned post(const char *path, const char *key, const char *body)
{
    static char request[70000];
    size_t consumed;
    struct output output = output_over(answer, sizeof answer - 1);
    (void)snprintf(
        request, sizeof request,
        "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s%s%s%s\r\n%s",
        path, strlen(body), caller, key != NULL ? "Idempotency-Key: " : "", key != NULL ? key : "",
        key != NULL ? "\r\n" : "", body);
    const struct turn turn = {.now_ns = served.now_ns, .wall_ns = served.wall_ns};
    (void)http_serve(http, &session, bytes_of(request), &output, turn, &consumed);
    answer[output.size] = '\0';
    return (unsigned)strtoul(answer + 9, NULL, 10);
}

static const char *body_of(const char *text)
{
    return strstr(text, "\r\n\r\n") + 4;
}

/* All but the date, which may be another. */
static bool is_as_first(void)
{
    const char *type = strstr(answer, "\r\nContent-Type"), *before = strstr(first, "\r\nContent-Type");
    return type != NULL && before != NULL && strcmp(type, before) == 0;
}

static void keep_first(void)
{
    memcpy(first, answer, sizeof first);
}

#define ANN "{\"identifiers\":{\"user\":\"ann\"},\"rule\":\"slow\",\"cost\":2"

static uint64_t left(void)
{
    (void)post("/v1/peek", NULL, "{\"identifiers\":{\"user\":\"ann\"},\"rule\":\"slow\"}");
    const char *at = strstr(answer, "\"remaining\":");
    return at != NULL ? strtoul(at + 12, NULL, 10) : 99;
}

static void test_check(void)
{
    begin();
    OK_U64(post("/v1/check", "k1", ANN "}"), 200, "a check");
    keep_first();
    for (int i = 0; i < 3; i++)
        OK(post("/v1/check", "k1", ANN "}") == 200 && is_as_first(), "comes again, and has the answer that it had");
    OK_U64(left(), 3, "and is charged once");
    OK(post("/v1/check", "\"k1\"", ANN "}") == 200 && is_as_first(), "the quoted form is the same key");
    OK(post("/v1/check", NULL, ANN ",\"idempotency_key\":\"k1\"}") == 200 && is_as_first(), "and so is the member");
    OK(post("/v1/check", NULL,
            "{ \"cost\": 2, \"rule\": \"slow\", \"idempotency_key\": \"k1\", "
            "\"identifiers\": {\"user\": \"ann\"}}") == 200 &&
           is_as_first(),
       "the same request may be written otherwise");
    OK_U64(left(), 3, "all of that was charged once");
    OK(post("/v1/check", "k1\r\nIdempotency-Key: k2", ANN "}") == 400 &&
           strstr(answer, "\"field\":\"Idempotency-Key\"") != NULL,
       "two keys of one request are none");
    OK_U64(post("/v1/check", "k2", ANN "}"), 200, "another key is another request");
    OK_U64(left(), 1, "which is charged");
    served_wait_ms(61000);
    OK(post("/v1/check", "k1", ANN "}") == 200 && is_as_first(), "a minute later it is remembered");
    OK_U64(left(), 2, "and not charged");
    OK_U64(served.commands.stats.replayed_answers, 7, "INFO counts them");
    end();
}

static void test_other(void)
{
    begin();
    (void)post("/v1/check", "k", ANN "}");
    OK(post("/v1/check", "k", "{\"identifiers\":{\"user\":\"ann\"},\"rule\":\"slow\",\"cost\":1}") == 422 &&
           strstr(answer, "\"field\":\"idempotency_key\"") != NULL,
       "a key with another cost is refused");
    OK_U64(post("/v1/check", "k", "{\"identifiers\":{\"user\":\"bob\"},\"rule\":\"slow\",\"cost\":2}"), 422,
           "with another client");
    OK_U64(post("/v1/check", "k", "{\"identifiers\":{\"user\":\"ann\"},\"cost\":2}"), 422, "with another limit");
    OK_U64(post("/v1/check", "k", ANN ",\"costs\":{\"bytes\":1}}"), 422, "with a cost by name");
    OK_U64(post("/v1/refund", "k", ANN "}"), 422, "and at another path");
    OK_U64(left(), 3, "nothing of that is charged or given back");
    OK_U64(post("/v1/check", "a", ANN ",\"idempotency_key\":\"b\"}"), 400, "two keys are one too many");
    OK_U64(post("/v1/check", "c", ANN ",\"verbose\":true}"), 400, "a key does not stand for what each rule said");
    OK_U64(post("/v1/check", NULL, ANN ",\"idempotency_key\":\"\"}"), 400, "an empty key");
    OK_U64(post("/v1/check", NULL, ANN ",\"idempotency_key\":7}"), 400, "a number");
    OK_U64(post("/v1/peek", NULL, ANN ",\"idempotency_key\":\"k\"}"), 400, "a peek needs none");
    OK_U64(left(), 3, "nothing of that is charged");
    end();
}

/* One table for all protocols: what was asked here is known there. */
static void test_resp(void)
{
    begin();
    (void)post("/v1/check", "k", ANN "}");
    OK_STRING(served_ask("CHECK user=ann RULE slow COST 2 IDEMPOTENCY_KEY k"), "[1 5 3 0 120000 'slow']",
              "a request comes again by RESP");
    OK_STRING(served_ask("CHECK user=ann RULE slow COST 1 IDEMPOTENCY_KEY l"), "[1 5 2 0 180000 'slow']",
              "and here");
    OK(post("/v1/check", "l", "{\"identifiers\":{\"user\":\"ann\"},\"rule\":\"slow\",\"cost\":1}") == 200 &&
           strstr(answer, "\"remaining\":2,") != NULL && strstr(answer, "\"window_ms\":300000") != NULL,
       "comes another one of RESP, with all that HTTP says");
    OK_U64(left(), 2, "both were charged once");
    end();
}

static void test_over_limit(void)
{
    begin();
    OK(set_rules("{id: lenient, by: user, rate: 1/m, burst: 1, mode: soft}"), "a soft rule");
    (void)post("/v1/check", NULL, "{\"identifiers\":{\"user\":\"ann\"}}");
    OK_U64(post("/v1/check", "k", "{\"identifiers\":{\"user\":\"ann\"}}"), 200, "allowed beyond a soft limit");
    keep_first();
    served_wait_ms(61000);
    OK(post("/v1/check", "k", "{\"identifiers\":{\"user\":\"ann\"}}") == 200 && is_as_first() &&
           strstr(answer, "\"over_limit\":true}\n") != NULL,
       "is told again as it was");
    end();
}

/* Who is refused may have waited: the next try is decided anew. */
static void test_refused(void)
{
    begin();
    for (int i = 0; i < 2; i++)
        (void)post("/v1/check", NULL, ANN "}");
    OK_U64(post("/v1/check", "k", ANN "}"), 429, "a check is refused");
    served_wait_ms(61000);
    OK_U64(post("/v1/check", "k", ANN "}"), 200, "and with the same key allowed, when there are tokens");
    OK_U64(left(), 0, "which are taken");
    end();
}

static void test_reserve_and_refund(void)
{
    begin();
    OK_U64(post("/v1/reserve", "r", ANN ",\"ttl_ms\":60000}"), 200, "a reservation");
    keep_first();
    OK(post("/v1/reserve", "r", ANN ",\"ttl_ms\":60000}") == 200 && is_as_first(),
       "comes again: it is the same one");
    OK_U64(left(), 3, "and holds its tokens once");
    OK_U64(post("/v1/reserve", "r", ANN ",\"ttl_ms\":50000}"), 422, "another time is another request");
    OK_U64(post("/v1/check", NULL, ANN "}"), 200, "tokens are spent");
    (void)post("/v1/refund", "f", "{\"identifiers\":{\"user\":\"ann\"},\"rule\":\"slow\",\"cost\":1}");
    OK_STRING(body_of(answer), "{\"refunded\":1}\n", "one is given back");
    (void)post("/v1/refund", "f", "{\"identifiers\":{\"user\":\"ann\"},\"rule\":\"slow\",\"cost\":1}");
    OK_STRING(body_of(answer), "{\"refunded\":1}\n", "and again, which is said");
    OK_U64(left(), 2, "but not done");
    end();
}

static void test_renew(void)
{
    begin();
    (void)post("/v1/reserve", NULL, ANN ",\"ttl_ms\":60000}");
    const char *id = strstr(answer, "\"reservation\":\"");
    char renew[160];
    (void)snprintf(renew, sizeof renew, "{\"reservation\":\"%.32s\",\"ttl_ms\":120000}", id ? id + 15 : "");
    served_wait_ms(50000);
    (void)post("/v1/renew", NULL, renew);
    OK_STRING(body_of(answer), "{\"renewed\":true}\n", "a reservation is prolonged");
    served_wait_ms(50000);
    (void)post("/v1/renew", NULL, renew);
    OK_STRING(body_of(answer), "{\"renewed\":true}\n", "after its first end it still is there");
    served_wait_ms(121000);
    (void)post("/v1/renew", NULL, renew);
    OK_STRING(body_of(answer), "{\"renewed\":false}\n", "after its last one it is not");
    OK_U64(post("/v1/renew", NULL, "{\"reservation\":\"zz\",\"ttl_ms\":1}"), 400, "nonsense");
    (void)snprintf(renew, sizeof renew, "{\"reservation\":\"%032d\"}", 0);
    OK_U64(post("/v1/renew", NULL, renew), 400, "no time");
    end();
}

static void test_batch(void)
{
    begin();
    const char *batch = "[" ANN ",\"idempotency_key\":\"a\"}," ANN ",\"idempotency_key\":\"b\"}," ANN "}]";
    OK_U64(post("/v1/check", NULL, batch), 200, "a batch whose requests have keys");
    keep_first();
    OK_U64(left(), 1, "is charged for those that fit");
    (void)post("/v1/reset", NULL, "{\"identifiers\":{\"user\":\"ann\"},\"rule\":\"slow\"}");
    OK_U64(post("/v1/check", NULL, batch), 200, "again");
    OK_U64(left(), 3, "only the request without a key is charged");
    OK_U64(post("/v1/check", NULL, "[" ANN ",\"idempotency_key\":\"c\"}," ANN ",\"idempotency_key\":\"c\"}]"), 400,
           "one key twice");
    OK(post("/v1/check", NULL,
            "[" ANN
            ",\"idempotency_key\":\"d\"},{\"identifiers\":{\"user\":\"x\"},\"idempotency_key\":\"a\"}]") == 422 &&
           strstr(answer, "[1].idempotency_key") != NULL,
       "a key of another request");
    OK_U64(post("/v1/check", "e", "[" ANN "}]"), 400, "one key for all of a batch");
    OK_U64(left(), 3, "is refused before anything is charged");
    end();
}

/* What one user may guess of another's keys neither tells nor stops anything. */
static void test_users(void)
{
    static const struct users_settings known = {.count = 2,
                                                .user = {{.name = "one", .roles = ROLE_ALL, .secret = "s:1"},
                                                         {.name = "two", .roles = ROLE_ALL, .secret = "s:2"}}};
    static const char *const as[] = {"Authorization: Bearer one:s:1\r\n", "Authorization: Bearer two:s:2\r\n"};
    begin();
    struct users *users = users_create(&known);
    assert(users != NULL);
    served.commands.users = users;
    caller = as[0];
    OK_U64(post("/v1/reserve", "k", ANN ",\"ttl_ms\":60000}"), 200, "a reservation with a key");
    keep_first();
    caller = as[1];
    OK(post("/v1/reserve", "k", ANN ",\"ttl_ms\":60000}") == 200 && !is_as_first(),
       "is its user's: the same key of another one reserves for that one");
    OK_U64(left(), 1, "what it costs");
    OK_U64(post("/v1/check", "k", ANN "}"), 422, "each user's key stands for one request of that user");
    OK_U64(post("/v1/check", "m", "{\"identifiers\":{\"user\":\"bob\"},\"rule\":\"slow\"}"), 200, "and nobody");
    caller = as[0];
    OK_U64(post("/v1/check", "m", "{\"identifiers\":{\"user\":\"eve\"},\"rule\":\"slow\"}"), 200,
           "takes another user's keys away,");
    OK_U64(post("/v1/check", NULL, "[{\"identifiers\":{\"user\":\"eve\"},\"idempotency_key\":\"k2\"}]"), 200,
           "in a batch");
    caller = as[1];
    OK_U64(post("/v1/check", NULL, "[{\"identifiers\":{\"user\":\"bob\"},\"idempotency_key\":\"k2\"}]"), 200,
           "neither");
    caller = as[0];
    OK(post("/v1/reserve", "k", ANN ",\"ttl_ms\":60000}") == 200 && is_as_first(), "who made it has it again");
    caller = "";
    served.commands.users = NULL;
    users_destroy(&users);
    end();
}

/* More answers than there are places: the oldest are forgotten, which is counted; the newest are not. */
static void test_many(void)
{
    enum { MANY = REPLAY_ROWS * REPLAY_ROW_PLACES + 20000 };
    begin();
    char key[32];
    const struct replay_answer said = {.number = 7};
    uint64_t forgotten = 0;
    unsigned wrong = 0;
    for (unsigned i = 0; i < MANY; i++) {
        struct replay replay;
        struct replay_answer out;
        (void)snprintf(key, sizeof key, "key-%u", i);
        if (replay_open(&replay, replays, &user_default, bytes_of(key), i, served.now_ns + i, &out) != REPLAY_NEW)
            wrong++;
        else
            forgotten += replay_close(&replay, &said, served.now_ns + i);
    }
    OK_U64(wrong, 0, "%d keys are new", MANY);
    OK(forgotten >= 20000 && forgotten < MANY / 2, "some answers had to be forgotten early: %llu",
       (unsigned long long)forgotten);
    unsigned known = 0;
    for (unsigned i = MANY - 8000; i < MANY; i++) {
        struct replay replay;
        struct replay_answer out;
        (void)snprintf(key, sizeof key, "key-%u", i);
        const enum replay_status status =
            replay_open(&replay, replays, &user_default, bytes_of(key), i, served.now_ns + MANY, &out);
        known += status == REPLAY_KNOWN && out.number == 7;
        if (status == REPLAY_NEW)
            (void)replay_close(&replay, NULL, served.now_ns);
    }
    OK(known > 7900, "the newest ones are there: %u of 8000", known);
    struct replay replay;
    struct replay_answer out;
    const uint64_t later_ns = served.now_ns + MANY + REPLAY_NS;
    OK(replay_open(&replay, replays, &user_default, bytes_of(key), 1, later_ns, &out) == REPLAY_NEW,
       "until their time is over");
    (void)replay_close(&replay, NULL, served.now_ns);
    end();
}

/* `remembers`: a new key is. */
static enum replay_status ask_as(const char *name, unsigned number, bool remembers)
{
    struct replay_answer said = {.number = 7};
    struct user user = {.name = ""};
    struct replay replay;
    char key[32];
    (void)snprintf(user.name, sizeof user.name, "%s", name);
    (void)snprintf(key, sizeof key, "key-%u", number);
    const enum replay_status status =
        replay_open(&replay, replays, &user, bytes_of(key), number, ++served.now_ns, &said);
    if (status == REPLAY_NEW)
        (void)replay_close(&replay, remembers ? &said : NULL, served.now_ns);
    return status;
}

/* Whoever makes up keys without end makes its own answers forgotten, not those of users who have few. */
static void test_flood(void)
{
    enum { FEW = 8000, FLOOD = 4 * REPLAY_ROWS * REPLAY_ROW_PLACES };
    unsigned known = 0, kept = 0;
    begin();
    for (unsigned i = 0; i < FEW; i++)
        (void)ask_as("few", i, true);
    for (unsigned i = 0; i < FLOOD; i++)
        (void)ask_as("flood", i, true);
    for (unsigned i = 0; i < FEW; i++)
        known += ask_as("few", i, false) == REPLAY_KNOWN;
    OK(known > FEW * 99 / 100, "of %d answers to a user, %u are there after %d keys of another one", FEW, known,
       FLOOD);
    for (unsigned i = FLOOD - 30000; i < FLOOD; i++)
        kept += ask_as("flood", i, false) == REPLAY_KNOWN;
    OK(kept > 25000, "and of that one's newest 30000 keys %u", kept);
    end();
}

int main(void)
{
    test_check();
    test_other();
    test_resp();
    test_over_limit();
    test_refused();
    test_reserve_and_refund();
    test_renew();
    test_batch();
    test_users();
    test_many();
    test_flood();
    return tap_done();
}
