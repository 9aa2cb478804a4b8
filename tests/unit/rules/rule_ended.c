/* Overrides that have ended by their `until`, and what is said of them. */
#include "rules/rule_ended.h"

#include "tests/lib/rule_parse.h"
#include "tests/lib/tap.h"

#include <stdio.h>

#define NEW_YEAR_S UINT64_C(1798761600) /* 2027-01-01T00:00:00Z */

static struct error sentence;

static uint32_t ended(const char *overrides, uint64_t now_s)
{
    char yaml[512];
    (void)snprintf(yaml, sizeof yaml, "{id: a, by: org, rate: 10/m, overrides: [%s]}", overrides);
    sentence = (struct error){.text = ""};
    struct rule *rule = rule_parse(bytes_of(yaml), "r", &sentence);
    const uint32_t count = rule != NULL ? rule_count_ended(rule, now_s, &sentence) : UINT32_MAX;
    rule_destroy(&rule);
    return count;
}

static void ends_at_its_moment(void)
{
    static const char *const until = "{for: b*, amount: 1/m, until: 2027-01-01}";
    OK_U64(ended(until, NEW_YEAR_S - 1), 0, "a second before");
    OK_STRING(sentence.text, "", "nothing is said");
    OK_U64(ended(until, NEW_YEAR_S), 1, "at the moment");
    OK_STRING(sentence.text, "rule default/a: the override for org=b* has ended, at 2027-01-01: it has no effect",
              "it is named");
    OK_U64(ended("{for: b, amount: 1/m}", UINT64_MAX), 0, "one without an end never ends");
    OK_U64(ended(until, 0), 0, "where no time is known, none has ended");
}

static void counts_those_that_have_ended(void)
{
    OK_U64(ended("{for: c, amount: 1/m, until: 2026-01-01}, {for: b, amount: 1/m, until: 2020-02-03T04:05:06Z}, "
                 "{for: a, amount: 1/m, until: 2027-01-02}, {for: d, amount: 1/m}",
                 NEW_YEAR_S),
           2, "two of four have ended");
    OK_STRING(sentence.text,
              "rule default/a: 2 overrides have ended, that for org=b at 2020-02-03T04:05:06Z: they have no effect",
              "the first is named");
}

int main(void)
{
    ends_at_its_moment();
    counts_those_that_have_ended();
    return tap_done();
}
