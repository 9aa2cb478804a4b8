#include "rules/rule_text.h"

#include "base/random.h"
#include "tests/lib/rule_parse.h"
#include "tests/lib/tap.h"

#include <stdlib.h>
#include <sysexits.h>

static char printed[2 * RULE_TEXT_MAX_BYTES];

/* ---- what is written comes out in one form ---- */

static const struct {
    const char *what, *text, *expected; /* NULL: the text itself */
} forms[] = {
    {"the least that is a rule", "id: a\nrate: 100/m\n", "id: a\nalgorithm: token_bucket\nrate: 100/m\n"},
    {"a burst that is the rate's tokens is left out", "{id: a, rate: 100/m, burst: 100}",
     "id: a\nalgorithm: token_bucket\nrate: 100/m\n"},
    {"JSON is YAML", "{\"id\": \"a\", \"rate\": \"100/m\", \"burst\": 2000}",
     "id: a\nalgorithm: token_bucket\nrate: 100/m\nburst: 2000\n"},
    {"defaults are left out",
     "id: a\nservice: default\nendpoint: '*'\nby: [user]\nalgorithm: token_bucket\nrate: 60/60s\n"
     "overshoot: 100%\nsync: gossip\non_isolation: budget\nmode: enforce\npriority_floor: {}\ntiers: {}\n"
     "overrides: []\nallow: []\ndeny: []\npersist: false\ninherit: keep\n",
     "id: a\nalgorithm: token_bucket\nrate: 60/m\n"},
    {"everything that a bucket can have",
     "id: all\nservice: payments\nendpoint: /v1/*\nby: [api_key, ip]\nalgorithm: leaky_bucket\nrate: 5/10s\n"
     "burst: 20\novershoot: 12.5%\non_isolation: closed\nmode: shadow\npriority_floor:\n  low: 50%\n"
     "  normal: 20%\n  high: 0.5%\ntiers:\n  free: 100/m\n  internal: unlimited\n  pro: 10000/m burst 20000\n"
     "overrides:\n  - for: api_key=abc\n    amount: 7/s\n    until: 2027-01-31\n  - for: ip=10.0.0.1\n"
     "    amount: unlimited\n    until: 2027-01-31T12:30:01Z\nallow:\n  - ip=127.0.0.1\n  - user=root\n"
     "deny:\n  - \"ip=::1\"\nadaptive:\n  floor: 25%\n  latency: 250ms\npersist: true\ninherit: proportional\n",
     NULL},
    {"a fixed window", "id: a\nalgorithm: fixed_window\nlimit: 500\nwindow: 1.5h\ntiers:\n  b: 7\n  c: 7/s\n",
     NULL},
    {"a window that begins with the first request",
     "id: a\nalgorithm: fixed_window\nlimit: 500\nwindow: 1.5h\nbegins: first_request\nsync: central\n", NULL},
    {"... or by the clock, as without a word",
     "{id: a, algorithm: fixed_window, limit: 5, window: 1h, begins: clock}",
     "id: a\nalgorithm: fixed_window\nlimit: 5\nwindow: 1h\n"},
    {"... where a tier has the rule's window",
     "id: a\nalgorithm: sliding_window\nlimit: 500\nwindow: 60s\ntiers: {b: 7/m}",
     "id: a\nalgorithm: sliding_window\nlimit: 500\nwindow: 1m\ntiers:\n  b: 7\n"},
    {"a quota",
     "id: a\nalgorithm: quota\nlimit: 1,000\nwindow: month\nzone: Europe/Berlin\ntiers: {b: 5/day, c: 9}",
     "id: a\nalgorithm: quota\nlimit: 1000\nwindow: month\nzone: Europe/Berlin\ntiers:\n  b: 5/day\n  c: 9\n"},
    {"a quota keeps its counters unless it says no",
     "id: a\nalgorithm: quota\nlimit: 5\nwindow: hour\nzone: UTC\npersist: false\n",
     "id: a\nalgorithm: quota\nlimit: 5\nwindow: hour\npersist: false\n"},
    {"a concurrency rule", "id: a\nalgorithm: concurrency\nlimit: 10\nwindow: 30s\nsync: budget\n", NULL},
    {"a sliding log", "id: a\nalgorithm: sliding_log\nlimit: 10000\nwindow: 100ms\n", NULL},
    {"only a tier is limited", "id: a\nalgorithm: token_bucket\nrate: unlimited\ntiers:\n  free: 1/s\n", NULL},
    {"... of a window too", "id: a\nalgorithm: quota\nlimit: unlimited\ntiers:\n  free: 5/year\n", NULL},
    {"a rule for all requests together", "id: a\nby: []\nalgorithm: token_bucket\nrate: 1/s\n", NULL},
    {"a bucket that admits nothing",
     "{id: a, rate: 0/m, tiers: {b: 0/s, c: 1/s}, overrides: [{for: x, amount: 0}]}",
     "id: a\nalgorithm: token_bucket\nrate: 0\ntiers:\n  b: 0\n  c: 1/s\noverrides:\n  - for: user=x\n"
     "    amount: 0\n"},
    {"a window that admits nothing but to a tier",
     "{id: a, algorithm: fixed_window, limit: 0, window: 1m, tiers: {b: 7, c: 0/s}}",
     "id: a\nalgorithm: fixed_window\nlimit: 0\nwindow: 1m\ntiers:\n  b: 7\n  c: 0\n"},
    {"nothing for one tier where all else is unlimited",
     "id: a\nalgorithm: quota\nlimit: unlimited\ntiers:\n  free: 0\n", NULL},
    {"homes of keys", "{id: a, algorithm: quota, limit: 9, window: day, home: [us/n-2, us-west, us/n-1, 'eu/on']}",
     "id: a\nalgorithm: quota\nlimit: 9\nwindow: day\nhome: [eu/on, us-west, us/n-1, us/n-2]\n"},
    {"a list of one home is that home", "{id: a, algorithm: quota, limit: 9, window: day, home: [us/n-2]}",
     "id: a\nalgorithm: quota\nlimit: 9\nwindow: day\nhome: us/n-2\n"},
    {"a rule that counts something", "{id: a, counts: bytes, algorithm: quota, limit: 9, window: day}",
     "id: a\ncounts: bytes\nalgorithm: quota\nlimit: 9\nwindow: day\n"},
    {"a rule that replaces others", "{id: a, replaces: [c, b], rate: 1/s}",
     "id: a\nreplaces: [b, c]\nalgorithm: token_bucket\nrate: 1/s\n"},
    {"a sheet of overrides",
     "{id: a.1, overrides_of: a, by: ip, algorithm: fixed_window, overrides: [{for: x, amount: 5/m}]}",
     "id: a.1\nby: ip\nalgorithm: fixed_window\noverrides_of: a\noverrides:\n  - for: ip=x\n    amount: 5/m\n"},
    {"a sheet without any", "id: a.1\nalgorithm: quota\noverrides_of: a\n", NULL},
    {"a file of overrides", "id: a\nalgorithm: token_bucket\nrate: 1/s\noverrides_file: some/file.csv\n", NULL},
    {"dimensions are sorted", "{id: a, by: [b, c, a], rate: 1/s}",
     "id: a\nby: [a, b, c]\nalgorithm: token_bucket\nrate: 1/s\n"},
    {"one dimension needs no list", "{id: a, by: [ip], rate: 1/s}",
     "id: a\nby: ip\nalgorithm: token_bucket\nrate: 1/s\n"},
    {"a bare value is of the only dimension; lists are sorted",
     "{id: a, by: ip, rate: 1/s, deny: [b, a], allow: [user=x, c], overrides: [{for: z, amount: 1/s}]}",
     "id: a\nby: ip\nalgorithm: token_bucket\nrate: 1/s\noverrides:\n  - for: ip=z\n    amount: 1/s\n"
     "allow:\n  - ip=c\n  - user=x\ndeny:\n  - ip=a\n  - ip=b\n"},
    {"tiers and overrides are sorted, too",
     "{id: a, by: [p, q], rate: 1/s, tiers: {b: 2/s, c: 3/s, a: 1/s}, overrides: [{for: q=1, amount: 1/s}, "
     "{for: p=2, "
     "amount: 2/s}, {for: p=10, amount: 3/s}]}",
     "id: a\nby: [p, q]\nalgorithm: token_bucket\nrate: 1/s\ntiers:\n  a: 1/s\n  b: 2/s\n  c: 3/s\noverrides:\n"
     "  - for: p=10\n    amount: 3/s\n  - for: p=2\n    amount: 2/s\n  - for: q=1\n    amount: 1/s\n"},
    {"a floor that is absent is that of the level above", "{id: a, rate: 1/s, priority_floor: {normal: 10%}}",
     "id: a\nalgorithm: token_bucket\nrate: 1/s\npriority_floor:\n  normal: 10%\n"},
    {"no overshoot at all", "{id: a, rate: 1/s, overshoot: 0%}",
     "id: a\nalgorithm: token_bucket\nrate: 1/s\novershoot: 0\n"},
    {"an overshoot in tokens", "{id: a, rate: 1/s, overshoot: 1_000}",
     "id: a\nalgorithm: token_bucket\nrate: 1/s\novershoot: 1000\n"},
    {"conditions are sorted, and a list of one is a value",
     "{id: a, when: {type: [b, 'a*', a], ip: [10.0.0.0/8], zone: \"1\"}, rate: 1/s}",
     "id: a\nwhen:\n  ip: \"10.0.0.0/8\"\n  type: [a, b, a*]\n  zone: \"1\"\nalgorithm: token_bucket\n"
     "rate: 1/s\n"},
    {"what other programs take for a number or a truth is quoted",
     "id: \"12\"\nservice: \"on\"\nendpoint: \"a b: \\\"c\\\\\"\nby: \"no\"\nalgorithm: token_bucket\nrate: "
     "1/s\n"
     "tiers:\n  \"1\": 2/s\ndeny:\n  - \"no=x\"\n  - user=v=w\n  - \"user=\xc3\xbc #\"\n",
     NULL},
};

