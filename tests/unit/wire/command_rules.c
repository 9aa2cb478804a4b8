/*
 * What RULE and HEALTH are told, and the two kinds of throttle.
 */
#include "wire/command_rules.h"

#include "tests/lib/tap.h"
#include "wire/command.h"
#include "wire/command_throttle.h"
#include "wire/command_words.h"

#include <assert.h>

static struct resp_command command;
static char text[1024];

/* Parses an inline line into `command`. */
static void words(const char *line)
{
    size_t consumed;
    const char *error;
    enum resp_status status = resp_parse(bytes_of(line), &command, &consumed, &error);
    assert(status == RESP_COMMAND);
}

/* Each says what was understood, or the error. */

static const char *told_apply(const char *line)
{
    struct command_apply apply;
    words(line);
    if (!command_parse_apply(&command, &apply, text))
        return text;
    (void)snprintf(text, sizeof text, "'%.*s'%s %u %llu %u '%.*s'", (int)apply.text.size,
                   apply.text.size > 0 ? apply.text.data : "", apply.staged ? " staged" : "",
                   apply.share_millionths, (unsigned long long)apply.watch_ms, apply.threshold_millionths,
                   (int)apply.note.size, apply.note.size > 0 ? apply.note.data : "");
    return text;
}

static const char *told_health(const char *line)
{
    struct command_health health;
    words(line);
    if (!command_parse_health(&command, &health, text))
        return text;
    size_t size = (size_t)snprintf(text, sizeof text, "%.*s %d %u", (int)health.service.size, health.service.data,
                                   (int)health.kind, health.health_millionths);
    for (uint32_t i = 0; i < health.sample_count; i++)
        size +=
            (size_t)snprintf(text + size, sizeof text - size, " %llu", (unsigned long long)health.latency_ns[i]);
    return text;
}

static const char *told_list(const char *line)
{
    struct command_list list;
    words(line);
    if (!command_parse_list(&command, &list, text))
        return text;
    (void)snprintf(text, sizeof text, "[%.*s]%s[%.*s][%.*s]", (int)list.service.size,
                   list.service.size > 0 ? list.service.data : "", list.after ? " after " : "",
                   (int)list.after_service.size, list.after ? list.after_service.data : "", (int)list.after_id.size,
                   list.after ? list.after_id.data : "");
    return text;
}

static const char *told_throttle(const char *line)
{
    struct command_throttle throttle;
    words(line);
    bool cell = word_is(command.args[0], "cl.throttle");
    if (!(cell ? command_parse_cl_throttle : command_parse_throttle)(&command, &throttle, text))
        return text;
    (void)snprintf(text, sizeof text, "[%.*s] %lld %lld %lld %lld", (int)throttle.key.size,
                   throttle.key.size > 0 ? throttle.key.data : "", (long long)throttle.max_burst,
                   (long long)throttle.count, (long long)throttle.period_s, (long long)throttle.quantity);
    return text;
}

static void test_words(void)
{
    uint64_t value = 0;
    OK(word_decimal(bytes_of("1"), 6, 1000000, &value) && value == 1000000, "1");
    OK(word_decimal(bytes_of("0.5"), 6, 1000000, &value) && value == 500000, "0.5");
    OK(word_decimal(bytes_of(".25"), 6, 1000000, &value) && value == 250000, ".25");
    OK(word_decimal(bytes_of("1."), 6, 1000000, &value) && value == 1000000, "1.");
    OK(word_decimal(bytes_of("0.99999999999"), 6, 1000000, &value) && value == 999999, "finer digits are cut");
    OK(!word_decimal(bytes_of("1.000001"), 6, 1000000, &value), "too much");
    OK(!word_decimal(bytes_of("."), 6, 1000000, &value), "a point alone");
    OK(!word_decimal(bytes_of(""), 6, 1000000, &value), "nothing");
    OK(!word_decimal(bytes_of("1.2.3"), 6, UINT64_MAX, &value), "two points");
    OK(!word_decimal(bytes_of("-1"), 6, UINT64_MAX, &value), "a sign");
    OK(!word_decimal(bytes_of("1e3"), 6, UINT64_MAX, &value), "an exponent");
    OK(!word_decimal(bytes_of("99999999999999999999"), 6, UINT64_MAX, &value), "too long");
    int64_t number = 0;
    OK(word_signed(bytes_of("-9223372036854775808"), &number) && number == INT64_MIN, "the least number");
    OK(word_signed(bytes_of("+9223372036854775807"), &number) && number == INT64_MAX, "the largest, with a sign");
    OK(!word_signed(bytes_of("9223372036854775808"), &number), "one more");
    OK(!word_signed(bytes_of("-9223372036854775809"), &number), "one less");
    OK(!word_signed(bytes_of("-"), &number) && !word_signed(bytes_of(""), &number), "no digit");
    OK(!word_signed(bytes_of("--1"), &number) && !word_signed(bytes_of(" 1"), &number), "two signs, a blank");
}

