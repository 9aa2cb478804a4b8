/*
 * Alternatives: descriptors of which one with room is enough, and the metadata that says which ones have.
 */
#include "tests/lib/grpc_asked.h"
#include "tests/lib/grpc_client.h"
#include "tests/lib/served.h"

enum { MEMORY = 4 << 20 };

static const struct grpc_asked one = {.entries = "alternative=true service=one", .hits = -1},
                               two = {.entries = "alternative=true service=two", .hits = -1},
                               none = {.entries = "alternative=true free=1", .hits = -1},
                               user = {.entries = "user=bob", .hits = -1};
static int32_t stream;

static void begin(void)
{
    grpc_client_begin(MEMORY, 65535);
    bool good = set_rules("{id: one, service: edge, by: service, when: {service: one}, rate: 1/h}") &&
                set_rules("{id: two, service: edge, by: service, when: {service: two}, rate: 2/h}") &&
                set_rules("{id: user, service: edge, by: user, rate: 4/h}");
    assert(good);
}

static const char *ask(const struct grpc_asked *asked, size_t count)
{
    stream = grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, asked, count), NULL, NULL, true);
    grpc_client_run();
    return grpc_told(stream);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void test_alternatives(void)
{
    const struct grpc_asked both[] = {one, two, user};
    begin();
    OK(begins(ask(both, 3), "OK: OK one 1/3 0 in 3600000, OK two 2/3 1 in 1800000, OK user"), "both have room");
    const char *told = ask(both, 3);
    OK(begins(told, "OK: OVER one 1/3 0 in 3600000, OK two 2/3 0 in 3600000, OK user"), "one has: %s", told);
    OK(strstr(told, "Retry-After") == NULL && strstr(told, "Limit: 2;") != NULL, "of which the heads tell");
    told = ask(both, 3);
    OK(begins(told, "OVER: OVER one 1/3 0 in 3600000, OVER two 2/3 0 in 1800000, OK user"), "none has: %s", told);
    OK(strstr(told, "Retry-After: 1800") != NULL, "until the first of them has: %s", told);
    const struct grpc_asked free_one[] = {one, none};
    OK(begins(ask(free_one, 2), "OK: OVER one 1/3 0 in 3600000, OK"), "what nothing limits has room");
    OK(begins(ask(&user, 1), "OK: OK user 4/3 0"), "others took theirs three times");
    const struct grpc_asked last[] = {two, none, user};
    told = ask(last, 3);
    OK(begins(told, "OVER: OVER two 2/3 0 in 1800000, OK, OVER user 4/3 0 in 900000"),
       "and refuse by themselves: %s", told);
    OK(strstr(told, "Retry-After: 900") != NULL, "which the heads tell of");
    OK(begins(grpc_ask("edge", "alternative=1 service=one"),
              "status 3: descriptor 0, entry alternative: expected true or false"),
       "it is true or false");
    grpc_client_end();
}

static void test_metadata(void)
{
    const struct grpc_asked both[] = {one, two, user};
    begin();
    (void)ask(&user, 1);
    OK_STRING(grpc_told_metadata(stream), "", "without alternatives there is none");
    (void)ask(both, 2);
    OK_STRING(grpc_told_metadata(stream),
              "{\"domain\": \"edge\", \"descriptors\": [{\"entries\": [\"alternative=true\", \"service=one\"], "
              "\"over\": false}, {\"entries\": [\"alternative=true\", \"service=two\"], \"over\": false}], "
              "\"metadata\": {\"service\": \"one\"}}",
              "the first that has room");
    (void)ask(both, 3);
    OK(strstr(grpc_told_metadata(stream), "\"service=one\"], \"over\": true}") != NULL &&
           strstr(grpc_told_metadata(stream), "\"metadata\": {\"service\": \"two\", \"user\": \"bob\"}}") != NULL,
       "the next one then: %s", grpc_told_metadata(stream));
    (void)ask(both, 2);
    OK(strstr(grpc_told_metadata(stream), "\"metadata\": {}}") != NULL, "and none at last");
    const struct grpc_asked strange = {.entries = "alternative=true name=J\xc3\xb6rg", .hits = -1};
    (void)ask(&strange, 1);
    OK(strstr(grpc_told_metadata(stream), "\"metadata\": {\"name\": \"J??rg\"}}") != NULL, "only ASCII is said");
    const struct grpc_asked nothing = {.entries = "alternative=true", .hits = -1};
    (void)ask(&nothing, 1);
    OK(strstr(grpc_told_metadata(stream), "\"metadata\": {}}") != NULL, "no identifier is none");
    grpc_client_end();
}

/* As many descriptors as there may be, of as many entries: the answer has room for all. */
static void test_many(void)
{
    static struct grpc_asked all[32];
    for (size_t i = 0; i < 32; i++)
        all[i] =
            (struct grpc_asked){.entries = "alternative=true aaaaaaaa=bbbbbbbbbbbbbbbb b=2 c=3 d=4 e=5 f=6 g=7",
                                .hits = -1};
    begin();
    OK(begins(ask(all, 32), "OK: OK, OK"), "all are answered");
    OK(strstr(grpc_told_metadata(stream), "\"g\": \"7\"}}") != NULL, "with metadata");
    grpc_client_end();
}

int main(void)
{
    test_alternatives();
    test_metadata();
    test_many();
    return tap_done();
}