static void canonical(void)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct error error = {0};
        struct rule *rule = rule_parse(bytes_of(forms[i].text), "x.yaml", &error);
        if (!OK(rule, "%s", forms[i].what)) {
            printf("# %s\n", error.text);
            continue;
        }
        size_t size = rule_print(rule, printed, sizeof printed);
        OK_STRING(printed, forms[i].expected ? forms[i].expected : forms[i].text, "... in its one form");
        rule_destroy(&rule);
        rule = rule_parse((struct bytes){printed, size}, "x.yaml", &error);
        char again[4096];
        OK(rule && rule_print(rule, again, sizeof again) == size && strcmp(again, printed) == 0,
           "... which comes out as it went in");
        rule_destroy(&rule);
    }
}

static void documents(void)
{
    struct rule_list list;
    struct error error;
    static const char text[] = "rules:\n  - id: a\n    algorithm: token_bucket\n    rate: 1/s\n"
                               "  - id: a\n    service: b\n    by: []\n    algorithm: quota\n    limit: 5\n"
                               "    window: day\n    tiers:\n      x: 7\n";
    OK(rules_parse(bytes_of(text), "x.yaml", &list, &error) && list.count == 2, "a document of two rules");
    OK(rules_print((const struct rule *const *)list.rule, list.count, printed, sizeof printed) == strlen(text),
       "... is written with as many bytes");
    OK_STRING(printed, text, "... as it was");
    char cut[20];
    OK(rules_print((const struct rule *const *)list.rule, 2, cut, sizeof cut) == strlen(text) &&
           memcmp(cut, text, 19) == 0 && cut[19] == '\0',
       "what does not fit is cut, and ends with a zero");
    rules_close(&list);
    OK(rules_parse(bytes_of("- {id: a, rate: 1/s}\n- {id: b, rate: 1/s}\n"), "x", &list, &error) && list.count == 2,
       "a list alone is a document");
    rules_close(&list);
    OK(rules_parse(bytes_of("rules: []"), "x", &list, &error) && list.count == 0, "there may be no rules in it");
    rules_close(&list);
    OK(rules_print(NULL, 0, printed, sizeof printed) == 10 && strcmp(printed, "rules: []\n") == 0,
       "... and that is written so");
    OK(!rule_parse_kept(bytes_of("rules: []"), "x", &error) &&
           strcmp(error.text, "x: there are 0 rules: expected one") == 0,
       "which is not one rule");
}