static void test_apply(void)
{
    OK_STRING(told_apply("RULE SET x\n"), "'x' 0 0 0 ''", "a text alone is for all keys");
    OK_STRING(told_apply("RULE APPLY x CANARY 10%\n"), "'x' 100000 60000 50000 ''", "a canary, watched a minute");
    OK_STRING(told_apply("RULE APPLY x canary 2.5 watch 5m threshold 0.5% note \"why not\"\n"),
              "'x' 25000 300000 5000 'why not'", "all options");
    OK_STRING(told_apply("RULE APPLY x CANARY 100 WATCH 1500\n"), "'x' 1000000 1500 50000 ''", "milliseconds");
    OK_STRING(told_apply("RULE APPLY x CANARY 100 WATCH 1500ms\n"), "'x' 1000000 1500 50000 ''", "said so");
    OK_STRING(told_apply("RULE APPLY x CANARY 1 WATCH 168h\n"), "'x' 10000 604800000 50000 ''", "a week");
    OK_STRING(told_apply("RULE APPLY staged NOTE n\n"), "'' staged 0 0 0 'n'", "what was staged");
    OK_STRING(told_apply("RULE APPLY x CANARY\n"), "nothing after 'CANARY': expected its value", "no value");
    OK_STRING(told_apply("RULE APPLY x CANARY 0\n"),
              "CANARY is '0': expected a percentage above 0 and up to 100, e.g. 10%", "no share");
    OK_STRING(told_apply("RULE APPLY x CANARY 100.1%\n"),
              "CANARY is '100.1%': expected a percentage above 0 and up to 100, e.g. 10%", "more than all");
    OK_STRING(told_apply("RULE APPLY x CANARY 1 WATCH 169h\n"),
              "WATCH is '169h': expected milliseconds, or a time as 60s or 5m, at most a week", "too long");
    OK_STRING(told_apply("RULE APPLY x CANARY 1 WATCH s\n"),
              "WATCH is 's': expected milliseconds, or a time as 60s or 5m, at most a week", "no number");
    OK_STRING(told_apply("RULE APPLY x WATCH 60s\n"),
              "WATCH and THRESHOLD are about a canary: expected CANARY and a percentage with them", "no canary");
    OK_STRING(told_apply("RULE APPLY x PRUNE CANARY 10\n"),
              "PRUNE removes rules at once: expected it without CANARY", "a trial removes nothing");
    OK_STRING(told_apply("RULE APPLY x NOTE \"a\\nb\"\n"), "NOTE has control characters: expected one line of text",
              "a note of two lines");
    OK_STRING(told_apply("RULE APPLY x FORCE 1\n"),
              "unknown option 'FORCE': expected CANARY, WATCH, THRESHOLD, NOTE, PRUNE, DRYRUN or VERBOSE",
              "an unknown option");
}

static void test_list(void)
{
    OK_STRING(told_list("RULE LIST\n"), "[][][]", "all");
    OK_STRING(told_list("RULE LIST pay\n"), "[pay][][]", "a service's");
    OK_STRING(told_list("RULE LIST AFTER pay login\n"), "[] after [pay][login]", "what follows a rule");
    OK_STRING(told_list("RULE LIST pay after pay login\n"), "[pay] after [pay][login]", "of a service");
    OK_STRING(told_list("RULE LIST a b\n"), "too many words: expected RULE LIST [service] [AFTER service id]",
              "two services");
}

static void test_health(void)
{
    OK_STRING(told_health("HEALTH pay\n"), "pay 0 0", "asked");
    OK_STRING(told_health("HEALTH pay 0.85\n"), "pay 1 850000", "given");
    OK_STRING(told_health("HEALTH pay latency 12 0.25 3.1234567\n"), "pay 2 0 12000000 250000 3123456",
              "latencies");
    OK_STRING(told_health("HEALTH pay 1.1\n"),
              "health '1.1': expected a number from 0.0 to 1.0, or LATENCY and milliseconds", "too healthy");
    OK_STRING(told_health("HEALTH pay 1 2\n"), "too many words: expected one health, or LATENCY and milliseconds",
              "two healths");
    OK_STRING(told_health("HEALTH pay LATENCY\n"), "nothing after LATENCY: expected milliseconds, e.g. 12 or 12.5",
              "no sample");
    OK_STRING(told_health("HEALTH pay LATENCY 1 fast\n"), "latency 'fast': expected milliseconds, e.g. 12 or 12.5",
              "not a number");
}

static void test_throttle(void)
{
    OK_STRING(told_throttle("CL.THROTTLE k 15 30 60\n"), "[k] 15 30 60 1", "a quantity of 1 unless said otherwise");
    OK_STRING(told_throttle("CL.THROTTLE k 15 30 60 +5\n"), "[k] 15 30 60 5", "five");
    OK_STRING(told_throttle("CL.THROTTLE \"\" -1 -2 -3 -4\n"), "[] -1 -2 -3 -4", "any numbers, no key");
    OK_STRING(told_throttle("CL.THROTTLE k 15 x 60\n"),
              "Couldn't parse as integer: 'x', expected count_per_period as a whole number of at most 64 bits",
              "not a number");
    OK_STRING(told_throttle("CL.THROTTLE k 1 1 1 1 1\n"),
              "Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]", "too many words");
    OK_STRING(told_throttle("THROTTLE k 1 2 3\n"), "[k] 1 2 3 1", "the other one");
    OK_STRING(told_throttle("THROTTLE k 1 2 3 4.5\n"),
              "invalid quantity '4.5': expected a whole number of at most 64 bits", "not whole");
    OK_STRING(told_throttle("THROTTLE k 1 2 3 4 5\n"),
              "wrong number of arguments for 'throttle' command: expected throttle key max_burst count period "
              "[quantity]",
              "too many words");
}

int main(void)
{
    test_words();
    test_apply();
    test_list();
    test_health();
    test_throttle();
    return tap_done();
}
