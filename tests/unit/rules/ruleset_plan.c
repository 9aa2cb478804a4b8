/* Plans during canaries: which keys are under which version; and epochs. */
#include "rules/match.h"

#include "base/random.h"
#include "limit/key.h"
#include "tests/lib/rule_parse.h"
#include "tests/lib/ruleset_ask.h"
#include "tests/lib/tap.h"

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

static struct rule *one_rule(const char *yaml)
{
    struct error error;
    struct rule *rule = rule_parse(bytes_of(yaml), "test", &error);
    if (!rule)
        printf("Bail out! %s\n", error.text);
    return rule;
}

static void canaries(void)
{
    struct world *world = world_create(10, 100, 100, false);
    struct rule *all = one_rule("{id: all, rate: 1/s}");
    struct rule *stable = one_rule("{id: c, endpoint: /c, rate: 10/s}");
    struct rule *candidate = one_rule("{id: c, endpoint: /c, rate: 20/s}");
    struct rule *elsewhere = one_rule("{id: c, endpoint: /d, rate: 20/s}");
    struct rule *shadow = one_rule("{id: c, endpoint: /c, rate: 20/s, mode: shadow}");
    struct rule *by_ip = one_rule("{id: c, by: ip, endpoint: /c, rate: 20/s}");
    struct rule_use uses[] = {{.rule = all}, {.rule = stable, .candidate = candidate, .share_millionths = 100000}};
    struct {
        const char *what;
        const struct rule *rule, *candidate;
        uint32_t least, most;              /* candidates of 20,000 users at /c */
        const char *stable_at, *canary_at; /* what users get at /c, by group */
        const char *canary_at_d;
    } cases[] = {
        {"another rate", stable, candidate, 1850, 2150, "c:rule", "canary of c:rule", "all:rule"},
        {"another endpoint", stable, elsewhere, 0, 0, "c:rule", "all:rule", "canary of c:rule"},
        {"to shadow", stable, shadow, 1850, 2150, "c:rule", "all:rule canary of c:rule", "all:rule"},
        {"a new rule", NULL, candidate, 1850, 2150, "all:rule", "canary of c:rule", "all:rule"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uses[1].rule = cases[i].rule;
        uses[1].candidate = cases[i].candidate;
        OK(ruleset_compile_service(world->ruleset, bytes_of("default"), uses, 2, &world->error),
           "canary, %s: compiled", cases[i].what);
        uint32_t candidates = 0, canary_users = 0, wrong = 0;
        for (int user = 0; user < 20000; user++) {
            char at_c[64], at_d[64], got[64];
            (void)snprintf(at_c, sizeof at_c, "%d ENDPOINT /c", user);
            (void)snprintf(at_d, sizeof at_d, "%d ENDPOINT /d", user);
            (void)snprintf(got, sizeof got, "%s", ruleset_ask(world, at_c));
            candidates += strstr(got, "canary") != NULL;
            bool is_canary = strcmp(got, cases[i].stable_at) != 0;
            canary_users += is_canary;
            wrong += is_canary && strcmp(got, cases[i].canary_at) != 0;
            wrong += strcmp(ruleset_ask(world, at_d), is_canary ? cases[i].canary_at_d : "all:rule") != 0;
        }
        OK(canary_users > 1850 && canary_users < 2150, "canary, %s: %u of 20,000 users are a tenth", cases[i].what,
           canary_users);
        OK(candidates >= cases[i].least && candidates <= cases[i].most && wrong == 0,
           "canary, %s: each user is under one version everywhere (%u, %u wrong)", cases[i].what, candidates,
           wrong);
    }
    uses[1] = (struct rule_use){.rule = stable, .candidate = candidate, .share_millionths = 0};
    OK(ruleset_compile_service(world->ruleset, bytes_of("default"), uses, 2, &world->error), "a canary of 0%%");
    OK_STRING(ruleset_ask(world, "u ENDPOINT /c"), "c:rule", "is for nobody");
    uses[1].share_millionths = 1000000;
    OK(ruleset_compile_service(world->ruleset, bytes_of("default"), uses, 2, &world->error), "a canary of 100%%");
    OK_STRING(ruleset_ask(world, "u ENDPOINT /c"), "canary of c:rule", "is for everybody");
    uses[1].candidate = by_ip;
    OK(!ruleset_compile_service(world->ruleset, bytes_of("default"), uses, 2, &world->error),
       "a canary by other dimensions is refused");
    OK_STRING(world->error.text,
              "rule c of service default: its canary counts by other dimensions: expected the same, or another id",
              "and it says so");
    OK_STRING(ruleset_ask(world, "u ENDPOINT /c"), "canary of c:rule", "what was in use stays");
    struct rule *rules[] = {all, stable, candidate, elsewhere, shadow, by_ip};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        rule_destroy(&rules[i]);
    world_destroy(world);
}

static void epochs(void)
{
    struct world *world = world_create(10, 100, 100, false);
    struct rule *rule = one_rule("{id: a, rate: 1/s}");
    struct rule_use use = {.rule = rule, .epoch = 1};
    OK(ruleset_compile_service(world->ruleset, rule->service, &use, 1, &world->error), "epochs: compiled");
    struct charge before = charge_of(world, "u");
    OK(ruleset_compile_service(world->ruleset, rule->service, &use, 1, &world->error), "epochs: compiled again");
    OK(same_key(before, charge_of(world, "u")), "the same epoch has the same keys");
    use.epoch = 2;
    OK(ruleset_compile_service(world->ruleset, rule->service, &use, 1, &world->error), "epochs: the next one");
    OK(!same_key(before, charge_of(world, "u")), "another epoch has others");
    rule_destroy(&rule);
    world_destroy(world);
}

/* ---- a naive model ---- */

enum { DRAWN_RULES = 24 };

struct drawn {
    char text[DRAWN_RULES][2][256]; /* [1]: of the candidate */
    struct rule *rule[DRAWN_RULES], *candidate[DRAWN_RULES];
    struct rule_use use[DRAWN_RULES];
    uint32_t count;
};

static const char *const drawn_endpoints[] = {"*",      "/*",  "/a*", "/a/*", "/a/b*", "/a/b/c",  "/a/b",
                                              "/a/b/*", "/ab", "/b",  "/b*",  "/c/*",  "/a/b/cd*"};
static const char *const asked_endpoints[] = {"",       "/",        "/a",    "/a/",  "/a/b",   "/a/b/",
                                              "/a/b/c", "/a/b/cde", "/ab",   "/abc", "/b",     "/bb",
                                              "/c",     "/c/d",     "/a/bc", "x",    "/a/b/cd"};
static const char *const drawn_by[] = {"user", "ip", "[user, ip]", "[]"};
static const char *const drawn_modes[] = {"enforce", "soft", "shadow", "off"};

static struct rule *draw_rule(struct random *random, int id, const char *by, char text[256])
{
    (void)snprintf(text, 256, "{id: r%d, by: %s, endpoint: '%s', mode: %s, rate: 1/s}", id, by,
                   drawn_endpoints[random_below(random, sizeof drawn_endpoints / sizeof drawn_endpoints[0])],
                   drawn_modes[random_below(random, 4)]);
    return one_rule(text);
}

static void draw(struct random *random, struct drawn *drawn)
{
    drawn->count = 1 + (uint32_t)random_below(random, DRAWN_RULES);
    for (uint32_t i = 0; i < drawn->count; i++) {
        const char *by = drawn_by[random_below(random, 4)];
        bool canary = random_below(random, 4) == 0;
        drawn->rule[i] = draw_rule(random, (int)i, by, drawn->text[i][0]);
        drawn->candidate[i] = canary ? draw_rule(random, (int)i, by, drawn->text[i][1]) : NULL;
        drawn->use[i] = (struct rule_use){.rule = drawn->rule[i],
                                          .candidate = drawn->candidate[i],
                                          .share_millionths = (uint32_t)random_below(random, 1000001)};
    }
}

static bool naive_covers(const struct rule *rule, struct bytes endpoint)
{
    size_t size = rule->endpoint.size;
    if (size > 0 && rule->endpoint.data[size - 1] == '*')
        return endpoint.size >= size - 1 && strncmp(endpoint.data, rule->endpoint.data, size - 1) == 0;
    return bytes_equal(rule->endpoint, endpoint);
}

/* An exact pattern above all prefixes, longer prefixes above shorter ones. */
static size_t specificity(const struct rule *rule)
{
    size_t size = rule->endpoint.size;
    return rule->endpoint.data[size - 1] == '*' ? size : 1000;
}

static bool same_dimensions(const struct rule *a, const struct rule *b)
{
    bool same = a->by_count == b->by_count;
    for (uint8_t i = 0; same && i < a->by_count; i++)
        same = bytes_equal(a->by[i], b->by[i]);
    return same;
}

/* For the key of this request: which version of a rule is in force? Learnt from what is matched by name. */
static const struct rule *version_of(struct world *world, const struct drawn *drawn, uint32_t i, const char *ids)
{
    if (!drawn->candidate[i])
        return drawn->rule[i];
    /* A ruleset of this rule alone, everywhere and enforced, tells by whom it is matched. */
    char text[256];
    struct rule *everywhere[2];
    const char *by = strstr(drawn->text[i][0], "by: ");
    (void)snprintf(text, sizeof text, "{id: r%u, %.*s, rate: 1/s}", i, (int)(strstr(by, ", endpoint") - by), by);
    everywhere[0] = one_rule(text);
    everywhere[1] = one_rule(text);
    struct rule_use use = drawn->use[i];
    use.rule = everywhere[0];
    use.candidate = everywhere[1];
    bool good = ruleset_compile_service(world->ruleset, bytes_of("default"), &use, 1, &world->error);
    struct request request = world_request(ids);
    (void)ruleset_match(world->ruleset, &request, now_ns, wall_ns, &match);
    bool candidate = good && match.count == 1 && match.rule[0].candidate;
    rule_destroy(&everywhere[0]);
    rule_destroy(&everywhere[1]);
    return candidate ? drawn->candidate[i] : drawn->rule[i];
}

static bool is_in_force(const struct rule *rule)
{
    return rule->mode == RULE_ENFORCE || rule->mode == RULE_SOFT;
}

/* By the definition: of each combination of dimensions the most specific ones in force, and shadows above them. */
static uint32_t naive_match(const struct rule *const *versions, const struct drawn *drawn, struct bytes endpoint,
                            bool has_user, bool has_ip)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < drawn->count; i++) {
        const struct rule *rule = versions[i];
        bool applies = rule->mode != RULE_OFF && naive_covers(rule, endpoint);
        for (uint8_t d = 0; d < rule->by_count; d++)
            applies = applies && (rule->by[d].data[0] == 'u' ? has_user : has_ip);
        for (uint32_t j = 0; applies && j < drawn->count; j++)
            applies = !(is_in_force(versions[j]) && same_dimensions(rule, versions[j]) &&
                        naive_covers(versions[j], endpoint) && specificity(versions[j]) > specificity(rule));
        found |= (uint32_t)applies << i;
    }
    return found;
}

