/* Texts of rules that are refused: with which sentence, and with which of its parts marked. */
#include "rules/rule_text.h"

#include "tests/lib/rule_parse.h"
#include "tests/lib/tap.h"

#include <sysexits.h>

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
    {"id: a\nrate: 1/s\nhome: []", "r.yaml:3: rule a: home is an empty list: expected a region, a daemon as "
                                   "REGION/NAME, a list of these, by_key, "
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
     "r.yaml:4: rule a: overrides[0].amount is '5': expected a count with a unit such as 5000/month, or unlimited"},
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
     "r.yaml:5: rule a: tiers.free is '500': expected a count with a unit such as 5000/month, or unlimited"},
    {"id: a\nalgorithm: fixed_window\nlimit: unlimited\ntiers:\n  free: 500",
     "r.yaml:5: rule a: tiers.free is '500': expected a count with a window such as 500/m, or unlimited"},
    {"id: a\nalgorithm: fixed_window\nlimit: unlimited\nwindow: 1m",
     "r.yaml:4: rule a: window makes no sense where all is unlimited"},
    {"id: a\nalgorithm: quota\nlimit: unlimited\nwindow: 1h\ntiers: {free: 5}",
     "r.yaml:4: rule a: window is '1h': expected hour, day, week, month or year"},
    {"id: a\nalgorithm: fixed_window\nlimit: unlimited\nwindow: 1ms\ntiers: {free: 5}",
     "r.yaml:4: rule a: window is '1ms': expected a duration from 100ms to 366d, such as 100ms or 2s"},
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

int main(void)
{
    mistakes();
    parts();
    limits();
    return tap_done();
}
