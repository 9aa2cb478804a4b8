/* Beginnings and networks in lists and overrides: examples, and a model that goes through the rule's own entries. */
#include "rules/match.h"

#include "base/network.h"
#include "base/random.h"
#include "tests/lib/rule_parse.h"
#include "tests/lib/ruleset_ask.h"
#include "tests/lib/tap.h"

#include <inttypes.h>

enum { YAML_BYTES = 16384 };

static void asks(const char *yaml, const char *const (*cases)[2], size_t count)
{
    struct world *world = world_create(10, 100, 100, false);
    if (!OK(world_load(world, yaml), "the rules are compiled"))
        printf("# %s\n", world->error.text);
    for (size_t i = 0; i < count; i++)
        OK_STRING(ruleset_ask(world, cases[i][0]), cases[i][1], "%s", cases[i][0]);
    world_destroy(world);
}

static void networks(void)
{
    static const char *const cases[][2] = {
        {"ip=10.0.0.0", "DENIED by r"},
        {"ip=10.255.255.255", "DENIED by r"},
        {"ip=::ffff:10.1.2.3", "DENIED by r"},
        {"ip=::FFFF:0a01:0203", "DENIED by r"},
        {"ip=11.0.0.0", "r:rule"},
        {"ip=9.255.255.255", "r:rule"},
        {"ip=10.0.0", "r:rule"},
        {"ip=10.0.0.0.0", "r:rule"},
        {"ip=010.0.0.1", "r:rule"},
        {"ip=10.0.0.0/8", "r:rule"},
        {"ip=10.1.2.3:443", "r:rule"},
        {"ip=2001:db8:1::7", "DENIED by r"},
        {"ip=2001:0DB8:0001:0:0:0:0:7", "DENIED by r"},
        {"ip=2001:db9::", "r:rule"},
        {"ip=192.168.1.1", " | r:allow list"},
        {"ip=192.168.66.1", "DENIED by r"},
        {"ip=172.16.0.1", "r:override"},
        {"ip=172.16.5.5", "r:override"},
        {"ip=172.32.0.1", "r:rule"},
        {"user=10.0.0.1 ip=1", "r:rule"},
    };
    asks("- {id: r, by: ip, rate: 1/s, deny: [10.0.0.0/8, '2001:db8::/32', 192.168.66.0/24], allow: "
         "[192.168.0.0/16],\n"
         "   overrides: [{for: 172.16.0.0/12, amount: 5/s}, {for: 172.16.5.0/24, amount: 6/s}]}\n",
         cases, sizeof cases / sizeof cases[0]);
}

static void beginnings(void)
{
    static const char *const cases[][2] = {
        {"foo", "DENIED by r"},
        {"foobar", "DENIED by r"},
        {"fo", "r:rule"},
        {"xfoo", "r:rule"},
        {"foo*", "DENIED by r"},
        {"bar", " | r:allow list"},
        {"bark", " | r:allow list"},
        {"barfoo", "DENIED by r"},
        {"vip", "r:override"},
        {"vip-1", "r:override"},
        {"a*b", "DENIED by r"},
        {"axb", "r:rule"},
        {"u org=evil-corp", "DENIED by r"},
        {"u org=good", "r:rule"},
        {"org=evil", ""},
    };
    asks("- {id: r, rate: 1/s, deny: ['foo*', 'barfoo*', 'a\\*b', 'org=evil*'], allow: ['bar*'],\n"
         "   overrides: [{for: 'vip*', amount: 5/s}]}\n",
         cases, sizeof cases / sizeof cases[0]);
    static const char *const everybody[][2] = {{"u", "DENIED by all"}, {"ip=1", ""}, {"root", "DENIED by all"}};
    asks("- {id: all, rate: 1/s, deny: ['*'], allow: [root]}\n", everybody, 3);
}

