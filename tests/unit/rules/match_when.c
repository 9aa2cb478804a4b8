/* Rules that are about a part of the requests (`when`): examples, and a model that asks each rule's own entries. */
#include "rules/match.h"

#include "base/random.h"
#include "rules/match_shape.h"
#include "tests/lib/draw.h"
#include "tests/lib/rule_parse.h"
#include "tests/lib/ruleset_ask.h"
#include "tests/lib/tap.h"

#include <inttypes.h>

static void asks(const char *what, const char *yaml, const char *const (*cases)[2], size_t count)
{
    struct world *world = world_create(10, 100, 100, true);
    if (!OK(world_load(world, yaml), "%s: the rules are compiled", what))
        printf("# %s\n", world->error.text);
    for (size_t i = 0; i < count; i++)
        OK_STRING(ruleset_ask(world, cases[i][0]), cases[i][1], "%s: %s", what, cases[i][0]);
    world_destroy(world);
}

static void values(void)
{
    static const char *const cases[][2] = {
        {"u", "all:rule"},
        {"u channel=sms", "all:rule sms:rule"},
        {"u channel=smss", "all:rule"},
        {"u channel=mail", "all:rule"},
        {"u type=marketing", "all:rule promo:rule"},
        {"u type=promo-7", "all:rule promo:rule"},
        {"u type=promo", "all:rule"},
        {"u type=promo-7 channel=sms", "all:rule both:rule promo:rule sms:rule"},
        {"u type=marketing channel=sms", "all:rule promo:rule sms:rule"},
        {"u ip=::ffff:10.1.2.3", "all:rule inside:rule"},
        {"u ip=11.1.2.3", "all:rule"},
        {"channel=sms", "default:config"},
        {"u channel=sms RULE sms", "sms:rule"},
        {"u channel=mail RULE sms", "NOT CONCERNED"},
        {"u RULE sms", "NOT CONCERNED"},
    };
    asks("values",
         "- {id: all, rate: 1/s}\n"
         "- {id: sms, rate: 1/s, when: {channel: sms}}\n"
         "- {id: promo, rate: 1/s, when: {type: [marketing, 'promo-*']}}\n"
         "- {id: both, rate: 1/s, when: {type: 'promo-*', channel: [sms, push]}}\n"
         "- {id: inside, rate: 1/s, when: {ip: [10.0.0.0/8, '::1/128']}}\n",
         cases, sizeof cases / sizeof cases[0]);
}

/* A rule that is not about a request hides no other one from the request. */
static void hiding(void)
{
    static const char *const cases[][2] = {
        {"u SERVICE s ENDPOINT /a", "all:rule"},
        {"u SERVICE s ENDPOINT /a k=1", "a:rule"},
        {"u SERVICE s ENDPOINT /a k=2", "all:rule"},
        {"u SERVICE s ENDPOINT /b", "b:rule"},
        {"u SERVICE s ENDPOINT /b k=1", "b1:rule b:rule"},
        {"u SERVICE s ENDPOINT /c k=1", "all:rule c:rule"},
        {"u SERVICE s ENDPOINT /c k=2", "all:rule"},
        {"u SERVICE s ENDPOINT /d k=1", "DENIED by d"},
        {"u SERVICE s ENDPOINT /d k=2", "all:rule"},
        {"u", "default:config"},
        {"u k=1", "mine:rule"},
    };
    asks("hiding",
         "- {id: all, service: s, rate: 1/s}\n"
         "- {id: a, service: s, endpoint: /a, rate: 1/s, when: {k: '1'}}\n"
         "- {id: b, service: s, endpoint: /b, rate: 1/s}\n"
         "- {id: b1, service: s, endpoint: /b, rate: 1/s, when: {k: '1'}}\n"
         "- {id: c, service: s, endpoint: /c, rate: 1/s, when: {k: '1'}, mode: shadow}\n"
         "- {id: d, service: s, endpoint: /d, rate: 1/s, when: {k: '1'}, deny: [u]}\n"
         "- {id: mine, rate: 1/s, when: {k: '1'}}\n",
         cases, sizeof cases / sizeof cases[0]);
}

/* The value is no part of the key: requests with two values of one rule share the key. */
static void keys(void)
{
    struct world *world = world_create(10, 100, 100, false);
    OK(world_load(world, "- {id: r, rate: 1/s, when: {k: [a, 'b*']}}\n"), "a rule about two values");
    OK_STRING(ruleset_ask(world, "u k=a"), "r:rule", "one value");
    const struct key_id first = match.charge[0].id;
    OK(!match.plain, "no shape is learned of it");
    OK_STRING(ruleset_ask(world, "u k=bb"), "r:rule", "the other");
    OK(key_id_equal(match.charge[0].id, first), "both have one key");
    OK_STRING(ruleset_ask(world, "u k=c"), "", "a third is no concern of the rule");
    OK(!match.plain, "of which no shape is learned either");
    world_destroy(world);
}