static void fields(void)
{
    struct error error;
    struct rule *rule =
        rule_parse(bytes_of("{id: a, by: [user, ip], rate: 100/m, tiers: {free: 5/s burst 9}, overrides: "
                            "[{for: user=bob, amount: unlimited, until: 2000-03-01}], deny: [org=x]}"),
                   "x", &error);
    OK(rule != NULL, "a rule");
    if (!rule)
        return;
    OK(rule->amount.limit == 100 && rule->amount.rate == 100 && rule->amount.period_ns == 60000000000,
       "a rate is tokens in a period, and a burst of as many");
    OK(rule->by_count == 2 && strcmp(rule->by[0].data, "ip") == 0 && strcmp(rule->by[1].data, "user") == 0,
       "dimensions are sorted, and strings");
    OK(rule->tier_count == 1 && rule->tiers[0].amount.limit == 9 && rule->tiers[0].amount.rate == 5,
       "a tier's burst");
    OK(rule->override_count == 1 && rule->overrides[0].dimension == 1 && rule->overrides[0].amount.unlimited &&
           rule->overrides[0].until_s == 951868800,
       "an override names its dimension by index, and ends at a second");
    OK(rule->deny_count == 1 && strcmp(rule->deny[0].dimension.data, "org") == 0, "a list may name any dimension");
    OK(strcmp(rule->service.data, "default") == 0 && strcmp(rule->endpoint.data, "*") == 0 && rule->zone.size == 0,
       "defaults are there");
    rule_destroy(&rule);
    OK(rule == NULL, "a destroyed rule is gone");
}

/* ---- mistakes ---- */

