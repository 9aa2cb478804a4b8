/* Staging, committing, limits on every count, what is counted, adaptive scales. */
#include "rules/ruleset.h"
#include "rules/match_shape.h"

#include "tests/lib/ruleset_world.h"
#include "tests/lib/tap.h"

#define S 1000000000ull

static const uint64_t now_ns = 5000 * S, wall_ns = 1800000000ull * S;
static struct match match;
static char yaml[1 << 21];

/* How many rules this request falls under. */
static uint32_t count_of(struct world *world, const char *text)
{
    struct request request = world_request(text);
    (void)ruleset_match(world->ruleset, &request, now_ns, wall_ns, &match);
    return match.count;
}

static struct ruleset_stats stats_of(const struct world *world)
{
    struct ruleset_stats stats;
    ruleset_stats(world->ruleset, &stats);
    return stats;
}

static bool remove_service(struct world *world, const char *service)
{
    return ruleset_compile_service(world->ruleset, bytes_of(service), NULL, 0, &world->error);
}

static bool stage(struct world *world, const char *text)
{
    struct rule_list list;
    bool good = rules_parse(bytes_of(text), "test", &list, &world->error) && world_stage(world, &list);
    rules_close(&list);
    return good;
}

static void staging(void)
{
    struct world *world = world_create(10, 100, 100, false);
    OK(stage(world, "- {id: a, service: x, rate: 1/s}\n- {id: a, service: y, rate: 1/s}\n"),
       "two services are staged");
    OK_U64(count_of(world, "u SERVICE x"), 0, "nothing changes before the commit");
    OK_U64(stats_of(world).services, 0, "nor is anything there");
    ruleset_commit(world->ruleset);
    OK(count_of(world, "u SERVICE x") == 1 && count_of(world, "u SERVICE y") == 1, "then both are in use");
    OK(stats_of(world).services == 2 && stats_of(world).rules == 2, "and counted");
    OK(stage(world, "- {id: a, service: x, rate: 1/s}\n- {id: b, service: x, rate: 1/s}\n") &&
           !stage(world, "- {id: a, service: y, by: [d01, d02, d03, d04, d05, d06, d07, d08], rate: 1/s}\n"
                         "- {id: b, service: y, by: [d11, d12, d13, d14, d15, d16, d17, d18], rate: 1/s}\n"
                         "- {id: c, service: y, by: [d21, d22, d23, d24, d25, d26, d27, d28], rate: 1/s}\n"
                         "- {id: d, service: y, by: [d31, d32, d33, d34, d35, d36, d37, d38], rate: 1/s}\n"
                         "- {id: e, service: y, by: one-more, rate: 1/s}\n"),
       "one is staged, another has too many dimensions");
    OK_STRING(world->error.text,
              "rule e of service y: the rules of this service name more than 32 different dimensions",
              "it says so");
    ruleset_abandon(world->ruleset);
    OK_U64(count_of(world, "u SERVICE x"), 1, "what is abandoned is gone");
    OK(stage(world, "- {id: a, service: x, rate: 1/s}\n- {id: b, service: x, rate: 1/s}\n") &&
           stage(world, "- {id: c, service: x, rate: 1/s}\n"),
       "a service is staged twice");
    ruleset_commit(world->ruleset);
    OK(count_of(world, "u SERVICE x") == 1 && stats_of(world).rules == 2, "the second takes the first's place");
    uint16_t tenant = match.tenant;
    OK(remove_service(world, "x") && count_of(world, "u SERVICE x") == 0 && match.tenant == 0, "a service goes");
    OK(remove_service(world, "x") && remove_service(world, "never"), "to remove what is not there is no mistake");
    OK(stats_of(world).services == 1 && stats_of(world).rules == 1, "the other stays");
    OK(world_load(world, "{id: a, service: z, rate: 1/s}") && count_of(world, "u SERVICE z") == 1 &&
           match.tenant != tenant,
       "a new service does not get the number of one that just went");
    OK(stage(world, "{id: a, service: w, rate: 1/s}"), "(something is staged when all ends)");
    world_destroy(world);
}

