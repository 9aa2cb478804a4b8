/*
 * What entries of descriptors say: identifiers and options, and that nothing a stranger chooses is an error.
 */
#include "grpc/descriptor.h"

#include "tests/lib/tap.h"

#include <stdio.h>

static _Alignas(max_align_t) char room[4096];
static struct grpc_arena arena;
static const struct hash_key hash_key = {{1, 2, 3}};
static struct grpc_descriptor descriptor;

/* "user=bob endpoint /x ...", or "! error"; entries "key=value", separated by '|'. */
static const char *told(const char *entries)
{
    static char text[2048];
    size_t size = 0;
    grpc_arena_init(&arena, room, sizeof room);
    grpc_arena_begin(&arena);
    grpc_descriptor_begin(&descriptor, PATH_MERGE_SLASHES);
    text[0] = '\0';
    for (const char *at = entries; *at;) {
        const size_t entry = strcspn(at, "|"), key = strcspn(at, "=");
        if (!grpc_descriptor_add(&descriptor, (struct bytes){at, key},
                                 (struct bytes){at + key + 1, entry - key - 1}, &hash_key, &arena)) {
            (void)snprintf(text, sizeof text, "! %s", descriptor.error);
            return text;
        }
        at += entry + (at[entry] == '|');
    }
    grpc_descriptor_end(&descriptor);
    const struct command_query *query = &descriptor.query;
    for (uint32_t i = 0; i < query->id_count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%.*s=%.*s", i > 0 ? " " : "",
                                 (int)query->id[i].dimension.size, query->id[i].dimension.data,
                                 (int)query->id[i].value.size, query->id[i].value.data);
    if (query->endpoint.size > 0)
        size += (size_t)snprintf(text + size, sizeof text - size, " at %.*s", (int)query->endpoint.size,
                                 query->endpoint.data);
    if (query->tier.size > 0)
        size += (size_t)snprintf(text + size, sizeof text - size, " tier %.*s", (int)query->tier.size,
                                 query->tier.data);
    if (query->priority != PRIORITY_NORMAL)
        size += (size_t)snprintf(text + size, sizeof text - size, " priority %d", (int)query->priority);
    for (uint32_t i = 0; i < query->cost_count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, " cost %.*s %llu",
                                 (int)query->named_cost[i].name.size, query->named_cost[i].name.data,
                                 (unsigned long long)query->named_cost[i].tokens);
    return text;
}

static void test_entries(void)
{
    OK_STRING(told("user=bob"), "user=bob", "an entry is an identifier");
    OK_STRING(told("endpoint=/x|user=bob|tier=gold|priority=high"), "user=bob at /x tier gold priority 2",
              "or an option of CHECK");
    OK_STRING(told("endpoint=/x?a=b|user=bob"), "user=bob at /x", "an endpoint has no query");
    OK_STRING(told("endpoint=//x/./%79?a=b|path=//x|user=bob"), "path=//x user=bob at /x/y", "and one spelling");
    OK_STRING(told("user=|ip=1.2.3.4"), "ip=1.2.3.4", "an entry without a value is none");
    OK_STRING(told("endpoint=/x"), "*=* at /x", "without an identifier one stands in that no rule can name");
    OK_STRING(told(""), "*=*", "also where nothing is said");
    OK_STRING(told("generic_key=a|generic_key=b|generic_key=c"), "generic_key=a generic_key.2=b generic_key.3=c",
              "a key that comes again has a number");
}

static void test_errors(void)
{
    OK(strncmp(told("a b=c"), "! dimension 'a b'", 17) == 0, "a key that is no dimension");
    OK_STRING(told("=c"), "! an entry has no key", "no key");
    OK_STRING(told("endpoint=/x|endpoint=/y"), "! said twice: expected it once", "an option twice");
    OK(strncmp(told("priority=urgent"), "! PRIORITY is 'urgent'", 22) == 0, "a priority that is none");
    OK_STRING(told("a=1|b=1|c=1|d=1|e=1|f=1|g=1|h=1|i=1"), "! too many ids: expected at most 8", "too many");
}

static void test_costs(void)
{
    OK_STRING(told("user=bob|cost.bytes=1500|cost.rows=3"), "user=bob cost bytes 1500 cost rows 3",
              "costs have names");
    OK_STRING(told("user=bob|cost.bytes="), "user=bob", "a cost that is absent is none");
    OK_STRING(told("cost.w=1000000000001|cost.x=-1|cost.y=99999999999999999999|cost.z=1.5"),
              "*=* cost w 1000000000000 cost x 1000000000000 cost y 1000000000000 cost z 1000000000000",
              "what a client makes of a cost is no error, and the largest");
    OK(strncmp(told("cost.=1"), "! '' is no name of a cost", 25) == 0, "a cost without a name");
    OK_STRING(told("cost.a=1|cost.a=1"), "! a second cost of 'a': expected each name once", "a cost twice");
}

static void test_lengths(void)
{
    char entries[1024], first[512];
    (void)snprintf(entries, sizeof entries, "user=%0300d", 1);
    (void)snprintf(first, sizeof first, "%s", told(entries));
    OK(strncmp(first, "user=hash:", 10) == 0 && strlen(first) == 10 + 32, "a long value is told by its hash");
    OK_STRING(told(entries), first, "the same by the same");
    (void)snprintf(entries, sizeof entries, "user=%0300d", 2);
    OK(strcmp(told(entries), first) != 0, "and another by another");
    (void)snprintf(entries, sizeof entries, "user=%0256d", 1);
    OK(strcmp(told(entries) + 5, entries + 5) == 0, "the longest value that is short stays as it is");
    (void)snprintf(entries, sizeof entries, "endpoint=/%0400d|tier=%0400d|user=u", 1, 1);
    OK(strncmp(told(entries), "user=u at /000", 14) == 0 && descriptor.query.endpoint.size == 256,
       "an endpoint is cut behind all that patterns can say");
    OK_U64(descriptor.query.tier.size, 256, "and so is a tier");
}

int main(void)
{
    test_entries();
    test_errors();
    test_costs();
    test_lengths();
    return tap_done();
}