/* Which amount counts: an exact one, then that of the longest beginning, then of the smallest network. */
static void the_nearest_override(void)
{
    static const struct {
        const char *asked;
        uint64_t tokens;
    } cases[] = {{"ip=10.1.2.3", 1},  {"ip=10.1.2.4", 2},  {"ip=10.1.2.99", 3}, {"ip=10.1.9.9", 4},
                 {"ip=10.77.9.9", 5}, {"ip=77.77.9.9", 6}, {"ip=::1", 7},       {"ip=1::1", 8}};
    struct world *world = world_create(10, 100, 100, false);
    OK(world_load(world,
                  "- {id: r, by: ip, rate: 8/s, overrides: [{for: 10.1.2.3, amount: 1/s}, {for: 10.1.2.4*, "
                  "amount: 2/s},\n   {for: 10.1.2.0/24, amount: 3/s}, {for: 10.1.0.0/16, amount: 4/s}, {for: "
                  "10.0.0.0/8, amount: 5/s},\n   {for: 0.0.0.0/0, amount: 6/s}, {for: '::/16', amount: 7/s},\n"
                  "   {for: 10.1.2.4, amount: 9/s, until: 2020-01-01}]}\n"),
       "overrides within each other");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)ruleset_ask(world, cases[i].asked);
        OK_U64(match.rule[0].limit_tokens, cases[i].tokens, "%s: %s", cases[i].asked,
               i == 1 ? "what has ended gives way" : "the nearest");
    }
    world_destroy(world);
}

