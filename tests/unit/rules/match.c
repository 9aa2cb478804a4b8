/* Which rules a request falls under, and what they ask of it. */
#include "rules/match.h"

#include "base/random.h"
#include "limit/key.h"
#include "tests/lib/ruleset_ask.h"
#include "tests/lib/tap.h"

struct question {
    const char *asked, *expected;
};

static void table(const char *what, bool named, const char *yaml, const struct question *questions, size_t count)
{
    struct world *world = world_create(10, 100, 100, named);
    if (!OK(world_load(world, yaml), "%s: the rules are compiled", what))
        printf("# %s\n", world->error.text);
    for (size_t i = 0; i < count; i++)
        OK_STRING(ruleset_ask(world, questions[i].asked), questions[i].expected, "%s: %s", what,
                  questions[i].asked);
    world_destroy(world);
}

#define TABLE(what, named, yaml, ...)                                                                              \
    do {                                                                                                           \
        static const struct question questions[] = __VA_ARGS__;                                                    \
        table(what, named, yaml, questions, sizeof questions / sizeof questions[0]);                               \
    } while (0)

static void endpoints(void)
{
    TABLE("endpoints", false,
          "- {id: all, rate: 1/s}\n"
          "- {id: v1, endpoint: /v1/*, rate: 1/s}\n"
          "- {id: v1a, endpoint: /v1/a*, rate: 1/s}\n"
          "- {id: v1ab, endpoint: /v1/ab, rate: 1/s}\n"
          "- {id: v1ab2, endpoint: /v1/ab, rate: 1/m}\n"
          "- {id: v1abc, endpoint: /v1/abc*, rate: 1/s}\n"
          "- {id: ip, by: ip, rate: 1/s}\n"
          "- {id: other, service: other, endpoint: /x, rate: 1/s}\n",
          {
              {"u", "all:rule"},
              {"u ENDPOINT /", "all:rule"},
              {"u ENDPOINT /v1", "all:rule"},
              {"u ENDPOINT /v1/", "v1:rule"},
              {"u ENDPOINT /v1/x", "v1:rule"},
              {"u ENDPOINT /v1/a", "v1a:rule"},
              {"u ENDPOINT /v1/abb", "v1a:rule"},
              {"u ENDPOINT /v1/ab", "v1ab2:rule v1ab:rule"},
              {"u ENDPOINT /v1/abc", "v1abc:rule"},
              {"u ENDPOINT /v1/abcdefghijklm", "v1abc:rule"},
              {"u ENDPOINT /v1/b", "v1:rule"},
              {"u ENDPOINT /v2", "all:rule"},
              {"u ENDPOINT *", "all:rule"},
              {"u ENDPOINT /v1/*", "v1:rule"},
              {"ip=1 ENDPOINT /v1/ab", "ip:rule"},
              {"u ip=1 ENDPOINT /v1/x", "ip:rule v1:rule"},
              {"api_key=u", ""},
              {"u SERVICE other", ""},
              {"u SERVICE other ENDPOINT /x", "other:rule"},
              {"u SERVICE other ENDPOINT /xx", ""},
              {"u SERVICE others ENDPOINT /x", "UNKNOWN SERVICE"},
              {"u SERVICE default ENDPOINT /v2", "all:rule"},
          });
}

static void dimensions(void)
{
    TABLE(
        "dimensions", false,
        "- {id: user, rate: 1/s}\n"
        "- {id: pair, by: [user, ip], rate: 1/s}\n"
        "- {id: all, by: [], rate: 1/s}\n"
        "- {id: pair-x, by: [ip, user], endpoint: /x, rate: 1/s}\n"
        "- {id: three, by: [a_rather_long_dimension_name_too, a_rather_long_dimension_name_two, ip], rate: 1/s}\n",
        {
            {"u", "all:rule user:rule"},
            {"ip=1", "all:rule"},
            {"whatever=1", "all:rule"},
            {"u ip=1", "all:rule pair:rule user:rule"},
            {"ip=1 user=u whatever=3", "all:rule pair:rule user:rule"},
            {"u ip=1 ENDPOINT /x", "all:rule pair-x:rule user:rule"},
            {"a_rather_long_dimension_name_too=1 a_rather_long_dimension_name_two=2 ip=3", "all:rule three:rule"},
            {"a_rather_long_dimension_name_too=1 a_rather_long_dimension_name_tww=2 ip=3", "all:rule"},
        });
}