static void naive(void)
{
    struct world *learning = world_create(10, 100, 100, false), *world = world_create(10, 100, 100, false);
    struct random random;
    uint32_t wrong = 0, asked = 0, refused = 0, matched = 0;
    random_seed(&random, 4);
    for (int round = 0; round < 1000; round++) {
        static struct drawn drawn;
        draw(&random, &drawn);
        if (!ruleset_compile_service(world->ruleset, bytes_of("default"), drawn.use, drawn.count, &world->error))
            refused++;
        for (int user = 0; user < 3 && ruleset_find(world->ruleset, bytes_of("default"), bytes_of("r0")); user++) {
            char ids[64];
            const struct rule *versions[DRAWN_RULES];
            (void)snprintf(ids, sizeof ids, "user=%d ip=%d", user, round);
            for (uint32_t i = 0; i < drawn.count; i++)
                versions[i] = version_of(learning, &drawn, i, ids);
            for (size_t e = 0; e < sizeof asked_endpoints / sizeof asked_endpoints[0]; e++) {
                bool has_user = random_below(&random, 4) > 0, has_ip = !has_user || random_below(&random, 4) > 0;
                char only_user[32];
                (void)snprintf(only_user, sizeof only_user, "user=%d", user);
                struct request request = world_request(!has_user ? strchr(ids, 'i') : has_ip ? ids : only_user);
                request.endpoint = bytes_of(asked_endpoints[e]);
                (void)ruleset_match(world->ruleset, &request, now_ns, wall_ns, &match);
                uint32_t found = 0;
                for (uint32_t i = 0; i < match.count; i++)
                    found |= (uint32_t)1 << strtoul(match.rule[i].rule->id.data + 1, NULL, 10);
                uint32_t expected = naive_match(versions, &drawn, request.endpoint, has_user, has_ip);
                wrong += found != expected;
                matched += match.count;
                asked++;
            }
        }
        ruleset_compile_service(world->ruleset, bytes_of("default"), NULL, 0, &world->error);
        for (uint32_t i = 0; i < drawn.count; i++) {
            rule_destroy(&drawn.rule[i]);
            rule_destroy(&drawn.candidate[i]);
        }
    }
    OK(asked > 40000 && wrong == 0,
       "%u requests under random rules fall under those that the definition says (%u wrong)", asked, wrong);
    printf("# %u rules matched; %u sets refused\n", matched, refused);
    world_destroy(world);
    world_destroy(learning);
}

int main(void)
{
    canaries();
    epochs();
    naive();
    return tap_done();
}