static void too_many_lengths(void)
{
    static char yaml[YAML_BYTES];
    for (int most = 40; most <= 41; most++) {
        struct world *world = world_create(10, 100, 100, false);
        size_t size = (size_t)snprintf(yaml, sizeof yaml, "- {id: r, rate: 1/s, deny: [");
        for (int i = 1; i <= most; i++)
            size += (size_t)snprintf(yaml + size, sizeof yaml - size, "%s'%.*s*'", i > 1 ? ", " : "", i,
                                     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
        (void)snprintf(yaml + size, sizeof yaml - size, "]}\n");
        if (OK(world_load(world, yaml) == (most == 40), "beginnings of %d lengths", most) && most == 41)
            OK_STRING(
                world->error.text,
                "rule r of service default: its lists and overrides have beginnings of more than 40 different "
                "lengths for user",
                "... are refused in one sentence");
        world_destroy(world);
    }
}

/* ---- against a model ---- */

static bool covers(enum rule_form form, struct bytes named, struct bytes value)
{
    if (form == RULE_EXACT)
        return bytes_equal(named, value);
    if (form == RULE_PREFIX)
        return value.size >= named.size && (named.size == 0 || memcmp(value.data, named.data, named.size) == 0);
    struct network network;
    struct address address;
    if (network_parse(named, &network) != NETWORK_GOOD || !address_parse(value, &address))
        return false;
    address_mask(&address, network.bits);
    return address.ipv6 == network.first.ipv6 && memcmp(address.byte, network.first.byte, 16) == 0;
}

static uint64_t nearness(enum rule_form form, struct bytes named)
{
    struct network network = {.bits = 0};
    if (form == RULE_NETWORK)
        (void)network_parse(named, &network);
    return form == RULE_EXACT ? 1000000 : form == RULE_PREFIX ? 1000 + named.size : network.bits;
}

static bool is_listed(const struct rule_listed *list, size_t count, struct bytes value)
{
    for (size_t i = 0; i < count; i++)
        if (covers((enum rule_form)list[i].form, list[i].value, value))
            return true;
    return false;
}

/* Tokens of what counts; 0: allowed without counting; UINT64_MAX: denied. */
static uint64_t expected_of(const struct rule *rule, struct bytes value)
{
    uint64_t tokens = rule->amount.limit, nearest = 0;
    bool found = false;
    if (is_listed(rule->deny, rule->deny_count, value))
        return UINT64_MAX;
    if (is_listed(rule->allow, rule->allow_count, value))
        return 0;
    for (size_t i = 0; i < rule->override_count; i++) {
        const struct rule_override *override = &rule->overrides[i];
        uint64_t near = nearness((enum rule_form) override->form, override->value);
        if (!covers((enum rule_form) override->form, override->value, value) || (found && near < nearest))
            continue;
        found = true;
        nearest = near;
        tokens = override->amount.limit;
    }
    return tokens;
}

static uint64_t said_of(struct world *world, const char *value)
{
    char text[128];
    (void)snprintf(text, sizeof text, "ip=%s", value);
    struct request request = world_request(text);
    (void)ruleset_match(world->ruleset, &request, now_ns, wall_ns, &match);
    if (match.status == MATCH_DENIED)
        return UINT64_MAX;
    return match.count > 0 ? match.rule[0].limit_tokens : 0;
}

/* Few different bits, so that networks and beginnings overlap. */
static const char *draw_address(struct random *random, bool ipv6)
{
    static char text[64];
    unsigned a = random_below(random, 2) ? 10 : 11, b = (unsigned)random_below(random, 4) * 85,
             c = random_below(random, 2) ? 128 : 0;
    if (ipv6)
        (void)snprintf(text, sizeof text, "%x:%x::%x", a, b, c);
    else
        (void)snprintf(text, sizeof text, "%s%u.%u.%u.%u", random_below(random, 4) ? "" : "::ffff:", a, b, c, a);
    return text;
}

static size_t draw_named(struct random *random, char *out, size_t room)
{
    const bool ipv6 = random_below(random, 2);
    struct network network = {.bits = (uint8_t)random_below(random, ipv6 ? 129 : 33)};
    char text[NETWORK_TEXT_BYTES];
    const char *address = draw_address(random, ipv6);
    const uint64_t kind = random_below(random, 3);
    if (kind == 0)
        return (size_t)snprintf(out, room, "'%s'", address);
    if (kind == 1)
        return (size_t)snprintf(out, room, "'%.*s*'", (int)random_below(random, 8), address);
    (void)address_parse(bytes_of(address), &network.first);
    if (!network.first.ipv6 && network.bits > 32)
        network.bits = 32;
    address_mask(&network.first, network.bits);
    return (size_t)snprintf(out, room, "'%s'", network_text(&network, text));
}

static size_t draw_entries(struct random *random, const char *field, char *out, size_t room)
{
    size_t size = (size_t)snprintf(out, room, "%s: [", field);
    uint64_t count = random_below(random, 7);
    for (uint64_t i = 0; i < count; i++) {
        size +=
            (size_t)snprintf(out + size, room - size, "%s%s", i > 0 ? ", " : "", field[0] == 'o' ? "{for: " : "");
        size += draw_named(random, out + size, room - size);
        if (field[0] == 'o')
            size += (size_t)snprintf(out + size, room - size, ", amount: %u/s}", (unsigned)i + 2);
    }
    return size + (size_t)snprintf(out + size, room - size, "]");
}

static void against_a_model(void)
{
    static char yaml[YAML_BYTES];
    struct random random;
    uint64_t wrong = 0, denied = 0, allowed = 0, other = 0, rules = 0;
    random_seed(&random, 7);
    for (int round = 0; round < 3000; round++) {
        struct world *world = world_create(2, 10, 10, false);
        struct error error;
        size_t size = (size_t)snprintf(yaml, sizeof yaml, "{id: r, by: ip, rate: 1/s, ");
        const char *const fields[] = {"deny", "allow", "overrides"};
        for (int i = 0; i < 3; i++) {
            size += draw_entries(&random, fields[i], yaml + size, sizeof yaml - size);
            size += (size_t)snprintf(yaml + size, sizeof yaml - size, "%s", i < 2 ? ", " : "}");
        }
        struct rule *rule = rule_parse(bytes_of(yaml), "r", &error); /* NULL where something stands twice */
        const struct rule_use use = {.rule = rule};
        if (rule && ruleset_compile_service(world->ruleset, rule->service, &use, 1, &error)) {
            rules++;
            for (int i = 0; i < 20; i++) {
                const char *value = draw_address(&random, random_below(&random, 2));
                uint64_t expected = expected_of(rule, bytes_of(value));
                denied += expected == UINT64_MAX;
                allowed += expected == 0;
                other += expected > 1 && expected < 100;
                if (said_of(world, value) != expected && wrong++ < 3)
                    printf("# %s: %s\n", value, yaml);
            }
        }
        rule_destroy(&rule);
        world_destroy(world);
    }
    OK_U64(wrong, 0, "what %" PRIu64 " rules say of addresses is what their entries say one by one", rules);
    OK(rules > 500 && denied > 1000 && allowed > 1000 && other > 1000,
       "... of some %" PRIu64 " denied, %" PRIu64 " allowed, %" PRIu64 " under an override", denied, allowed,
       other);
}

int main(void)
{
    networks();
    beginnings();
    the_nearest_override();
    too_many_lengths();
    against_a_model();
    return tap_done();
}