static void modes(void)
{
    TABLE("modes", true,
          "- {id: all, rate: 1/s}\n"
          "- {id: try, endpoint: /a*, mode: shadow, rate: 1/s}\n"
          "- {id: off, endpoint: /b, mode: off, rate: 1/s}\n"
          "- {id: try-all, by: ip, mode: shadow, rate: 1/s, deny: [\"66\"]}\n"
          "- {id: sure, by: ip, endpoint: /a, rate: 1/s}\n",
          {
              {"u", "all:rule"},
              {"u ENDPOINT /a", "all:rule try:rule"},
              {"u ENDPOINT /b", "all:rule"},
              {"ip=1", "default:config try-all:rule"},
              {"ip=1 ENDPOINT /a", "sure:rule"},
              {"ip=1 ENDPOINT /ab", "default:config try-all:rule"},
              {"ip=66", "default:config | try-all:deny list"},
              {"u RULE off", ""},
              {"u RULE try ENDPOINT /a", "try:rule"},
          });
    OK(world_request("u PRIORITY high").priority == RULE_PRIORITY_HIGH, "(the test reads priorities)");
}

/* An amount of 0 denies as a list does, and the same amounts go before others as ever. */
static void zeroes(void)
{
    TABLE(
        "amounts of 0", true,
        "- {id: none, rate: 0, tiers: {pro: 5/s}, overrides: [{for: vip, amount: 1/s}, {for: all, amount: "
        "unlimited}], endpoint: /none}\n"
        "- {id: some, rate: 1/s, tiers: {free: 0}, overrides: [{for: out, amount: 0}, {for: was, amount: 0, until: "
        "2020-01-01}], allow: [both], endpoint: /some}\n"
        "- {id: day, algorithm: quota, limit: 0, window: day, by: ip, endpoint: /some}\n"
        "- {id: try, rate: 0, mode: shadow, endpoint: /try}\n"
        "- {id: grace, rate: 0, mode: soft, endpoint: /grace}\n",
        {
            {"u ENDPOINT /none", "DENIED by none"},
            {"u ENDPOINT /none TIER pro", "none:tier"},
            {"vip ENDPOINT /none", "none:override"},
            {"all ENDPOINT /none", " | none:unlimited override"},
            {"u ENDPOINT /some", "some:rule"},
            {"u ENDPOINT /some TIER free", "DENIED by some"},
            {"out ENDPOINT /some TIER pro", "DENIED by some"},
            {"was ENDPOINT /some", "some:rule"},
            {"both ENDPOINT /some TIER free", " | some:allow list"},
            {"u ip=1 ENDPOINT /some", "DENIED by day"},
            {"u ENDPOINT /try", "default:config | try:limit 0"},
            {"u ENDPOINT /grace", " | grace:limit 0"},
        });
}