static size_t add_rules(size_t size, const char *service, int first, int count, const char *more)
{
    for (int i = first; i < first + count; i++)
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, "- {id: r%d, service: %s, rate: 1/s%s%s}\n", i,
                                 service, *more ? ", " : "", more);
    return size;
}

static void limits(void)
{
    struct world *world = world_create(3, 40, 20, false);
    (void)add_rules(0, "a", 0, 16, "");
    OK(world_load(world, yaml) && count_of(world, "u SERVICE a") == 16, "16 rules may apply to one request");
    (void)add_rules(0, "a", 0, 17, "");
    OK(!world_load(world, yaml), "17 may not");
    OK_STRING(world->error.text,
              "service a: more than 16 rules may apply to one request of endpoint *: expected fewer",
              "it says which");
    size_t size = add_rules(0, "a", 0, 16, "");
    (void)add_rules(size, "a", 16, 4, "endpoint: /x");
    OK(world_load(world, yaml) && count_of(world, "u SERVICE a ENDPOINT /x") == 4,
       "20 may, if the more specific hide the others");
    size = add_rules(0, "a", 0, 16, "");
    (void)add_rules(size, "a", 16, 1, "by: ip, endpoint: /x");
    OK(!world_load(world, yaml), "17 by different dimensions may not");
    OK_STRING(world->error.text,
              "service a: more than 16 rules may apply to one request of endpoint /x: expected fewer",
              "it says of which endpoint");
    size = add_rules(0, "a", 0, 16, "");
    (void)add_rules(size, "a", 16, 5, "endpoint: /x");
    OK(!world_load(world, yaml), "a service of 20 rules may not have 21");
    OK_STRING(world->error.text, "service a would have 21 rules: expected at most 20", "it says so");
    size = add_rules(0, "b", 0, 10, "");
    (void)add_rules(size, "c", 0, 10, "");
    OK(world_load(world, yaml) && stats_of(world).rules == 40, "three services of 40 rules in all");
    (void)add_rules(0, "d", 0, 1, "");
    OK(!world_load(world, yaml), "a fourth service is refused");
    OK_STRING(world->error.text, "service d would be one more than the 3 that may have rules", "it says so");
    (void)add_rules(0, "c", 0, 11, "");
    OK(!world_load(world, yaml), "one more rule is refused");
    OK_STRING(world->error.text, "with service c there would be 41 rules: expected at most 40 in all services",
              "it says so");
    OK(remove_service(world, "a"), "a service goes");
    (void)add_rules(0, "d", 0, 16, "");
    OK(world_load(world, yaml) && stats_of(world).services == 3, "another takes its place");
    world->limit_max = world->limit_count;
    OK(!world_load(world, "- {id: a, service: d, rate: 1/s}\n- {id: b, service: d, rate: 77/s}\n"),
       "where no limit is left, a service is refused");
    OK_STRING(world->error.text, "rule b of service d: there are too many limits", "it says for which rule");
    OK_U64(count_of(world, "u SERVICE d"), 16, "and stays as it was");
    world_destroy(world);

    world = world_create(1, 10000, 10000, false);
    size = 0;
    for (int i = 0; i < 10000; i++)
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, "- {id: r%d, endpoint: \"/%d%s\", rate: 1/s}\n",
                                 i, i, i % 2 ? "/*" : "");
    OK(world_load(world, yaml), "a service of 10,000 rules, each of its own endpoint");
    OK(count_of(world, "u ENDPOINT /9998") == 1 && strcmp(match.rule[0].rule->id.data, "r9998") == 0 &&
           count_of(world, "u ENDPOINT /9999/x") == 1 && strcmp(match.rule[0].rule->id.data, "r9999") == 0,
       "finds its first and its last");
    printf("# %llu bytes\n", (unsigned long long)stats_of(world).bytes);
    world_destroy(world);
}