static const struct {
    const char *text, *said;
} wrong_texts[] = {
    {"", "r.yaml: there are no rules: expected `rules:` and a list, or one rule"},
    {"hello", "r.yaml: there are no rules: expected `rules:` and a list, or one rule"},
    {"rules: {id: a}", "r.yaml:1: rules is no list: expected a list of rules"},
    {"rules: []\nservice: a", "r.yaml:1: rules is not alone: expected nothing else"},
    {"- 1", "r.yaml:1: rule 1: it is no map: expected id, rate and so on"},
    {"- {id: a, rate: 1/s}\n- rate: 1/s", "r.yaml:2: rule 2: id is missing: expected a name"},
    {"rate: 1/s\nid: a b",
     "r.yaml:2: rule 1: id is 'a b': expected 1 to 63 letters, digits, dots, dashes, underscores"},
    {"id: a\nservice: b/c",
     "r.yaml:2: rule a: service is 'b/c': expected 1 to 63 letters, digits, dots, dashes, underscores"},
    {"id: a\nservice: b", "r.yaml:1: rule b/a: rate is missing: expected a rate such as 100/m, or unlimited"},
    {"id: a\nrate: 1/s\n\nrtae: 1/s", "r.yaml:4: rule 1: rtae is unknown: did you mean rate?"},
    {"id: a\ncolour: red", "r.yaml:2: rule 1: colour is unknown: expected a field of docs/rules.md, such as id, "
                           "service, by, rate or limit"},
    {"- {id: a, window: 1m, limit: 1,000}",
     "r.yaml:1: rule 1: 000 is unknown: expected numbers between braces without commas, or in quotes"},
    {"- {id: a, by: user, rate: 1/s, overrides: [{for: user=x, amount: 1,000/s}]}",
     "r.yaml:1: rule a: overrides[0].000/s is unknown: expected numbers between braces without commas, or in "
     "quotes"},
    {"- {id: a, window: 1m, limit: 1,000,000}",
     "r.yaml:1: [0].000 is given twice: expected numbers between braces without commas, or in quotes"},
    {"- {id: a, by: user, limit: 1, window: 1m, algorithm: fixed_window, tiers: {gold: 1,000}}",
     "r.yaml:1: rule a: tiers.000 is '': expected numbers between braces without commas, or in quotes"},
    {"id: a\nalgorithm: fixed_window\nlimit: 5\nwindow: 1m\nbegins: first_request",
     "r.yaml:5: rule a: begins is 'first_request': expected clock, or sync: central beside it, since regions "
     "cannot "
     "agree on such a begin without a store; algorithm: sliding_log keeps its promise without one"},
    {"id: a\nalgorithm: fixed_window\nlimit: 5\nwindow: 1m\nbegins: first\nsync: central",
     "r.yaml:5: rule a: begins is 'first': expected clock or first_request"},
    {"id: a\nalgorithm: quota\nlimit: 5\nwindow: day\nbegins: clock",
     "r.yaml:5: rule a: begins makes no sense with quota: expected fixed_window"},
    {"id: a\nrate: 1/s\nsync: budget\nhome: us-east",
     "r.yaml:4: rule a: home makes no sense with sync: budget, whose shares never move"},
    {"id: a\nrate: 1/s\nhome: [us, us/n-1]\nsync: central",
     "r.yaml:3: rule a: home makes no sense with sync: central, where the store has the whole limit"},
    {"id: a\nrate: 1/s\nhome: []",
     "r.yaml:3: rule a: home is an empty list: expected a region, a daemon as REGION/NAME, a list of these, by_key, "
     "or none"},
    {"id: a\nrate: 1/s\nhome: [us/n-1, eu, us/n-1]",
     "r.yaml:3: rule a: home names us/n-1 twice: expected each home once"},
    {"id: a\nrate: 1/s\nhome: [us, by_key]",
     "r.yaml:3: rule a: home is 'by_key': expected a region, or a daemon as REGION/NAME"},
    {"id: a\nrate: 1/s\nhome:\n  - us\n  - none",
     "r.yaml:5: rule a: home is 'none': expected a region, or a daemon as REGION/NAME"},
    {"id: a\nrate: 1/s\nhome: ['us,eu', ap]",
     "r.yaml:3: rule a: home is 'us,eu': expected a region, or a daemon as REGION/NAME"},
    {"id: a\nrate: 1/s\nhome: 'us,eu'", "r.yaml:3: rule a: home is 'us,eu': expected a region, a daemon as "
                                        "REGION/NAME, a list of these, by_key, or none"},
    {"id: a\nrate: 1/s\nhome: [us, [eu]]",
     "r.yaml:3: rule a: home is a list: expected a region, or a daemon as REGION/NAME"},
    {"id: a\nrate: 1/s\nhome: {us: eu}", "r.yaml:3: rule a: home is a map: expected a region, a daemon as "
                                         "REGION/NAME, a list of these, by_key, or none"},
    {"id: a\nrate: 1/s\nhome: us-east\nweights: {us-east: 0.5, eu-west: 0.5}",
     "r.yaml:4: rule a: weights makes no sense with home, which gives one region all of the limit: expected one of "
     "them"},
    {"id: a\nrate: 1/s\nsync: central\nweights: {us-east: 0.5, eu-west: 0.5}",
     "r.yaml:4: rule a: weights makes no sense with sync: central, where the store has the whole limit"},
    {"id: a\nrate: 1/s\nweights: {us-east: 0.5, eu-west: 0.4}",
     "r.yaml:3: rule a: weights add up to 0.9: expected exactly 1"},
    {"id: a\nrate: 1/s\nweights: {us-east: 1, eu-west: 1, ap-south: 1}",
     "r.yaml:3: rule a: weights add up to 3: expected exactly 1"},
    {"id: a\nrate: 1/s\nweights: {us-east: 0, eu-west: 0}",
     "r.yaml:3: rule a: weights add up to 0: expected exactly 1"},
    {"id: a\nrate: 1/s\nweights: {}", "r.yaml:3: rule a: weights add up to 0: expected exactly 1"},
    {"id: a\nrate: 1/s\nweights: {us-east: 1, eu-west: 0}",
     "r.yaml:3: rule a: weights gives all of the limit to one region: expected home: us-east, or weights of "
     "several"},
    {"id: a\nrate: 1/s\nweights: {us-east: 1.5, eu-west: -0.5}",
     "r.yaml:3: rule a: weights.us-east is '1.5': expected a decimal from 0 to 1, with at most 9 digits after the "
     "point"},
    {"id: a\nrate: 1/s\nweights: {us-east: -0.5, eu-west: 0.5}",
     "r.yaml:3: rule a: weights.us-east is '-0.5': expected a decimal from 0 to 1, with at most 9 digits after the "
     "point"},
    {"id: a\nrate: 1/s\nweights: {us-east: 0.3333333333, eu-west: 0.6666666667}",
     "r.yaml:3: rule a: weights.us-east is '0.3333333333': expected a decimal from 0 to 1, with at most 9 digits "
     "after the point"},
    {"id: a\nrate: 1/s\nweights: {us-east: [0.5], eu-west: 0.5}",
     "r.yaml:3: rule a: weights.us-east is a list: expected a decimal from 0 to 1, with at most 9 digits after the "
     "point"},
    {"id: a\nrate: 1/s\nweights: {us east: 0.5, eu-west: 0.5}",
     "r.yaml:3: rule a: weights has a region 'us east': expected a name of 1 to 63 letters, digits, dots, dashes, "
     "underscores"},
    {"id: a\nrate: 1/s\nweights: 0.5", "r.yaml:3: rule a: weights is '0.5': expected a map"},
    {"id: a\nrate: 1/s\nweights: {us-east: 0.5, us-east: 0.5}",
     "r.yaml:3: weights.us-east is given twice, first in line 3: expected it once"},
    {"id: a\nrate: 1/s\npatience: 6s",
     "r.yaml:3: rule a: patience is '6s': expected a duration from 1ms to 5s, such as 100ms or 2s"},
    {"id: a\nrate: 1/s\nsync: budget\npatience: 1s",
     "r.yaml:4: rule a: patience makes no sense with sync: budget, whose shares never move"},
    {"id: a\nrate: 1/s\nrate: 2/s", "r.yaml:3: rate is given twice, first in line 2: expected it once"},
    {"id: a\nrate: 5", "r.yaml:2: rule a: rate is '5': expected a rate such as 100/m, or unlimited"},
    {"id: a\nrate: 0/s\nburst: 5", "r.yaml:3: rule a: burst makes no sense with a rate of 0, which admits nothing"},
    {"id: a\nrate: 5/s\ntiers: {b: 5/s burst 0}",
     "r.yaml:3: rule a: tiers.b is '5/s burst 0': expected 1 to 1000000000000 for token_bucket, per 1ns to 366d"},
    {"id: a\nrate: 5/s\ntiers: {b: 0/s burst 5}",
     "r.yaml:3: rule a: tiers.b is '0/s burst 5': expected 1 to 1000000000000 for token_bucket, per 1ns to 366d"},
    {"id: a\nrate: 1/s\ncounts: [b, a]",
     "r.yaml:3: rule a: counts is a list: expected 1 to 32 letters, digits, dots, dashes, underscores"},
    {"id: a\nalgorithm: concurrency\nlimit: 1\nwindow: 1s\ncounts: bytes",
     "r.yaml:5: rule a: counts makes no sense with algorithm: concurrency, which counts requests at work"},
    {"id: a\nrate: 1/s\nreplaces: [b, a]",
     "r.yaml:3: rule a: replaces names the rule itself: expected other rules"},
    {"id: a\nrate: 1/s\nreplaces: [b, b]", "r.yaml:3: rule a: replaces names b twice: expected each rule once"},
    {"id: a\nrate: 1/s\nreplaces: [b/c]",
     "r.yaml:3: rule a: replaces is 'b/c': expected 1 to 63 letters, digits, dots, dashes, underscores"},
    {"id: a\noverrides_of: a", "r.yaml:2: rule a: overrides_of names the rule itself: expected another rule"},
    {"id: a\noverrides_of: b\nrate: 1/s", "r.yaml:3: rule a: rate makes no sense with overrides_of: expected id, "
                                          "service, by, algorithm and overrides"},
    {"id: a\nalgorithm: quota\noverrides_of: b\noverrides: [{for: x, amount: 5}]",
     "r.yaml:4: rule a: overrides[0].amount is '5': expected a count such as 5000, perhaps with a unit such as "
     "5000/month, or unlimited"},
    {"id: a\nrate: [1/s]", "r.yaml:2: rule a: rate is a list: expected a rate such as 100/m, or unlimited"},
    {"id: a\nrate: 1/366d\nburst: 1000000000000",
     "r.yaml:1: rule a: rate cannot be counted: capacity 1000000000000 at this rate needs more than 60 bits to "
     "count "
     "exactly: expected a smaller capacity or a rate with a shorter or rounder period"},
    {"id: a\nrate: 1/s\nburst: 0", "r.yaml:3: rule a: burst is '0': expected a count from 1 to 1000000000000"},
    {"id: a\nrate: unlimited\nburst: 5", "r.yaml:3: rule a: burst makes no sense where all is unlimited"},
    {"id: a\nalgorithm: leaky", "r.yaml:2: rule a: algorithm is 'leaky': expected token_bucket, leaky_bucket, "
                                "fixed_window, sliding_window, "
                                "sliding_log, quota or concurrency"},
    {"id: a\nalgorithm: quota\nrate: 5/s",
     "r.yaml:3: rule a: rate makes no sense with quota: expected limit, window and zone"},
    {"id: a\nrate: 5/s\nlimit: 5", "r.yaml:3: rule a: limit makes no sense with token_bucket: expected rate and "
                                   "burst"},
    {"id: a\nalgorithm: quota\nwindow: day",
     "r.yaml:1: rule a: limit is missing: expected a count such as 500, or unlimited"},
    {"id: a\nalgorithm: quota\nlimit: 5",
     "r.yaml:1: rule a: window is missing: expected hour, day, week, month or year"},
    {"id: a\nalgorithm: quota\nlimit: 5\nwindow: 1h",
     "r.yaml:4: rule a: window is '1h': expected hour, day, week, month or year"},
    {"id: a\nalgorithm: quota\nlimit: 5\nwindow: day\nzone: Europe/Berlni",
     "r.yaml:5: rule a: zone is 'Europe/Berlni': expected a time zone such as Europe/Berlin or UTC"},
    {"id: a\nalgorithm: fixed_window\nlimit: 5\nwindow: 1ms",
     "r.yaml:4: rule a: window is '1ms': expected a duration from 100ms to 366d, such as 100ms or 2s"},
    {"id: a\nalgorithm: sliding_log\nlimit: 10001\nwindow: 1m",
     "r.yaml:3: rule a: limit is '10001': expected at most 10000, since sliding_log remembers each request "
     "(sliding_window counts more)"},
    {"id: a\nrate: 1/s\nby: [a, b, a]", "r.yaml:3: rule a: by names a twice: expected each dimension once"},
    {"id: a\nrate: 1/s\nby: [a, b, c, d, e, f, g, h, i]", "r.yaml:3: rule a: by has 9 entries: expected at most 8"},
    {"id: a\nrate: 1/s\nby: [user name]",
     "r.yaml:3: rule a: by is 'user name': expected 1 to 32 letters, digits, dots, dashes, underscores"},
    {"id: a\nrate: 1/s\nendpoint: /v1/*/x",
     "r.yaml:3: rule a: endpoint is '/v1/*/x': expected 1 to 255 bytes, with * at most as the last one"},
    {"id: a\nrate: 1/s\novershoot: 2000%", "r.yaml:3: rule a: overshoot is '2000%': expected a part of the "
                                           "limit from 0% to 1000%, or tokens from 0 to "
                                           "1000000000000"},
    {"id: a\nrate: 1/s\nsync: budget\novershoot: 5",
     "r.yaml:4: rule a: overshoot makes no sense with sync: budget, which never exceeds the limit"},
    {"id: a\nrate: 1/s\nmode: on", "r.yaml:3: rule a: mode is 'on': expected enforce, soft, shadow or off"},
    {"id: a\nrate: 1/s\npriority_floor: {low: 10%,\n normal: 20%}",
     "r.yaml:3: rule a: priority_floor.low is '10%': expected a part from 20% to 99.9999%"},
    {"id: a\nrate: 1/s\npriority_floor: {critical: 10%}",
     "r.yaml:3: rule a: priority_floor.critical is unknown: expected low, normal and high"},
    {"id: a\nrate: 1/s\ntiers:\n  free: 500",
     "r.yaml:4: rule a: tiers.free is '500': expected a rate such as 100/m, perhaps with a burst such as 100/m "
     "burst 200, or unlimited"},
    {"id: a\nalgorithm: quota\nlimit: unlimited\ntiers:\n  free: 500",
     "r.yaml:5: rule a: tiers.free is '500': expected a count such as 5000, perhaps with a unit such as "
     "5000/month, "
     "or unlimited"},
    {"id: a\nalgorithm: sliding_window\nlimit: 5\nwindow: 1m\ntiers:\n  free: 500/1ms",
     "r.yaml:6: rule a: tiers.free is '500/1ms': expected 1 to 1000000000000 for sliding_window, per 100ms to "
     "366d"},
    {"id: a\nrate: 1/s\ntiers:\n  a b: 5/s",
     "r.yaml:4: rule a: tiers has a tier 'a b': expected a name of 1 to 63 letters, digits, dots, dashes, "
     "underscores"},
    {"id: a\nrate: 1/s\noverrides:\n  - for: ip=x\n    amount: 5/s",
     "r.yaml:4: rule a: overrides[0].for is 'ip=x': expected a dimension that the rule counts by, and its "
     "value"},
    {"id: a\nrate: 1/s\noverrides:\n  - amount: 5/s", "r.yaml:4: rule a: overrides[0].for is missing"},
    {"id: a\nrate: 1/s\noverrides:\n  - {for: x, amount: 5/s, till: x}",
     "r.yaml:4: rule a: overrides[0].till is unknown: expected for, amount and until"},
    {"id: a\nrate: 1/s\noverrides:\n  - {for: x, amount: 5/s, until: 2027-02-29}",
     "r.yaml:4: rule a: overrides[0].until is '2027-02-29': expected a date such as 2027-01-31, or a moment "
     "such "
     "as 2027-01-31T12:00:00Z"},
    {"id: a\nrate: 1/s\noverrides:\n  - {for: x, amount: 5/s}\n  - {for: user=x, amount: 6/s}",
     "r.yaml:3: rule a: overrides has user=x twice"},
    {"id: a\nrate: 1/s\noverrides: [{for: x, amount: 5/s}, {for: b, amount: 5/s}, {for: x, amount: 6/s}]",
     "r.yaml:3: rule a: overrides has user=x twice"},
    {"id: a\nrate: 1/s\nby: [ip, user]\nallow: [x]",
     "r.yaml:4: rule a: allow[0] is 'x': expected dimension=value, since the rule does not count by one "
     "dimension"},
    {"id: a\nrate: 1/s\ndeny: [a=1, a=1]", "r.yaml:3: rule a: deny has a=1 twice"},
    {"id: a\nrate: 1/s\ndeny: ['=1']",
     "r.yaml:3: rule a: deny[0] is '=1': expected dimension=value, with 1 to 32 and 1 to 256 bytes"},
    {"id: a\nrate: 1/s\nwhen: [a=1]", "r.yaml:3: rule a: when is a list: expected a map"},
    {"id: a\nrate: 1/s\nwhen: {}", "r.yaml:3: rule a: when has 0 values: expected 1 to 256"},
    {"id: a\nrate: 1/s\nwhen: {k: []}", "r.yaml:3: rule a: when.k is empty: expected a value, or a list of values"},
    {"id: a\nrate: 1/s\nwhen: {k: [a, {b: c}]}",
     "r.yaml:3: rule a: when.k is a map: expected a value of 1 to 256 bytes, or a list of such values"},
    {"id: a\nrate: 1/s\nwhen: {k: ''}",
     "r.yaml:3: rule a: when.k is '': expected a value of 1 to 256 bytes, or a list of such values"},
    {"id: a\nrate: 1/s\nwhen: {k k: a}",
     "r.yaml:3: rule a: when has a dimension 'k k': expected a name of 1 to 32 letters, digits, dots, dashes, "
     "underscores"},
    {"id: a\nrate: 1/s\nwhen: {k: [a, b, a]}", "r.yaml:3: rule a: when has k=a twice"},
    {"id: a\nrate: 1/s\nwhen: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1}",
     "r.yaml:3: rule a: when has 9 entries: expected at most 8"},
    {"id: a\nrate: 1/s\nadaptive: {flor: 5%}", "r.yaml:3: rule a: adaptive.flor is unknown: did you mean floor?"},
    {"id: a\nrate: 1/s\nadaptive: {floor: 0%}",
     "r.yaml:3: rule a: adaptive.floor is '0%': expected a part from 1% to 100%"},
    {"id: a\nrate: 1/s\npersist: 1", "r.yaml:3: rule a: persist is '1': expected false or true"},
    {"- {id: a, rate: 1/s}\n- {id: a, rate: 2/s}",
     "r.yaml:2: rule a of service default is given twice, first in line 1"},
    {"id: a\nrate: *x", "r.yaml:2: an alias (*) is used: expected the value itself, in quotes if it begins with *"},
    {"id: &a a", "r.yaml:1: a tag (!) or an anchor (&) is used: expected plain values"},
    {"id: !!str a", "r.yaml:1: a tag (!) or an anchor (&) is used: expected plain values"},
    {"? [a]\n: b", "r.yaml:1: a key is itself a list or a map: expected a word"},
    {"id: a\n---\nid: b", "r.yaml:2: a second document (---) begins: expected one"},
    {"id: \"a\\0b\"", "r.yaml:1: id has a character that cannot be printed: expected plain text"},
    {"id: \"a\\u2028b\"", "r.yaml:1: id has a character that cannot be printed: expected plain text"},
    {"id: \"a\\Nb\"", "r.yaml:1: id has a character that cannot be printed: expected plain text"},
    {"id: \"a\\uFEFFb\"", "r.yaml:1: id has a character that cannot be printed: expected plain text"},
    {"id: \"a\\uFFFFb\"", "r.yaml:1: id has a character that cannot be printed: expected plain text"},
    {"id: \"a\\x7fb\"", "r.yaml:1: id has a character that cannot be printed: expected plain text"},
    {"id: a\n\trate: 1/s", "r.yaml:2: a tab is used for indentation: expected spaces"},
    {"[[[[[[[[[[", "r.yaml:1: this is nested too deep: expected at most 8 levels"},
    {"id: \xff", "r.yaml:1: this is not text (invalid leading UTF-8 octet at byte 4): expected YAML in UTF-8"},
};

