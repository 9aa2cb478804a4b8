/* Which rules get a home from who sets them, and what is said then. */
#include "rules/rule_home.h"

#include "rules/homes.h"
#include "rules/rule_reach.h"
#include "rules/rule_text.h"
#include "tests/lib/rule_parse.h"
#include "tests/lib/tap.h"

#include <stdio.h>
#include <string.h>

static const uint64_t even[] = {SHARE_ONE * 34 / 100, SHARE_ONE * 33 / 100, SHARE_ONE * 33 / 100};
static const uint64_t halves[] = {SHARE_ONE / 2, SHARE_ONE / 2}, uneven[] = {SHARE_ONE / 10 * 8, SHARE_ONE / 5};
static const char *const daemons[] = {"n-1", "n-2", "n-3"}, *const regions[] = {"us", "eu", "ap"},
                         *const twins[] = {"us", "us", "eu"}, *const same[] = {"us", "us", "us"};
static const struct reach_peers three = {3, even, true, regions, true, daemons};

/* Two of a region would keep a reserve. */
static const struct reach_peers pair = {3, even, true, twins, true, daemons};

static bool wants(const char *fields, const struct reach_peers *peers)
{
    char text[600];
    struct error error = {.text = ""};
    (void)snprintf(text, sizeof text, "{id: a, %s}", fields);
    struct rule *rule = rule_parse(bytes_of(text), "r", &error);
    const bool said = rule && rule_wants_home(rule, peers) == HOME_OF_REGIONS;
    if (!rule)
        printf("# %s\n", error.text);
    else if (said) /* what is given is enough, and was needed */
        rule->home = bytes_of(HOME_BY_KEY);
    OK(rule && (!said || rule_reach(rule, peers, &error) == RULE_REACHES), "%s: fits its home, if it gets one",
       fields);
    rule_destroy(&rule);
    return said;
}

static bool wants_list(const char *fields, const struct reach_peers *peers)
{
    char text[600];
    struct error error = {.text = ""};
    (void)snprintf(text, sizeof text, "{id: a, %s}", fields);
    struct rule *rule = rule_parse(bytes_of(text), "r", &error);
    const bool said = rule && rule_wants_home(rule, peers) == HOME_OF_DAEMONS;
    rule_destroy(&rule);
    return said;
}

