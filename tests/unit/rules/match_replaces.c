/* Rules that replace others: examples, circles and names without a rule, and a model that reads the definition. */
#include "rules/match.h"

#include "base/random.h"
#include "tests/lib/ruleset_ask.h"
#include "tests/lib/tap.h"

static void asks(const char *what, const char *yaml, const char *const (*cases)[2], size_t count)
{
    struct world *world = world_create(10, 100, 100, true);
    if (!OK(world_load(world, yaml), "%s: the rules are compiled", what))
        printf("# %s\n", world->error.text);
    for (size_t i = 0; i < count; i++)
        OK_STRING(ruleset_ask(world, cases[i][0]), cases[i][1], "%s: %s", what, cases[i][0]);
    world_destroy(world);
}
#define TABLE(what, yaml, ...)                                                                                     \
    do {                                                                                                           \
        static const char *const cases[][2] = __VA_ARGS__;                                                         \
        asks(what, yaml, cases, sizeof cases / sizeof cases[0]);                                                   \
    } while (0)

static void examples(void)
{
    TABLE("in place of others",
          "- {id: a, rate: 1/s}\n"
          "- {id: b, rate: 1/s, by: ip}\n"
          "- {id: c, rate: 2/s, by: [ip, user], replaces: [a]}\n"
          "- {id: d, rate: 1/s, by: key, replaces: [b, c]}\n",
          {
              {"u", "a:rule"},
              {"u ip=1", "b:rule c:rule"},
              {"u key=1", "a:rule d:rule"},
              {"ip=1 key=1", "d:rule"},
              {"u ip=1 key=1", "d:rule"},
              {"u ip=1 key=1 RULE a", "a:rule"},
          });
    TABLE("only where they are in force, and about the request",
          "- {id: all, rate: 1/s}\n"
          "- {id: none, by: x, rate: unlimited, replaces: [all]}\n"
          "- {id: when, by: y, rate: 1/s, when: {z: '1'}, replaces: [all]}\n"
          "- {id: try, by: s, rate: 1/s, mode: shadow, replaces: [all]}\n"
          "- {id: soft, by: o, rate: 1/s, mode: soft, replaces: [all]}\n"
          "- {id: off, by: f, rate: 1/s, mode: off, replaces: [all]}\n"
          "- {id: listed, by: l, rate: 1/s, allow: [ok], deny: [no], replaces: [all]}\n"
          "- {id: end, by: e, endpoint: /e, rate: 1/s, replaces: [all]}\n",
          {
              {"u x=1", " | none:unlimited"},
              {"u y=1", "all:rule"},
              {"u y=1 z=1", "when:rule"},
              {"u s=1", "all:rule try:rule"},
              {"u o=1", "soft:rule"},
              {"u f=1", "all:rule"},
              {"u l=ok", " | listed:allow list"},
              {"u l=no", "DENIED by listed"},
              {"u e=1", "all:rule"},
              {"u e=1 ENDPOINT /e", "end:rule"},
          });
    TABLE("what is replaced hides as before, and denies nobody",
          "- {id: all, rate: 1/s}\n"
          "- {id: some, rate: 1/s, endpoint: /a, deny: [no]}\n"
          "- {id: pair, by: [ip, user], rate: 1/s, replaces: [some]}\n",
          {
              {"u ENDPOINT /a", "some:rule"},
              {"no ENDPOINT /a", "DENIED by some"},
              {"no ip=1 ENDPOINT /a", "pair:rule"},
              {"u ip=1", "all:rule pair:rule"},
          });
}

static enum ruleset_doubt doubt_of(struct world *world, const char *yaml)
{
    struct rule_list list;
    enum ruleset_doubt doubt = RULESET_SOUND;
    if (OK(rules_parse(bytes_of(yaml), "test", &list, &world->error) && world_stage(world, &list), "it is staged"))
        doubt = ruleset_find_doubt(world->ruleset, bytes_of("s"), &world->error);
    rules_close(&list);
    return doubt;
}