static void mistakes(void)
{
    for (size_t i = 0; i < sizeof wrong_texts / sizeof wrong_texts[0]; i++) {
        struct error error = {0};
        struct rule_list list;
        OK(!rules_parse(bytes_of(wrong_texts[i].text), "r.yaml", &list, &error) &&
               error.exit_status == EX_DATAERR && list.count == 0,
           "a mistake is told");
        OK_STRING(error.text, wrong_texts[i].said, "... %.100s", wrong_texts[i].said);
        rules_close(&list);
    }
}

static void limits(void)
{
    static char text[RULES_TEXT_MAX_BYTES + 2];
    struct rule_list list;
    struct error error = {0};
    int size = snprintf(text, sizeof text, "id: a\nrate: 1/s\ndeny:\n");
    for (int i = 0; i < 256; i++)
        size += snprintf(text + size, 400, "  - user=%0*d\n", i < 100 ? 256 : 8, i);
    OK(rules_parse(bytes_of(text), "x", &list, &error), "as many denied as may be, within the bytes of a rule");
    rules_close(&list);
    (void)snprintf(text + size, 400, "  - user=x\n");
    OK(!rules_parse(bytes_of(text), "x", &list, &error), "one more is too many");
    OK_STRING(error.text, "x:3: rule a: deny has 257 entries: expected at most 256", "... which is said");
    size = snprintf(text, sizeof text, "id: a\nrate: 1/s\ndeny:\n");
    for (int i = 0; i < 200; i++)
        size += snprintf(text + size, 400, "  - user=%0256d\n", i);
    OK(!rules_parse(bytes_of(text), "x", &list, &error), "a rule may be too large");
    OK_STRING(error.text, "x:1: rule a: its text has 53246 bytes: expected at most 32768", "... which is said");
    memset(text, ' ', sizeof text);
    OK(!rules_parse((struct bytes){text, sizeof text - 1}, "x", &list, &error), "a document may be too large");
    OK_STRING(error.text, "x: it has 4194305 bytes: expected at most 4194304", "... which is said");
    size = 0;
    for (int i = 0; i <= RULES_MAX; i++)
        size += snprintf(text + size, 64, "- {id: r%d, rate: 1/s}\n", i);
    OK(!rules_parse((struct bytes){text, (size_t)size}, "x", &list, &error), "there may be too many rules");
    OK_STRING(error.text, "x:1: there are 10001 rules: expected at most 10000", "... which is said");
    char *last = memrchr(text, '-', (size_t)size);
    OK(rules_parse((struct bytes){text, (size_t)(last - text)}, "x", &list, &error) && list.count == RULES_MAX,
       "10,000 rules in one document");
    rules_close(&list);
}

