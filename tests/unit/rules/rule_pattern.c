/* What an entry of a list may say: patterns that match, literals, and what is refused as it would match nothing. */
#include "rules/rule_pattern.h"

#include "base/random.h"
#include "rules/rule_text.h"
#include "tests/lib/rule_parse.h"
#include "tests/lib/tap.h"

#include <stdio.h>

static const char *const form_names[RULE_FORMS] = {"exact", "prefix", "network"};

/* "form value -> canonical text", or what is expected instead. */
static const char *said_of(const char *text)
{
    static char said[1024];
    struct rule_pattern pattern;
    char expected[PATTERN_EXPECTED_BYTES], again[PATTERN_TEXT_MAX_BYTES];
    if (!rule_pattern_parse(bytes_of(text), &pattern, expected)) {
        (void)snprintf(said, sizeof said, "expected %s", expected);
        return said;
    }
    struct bytes value = {pattern.value, pattern.size};
    size_t size = rule_pattern_text(pattern.form, value, again);
    (void)snprintf(said, sizeof said, "%s %.*s -> %.*s", form_names[pattern.form], (int)value.size, value.data,
                   (int)size, again);
    return said;
}

static void forms(void)
{
    static const char *const cases[][2] = {
        {"alice", "exact alice -> alice"},
        {"10.0.0.1", "exact 10.0.0.1 -> 10.0.0.1"},
        {"foo*", "prefix foo -> foo*"},
        {"10.*", "prefix 10. -> 10.*"},
        {"*", "prefix  -> *"},
        {"10.0.0.0/8", "network 10.0.0.0/8 -> 10.0.0.0/8"},
        {"::ffff:10.0.0.0/104", "network 10.0.0.0/8 -> 10.0.0.0/8"},
        {"2001:0DB8::/32", "network 2001:db8::/32 -> 2001:db8::/32"},
        {"team/alice", "exact team/alice -> team/alice"},
        {"YWJj/Zm9v+w==", "exact YWJj/Zm9v+w== -> YWJj/Zm9v+w=="},
        {"/v1/x", "exact /v1/x -> /v1/x"},
        {"a-b", "exact a-b -> a-b"},
        {"\\*foo", "exact *foo -> \\*foo"},
        {"foo\\*", "exact foo* -> foo\\*"},
        {"a\\*b*", "prefix a*b -> a\\*b*"},
        {"f\\?o", "exact f?o -> f\\?o"},
        {"\\[a]", "exact [a] -> \\[a]"},
        {"10.0.0.0\\/33", "exact 10.0.0.0/33 -> 10.0.0.0\\/33"},
        {"10.0.0.0\\/8", "exact 10.0.0.0/8 -> 10.0.0.0\\/8"},
        {"12\\/34", "exact 12/34 -> 12\\/34"},
        {"\\/regex/", "exact /regex/ -> \\/regex\\/"},
        {"10.0.0.1\\-10.0.0.9", "exact 10.0.0.1-10.0.0.9 -> 10.0.0.1\\-10.0.0.9"},
        {"CORP\\alice", "exact CORP\\alice -> CORP\\\\alice"},
        {"CORP\\\\alice", "exact CORP\\alice -> CORP\\\\alice"},
        {"\\", "exact \\ -> \\\\"},
        {"*foo", "expected * as the last character, for all that begins so, or \\* for the character itself"},
        {"f*o", "expected * as the last character, for all that begins so, or \\* for the character itself"},
        {"foo**", "expected * as the last character, for all that begins so, or \\* for the character itself"},
        {"f?o", "expected no ? or [, which are no patterns here, or \\? and \\[ for the characters themselves"},
        {"f[ab]o*", "expected no ? or [, which are no patterns here, or \\? and \\[ for the characters themselves"},
        {"/regex/", "expected no regular expression: a value, a beginning such as foo* or a network, or \\/"},
        {"10.0.0.0/33", "expected a network such as 10.0.0.0/8 or 2001:db8::/32, or \\/ for the character itself"},
        {"10.0/8", "expected a network such as 10.0.0.0/8 or 2001:db8::/32, or \\/ for the character itself"},
        {"10/8", "expected a network such as 10.0.0.0/8 or 2001:db8::/32, or \\/ for the character itself"},
        {"10.0.0.0/255.0.0.0",
         "expected a network such as 10.0.0.0/8 or 2001:db8::/32, or \\/ for the character itself"},
        {"::1/129", "expected a network such as 10.0.0.0/8 or 2001:db8::/32, or \\/ for the character itself"},
        {"10.0.0.1/8", "expected 10.0.0.0/8, the network that it lies in, or all of its bits"},
        {"2001:db8::1/32", "expected 2001:db8::/32, the network that it lies in, or all of its bits"},
        {"10.0.0.1-10.0.0.9",
         "expected networks such as 10.0.0.0/8 instead of a range, or \\- for the character itself"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        OK_STRING(said_of(cases[i][0]), cases[i][1], "%s", cases[i][0]);
}

static void sizes(void)
{
    struct rule_pattern pattern;
    char expected[PATTERN_EXPECTED_BYTES], text[600];
    memset(text, 'x', sizeof text);
    OK(rule_pattern_parse((struct bytes){text, 256}, &pattern, expected) && pattern.size == 256, "256 bytes");
    OK(!rule_pattern_parse((struct bytes){text, 257}, &pattern, expected), "not 257");
    text[255] = '*';
    OK(rule_pattern_parse((struct bytes){text, 256}, &pattern, expected) && pattern.size == 255,
       "a beginning of 255");
    text[255] = 'x';
    text[256] = '*';
    OK(!rule_pattern_parse((struct bytes){text, 257}, &pattern, expected), "not of 256");
    for (size_t i = 0; i < 600; i += 2) {
        text[i] = '\\';
        text[i + 1] = '*';
    }
    OK(rule_pattern_parse((struct bytes){text, 512}, &pattern, expected) && pattern.size == 256,
       "escapes do not count");
    OK(!rule_pattern_parse((struct bytes){text, 514}, &pattern, expected), "... up to the same size");
    OK_U64(rule_pattern_text(RULE_EXACT, (struct bytes){pattern.value, 256}, text), 512,
           "... and are printed again");
}

/* Of any value there is a text that says it, whatever it looks like. */
static void every_value_can_be_said(void)
{
    static const char letters[] = "\\*?[]/-..::0123aF";
    struct random random;
    uint64_t wrong = 0;
    random_seed(&random, 1);
    for (int i = 0; i < 300000; i++) {
        char value[16], text[PATTERN_TEXT_MAX_BYTES], expected[PATTERN_EXPECTED_BYTES];
        struct rule_pattern pattern;
        size_t size = 1 + random_below(&random, sizeof value);
        for (size_t k = 0; k < size; k++)
            value[k] = letters[random_below(&random, sizeof letters - 1)];
        enum rule_form form = i % 2 ? RULE_EXACT : RULE_PREFIX;
        size_t text_size = rule_pattern_text(form, (struct bytes){value, size}, text);
        bool same = rule_pattern_parse((struct bytes){text, text_size}, &pattern, expected) &&
                    pattern.form == form && pattern.size == size && memcmp(pattern.value, value, size) == 0;
        if (!same && wrong++ < 5)
            printf("# %.*s -> %.*s\n", (int)size, value, (int)text_size, text);
    }
    OK_U64(wrong, 0, "every value and every beginning has a text that is read as it");
}

/* ---- in rules ---- */

static const char *canonical_of(const char *yaml, bool kept)
{
    static char text[2048];
    struct error error;
    struct rule *rule = (kept ? rule_parse_kept : rule_parse)(bytes_of(yaml), "r.yaml", &error);
    if (rule)
        (void)rule_print(rule, text, sizeof text);
    else
        (void)snprintf(text, sizeof text, "%s", error.text);
    rule_destroy(&rule);
    return text;
}

static void in_rules(void)
{
    const char *printed =
        "id: a\nby: ip\nalgorithm: token_bucket\nrate: 1/s\n"
        "overrides:\n  - for: ip=10.0.0.1\n    amount: 4/s\n  - for: ip=10.*\n    amount: 3/s\n"
        "  - for: ip=10.0.0.0/8\n    amount: 2/s\n"
        "allow:\n  - \"ip=::1/128\"\n  - user=root*\ndeny:\n  - \"ip=a\\\\*b\"\n  - ip=192.168.0.0/16\n";
    OK_STRING(
        canonical_of("{id: a, by: ip, rate: 1/s, deny: ['192.168.0.0/16', 'a\\*b'], allow: ['user=root*', "
                     "'ip=0::1/128'], overrides: [{for: '10.0.0.0/8', amount: 2/s}, {for: '10.*', amount: 3/s}, "
                     "{for: 10.0.0.1, amount: 4/s}]}",
                     false),
        printed, "a rule with patterns has one text");
    char again[2048];
    (void)snprintf(again, sizeof again, "%s", printed);
    OK_STRING(canonical_of(again, false), printed, "... which is read as the same rule");
    OK_STRING(
        canonical_of("{id: a, rate: 1/s,\n deny: ['10.0.0.1/8']}", false),
        "r.yaml:2: rule a: deny[0] is '10.0.0.1/8': expected 10.0.0.0/8, the network that it lies in, or all of "
        "its bits",
        "a mistake is one sentence");
    OK_STRING(
        canonical_of("{id: a, rate: 1/s, overrides: [{for: 'f*o', amount: 1/s}]}", false),
        "r.yaml:1: rule a: overrides[0].for is 'f*o': expected * as the last character, for all that begins so, "
        "or \\* for the character itself",
        "... in overrides as well");
    OK_STRING(canonical_of("{id: a, rate: 1/s, deny: ['10.0.0.0/8', '::ffff:10.0.0.0/104']}", false),
              "r.yaml:1: rule a: deny has user=10.0.0.0/8 twice", "a network that is written in two ways is one");
    OK_STRING(canonical_of("{id: a, rate: 1/s, deny: ['f?o']}", true),
              "id: a\nalgorithm: token_bucket\nrate: 1/s\ndeny:\n  - \"user=f\\\\?o\"\n",
              "a rule that was kept stays: what would be refused today is a literal");
}

int main(void)
{
    forms();
    sizes();
    every_value_can_be_said();
    in_rules();
    return tap_done();
}