static void lists(void)
{
    TABLE(
        "tiers, overrides and lists", true,
        "- id: user\n  rate: 100/m\n  tiers: {free: 10/m, pro: 1000/m, internal: unlimited, zz: 5/m}\n"
        "  overrides:\n    - {for: big, amount: 7/s}\n    - {for: old, amount: 7/s, until: 2027-01-15T08:00:00Z}\n"
        "    - {for: still, amount: 7/s, until: 2027-01-15T08:00:01Z}\n    - {for: boss, amount: unlimited}\n"
        "  allow: [friend, both, ip=127.0.0.1]\n  deny: [foe, both, ip=6.6.6.6]\n"
        "- {id: pair, by: [user, ip], rate: 1/s, overrides: [{for: user=big, amount: 2/s}, {for: ip=1, amount: "
        "3/s}], endpoint: /p}\n"
        "- {id: only-tier, by: api_key, rate: unlimited, tiers: {free: 1/s}}\n"
        "- {id: more-tiers, by: api_key, endpoint: /p, rate: 4/s, tiers: {free: 1/s, gold: 2/s}}\n",
        {
            {"u", "user:rule"},
            {"u TIER free", "user:tier"},
            {"u TIER pro", "user:tier"},
            {"u TIER gold", "user:rule"},
            {"u TIER unheard", "user:rule"},
            {"u TIER internal", " | user:unlimited"},
            {"big", "user:override"},
            {"big TIER internal", "user:override"},
            {"old", "user:rule"},
            {"old TIER free", "user:tier"},
            {"still", "user:override"},
            {"boss", " | user:unlimited override"},
            {"friend", " | user:allow list"},
            {"foe", "DENIED by user"},
            {"both", "DENIED by user"},
            {"u ip=127.0.0.1", " | user:allow list"},
            {"ip=6.6.6.6 u", "DENIED by user"},
            {"ip=6.6.6.6 friend", "DENIED by user"},
            {"ip=friend u", "user:rule"},
            {"ip=6.6.6.6", "default:config"},
            {"big ip=1 ENDPOINT /p", "pair:override user:override"},
            {"big ip=2 ENDPOINT /p", "pair:override user:override"},
            {"u ip=2 ENDPOINT /p", "pair:rule user:rule"},
            {"api_key=1", " | only-tier:unlimited"},
            {"api_key=1 TIER free", "only-tier:tier"},
            {"api_key=1 TIER gold", " | only-tier:unlimited"},
            {"api_key=1 TIER gold ENDPOINT /p", "more-tiers:tier"},
            {"foe SERVICE other", "UNKNOWN SERVICE"},
        });
}

static void by_name(void)
{
    TABLE("one rule by name", true,
          "- {id: all, rate: 1/s}\n"
          "- {id: x, endpoint: /x, rate: 1/s, deny: [foe]}\n"
          "- {id: ip, by: ip, rate: 1/s}\n"
          "- {id: all, service: s, rate: 1/s}\n",
          {
              {"u RULE all", "all:rule"},
              {"u RULE all ENDPOINT /x", "all:rule"},
              {"u RULE x ENDPOINT /x", "x:rule"},
              {"u RULE x", "NOT CONCERNED"},
              {"foe RULE x ENDPOINT /x", "DENIED by x"},
              {"u RULE ip", "NOT CONCERNED"},
              {"u ip=1 RULE ip", "ip:rule"},
              {"u RULE y", "UNKNOWN"},
              {"u RULE al", "UNKNOWN"},
              {"u RULE alll", "UNKNOWN"},
              {"u RULE default", "default:config"},
              {"u RULE other", "other:config"},
              {"u RULE other SERVICE s", "UNKNOWN"},
              {"u RULE all SERVICE s", "all:rule"},
              {"u RULE all SERVICE t", "UNKNOWN SERVICE"},
          });
    TABLE("no rules at all", true, "- {id: x, service: x, rate: 1/s}\n",
          {
              {"u", "default:config"},
              {"ip=1", "default:config"},
              {"u SERVICE default", "default:config"},
              {"u SERVICE y", "UNKNOWN SERVICE"},
          });
    TABLE("no rules, no config", false, "- {id: x, service: x, rate: 1/s}\n",
          {{"u", ""}, {"u RULE other", "UNKNOWN"}});
}

static struct charge charge_of(struct world *world, const char *text)
{
    struct request request = world_request(text);
    (void)ruleset_match(world->ruleset, &request, now_ns, wall_ns, &match);
    return match.count > 0 ? match.charge[0] : (struct charge){0};
}

static bool same_key(struct charge a, struct charge b)
{
    return key_id_equal(a.id, b.id);
}

