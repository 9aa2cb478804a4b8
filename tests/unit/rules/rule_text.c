/* Texts of rules: what is read of them, and the one form in which they are printed. */
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
    {"... where a window is that of the tiers",
     "{id: a, algorithm: fixed_window, limit: unlimited, window: 1.5h, tiers: {free: 5, pro: 5/m, vip: unlimited}, "
     "overrides: [{for: x, amount: 7}]}",
     "id: a\nalgorithm: fixed_window\nlimit: unlimited\ntiers:\n  free: 5/1.5h\n  pro: 5/m\n  vip: unlimited\n"
     "overrides:\n  - for: user=x\n    amount: 7/1.5h\n"},
    {"... and a unit", "{id: a, algorithm: quota, limit: unlimited, window: year, tiers: {free: 5}}",
     "id: a\nalgorithm: quota\nlimit: unlimited\ntiers:\n  free: 5/year\n"},
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
    any_rule();
    return tap_done();
}