static void by_text(void)
{
    static const char *const small[] = {
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0",
        "algorithm: sliding_window, limit: 1, window: 1m, overshoot: 0",
        "algorithm: quota, limit: 1, window: day, overshoot: 0",
        "rate: 1/h, overshoot: 0",
        "rate: 1/s, overshoot: 0",
        "algorithm: sliding_log, limit: 1, window: 1m",
        "algorithm: sliding_log, limit: 3, window: 1m, overshoot: 0",
        "algorithm: concurrency, limit: 1, window: 1m",
        "algorithm: concurrency, limit: 2, window: 1m",
        "algorithm: concurrency, limit: 1, window: 1m, tiers: {pro: 2, internal: unlimited}",
        "algorithm: fixed_window, limit: 0, window: 1m, overshoot: 0, tiers: {free: 1}",
        "algorithm: fixed_window, limit: unlimited, overshoot: 0, overrides: [{for: bob, amount: 1/m}]",
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, adaptive: {floor: 10%}",
    };
    static const char *const others[] = {
        "algorithm: fixed_window, limit: 2, window: 1m, overshoot: 0", /* shares do */
        "algorithm: fixed_window, limit: 1, window: 1m",
        "rate: 10/s, burst: 1, overshoot: 0", /* no home helps: a token refills within a round trip */
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, home: none",
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, home: us",
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, home: by_key",
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, mode: shadow", /* is taken as it is */
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, mode: soft",
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, mode: off",
        "algorithm: fixed_window, limit: 1, window: 1m, sync: budget",
        "algorithm: fixed_window, limit: 1, window: 1m, sync: central",
        "algorithm: fixed_window, limit: 1, window: 1m, sync: budget, home: none", /* says nothing wrong */
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, weights: {us: 0.5, eu: 0.5}",
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, priority_floor: {low: 50%}", /* nobody asks */
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, tiers: {pro: 100}", /* does without */
        "algorithm: fixed_window, limit: 100, window: 1m, overshoot: 0, tiers: {free: 1}",
        "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, overrides: [{for: bob, amount: 100}]",
        "algorithm: fixed_window, limit: 0, window: 1m, overshoot: 0",
        "algorithm: fixed_window, limit: unlimited",
        "algorithm: quota, overrides_of: b, overrides: [{for: bob, amount: 1/day}]",
    };
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        OK(wants(small[i], &three), "%s: needs one", small[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        OK(!wants(others[i], &three), "%s: gets none", others[i]);
}

static void by_peers(void)
{
    static const char window[] = "algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0",
                      lease[] = "algorithm: concurrency, limit: 2, window: 1m";
    OK(wants(window, &(struct reach_peers){3, even, true, NULL, true, NULL}), "regions that are not known");
    OK(!wants(window, &(struct reach_peers){1, even, true, regions, true, daemons}), "not of a daemon alone");
    OK(!wants(window, &(struct reach_peers){0, even, true, regions, true, daemons}), "nor of none");
    OK(wants_list(window, &(struct reach_peers){3, even, true, same, true, daemons}), "daemons of one region");
    OK(wants_list(window, &pair), "and where two of a region keep a reserve");
    OK(wants_list("algorithm: concurrency, limit: 1, window: 1m", &pair), "also of leases");
    OK(!wants_list(window, &three), "regions go before daemons");
    OK(!wants_list(window, &(struct reach_peers){3, even, true, NULL, true, NULL}), "no list of unknown daemons");
    OK(!wants_list(window, &(struct reach_peers){1, even, true, same, true, daemons}), "nor of one alone");
    OK(!wants_list(window, &(struct reach_peers){3, even, true, twins, false, daemons}),
       "nor where homes cannot be");
    OK(!wants_list(window, &(struct reach_peers){3, even, false, twins, true, daemons}), "nor where nobody grants");
    OK(wants_list("rate: 1/h, overshoot: 0", &pair), "and of a bucket of 1");
    OK(!wants_list("rate: 10/s, burst: 1, overshoot: 0", &pair), "but not of a fast one");
    OK(!wants_list("algorithm: concurrency, limit: 1, window: 1m, home: none", &pair), "nor where none is wanted");
    OK(!wants(window, &(struct reach_peers){3, even, false, regions, true, daemons}), "not where nobody grants");
    OK(!wants(window, &(struct reach_peers){3, even, true, regions, false, daemons}), "not where homes cannot be");
    OK(wants(lease, &(struct reach_peers){2, halves, true, regions, true, daemons}) == false,
       "not where each of two has a place");
    OK(!wants(lease, &(struct reach_peers){2, uneven, true, regions, true, daemons}),
       "nor where one has: the rule is taken, with a warning");
}

static void sentences(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{id: a, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0}",
         "rule default/a: home is by_key, since none of 3 daemons would ever admit a request by its share of the "
         "limit "
         "(1): expected overshoot: 1, or a limit of 2, or another home, to have it otherwise; with home: none it "
         "is "
         "refused"},
        {"{id: a, algorithm: fixed_window, limit: 0, window: 1m, overshoot: 0, tiers: {free: 1}}",
         "rule default/a: home is by_key, since none of 3 daemons would ever admit a request by its share of the "
         "limit "
         "(1): expected overshoot: 1, or a limit of 2, or another home, to have it otherwise; with home: none it "
         "is "
         "refused"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {.text = ""};
        struct rule *rule = rule_parse(bytes_of(cases[i].text), "r", &error);
        rule_home_sentence(rule, HOME_OF_REGIONS, &three, &error);
        OK_STRING(error.text, cases[i].says, "%s", cases[i].text);
        rule->home = bytes_of(HOME_BY_KEY);
        rule_home_sentence(rule, HOME_OF_REGIONS, &three, &error);
        OK_STRING(error.text, cases[i].says, "the same of the rule that has its home");
        rule_destroy(&rule);
    }
}

static void sheets(void)
{
    static const char base[] = "{id: b, service: s, algorithm: quota, limit: 1, window: day, overshoot: 0}";
    static const struct {
        const char *text;
        bool suits;
    } cases[] = {
        {"{id: x, service: s, algorithm: quota, overrides_of: b, overrides: [{for: bob, amount: 1/day}]}", true},
        {"{id: x, service: s, algorithm: quota, overrides_of: b, overrides: [{for: bob, amount: 9/day}]}", false},
        {"{id: x, service: s, algorithm: quota, overrides_of: c, overrides: [{for: bob, amount: 9/day}]}", true},
    };
    struct error error;
    struct rule *rule = rule_parse(bytes_of(base), "r", &error);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rule *sheet = rule_parse(bytes_of(cases[i].text), "r", &error);
        rule->home = bytes_of(i == 0 ? "" : HOME_BY_KEY);
        OK(sheet && rule_home_suits_sheet(rule, sheet, &three) == cases[i].suits, "%s: %s", cases[i].text,
           cases[i].suits ? "suits" : "does without");
        rule_destroy(&sheet);
    }
    rule_destroy(&rule);
}

int main(void)
{
    by_text();
    by_peers();
    sentences();
    sheets();
    return tap_done();
}
