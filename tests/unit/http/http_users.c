/* Who may ask over HTTP: the password, guesses of it, and what each role may do. */
#include "http/http.h"

#include "tests/lib/http_asked.h"

static const char *with(const char *authorization)
{
    char request[512];
    (void)snprintf(request, sizeof request, "GET /check?user=a HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\n\r\n",
                   authorization);
    return http_ask(request);
}

static void test_password(void)
{
    struct output output = output_over(asked.answer, 128 * 1024);
    http_asked_begin();
    served.commands.password = "sesame";
    OK_U64(http_code(http_get("/check?user=a")), 401, "who has no password is told so");
    OK(strncmp(http_field(asked.answer, "WWW-Authenticate"), "Bearer", 6) == 0 && !asked.session.known,
       "and how to say it");
    OK_U64(http_code(http_get("/healthz")), 200, "whether the daemon is alive, everybody may ask");
    OK_U64(http_code(http_get("/readyz")), 200, "and whether it is ready");
    OK(!asked.session.known, "without being known for it");
    OK_U64(http_code(with("Bearer sesame")), 200, "the password lets in");
    OK(asked.session.known, "and makes the client known");
    OK_U64(http_code(with("Basic ZGVmYXVsdDpzZXNhbWU=")), 200, "in the form of browsers as well");
    OK_U64(http_code(with("Basic cm9vdDpzZXNhbWU=")), 0, "for no other user");
    OK(asked.status == SERVE_DELAY && http_delay_ms(&asked.session) == SESSION_DELAY_MS, "a wrong one has to wait");
    OK(http_resume(asked.http, &asked.session, &output, http_asked_now()), "and then");
    asked.answer[output.size] = '\0';
    OK_U64(http_code(asked.answer), 401, "is refused");
    for (int i = 0; i < 3; i++)
        OK(with("Bearer guess") && asked.status == SERVE_DELAY, "again");
    OK(with("Bearer guess") && asked.status == SERVE_CLOSE && http_code(asked.answer) == 401,
       "the fifth ends the connection");
    for (int i = 0; i < 40; i++) {
        asked.session = (struct http_session){0};
        http_open(&asked.session, "10.0.0.1:77");
        (void)with("Bearer guess");
    }
    OK_U64(served.commands.stats.auth_failures, GUESSES_MAX, "an address has so many guesses, with AUTH together");
    OK(http_code(asked.answer) == 401 && strcmp(http_field(asked.answer, "Retry-After"), "") != 0 &&
           asked.status == SERVE_CLOSE,
       "then it is told for how long it is barred");
    http_asked_end();
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
    http_asked_begin();
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
            const unsigned got = http_code(http_ask(request));
            http_close(asked.http, &asked.session);
            asked.session = (struct http_session){0};
            http_open(&asked.session, "10.0.0.1:1234");
            OK((got != 403) == ((role_rows[i].roles >> user & 1) != 0) && got != 401, "%s: %s gets %u",
               known.user[user].name, role_rows[i].request, got);
        }
    OK_U64(http_code(with("Basic cmVhZDpzOjI=")), 403, "Basic names a user as well");
    OK(strstr(asked.answer, "\"title\":\"Forbidden\"") &&
           strstr(asked.answer, "the user read has no role that may do this"),
       "and a problem says who lacks what");
    OK_U64(http_code(with("Basic Y2hlY2s6czox")), 200, "which is this request's alone");
    OK(with("Bearer s:1") && asked.status == SERVE_DELAY, "a secret without its name is wrong");
    served.commands.password = "read:odd";
    asked.session = (struct http_session){0};
    http_open(&asked.session, "10.0.0.2:1234");
    OK(with("Bearer read:odd") && asked.status == SERVE_DELAY, "a user's name before the colon is a user's name");
    asked.session = (struct http_session){0};
    http_open(&asked.session, "10.0.0.2:1234");
    served.commands.password = "a:b";
    OK_U64(http_code(with("Bearer a:b")), 200, "else the password of the config may have one");
    served.commands.users = NULL;
    users_destroy(&users);
    http_asked_end();
}

int main(void)
{
    test_password();
    test_users();
    return tap_done();
}