/* ---- any rule ---- */

static const char *pick(struct random *random, const char *const *words, size_t count)
{
    return words[random_below(random, count)];
}
#define PICK(random, ...)                                                                                          \
    pick(random, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* A rule of any algorithm and some of all fields. */
static void draw_rule(struct random *random, char *text, size_t room)
{
    char main_part[160], rest[1024] = "";
    uint64_t n = 1 + random_below(random, 10000);
    bool bucket = random_below(random, 2);
    if (bucket)
        (void)snprintf(main_part, sizeof main_part, "algorithm: %s\nrate: %" PRIu64 "/%s\nburst: %" PRIu64 "\n",
                       PICK(random, "token_bucket", "leaky_bucket"), n,
                       PICK(random, "s", "m", "1.5h", "1d", "333ms"), 1 + random_below(random, 100000));
    else if (random_below(random, 2))
        (void)snprintf(main_part, sizeof main_part, "algorithm: quota\nlimit: %" PRIu64 "\nwindow: %s\nzone: %s\n",
                       n, PICK(random, "hour", "day", "week", "month", "year"),
                       PICK(random, "UTC", "Europe/Berlin", "America/New_York"));
    else
        (void)snprintf(main_part, sizeof main_part, "algorithm: %s\nlimit: %" PRIu64 "\nwindow: %s\n",
                       PICK(random, "fixed_window", "sliding_window", "sliding_log", "concurrency"), n,
                       PICK(random, "1s", "1m", "36h", "100ms", "1000000001ns"));
    static const char *const extras[] = {
        "overshoot: 20%\n",
        "overshoot: 17\n",
        "on_isolation: open\n",
        "mode: off\n",
        "inherit: reset\n",
        "patience: 50ms\n",
        "home: us-east\n",
        "home: by_key\n",
        "home: none\n",
        "home: [us-east/n-1, eu-west, us-east]\n",
        "weights: {us-east: 0.25, eu-west: 0.7, ap-south: 0, sa-east: .050}\n",
        "persist: true\n",
        "persist: false\n",
        "priority_floor: {low: 33.3333%, high: 1%}\n",
        "priority_floor: {normal: 7%}\n",
        "deny: [user=a, user=b, 'ip=10.1.1.1', \"x=\\\"\\\\\"]\n",
        "adaptive: {latency: 1.5s}\n",
        "adaptive: {floor: 1%}\n",
        "endpoint: /v1/*\n",
        "endpoint: 'GET /a b'\n",
        "service: svc\n",
    };
    size_t size = 0;
    for (size_t i = 0; i < sizeof extras / sizeof extras[0]; i++) {
        bool same_as_last = i > 0 && strncmp(extras[i], extras[i - 1], 5) == 0;
        const bool has_home = size > 0 && strstr(rest, "home: ");
        if (random_below(random, 3) == 0 && !(same_as_last && strstr(rest, extras[i - 1])) &&
            !(has_home && (strncmp(extras[i], "weights", 7) == 0 || strncmp(extras[i], "home", 4) == 0)))
            size += (size_t)snprintf(rest + size, sizeof rest - size, "%s", extras[i]);
    }
    static const char *const bucket_lists =
        "tiers: {free: 3/m, pro: 9/s burst 11, free2: unlimited}\n"
        "overrides: [{for: user=v, amount: 1/s}, {for: user=u, amount: unlimited, until: 2031-12-31T23:59:59Z}]\n";
    static const char *const other_lists =
        "tiers: {free: 3, pro: unlimited}\noverrides: [{for: user=v, amount: 8}]\n";
    (void)snprintf(text, room, "id: \"%" PRIu64 "\"\n%s%s%s", random_below(random, 1000), main_part, rest,
                   random_below(random, 2) ? ""
                   : bucket                ? bucket_lists
                                           : other_lists);
}

static bool part_is(const struct error *error, struct error_part part, const char *text)
{
    return bytes_equal(error_bytes(error, part), bytes_of(text));
}

static void parts(void)
{
    static const struct {
        const char *text, *field, *value, *expected;
    } cases[] = {
        {"{id: a, rate: 100}", "rate", "100", "a rate such as 100/m, or unlimited"},
        {"{id: a, rate: 1/s, mode: ': expected x'}", "mode", ": expected x", "enforce, soft, shadow or off"},
        {"{id: a, rate: 1/s, mode: [off]}", "mode", "", "enforce, soft, shadow or off"},
        {"{id: a, rate: 1/s, items: 1}", "items", "", NULL},
        {"{rate: 1/s}", "id", "", "a name"},
        {"[7]", "", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error;
        struct rule *rule = rule_parse(bytes_of(cases[i].text), "x", &error);
        OK(!rule && part_is(&error, error.field, cases[i].field) && part_is(&error, error.value, cases[i].value) &&
               (!cases[i].expected || part_is(&error, error.expected, cases[i].expected)),
           "the parts of a mistake are marked: %s", error.text);
    }
}

static void any_rule(void)
{
    struct random random;
    random_seed(&random, 7);
    unsigned refused = 0, changed = 0;
    for (int i = 0; i < 20000; i++) {
        char text[2048], first[4096], second[4096];
        struct error error;
        draw_rule(&random, text, sizeof text);
        struct rule *rule = rule_parse(bytes_of(text), "x", &error);
        if (!rule) {
            if (refused++ == 0)
                printf("# %s\n# %s\n", error.text, text);
            continue;
        }
        size_t size = rule_print(rule, first, sizeof first);
        rule_destroy(&rule);
        rule = rule_parse(bytes_of(first), "x", &error);
        if (!rule || rule_print(rule, second, sizeof second) != size || strcmp(first, second) != 0)
            if (changed++ == 0)
                printf("# %s\n", rule ? first : error.text);
        rule_destroy(&rule);
    }
    OK_U64(refused, 0, "20,000 drawn rules are read");
    OK_U64(changed, 0, "... and their canonical text is read and written as it is");
}

int main(void)
{
    canonical();
    documents();
    fields();
    mistakes();
    parts();
    limits();
    any_rule();
    return tap_done();
}
