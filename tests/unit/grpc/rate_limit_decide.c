/*
 * Costs that are known afterwards: a gateway looks first whether anything is left (hits_addend 0), and says at the end
 * of the stream what was used (drain).
 */
#include "tests/lib/grpc_asked.h"
#include "tests/lib/grpc_client.h"
#include "tests/lib/served.h"

#include <stdlib.h>

enum { MEMORY = 4 << 20 };

static void begin(void)
{
    grpc_client_begin(MEMORY, 65535);
    bool good =
        set_rules("{id: tokens, service: edge, by: user, algorithm: fixed_window, limit: 1000, window: 1h}") &&
        set_rules(
            "{id: model, service: edge, by: [user, model], algorithm: fixed_window, limit: 700, window: 1h}") &&
        set_rules("{id: bytes, service: edge, by: org, counts: bytes, rate: 100/h}") &&
        set_rules("{id: calls, service: edge, by: org, rate: 2/h}") &&
        set_rules("{id: no, service: edge, by: ip, rate: 0}");
    assert(good);
}

static struct rule_figures {
    uint64_t allowed, denied;
} figures(const char *id)
{
    const char *answer = served_ask("RULE LIST edge"), *rule = strstr(answer, id);
    const char *allowed = strstr(rule, "'allowed' "), *denied = strstr(rule, "'denied' ");
    return (struct rule_figures){strtoull(allowed + 10, NULL, 10), strtoull(denied + 9, NULL, 10)};
}

static void test_looks(void)
{
    begin();
    OK_STRING(grpc_ask_hits("user=ann", 0, false), "OK: OK tokens 1000/3 1000 in 0", "all is left");
    OK_STRING(grpc_ask_hits("user=ann drain=true", 400, false), "OK: OK tokens 1000/3 600 in 3598000",
              "400 were used");
    OK_STRING(grpc_ask_hits("user=ann", 0, false), "OK: OK tokens 1000/3 600 in 3598000", "a look takes nothing");
    OK_STRING(grpc_ask_hits("user=ann drain=true", 900, false), "OK: OK tokens 1000/3 0 in 3598000",
              "more was used than is left");
    const uint64_t denied = figures("tokens").denied;
    OK_STRING(grpc_ask_hits("user=ann", 0, false), "OVER: OVER tokens 1000/3 0 in 3598000", "a look is over then");
    OK_U64(figures("tokens").denied, denied + 1, "and counts as a refusal of the rule");
    const uint64_t allowed = figures("tokens").allowed;
    (void)grpc_ask_hits("user=bob", 0, false);
    OK_U64(figures("tokens").allowed, allowed, "one that is not counts as nothing");
    OK_STRING(grpc_ask_hits("user=ann drain=true", 5, false), "OVER: OVER tokens 1000/3 0 in 3598000",
              "what is used beyond is over, and taken from nobody");
    OK_STRING(grpc_ask_hits("ip=1.2.3.4", 0, false), "OVER: OVER no 0/0 0", "what is never admitted is over");
    grpc_client_end();
}

static void test_drains(void)
{
    begin();
    const struct grpc_asked both[] = {{.entries = "user=kim drain=true", .hits = 800},
                                      {.entries = "user=kim model=xl drain=true", .hits = 800}};
    OK_STRING(grpc_ask_all("edge", 0, both, 2), "OK: OK tokens 1000/3 200 in 3598000, OK model 700/3 0 in 3598000",
              "a key that two descriptors name is drained once");
    OK_STRING(grpc_ask_hits("user=kim", 0, false), "OK: OK tokens 1000/3 200 in 3598000", "of the larger cost");
    OK_STRING(grpc_ask_all("edge", 0, both, 2),
              "OVER: OK tokens 1000/3 0 in 3598000, OVER model 700/3 0 in 3598000", "each as far as it goes");
    OK_STRING(grpc_ask_hits("user=lea drain=true", 0, false), "OK: OK tokens 1000/3 1000 in 0", "nothing was used");
    OK_STRING(grpc_ask_hits("user=lea drain=false", 1001, false), "OVER: OVER tokens 1000/3 1000 in 0",
              "without drain it is all or nothing");
    OK_STRING(grpc_ask_hits("user=lea drain=yes", 1, false),
              "status 3: descriptor 0, entry drain: expected true or false", "it is true or false");
    OK_STRING(
        grpc_ask_hits("user=lea drain=true", 1, true),
        "status 3: descriptor 0: drain takes what is left, and is_negative_hits gives back: expected one of the "
        "two",
        "nothing is drained back");
    OK_STRING(grpc_ask_hits("org=a drain=true cost.bytes=9", 1, false),
              "status 3: descriptor 0: drain with cost.NAME: expected hits_addend, of which a part may be taken",
              "nor by name");
    grpc_client_end();
}