static void keys(void)
{
    struct world *world = world_create(10, 100, 100, true);
    OK(world_load(world, "- {id: a, by: [user, ip], rate: 1/s, inherit: proportional, on_isolation: closed}\n"
                         "- {id: a, service: s, by: [user, ip], rate: 1/s}\n"
                         "- {id: b, service: s, by: [user, ip], rate: 1/s}\n"
                         "- {id: c, service: s, by: [ip, org, user], rate: 1/s}\n"
                         "- {id: d, service: s, by: [], rate: 1/s}\n"
                         "- {id: e, service: s, by: [host], rate: 1/s, tiers: {free: 5/s}}\n"),
       "keys: the rules are compiled");
    struct charge first = charge_of(world, "alice ip=1");
    OK(same_key(first, charge_of(world, "ip=1 user=alice org=9")), "the order of identifiers does not matter");
    OK(same_key(first, charge_of(world, "alice ip=1 ENDPOINT /x COST 7")), "nor do endpoint and cost");
    OK(!same_key(first, charge_of(world, "1 ip=alice")), "which value is whose does");
    OK(!same_key(first, charge_of(world, "alice ip=2")), "each value counts");
    OK(!same_key(first, charge_of(world, "alice ip=1 SERVICE s RULE a")), "services share no keys");
    OK(!same_key(charge_of(world, "alice ip=1 SERVICE s RULE a"), charge_of(world, "alice ip=1 SERVICE s RULE b")),
       "nor do rules");
    OK(same_key(charge_of(world, "alice SERVICE s RULE d"), charge_of(world, "host=1 SERVICE s RULE d")),
       "a rule by nothing has one key");
    OK(same_key(charge_of(world, "host=1 SERVICE s RULE e"), charge_of(world, "host=1 SERVICE s RULE e TIER free")),
       "a key is the same in every tier");
    OK(charge_of(world, "host=1 SERVICE s RULE e").limit !=
           charge_of(world, "host=1 SERVICE s RULE e TIER free").limit,
       "and has another limit");
    OK(charge_of(world, "host=1 SERVICE s RULE e TIER free").inherit == INHERIT_TIERS &&
           charge_of(world, "alice ip=1 SERVICE s RULE b").inherit == INHERIT_KEEP,
       "to which it may change and back");
    OK(first.inherit == INHERIT_PROPORTIONAL && first.on_isolation == ISOLATION_CLOSED && first.tenant > 0 &&
           first.expires_ns == 0 && !first.sliding && !first.shadow && first.cost == 1,
       "what the rule says stands in the charge");
    OK(first.tenant != charge_of(world, "alice ip=1 SERVICE s RULE b").tenant, "services are different tenants");
    struct charge config = charge_of(world, "user=zoe");
    OK(config.limit == 60000 && match.rule[0].limit_tokens == 10,
       "where no rule counts a limit of the config does");

    /* A salt and the parts of the identifiers, put together by hand. */
    struct hash_key of_users, of_ips;
    key_of_dimension(&of_users, &world->hash_key, bytes_of("user"));
    key_of_dimension(&of_ips, &world->hash_key, bytes_of("ip"));
    struct key_id config_salt = key_id_of(&world->hash_key, 7, bytes_of(""), bytes_of(""));
    OK(key_id_equal(config.id, key_join(config_salt, key_part(&of_users, bytes_of("zoe")))) &&
           key_id_equal(charge_of(world, "ip=zoe").id, key_join(config_salt, key_part(&of_ips, bytes_of("zoe")))),
       "its keys are salt and part");
    struct key_id user = key_part(&of_users, bytes_of("alice")), ip = key_part(&of_ips, bytes_of("1"));
    struct key_id salt = key_join(first.id, key_join(user, ip));
    first = charge_of(world, "bob ip=1");
    OK(key_id_equal(first.id, key_join(salt, key_join(key_part(&of_users, bytes_of("bob")), ip))),
       "a key is salt and parts");
    world_destroy(world);
}