static void doubts(void)
{
    struct world *world = world_create(10, 100, 100, false);
    OK(doubt_of(world,
                "- {id: a, service: s, rate: 1/s, replaces: [b]}\n- {id: b, service: s, rate: 1/s, mode: off}\n") ==
           RULESET_SOUND,
       "a rule that is off is a rule");
    OK(doubt_of(world, "- {id: a, service: s, rate: 1/s, replaces: [c]}\n- {id: b, service: s, rate: 1/s}\n") ==
           RULESET_DANGLES,
       "a name without a rule");
    OK_STRING(world->error.text, "rule s/a replaces c, which is no rule of the service", "... is told");
    OK(doubt_of(world, "- {id: a, service: s, by: a, rate: 1/s, replaces: [b, x]}\n"
                       "- {id: b, service: s, by: b, rate: 1/s, replaces: [c, d]}\n"
                       "- {id: c, service: s, by: c, rate: 1/s, replaces: [b]}\n"
                       "- {id: d, service: s, by: d, rate: 1/s}\n") == RULESET_CIRCLE,
       "a circle");
    OK(strstr(world->error.text, "leads back to it: expected no circle"), "... is told: %s", world->error.text);
    ruleset_commit(world->ruleset);
    OK_STRING(ruleset_ask(world, "a=1 b=1 c=1 d=1 SERVICE s"), "a:rule c:rule",
              "in force, only what is not part of the circle is replaced");
    OK_STRING(ruleset_ask(world, "b=1 c=1 SERVICE s"), "b:rule c:rule", "and the circle has no effect");
    OK(doubt_of(world, "- {id: b, service: s, by: b, rate: 1/s, replaces: [c]}\n"
                       "- {id: c, service: s, by: c, rate: 1/s, replaces: [b]}\n") == RULESET_SOUND,
       "a change that adds no doubt is sound");
    world_destroy(world);
}

/* ---- a model: rules by one dimension each, for all endpoints ---- */

enum { RULES = 8, ROUNDS = 2000 };

static void model(void)
{
    struct random random;
    random_seed(&random, 29);
    bool fine = true;
    for (int round = 0; fine && round < ROUNDS; round++) {
        char yaml[2048] = "", request[128] = "", expected[256] = "";
        uint32_t names[RULES] = {0}, replaced = 0;
        const uint32_t given = (uint32_t)random_below(&random, 1 << RULES) | 1;
        const uint32_t shadows = (uint32_t)(random_below(&random, 1 << RULES) & random_below(&random, 1 << RULES));
        for (uint32_t i = 0; i < RULES; i++) {
            size_t size = strlen(yaml);
            size += (size_t)snprintf(yaml + size, sizeof yaml - size,
                                     "- {id: r%u, by: d%u, rate: 1/s, mode: %s, replaces: [", i, i,
                                     shadows >> i & 1 ? "shadow" : "enforce");
            for (uint32_t k = i + 1; k < RULES; k++) /* names of later rules alone make no circle */
                if (random_below(&random, 4) == 0) {
                    size += (size_t)snprintf(yaml + size, sizeof yaml - size, "%sr%u", names[i] ? ", " : "", k);
                    names[i] |= 1u << k;
                }
            (void)snprintf(yaml + size, sizeof yaml - size, "]}\n");
        }
        for (uint32_t i = 0; i < RULES; i++)
            if (given & ~shadows & 1u << i)
                replaced |= names[i];
        for (uint32_t i = 0; i < RULES; i++) {
            size_t size = strlen(request);
            if (given >> i & 1)
                (void)snprintf(request + size, sizeof request - size, "%sd%u=1", size ? " " : "", i);
            size = strlen(expected);
            if ((given & ~replaced) >> i & 1)
                (void)snprintf(expected + size, sizeof expected - size, "%sr%u:rule", size ? " " : "", i);
        }
        struct world *world = world_create(10, 100, 100, false);
        fine = world_load(world, yaml) && strcmp(ruleset_ask(world, request), expected) == 0;
        if (!fine)
            printf("# %s# %s\n# expected %s\n# got %s\n", yaml, request, expected, ruleset_ask(world, request));
        world_destroy(world);
    }
    OK(fine, "%d sets of rules agree with the definition", ROUNDS);
}

int main(void)
{
    examples();
    doubts();
    model();
    return tap_done();
}
