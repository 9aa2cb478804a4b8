/*
 * ShouldRateLimit of requests that wait for their share, while others of the connection go on: one node of two, whose
 * other half is never heard from, so that only refill brings rights. And of those that wait for a central store.
 */
#include "grpc/grpc.h"

#include "envoy/service/ratelimit/v3/rls.pb-c.h"
#include "tests/lib/central_wire.h"
#include "tests/lib/grpc_asked.h"
#include "tests/lib/grpc_client.h"
#include "tests/lib/served.h"

#include <stdlib.h>

enum { MEMORY = 4 << 20 };

typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor Descriptor;
typedef Envoy__Extensions__Common__Ratelimit__V3__RateLimitDescriptor__Entry Entry;
typedef Envoy__Service__Ratelimit__V3__RateLimitRequest Request;
typedef Envoy__Service__Ratelimit__V3__RateLimitResponse Response;

static ProtobufCBinaryData data_of(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

/* Asks for so many hits of a user, in one descriptor or in two that are equal. Returns the stream. */
static int32_t ask_in(uint32_t descriptor_count, const char *user, uint32_t hits, const char *timeout)
{
    uint8_t message[512];
    Entry entry = ENVOY__EXTENSIONS__COMMON__RATELIMIT__V3__RATE_LIMIT_DESCRIPTOR__ENTRY__INIT, *entries = &entry;
    Descriptor descriptor = ENVOY__EXTENSIONS__COMMON__RATELIMIT__V3__RATE_LIMIT_DESCRIPTOR__INIT,
               *descriptors[] = {&descriptor, &descriptor};
    Request request = ENVOY__SERVICE__RATELIMIT__V3__RATE_LIMIT_REQUEST__INIT;
    entry.key = data_of("user");
    entry.value = data_of(user);
    descriptor.entries = &entries;
    descriptor.n_entries = 1;
    request.domain = data_of("edge");
    request.descriptors = descriptors;
    request.n_descriptors = descriptor_count;
    request.hits_addend = hits;
    const size_t size = envoy__service__ratelimit__v3__rate_limit_request__pack(&request, message);
    const int32_t stream =
        grpc_client_ask(GRPC_RATE_LIMIT, (struct bytes){(const char *)message, size}, NULL, timeout, true);
    grpc_client_run();
    return stream;
}

/* Asks for nothing of an address, which only looks, and for a hit of a user. */
static int32_t ask_with_a_look(const char *ip, const char *user)
{
    const struct grpc_asked both[] = {{.entries = ip, .hits = 0}, {.entries = user, .hits = 1}};
    const int32_t stream = grpc_client_ask(GRPC_RATE_LIMIT, grpc_packed("edge", 0, both, 2), NULL, NULL, true);
    grpc_client_run();
    return stream;
}

static int32_t ask(const char *user, uint32_t hits, const char *timeout)
{
    return ask_in(1, user, hits, timeout);
}

/* 1: OK, 2: over the limit, 0: not answered yet; below 0: a status of gRPC. */
static int told(int32_t stream)
{
    const struct grpc_heard *heard = grpc_client_heard(stream);
    if (heard->status != 0 || heard->message_size < 5)
        return heard->status == -1 ? 0 : -heard->status;
    Response *response =
        envoy__service__ratelimit__v3__rate_limit_response__unpack(NULL, heard->message_size - 5,
                                                                   (const uint8_t *)heard->message + 5);
    assert(response != NULL);
    const int code = (int)response->overall_code;
    envoy__service__ratelimit__v3__rate_limit_response__free_unpacked(response, NULL);
    return code;
}

static uint64_t admitted(void)
{
    struct node_stats stats;
    node_stats(served.node, &stats);
    return stats.admitted_tokens;
}

static void begin(const char *patience)
{
    char rule[160];
    served_open_with(1024, 1);
    grpc_client_begin_in(MEMORY, 65535);
    (void)snprintf(rule, sizeof rule, "{id: r, service: edge, by: user, rate: 100/s, overshoot: 0%s}", patience);
    bool good = set_rules(rule);
    assert(good);
    while (strncmp(served_ask("CHECK ann SERVICE edge PATIENCE 0"), "[1", 2) == 0)
        ;
}

static void test_waits(void)
{
    begin(", patience: 200ms");
    const uint64_t before = admitted();
    const int32_t waits = ask("ann", 1, NULL), other = ask("bob", 1, NULL);
    OK(told(waits) == 0 && grpc_waits(&client.session), "a request waits");
    OK_I64(told(other), 1, "another one of the connection is answered");
    OK_U64(admitted(), before + 1, "nothing is charged for the first yet");
    grpc_client_wait_ms(60);
    OK_I64(told(waits), 1, "until rights come");
    OK_U64(admitted(), before + 2, "and is charged once");
    OK(!grpc_waits(&client.session) && served.commands.stats.patience_waiting == 0, "nobody waits any more");
    OK_U64(served.commands.stats.grpc_requests, 2, "two requests were answered");
    grpc_client_end();
}

static void test_ends(void)
{
    begin(", patience: 20ms");
    const int32_t large = ask("ann", 30, NULL), late = ask("ann", 30, "5m");
    OK(told(large) == 0 && told(late) != 1, "a large request waits");
    grpc_client_wait_ms(10);
    grpc_client_wait_ms(15);
    OK_I64(told(large), 2, "and is refused at its deadline");
    OK(told(late) == 2 || told(late) == -4, "or when its own time is over");
    const uint64_t before = admitted();
    (void)ask("ann", 30, NULL);
    OK_U64(served.commands.stats.patience_waiting, 1, "one more waits");
    grpc_client_close();
    OK_U64(served.commands.stats.patience_waiting, 0, "until its client goes");
    OK_U64(admitted(), before, "which costs nothing");
    grpc_client_connect(65535);
    grpc_client_end();
}

/* The listener would end a connection that it watches, and with it the request that waits. */
static void test_half_beside(void)
{
    const struct grpc_options options = {.memory_bytes = MEMORY, .request_timeout_ns = 50 * SERVED_MS};
    begin(", patience: 100ms");
    grpc_take_options(client.grpc, &options);
    const int32_t waits = ask("ann", 30, NULL),
                  half = grpc_client_ask(GRPC_RATE_LIMIT, bytes_of("half"), NULL, NULL, false);
    grpc_client_run();
    OK(told(waits) == 0 && client.pending_size == 0, "a connection with a request that waits is not watched");
    grpc_client_wait_ms(49);
    OK_I64(told(half), 0, "another one may still become whole");
    grpc_client_wait_ms(1);
    OK(told(half) == -4 && told(waits) == 0, "until its time is over, and the first waits on");
    grpc_client_wait_ms(50);
    OK_I64(told(waits), 2, "and is answered");
    grpc_client_end();
}

static void test_does_not(void)
{
    begin("");
    OK_I64(told(ask("ann", 30, NULL)), 2, "without patience of the rule nobody waits");
    grpc_client_end();
}

static uint64_t denied_by(const char *rule)
{
    const char *at = strstr(served_ask("RULE LIST edge"), rule);
    return strtoull(strstr(at, "'denied' ") + 9, NULL, 10);
}

static void test_look_before(void)
{
    begin(", patience: 200ms");
    bool good = set_rules("{id: no, service: edge, by: ip, rate: 0}");
    assert(good);
    const int32_t waits = ask_with_a_look("ip=1.2.3.4", "user=ann");
    OK(told(waits) == 0 && grpc_waits(&client.session), "a request waits behind a look that is over");
    OK_U64(denied_by("no"), 0, "which does not count as a refusal yet");
    grpc_client_wait_ms(60);
    OK_I64(told(waits), 2, "it is answered when rights come");
    OK_U64(denied_by("no"), 1, "and the look counts once, however often it was decided");
    grpc_client_end();
}

static void test_central(void)
{
    served_plan(1024, 0);
    served.options.has_central = true;
    served_begin();
    grpc_client_begin_in(MEMORY, 65535);
    test_wire_open(50 * SERVED_MS, served.now_ns);
    served.commands.central = test_wire.central;
    bool good = set_rules("{id: r, service: edge, by: user, rate: 100/s, sync: central, when_down: closed}");
    assert(good);
    const int32_t first = ask("ann", 2, NULL), second = ask("bob", 1, NULL);
    OK(told(first) == 0 && told(second) == 0 && grpc_waits(&client.session), "requests wait, side by side");
    OK(test_wire.sent_count == 3 && test_wire.sent[1].charge[0].cost == 2, "both are asked");
    test_wire_answer(&test_wire.sent[2], false, 0);
    test_wire_answer(&test_wire.sent[1], true, 98);
    grpc_client_wait_ms(1);
    OK(told(first) == 1 && told(second) == 2, "and answered as the store says");
    const int32_t both = ask_in(2, "ann", 1, NULL);
    test_wire_answer(test_wire_last(), true, 97);
    grpc_client_wait_ms(1);
    OK_I64(told(both), -12, "a second descriptor cannot wait");
    OK(strstr(grpc_client_heard(both)->sentence, "descriptor 1: ") != NULL, "which is said of it");
    (void)ask("ann", 1, NULL);
    grpc_client_close();
    test_wire_answer(test_wire_last(), true, 96);
    OK(test_wire_last()->way == CENTRAL_RETURN, "who goes away is not charged");
    grpc_client_connect(65535);
    grpc_client_end();
    test_wire_close();
}

int main(void)
{
    test_central();
    test_waits();
    test_ends();
    test_half_beside();
    test_look_before();
    test_does_not();
    return tap_done();
}