static void tiers(void)
{
    struct world *world = world_create(10, 100, 100, false);
    size_t size = 0;
    for (int rule = 0; rule < 5; rule++) {
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, "- id: r%d\n  rate: 1/s\n  tiers: {", rule);
        for (int tier = 0; tier < (rule < 4 ? 16 : 1); tier++)
            size += (size_t)snprintf(yaml + size, sizeof yaml - size, "%st%d: %d/s", tier > 0 ? ", " : "",
                                     16 * rule + 15 - tier, 1000 + 16 * rule + 15 - tier);
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, "}\n");
    }
    OK(!world_load(world, yaml), "65 tiers in five rules are too many");
    OK_STRING(world->error.text,
              "rule r4 of service default: the rules of this service name more than 64 different tiers",
              "it says so");
    *strstr(yaml, "- id: r4") = '\0';
    OK(world_load(world, yaml), "64 are not");
    int wrong = 0;
    for (int tier = 0; tier < 64; tier++) {
        char text[32];
        (void)snprintf(text, sizeof text, "u TIER t%d", tier);
        (void)count_of(world, text);
        for (uint32_t i = 0; i < match.count; i++) {
            bool own = match.rule[i].rule->id.data[1] - '0' == tier / 16;
            wrong += world->limit[match.charge[i].limit].rate != (own ? 1000u + (unsigned)tier : 1);
        }
        wrong += match.count != 4;
    }
    OK_I64(wrong, 0, "and each has its own amount");
    world_destroy(world);
}

/* ---- counts ---- */

static void note_one(struct world *world, const char *text, bool allowed)
{
    struct verdict verdicts[CHARGES_MAX];
    struct request request = world_request(text);
    (void)ruleset_match(world->ruleset, &request, now_ns, wall_ns, &match);
    for (int i = 0; i < CHARGES_MAX; i++)
        verdicts[i].allowed = allowed;
    (void)ruleset_note(&match, verdicts);
}

static struct rule_counts counts_of(const struct world *world, const char *id)
{
    const struct ruled *ruled = ruleset_find(world->ruleset, bytes_of("default"), bytes_of(id));
    return ruled ? ruled_counts(ruled) : (struct rule_counts){0};
}

struct found {
    const char *id;
    struct rule_counts counts;
};

static void find(void *context, const struct ruled *ruled)
{
    struct found *found = context;
    if (bytes_equal(ruled->id, bytes_of(found->id)))
        found->counts = ruled_counts(ruled);
}

/* Of a limit of the config. */
static struct rule_counts limit_counts(const struct world *world, const char *id)
{
    struct found found = {.id = id};
    ruleset_visit_rules(world->ruleset, bytes_of(""), find, &found);
    return found.counts;
}