/* A million requests, no two with one key unless they name the same. */
static void distinct(void)
{
    enum { KEYS = 300000 };
    struct world *world = world_create(10, 100, 100, false);
    OK(world_load(world, "- {id: a, by: [user, ip], rate: 1/s}\n- {id: b, by: user, rate: 1/s}\n"
                         "- {id: c, by: ip, algorithm: fixed_window, limit: 1, window: 1m}\n"),
       "distinct keys: the rules are compiled");
    uint64_t *high = calloc(KEYS, sizeof *high);
    uint64_t equal = 0, groups[64] = {0}, worst = 0;
    for (uint32_t i = 0; i < KEYS; i += 3) {
        char text[64];
        (void)snprintf(text, sizeof text, "user=%u ip=%u", i / 3, i / 3);
        struct request request = world_request(text);
        (void)ruleset_match(world->ruleset, &request, now_ns, wall_ns, &match);
        for (uint32_t j = 0; j < 3; j++) {
            high[i + j] = match.charge[j].id.high;
            groups[high[i + j] >> 58]++;
        }
    }
    struct random random;
    random_seed(&random, 1);
    /* A set by sorting would do; hashing into a table with room for all is as short. */
    uint64_t *set = calloc(1 << 20, sizeof *set);
    for (uint32_t i = 0; i < KEYS; i++) {
        uint64_t at = high[i] & ((1 << 20) - 1);
        while (set[at] != 0 && set[at] != high[i])
            at = (at + 1) & ((1 << 20) - 1);
        equal += set[at] == high[i];
        set[at] = high[i];
    }
    for (int i = 0; i < 64; i++)
        worst = groups[i] > worst ? groups[i] : worst;
    OK_U64(equal, 0, "%d keys of 100,000 similar requests under three rules are distinct in 64 bits", KEYS);
    OK(worst < KEYS / 64 * 11 / 10, "and evenly spread (%llu in the fullest of 64 parts, %d on average)",
       (unsigned long long)worst, KEYS / 64);
    free(set);
    free(high);
    world_destroy(world);
}

static void amounts(void)
{
    struct world *world = world_create(10, 100, 100, false);
    OK(world_load(world, "- {id: a, rate: 100/m, burst: 1000, priority_floor: {low: 50%, normal: 20%, high: 0.1%}, "
                         "tiers: {big: 1000/m}}\n"
                         "- {id: jobs, by: job, algorithm: concurrency, limit: 5, window: 30s}\n"),
       "amounts: the rules are compiled");
    OK_U64(charge_of(world, "u").floor_tokens, 200, "a fifth is left to the levels above");
    OK_U64(charge_of(world, "u PRIORITY low").floor_tokens, 500, "half of it by low priorities");
    OK_U64(charge_of(world, "u PRIORITY high").floor_tokens, 1, "a thousandth by high ones");
    OK_U64(charge_of(world, "u PRIORITY critical").floor_tokens, 0, "nothing by critical ones");
    OK_U64(charge_of(world, "u TIER big PRIORITY low").floor_tokens, 500, "of the tier's own amount");
    OK_U64(world->limit[charge_of(world, "u").limit].capacity, 1000, "the limit is the rule's");
    OK_U64(world->limit[charge_of(world, "u TIER big").limit].rate, 1000, "or the tier's");
    OK_U64(charge_of(world, "u COST 17").cost, 17, "the cost is the request's");
    OK_U64(charge_of(world, "u COST 0").cost, 0, "0 as well");
    OK_U64(charge_of(world, "job=u COST 17").cost, 1, "a request holds one of a concurrency limit");
    OK_U64(charge_of(world, "job=u COST 0").cost, 0, "or none");
    world_destroy(world);
}

int main(void)
{
    endpoints();
    dimensions();
    modes();
    zeroes();
    lists();
    by_name();
    keys();
    distinct();
    amounts();
    return tap_done();
}
