#include "rules/rule.h"

#include "limit/limit.h"
#include "rules/rule_text.h"
#include "tests/lib/rule_parse.h"
#include "tests/lib/tap.h"

static void terms(void)
{
    static const struct {
        const char *text;
        uint32_t scale;
        struct limit_terms expected;
    } cases[] = {
        {"rate: 100/m", 20, {LIMIT_BUCKET, 0, 100, 100, 60000000000, 100, 0}},
        {"rate: 100/m, burst: 50, overshoot: 20%", 20, {LIMIT_BUCKET, 0, 50, 100, 60000000000, 10, 0}},
        {"rate: 100/m, burst: 50, overshoot: 7", 20, {LIMIT_BUCKET, 0, 50, 100, 60000000000, 7, 0}},
        {"rate: 100/m, sync: budget", 20, {LIMIT_BUCKET, LIMIT_SPLIT, 100, 100, 60000000000, 0, 0}},
        {"rate: 100/m, persist: true", 20, {LIMIT_BUCKET, LIMIT_PERSISTENT, 100, 100, 60000000000, 100, 0}},
        {"algorithm: leaky_bucket, rate: 100/m", 10, {LIMIT_BUCKET, 0, 100, 1, 1200000000, 100, 0}},
        {"rate: 1/s", 7, {LIMIT_BUCKET, 0, 1, 7, 20000000000, 1, 0}},
        {"rate: 1/d", 1, {LIMIT_BUCKET, 0, 1, 1, 20 * 86400000000000, 1, 0}},
        {"rate: 1/300d", 1, {LIMIT_BUCKET, 0, 1, 1, 300 * 86400000000000, 1, 0}},
        {"rate: 33/300d", 7, {LIMIT_BUCKET, 0, 33, 11, 300 * 86400000000000, 33, 0}},
        {"algorithm: fixed_window, limit: 100, window: 1m", 20, {LIMIT_CELL, 0, 100, 0, 0, 100, 0}},
        {"algorithm: sliding_window, limit: 100, window: 1m, overshoot: 50%", 5, {LIMIT_CELL, 0, 25, 0, 0, 12, 0}},
        {"algorithm: sliding_window, limit: 3, window: 1m, overshoot: 0", 1, {LIMIT_CELL, 0, 1, 0, 0, 0, 0}},
        {"algorithm: quota, limit: 1000000000000, window: year, overshoot: 1000%",
         20,
         {LIMIT_CELL, LIMIT_PERSISTENT, 1000000000000, 0, 0, 1000000000000, 0}},
        {"algorithm: sliding_log, limit: 10000, window: 1m, overshoot: 200%",
         20,
         {LIMIT_LOG, 0, 10000, 0, 60000000000, 10000, 0}},
        {"algorithm: concurrency, limit: 10, window: 30s, sync: budget",
         20,
         {LIMIT_LOG, LIMIT_SPLIT, 10, 0, 30000000000, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        struct error error = {0};
        struct limit_terms got = {0};
        struct limit limit;
        (void)snprintf(text, sizeof text, "{id: a, %s}", cases[i].text);
        struct rule *rule = rule_parse(bytes_of(text), "x", &error);
        if (rule)
            rule_terms(rule, &rule->amount, cases[i].scale, &got);
        if (!OK(limit_terms_equal(&got, &cases[i].expected), "%s at %u/20", cases[i].text,
                (unsigned)cases[i].scale))
            printf("# %s kind %u flags %u capacity %" PRIu64 " rate %" PRIu64 " period %" PRIu64
                   " overshoot %" PRIu64 "\n",
                   error.text, got.kind, got.flags, got.capacity, got.rate, got.period_ns, got.overshoot);
        OK(limit_init(&limit, &got, &error), "... which a limit can have");
        rule_destroy(&rule);
    }
}

static void names(void)
{
    OK_STRING(rule_priority_name(RULE_PRIORITY_CRITICAL), "critical", "priorities have names");
    OK_STRING(rule_algorithm_name(RULE_CONCURRENCY), "concurrency", "algorithms have names");
    OK_STRING(rule_mode_name(RULE_OFF), "off", "modes have names");
    OK(rule_has_rate(RULE_LEAKY_BUCKET) && !rule_has_rate(RULE_FIXED_WINDOW), "buckets are those that refill");
}

int main(void)
{
    terms();
    names();
    return tap_done();
}