static void canary(void)
{
    struct world *world = world_create(10, 100, 100, false);
    struct error error;
    struct rule *stable = rule_parse(bytes_of("{id: r, rate: 1/s}"), "x", &error);
    struct rule *candidate = rule_parse(bytes_of("{id: r, rate: 2/s, when: {k: a}}"), "x", &error);
    const struct rule_use use = {.rule = stable, .candidate = candidate, .share_millionths = 500000};
    OK(ruleset_compile_service(world->ruleset, stable->service, &use, 1, &error), "a canary that has a condition");
    uint32_t stables = 0, candidates = 0, absent = 0;
    for (int user = 0; user < 1000; user++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%d k=a", user);
        (void)ruleset_ask(world, text);
        const bool is_candidate = match.count == 1 && match.rule[0].candidate;
        (void)snprintf(text, sizeof text, "%d k=b", user);
        (void)ruleset_ask(world, text);
        stables += !is_candidate && match.count == 1 && !match.rule[0].candidate;
        candidates += is_candidate;
        absent += is_candidate && match.count == 0;
    }
    OK(candidates > 400 && stables == 1000 - candidates,
       "about half of the users have it, the others the stable one");
    OK_U64(absent, candidates, "it leaves out what it is not about");
    rule_destroy(&stable);
    rule_destroy(&candidate);
    world_destroy(world);
}

/* ---- against a model ---- */

static const char *const words[] = {"a", "ab", "abc", "b", "10.0.0.1", "10.0.1.1", "::1"};
static const char *const patterns[] = {"a",           "ab",          "'a*'", "'ab*'",  "b",
                                       "10.0.0.0/24", "10.0.0.0/16", "'*'",  "'::/64'"};
enum { WORDS = sizeof words / sizeof words[0], PATTERNS = sizeof patterns / sizeof patterns[0] };
/* Which words each pattern covers, said by hand. */
static const char *const covered[PATTERNS] = {"x......", ".x.....", "xxx....", ".xx....", "...x...",
                                              "....x..", "....xx.", "xxxxxxx", "......x"};

enum { DIMENSIONS = 3, CONDITIONS_MAX = 3 };

struct drawn_rule {
    uint32_t count[DIMENSIONS]; /* 0: no condition */
    uint32_t pattern[DIMENSIONS][CONDITIONS_MAX];
};

static bool is_about(const struct drawn_rule *rule, const int *value)
{
    for (int d = 0; d < DIMENSIONS; d++) {
        bool one = rule->count[d] == 0;
        for (uint32_t i = 0; i < rule->count[d] && value[d] >= 0; i++)
            one |= covered[rule->pattern[d][i]][value[d]] == 'x';
        if (!one)
            return false;
    }
    return true;
}

static size_t draw_rule(struct random *random, unsigned index, struct drawn_rule *rule, char *out, size_t room)
{
    static const char names[] = "xyz";
    size_t size = (size_t)snprintf(out, room, "- {id: r%u, rate: 1/s", index);
    bool begun = false;
    *rule = (struct drawn_rule){0};
    for (int d = 0; d < DIMENSIONS; d++) {
        const unsigned count = below(random, CONDITIONS_MAX + 1), from = below(random, PATTERNS);
        if (count == 0)
            continue;
        rule->count[d] = count;
        size += (size_t)snprintf(out + size, room - size, "%s%c: [", begun ? ", " : ", when: {", names[d]);
        begun = true;
        for (unsigned i = 0; i < count; i++) {
            rule->pattern[d][i] = (from + i * 2) % PATTERNS;
            size +=
                (size_t)snprintf(out + size, room - size, "%s%s", i > 0 ? ", " : "", patterns[rule->pattern[d][i]]);
        }
        size += (size_t)snprintf(out + size, room - size, "]");
    }
    return size + (size_t)snprintf(out + size, room - size, "%s}\n", begun ? "}" : "");
}

static void against_a_model(void)
{
    enum { RULES = 4, ROUNDS = 500, ASKED = 40 };
    static char yaml[4096];
    struct random random;
    uint64_t wrong = 0, about = 0, not_about = 0;
    random_seed(&random, 11);
    for (int round = 0; round < ROUNDS; round++) {
        struct world *world = world_create(10, 100, 100, false);
        struct drawn_rule rule[RULES];
        size_t size = 0;
        for (unsigned i = 0; i < RULES; i++)
            size += draw_rule(&random, i, &rule[i], yaml + size, sizeof yaml - size);
        wrong += !world_load(world, yaml);
        for (int i = 0; i < ASKED; i++) {
            char asked[128] = "u", expected[64] = "";
            int value[DIMENSIONS];
            size_t end = 1, said = 0;
            for (int d = 0; d < DIMENSIONS; d++) {
                value[d] = (int)below(&random, WORDS + 2) - 2;
                if (value[d] >= 0)
                    end += (size_t)snprintf(asked + end, sizeof asked - end, " %c=%s", "xyz"[d], words[value[d]]);
            }
            for (unsigned r = 0; r < RULES; r++) {
                const bool counts = is_about(&rule[r], value);
                about += counts;
                not_about += !counts;
                if (counts)
                    said += (size_t)snprintf(expected + said, sizeof expected - said, "%sr%u:rule",
                                             said > 0 ? " " : "", r);
            }
            if (strcmp(ruleset_ask(world, asked), expected) != 0 && wrong++ < 3)
                printf("# %s: %s, expected %s\n%s", asked, ruleset_ask(world, asked), expected, yaml);
        }
        world_destroy(world);
    }
    OK_U64(wrong, 0, "what rules say of requests is what their conditions say one by one");
    OK(about > 10000 && not_about > 10000, "%" PRIu64 " times a rule was about a request, %" PRIu64 " times not",
       about, not_about);
}

int main(void)
{
    values();
    hiding();
    keys();
    canary();
    against_a_model();
    return tap_done();
}
