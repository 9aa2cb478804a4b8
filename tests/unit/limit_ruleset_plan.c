/* Plans during canaries: which keys are under which version; and epochs. */
#include "limit/match.h"

#include "base/random.h"
#include "limit/key.h"
#include "tests/ruleset_world.h"
#include "tests/tap.h"

#define S 1000000000ull
#define DAY_S 86400ull

static const uint64_t now_ns = 5000 * S;
static const uint64_t wall_ns = 1800000000ull * S; /* 2027-01-15T08:00:00Z */

static struct match match;

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static size_t add_all(char *out, size_t room, const struct matched *matched, uint32_t count)
{
    char names[CHARGES_MAX][160];
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ruled *rule = matched[i].rule;
        (void)snprintf(names[i], sizeof names[i], "%s%.*s:%s", matched[i].candidate ? "canary of " : "",
                       (int)rule->id.size, rule->id.data, match_why_name((enum match_why)matched[i].why));
    }
    qsort(names, count, sizeof names[0], by_text);
    for (uint32_t i = 0; i < count; i++)
        size += (size_t)snprintf(out + size, room - size, "%s%s", i > 0 ? " " : "", names[i]);
    return size;
}

/* What `text` (see world_request) matches: "a:rule b:tier | c:allow list", "DENIED", ... */
static const char *ask(struct world *world, const char *text)
{
    static char out[4096];
    struct request request = world_request(text);
    bool charges = ruleset_match(world->ruleset, &request, now_ns, wall_ns, &match);
    out[0] = '\0';
    switch (match.status) {
    case MATCH_CHARGES:
        break;
    case MATCH_DENIED:
        (void)snprintf(out, sizeof out, "DENIED by %s", match.passed[match.denied_by].rule->id.data);
        return charges || match.count > 0 ? "denied with charges?" : out;
    case MATCH_UNKNOWN_RULE:
        return charges ? "unknown, with charges?" : "UNKNOWN";
    case MATCH_RULE_NOT_CONCERNED:
        return charges ? "not concerned, with charges?" : "NOT CONCERNED";
    }
    size_t size = add_all(out, sizeof out, match.rule, match.count);
    if (match.passed_count > 0) {
        size += (size_t)snprintf(out + size, sizeof out - size, " | ");
        (void)add_all(out + size, sizeof out - size, match.passed, match.passed_count);
    }
    return charges ? out : "no charges?";
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
            (void)snprintf(got, sizeof got, "%s", ask(world, at_c));
            candidates += strstr(got, "canary") != NULL;
            bool is_canary = strcmp(got, cases[i].stable_at) != 0;
            canary_users += is_canary;
            wrong += is_canary && strcmp(got, cases[i].canary_at) != 0;
            wrong += strcmp(ask(world, at_d), is_canary ? cases[i].canary_at_d : "all:rule") != 0;
        }
        OK(canary_users > 1850 && canary_users < 2150, "canary, %s: %u of 20,000 users are a tenth", cases[i].what,
           canary_users);
        OK(candidates >= cases[i].least && candidates <= cases[i].most && wrong == 0,
           "canary, %s: each user is under one version everywhere (%u, %u wrong)", cases[i].what, candidates,
           wrong);
    }
    uses[1] = (struct rule_use){.rule = stable, .candidate = candidate, .share_millionths = 0};
    OK(ruleset_compile_service(world->ruleset, bytes_of("default"), uses, 2, &world->error), "a canary of 0%%");
    OK_STRING(ask(world, "u ENDPOINT /c"), "c:rule", "is for nobody");
    uses[1].share_millionths = 1000000;
    OK(ruleset_compile_service(world->ruleset, bytes_of("default"), uses, 2, &world->error), "a canary of 100%%");
    OK_STRING(ask(world, "u ENDPOINT /c"), "canary of c:rule", "is for everybody");
    uses[1].candidate = by_ip;
    OK(!ruleset_compile_service(world->ruleset, bytes_of("default"), uses, 2, &world->error),
       "a canary by other dimensions is refused");
    OK_STRING(world->error.text,
              "rule c of service default: its canary counts by other dimensions: expected the same, or another id",
              "and it says so");
    OK_STRING(ask(world, "u ENDPOINT /c"), "canary of c:rule", "what was in use stays");
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

int main(void)
{
    canaries();
    epochs();
    return tap_done();
}
