/* Rules whose overrides are in sheets (`overrides_of`): thousands of them, and sheets that do not fit. */
#include "rules/match.h"

#include "tests/lib/rule_parse.h"
#include "tests/lib/ruleset_ask.h"
#include "tests/lib/tap.h"

enum { CUSTOMERS = 5000, SHEETS = 40, AMOUNTS = 50 };

static char yaml[1024 * 1024];

/* Sheets of the rule: customer i has the amount i % AMOUNTS + 1 per minute. */
static size_t put_sheets(size_t size, int customers)
{
    for (int sheet = 0; sheet < SHEETS; sheet++) {
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, "- {id: r.%02d, overrides_of: r, overrides: [",
                                 sheet);
        for (int i = sheet; i < customers; i += SHEETS) {
            size += (size_t)snprintf(yaml + size, sizeof yaml - size, "{for: c%d, amount: %d/m},\n  ", i,
                                     i % AMOUNTS + 1);
        }
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, "]}\n");
    }
    return size;
}

static void thousands(void)
{
    struct world *world = world_create(10, 100, 100, true);
    size_t size =
        (size_t)snprintf(yaml, sizeof yaml,
                         "- {id: r, rate: 1000/m, overrides: [{for: mine, amount: 7/m}, {for: 'c9*', amount: "
                         "8/m}], deny: [c77]}\n");
    (void)put_sheets(size, CUSTOMERS);
    if (!OK(world_load(world, yaml), "%d overrides in %d sheets", CUSTOMERS, SHEETS))
        printf("# %s\n", world->error.text);
    uint32_t wrong = 0;
    for (int i = 0; i < CUSTOMERS; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "c%d", i);
        const bool is_right = i == 77 ? strcmp(ruleset_ask(world, text), "DENIED by r") == 0
                                      : strcmp(ruleset_ask(world, text), "r:override") == 0 &&
                                            match.rule[0].limit_tokens == (uint64_t)i % AMOUNTS + 1;
        wrong += !is_right;
    }
    OK_U64(wrong, 0, "each customer has its own amount, and a list goes before");
    OK_STRING(ruleset_ask(world, "mine"), "r:override", "the rule's own overrides count");
    OK_U64(match.rule[0].limit_tokens, 7, "as they say");
    OK_STRING(ruleset_ask(world, "c99999"), "r:override", "a beginning is behind a value");
    OK_U64(match.rule[0].limit_tokens, 8, "as ever");
    OK_STRING(ruleset_ask(world, "d"), "r:rule", "who has none has the rule's own amount");
    OK_STRING(ruleset_ask(world, "d RULE r.00"), "", "a sheet counts nothing by itself");
    OK_U64(world->limit_count, AMOUNTS + 1, "equal amounts are one limit");
    world_destroy(world);
}

static enum ruleset_doubt doubt_of(struct world *world, const char *text)
{
    struct rule_list list;
    enum ruleset_doubt doubt = RULESET_SOUND;
    if (OK(rules_parse(bytes_of(text), "test", &list, &world->error) && world_stage(world, &list), "it is staged"))
        doubt = ruleset_find_doubt(world->ruleset, bytes_of("default"), &world->error);
    else
        printf("# %s\n", world->error.text);
    rules_close(&list);
    ruleset_commit(world->ruleset);
    return doubt;
}

static void misfits(void)
{
    static const struct {
        const char *rules, *said;
    } cases[] = {
        {"- {id: s, overrides_of: r, overrides: [{for: a, amount: 1/s}]}\n",
         "rule default/s has overrides of r, which is no rule of the service"},
        {"- {id: r, overrides_of: t}\n- {id: s, overrides_of: r}\n- {id: t, rate: 1/s}\n",
         "rule default/s has overrides of r, which is no rule of the service"},
        {"- {id: r, rate: 1/s, by: ip}\n- {id: s, overrides_of: r, overrides: [{for: a, amount: 1/s}]}\n",
         "rule default/s has overrides of r, which has other dimensions or another algorithm"},
        {"- {id: r, rate: 1/s}\n- {id: s, algorithm: quota, overrides_of: r}\n",
         "rule default/s has overrides of r, which has other dimensions or another algorithm"},
        {"- {id: r, rate: 1/s, overrides: [{for: a, amount: 2/s}]}\n"
         "- {id: s, overrides_of: r, overrides: [{for: a, amount: 3/s}]}\n",
         "rule default/r has an override of user=a twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world *world = world_create(10, 100, 100, false);
        OK(doubt_of(world, cases[i].rules) == RULESET_DANGLES, "what does not fit is in doubt");
        OK_STRING(world->error.text, cases[i].said, "... and told");
        world_destroy(world);
    }
    struct world *world = world_create(10, 100, 100, false);
    (void)doubt_of(world, cases[4].rules);
    (void)ruleset_ask(world, "a");
    OK_U64(match.rule[0].limit_tokens, 2, "in force, the rule's own override is the one that counts");
    world_destroy(world);
}

static void at_the_bound(void)
{
    struct world *world = world_create(10, 100, 100, false);
    size_t size = (size_t)snprintf(yaml, sizeof yaml, "- {id: r, rate: 1/s}\n");
    (void)put_sheets(size, RULE_OVERRIDES_ALL_MAX);
    OK(doubt_of(world, yaml) == RULESET_SOUND, "%d overrides", RULE_OVERRIDES_ALL_MAX);
    size = put_sheets(size, RULE_OVERRIDES_ALL_MAX);
    (void)snprintf(yaml + size, sizeof yaml - size,
                   "- {id: r.more, overrides_of: r, overrides: [{for: x, amount: 3/s}]}\n");
    OK(doubt_of(world, yaml) == RULESET_DANGLES, "and one more");
    OK_STRING(world->error.text, "rule default/r has more than 10000 overrides, with its sheets", "... is told");
    OK_STRING(ruleset_ask(world, "c9999"), "r:override", "the sheets before it count");
    OK_STRING(ruleset_ask(world, "x"), "r:rule", "and it does not");
    world_destroy(world);
}

/* A canary has the overrides of the same sheets. */
static void canary(void)
{
    struct world *world = world_create(10, 100, 100, false);
    struct error error;
    struct rule *stable = rule_parse(bytes_of("{id: r, rate: 100/s}"), "x", &error);
    struct rule *candidate = rule_parse(bytes_of("{id: r, rate: 200/s}"), "x", &error);
    struct rule *sheet =
        rule_parse(bytes_of("{id: s, overrides_of: r, overrides: [{for: '1*', amount: 5/s}]}"), "x", &error);
    const struct rule_use uses[] = {{.rule = stable, .candidate = candidate, .share_millionths = 500000},
                                    {.rule = sheet}};
    uint32_t of_sheet = 0, candidates = 0;
    OK(ruleset_compile_service(world->ruleset, stable->service, uses, 2, &error),
       "a canary of a rule with a sheet");
    for (int i = 100; i < 200; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "%d", i);
        (void)ruleset_ask(world, text);
        of_sheet += match.count == 1 && match.rule[0].limit_tokens == 5;
        candidates += match.rule[0].candidate;
    }
    OK_U64(of_sheet, 100, "both versions have the overrides");
    OK(candidates > 20 && candidates < 80, "%u of 100 under the canary", candidates);
    rule_destroy(&stable);
    rule_destroy(&candidate);
    rule_destroy(&sheet);
    world_destroy(world);
}

int main(void)
{
    thousands();
    misfits();
    at_the_bound();
    canary();
    return tap_done();
}