static void counts(void)
{
    static const char rules[] = "- {id: a, rate: 1/s, allow: [friend], deny: [foe]}\n"
                                "- {id: s, by: ip, mode: shadow, rate: 1/s, deny: [\"66\"]}\n";
    struct world *world = world_create(10, 100, 100, true);
    OK(world_load(world, rules), "counts: compiled");
    note_one(world, "u", true);
    note_one(world, "u", false);
    note_one(world, "u", false);
    note_one(world, "friend", true);
    note_one(world, "foe", false);
    struct rule_counts a = counts_of(world, "a");
    OK(a.allowed == 2 && a.denied == 3 && a.shadow_denied == 0 && a.canary_allowed == 0 && a.stable_allowed == 0,
       "lists count as decisions");
    note_one(world, "ip=1", true);
    note_one(world, "ip=1", false);
    note_one(world, "ip=66", false);
    struct rule_counts s = counts_of(world, "s");
    OK(s.allowed == 3 && s.denied == 0 && s.shadow_denied == 2,
       "a shadow allows all, and counts what it would not have");
    OK(world_load(world, "- {id: a, rate: 1/s}\n- {id: s, by: ip, mode: soft, rate: 1/s}\n"),
       "a shadow becomes soft");
    note_one(world, "ip=1", false);
    s = counts_of(world, "s");
    OK(s.allowed == 4 && s.denied == 0 && s.shadow_denied == 2 && s.over_limit == 1,
       "a soft rule allows all, and counts by itself");
    OK(world_load(world, rules) && counts_of(world, "a").denied == 3, "counts survive a compilation");
    OK(world_load(world, "{id: s, by: ip, rate: 1/s}") && world_load(world, rules) &&
           counts_of(world, "a").denied == 0,
       "not the rule's end");

    note_one(world, "zoe RULE other", true);
    const uint64_t edition = ruleset_edition(world->ruleset);
    const struct ruleset_named named[] = {
        {.name = bytes_of("new"), .id = 9, .limit = 60002, .capacity = 5},
        {.name = bytes_of("other"), .id = 8, .limit = 60003, .capacity = 30},
    };
    OK(limit_counts(world, "other").allowed == 1 && ruleset_set_named(world->ruleset, named, 2, 0) &&
           limit_counts(world, "other").allowed == 1 && limit_counts(world, "new").allowed == 0 &&
           ruleset_named_limit(world->ruleset, 1) == 60003 && ruleset_edition(world->ruleset) != edition,
       "a limit of the config that stays keeps its counts");

    struct rule_list list;
    bool parsed = rules_parse(bytes_of("- {id: s, by: ip, rate: 1/s}\n- {id: a, by: ip, rate: 2/s}"), "test", &list,
                              &world->error);
    struct rule_use use = {.rule = list.rule[0],
                           .candidate = list.rule[0],
                           .share_millionths = 500000,
                           .canary = 1};
    OK(parsed && ruleset_compile_service(world->ruleset, bytes_of("default"), &use, 1, &world->error),
       "counts: a canary of half the keys");
    for (int i = 0; i < 1000; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "ip=%d", i);
        note_one(world, text, i % 4 != 0);
    }
    s = counts_of(world, "s");
    OK(s.canary_allowed + s.stable_allowed == 750 && s.canary_denied + s.stable_denied == 250, "both are counted");
    OK(s.canary_allowed > 300 && s.canary_allowed < 450 && s.canary_denied > 90 && s.canary_denied < 160,
       "each on its own (%llu and %llu of the canary)", (unsigned long long)s.canary_allowed,
       (unsigned long long)s.canary_denied);
    OK(s.allowed == 754 && s.denied == 250, "and as the rule's");
    OK(ruleset_compile_service(world->ruleset, bytes_of("default"), &use, 1, &world->error) &&
           counts_of(world, "s").canary_allowed == s.canary_allowed,
       "the same canary goes on");
    use.canary = 2;
    OK(ruleset_compile_service(world->ruleset, bytes_of("default"), &use, 1, &world->error) &&
           counts_of(world, "s").canary_allowed == 0 && counts_of(world, "s").stable_denied == 0 &&
           counts_of(world, "s").allowed == 754,
       "another one begins anew");
    rules_close(&list);
    world_destroy(world);
}

/* ---- adaptive rules ---- */

/* Tokens a second. */
static uint64_t rate_of(struct world *world, const char *text)
{
    if (count_of(world, text) == 0)
        return 0;
    const struct limit_terms *terms = &world->limit[match.charge[0].limit];
    return terms->rate * S / terms->period_ns;
}

static void mark_limit(void *context, uint16_t limit)
{
    ((bool *)context)[limit] = true;
}