/* What descriptors of one request take and give back of one key does not hide each other. */
static void test_given_back(void)
{
    begin();
    const struct grpc_asked take = {.entries = "user=max", .hits = 5},
                            give = {.entries = "user=max", .hits = 3, .back = true};
    const struct grpc_asked taken_first[] = {take, give}, given_first[] = {give, take}, twice[] = {give, give};
    OK_STRING(grpc_ask_all("edge", 0, taken_first, 2),
              "OK: OK tokens 1000/3 995 in 3598000, OK tokens 1000/3 998 in 3598000", "5 taken, 3 given back");
    OK_STRING(grpc_ask_all("edge", 0, given_first, 2),
              "OK: OK tokens 1000/3 1000 in 0, OK tokens 1000/3 995 in 3598000", "2 given back, 5 taken");
    OK_STRING(grpc_ask_all("edge", 0, twice, 2),
              "OK: OK tokens 1000/3 998 in 3598000, OK tokens 1000/3 998 in 3598000", "and back once for a key");
    grpc_client_end();
}

/* A look asks for one of each cost that the descriptor names. */
static void test_named(void)
{
    begin();
    OK_STRING(grpc_ask("edge", "org=a cost.bytes=100"), "OK: OK bytes 100/3 0 in 3600000", "all bytes");
    OK_STRING(grpc_ask_hits("org=a", 0, false), "OK: OK calls 2/3 1 in 1800000", "a call is left");
    OK_STRING(grpc_ask_hits("org=a cost.bytes=9", 0, false), "OVER: OVER bytes 100/3 0 in 36000", "but no byte");
    grpc_client_end();
}

static void test_brought(void)
{
    struct grpc_asked asked = {.entries = "tenant=a", .hits = 0, .limit = 10, .unit = 3};
    struct grpc_asked drain = {.entries = "drain=true tenant=a", .hits = 8, .limit = 10, .unit = 3};
    begin();
    OK_STRING(grpc_ask_all("edge", 0, &asked, 1), "OK: OK  10/3 10 in 0", "a look at a limit of its own");
    asked.hits = 10;
    OK_STRING(grpc_ask_all("edge", 0, &asked, 1), "OK: OK  10/3 0 in 3600000", "which is used up");
    asked.hits = 0;
    OK_STRING(grpc_ask_all("edge", 0, &asked, 1), "OVER: OVER  10/3 0 in 360000", "is over then");
    asked.limit = 0;
    OK_STRING(grpc_ask_all("edge", 0, &asked, 1), "OVER: OVER  0/3 0", "as is one that admits nothing");
    drain.entries = "drain=true tenant=b";
    OK_STRING(grpc_ask_all("edge", 0, &drain, 1), "OK: OK  10/3 2 in 2880000", "a limit is drained");
    asked = (struct grpc_asked){.entries = "endpoint=/x/y?a tenant=a", .hits = 4, .limit = 10, .unit = 3};
    OK_STRING(grpc_ask_all("edge", 0, &asked, 1), "OK: OK  10/3 6 in 1440000", "a limit of an endpoint");
    asked.entries = "endpoint=//x/./%79?b tenant=a";
    OK_STRING(grpc_ask_all("edge", 0, &asked, 1), "OK: OK  10/3 2 in 2880000", "counts it however it is written");
    asked.entries = "endpoint=/x tenant=a";
    OK_STRING(grpc_ask_all("edge", 0, &asked, 1), "OK: OK  10/3 6 in 1440000", "and another one by itself");
    asked = (struct grpc_asked){.entries = "tenant=b", .hits = 0, .limit = 10, .unit = 3};
    OK_STRING(grpc_ask_all("edge", 0, &asked, 1), "OK: OK  10/3 2 in 2880000", "of the key that others look at");
    OK_STRING(grpc_ask_all("edge", 0, &drain, 1), "OK: OK  10/3 0 in 3600000", "to its end");
    OK_STRING(grpc_ask_all("edge", 0, &drain, 1), "OVER: OVER  10/3 0 in 360000",
              "and not beyond, until one comes back");
    grpc_client_end();
}

int main(void)
{
    test_looks();
    test_drains();
    test_given_back();
    test_named();
    test_brought();
    return tap_done();
}