static void scales(void)
{
    static const char rules[] =
        "- {id: a, rate: 1000/s, adaptive: {floor: 21%, latency: 20ms}, tiers: {t: 400/s}}\n"
        "- {id: b, by: ip, rate: 1000/s}\n"
        "- {id: c, by: job, algorithm: fixed_window, limit: 100, window: 1m, adaptive: {floor: "
        "50%, latency: 10ms}}\n";
    struct world *world = world_create(10, 100, 100, false);
    OK(world_load(world, rules), "scales: compiled");
    OK_U64(ruleset_latency_target_ns(world->ruleset, bytes_of("default")), 10000000,
           "the least target is the service's");
    OK_U64(ruleset_latency_target_ns(world->ruleset, bytes_of("nobody")), 0, "who has no rules has none");
    OK(ruleset_set_scale(world->ruleset, bytes_of("default"), 10), "half of everything");
    OK_U64(rate_of(world, "u"), 500, "a rate is halved");
    OK_U64(rate_of(world, "u TIER t"), 200, "and a tier's");
    OK_U64(rate_of(world, "ip=1"), 1000, "a rule that is not adaptive stays");
    OK(count_of(world, "job=1") == 1 && match.rule[0].limit_tokens == 50, "a window's limit is halved");
    OK(!ruleset_set_scale(world->ruleset, bytes_of("default"), 10), "the same again changes nothing");
    OK(ruleset_set_scale(world->ruleset, bytes_of("default"), 0), "nothing at all");
    OK_U64(rate_of(world, "u"), 250, "is not below the floor, of whole twentieths");
    OK(count_of(world, "job=1") == 1 && match.rule[0].limit_tokens == 50, "each has its own");
    OK(world_load(world, rules) && rate_of(world, "u") == 250, "a compilation keeps the scale");
    OK(stage(world, rules) && ruleset_set_scale(world->ruleset, bytes_of("default"), 20),
       "it changes while one is staged");
    ruleset_commit(world->ruleset);
    OK_U64(rate_of(world, "u"), 1000, "and holds after the commit");
    static bool used[65536];
    memset(used, 0, sizeof used);
    ruleset_visit_limits(world->ruleset, mark_limit, used);
    uint32_t marked = 0;
    for (size_t i = 0; i < sizeof used; i++)
        marked += used[i];
    OK_U64(marked, 3, "limits in use: 1000/s, twice; 400/s; 100 of a minute");
    OK(used[match.charge[0].limit], "that of a request is one of them");
    OK(!ruleset_set_scale(world->ruleset, bytes_of("nobody"), 10), "who has no rules has no scale");
    world->limit_max = 0;
    world->limit_count = 0;
    OK(!ruleset_set_scale(world->ruleset, bytes_of("default"), 7), "where no limit is left, amounts stay");
    world_destroy(world);
}

/* What is staged counts towards the limits as it will be, once. */
static void staged_twice(void)
{
    struct world *world = world_create(4, 4, 4, false);
    struct rule_list list;
    struct rule_use uses[4];
    bool parsed = rules_parse(bytes_of("[{id: a, by: ip, rate: 1/s}, {id: b, by: ip, rate: 1/s}, "
                                       "{id: c, by: ip, rate: 1/s}, {id: x, service: s, rate: 1/s}]"),
                              "test", &list, &world->error);
    assert(parsed && list.count == 4);
    for (size_t i = 0; i < 4; i++)
        uses[i] = (struct rule_use){.rule = list.rule[i]};
    bool fine = true;
    for (int i = 0; i < 3; i++)
        fine &= ruleset_stage(world->ruleset, bytes_of("default"), uses, 3, &world->error);
    OK(fine && ruleset_stage(world->ruleset, bytes_of("s"), uses + 3, 1, &world->error),
       "a service that is staged again takes no more room");
    OK(ruleset_stage(world->ruleset, bytes_of("default"), uses, 1, &world->error) &&
           ruleset_stage(world->ruleset, bytes_of("default"), uses, 3, &world->error),
       "nor less");
    OK(ruleset_stage(world->ruleset, bytes_of("gone"), NULL, 0, &world->error), "one that there is not may go");
    ruleset_commit(world->ruleset);
    struct ruleset_stats stats;
    ruleset_stats(world->ruleset, &stats);
    OK(stats.services == 2 && stats.rules == 4, "all that was staged is in use");
    rules_close(&list);
    world_destroy(world);
}

int main(void)
{
    staged_twice();
    staging();
    limits();
    tiers();
    counts();
    scales();
    return tap_done();
}
