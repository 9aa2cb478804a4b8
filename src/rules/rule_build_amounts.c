/*
 * Reads what a rule counts with (algorithm, rate, burst, limit, window, zone), and checks that all amounts can be
 * counted.
 */
#include "base/units.h"
#include "limit/coarse.h"
#include "limit/limit.h"
#include "rules/calendar.h"
#include "rules/rule_builder.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t limit_most(enum rule_algorithm algorithm)
{
    return rule_is_listed(algorithm) ? RULE_LOG_MAX : LIMIT_CAPACITY_MAX;
}

/* Checks the range of an amount that was parsed. */
static bool check_amount(const struct rule_builder *builder, const struct yaml_node *node, const char *field,
                         const struct rule_amount *amount)
{
    const struct rule *rule = builder->rule;
    enum rule_algorithm algorithm = rule->algorithm;
    char expected[192];
    if (amount->unlimited || (amount->limit == 0 && amount->rate == 0 && amount->period_ns == 0))
        return true;
    uint64_t least_ns = rule_has_rate(algorithm) ? 1 : RULE_WINDOW_MIN_NS;
    bool in_time =
        rule_has_calendar(algorithm) || (amount->period_ns >= least_ns && amount->period_ns <= LIMIT_PERIOD_MAX_NS);
    bool in_range = amount->limit >= 1 && amount->limit <= limit_most(algorithm) &&
                    (!rule_has_rate(algorithm) || (amount->rate >= 1 && amount->rate <= LIMIT_CAPACITY_MAX));
    if (!in_range || !in_time) {
        (void)snprintf(expected, sizeof expected, "1 to %" PRIu64 " for %s, per %s to 366d", limit_most(algorithm),
                       rule_algorithm_name(algorithm), rule_has_rate(algorithm) ? "1ns" : "100ms");
        return rule_wrong(&builder->reader, node, field, expected);
    }
    return true;
}

bool rule_read_amount(const struct rule_builder *builder, const struct yaml_node *node, const char *field,
                      struct rule_amount *amount)
{
    const struct rule *rule = builder->rule;
    if (node->kind != YAML_TEXT || !rule_amount_parse(rule->algorithm, &builder->spoken, node->text, amount))
        return rule_wrong(&builder->reader, node, field, rule_amount_expected(rule->algorithm, &builder->spoken));
    return check_amount(builder, node, field, amount);
}

static bool is_unlimited(const struct yaml_node *node)
{
    return node && node->kind == YAML_TEXT && bytes_equal(node->text, bytes_of("unlimited"));
}

/* An unlimited rule may have a window for the limits of its tiers and overrides. */
static bool has_use(const struct rule_builder *builder, enum rule_field field)
{
    return field == RULE_FIELD_WINDOW && (builder->field[RULE_FIELD_TIERS] || builder->field[RULE_FIELD_OVERRIDES]);
}

/* Refuses fields that the algorithm does not have, and fields that an unlimited rule does not have. */
static bool check_fields(const struct rule_builder *builder, bool unlimited)
{
    enum { RATE = 1 << RULE_AMOUNT_RATE, WINDOW = 1 << RULE_AMOUNT_WINDOW, CALENDAR = 1 << RULE_AMOUNT_CALENDAR };
    static const struct {
        enum rule_field field;
        unsigned forms; /* of amounts that have the field */
        bool with_unlimited;
    } amounts[] = {
        {RULE_FIELD_RATE, RATE, true},
        {RULE_FIELD_BURST, RATE, false},
        {RULE_FIELD_LIMIT, WINDOW | CALENDAR, true},
        {RULE_FIELD_WINDOW, WINDOW | CALENDAR, false},
        {RULE_FIELD_ZONE, CALENDAR, true},
    };
    static const char *const all_fields[] = {[RULE_AMOUNT_RATE] = "rate and burst",
                                             [RULE_AMOUNT_WINDOW] = "limit and window",
                                             [RULE_AMOUNT_CALENDAR] = "limit, window and zone"};
    enum rule_algorithm algorithm = builder->rule->algorithm;
    const enum rule_amount_form form = rule_amount_form(algorithm);
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
        const struct yaml_node *node = builder->field[amounts[i].field];
        if (node && (amounts[i].forms & 1U << form) == 0)
            return rule_fail(&builder->reader, node->line, "%s makes no sense with %s: expected %s",
                             rule_field_names[amounts[i].field], rule_algorithm_name(algorithm), all_fields[form]);
        if (node && unlimited && !amounts[i].with_unlimited && !has_use(builder, amounts[i].field))
            return rule_fail(&builder->reader, node->line, "%s makes no sense where all is unlimited",
                             rule_field_names[amounts[i].field]);
    }
    return true;
}

/* "0" or "0/m": nothing is admitted. */
static bool is_zero_rate(const struct yaml_node *node)
{
    uint64_t tokens, period_ns;
    return node->kind == YAML_TEXT &&
           (units_parse_count(node->text, &tokens) || units_parse_rate(node->text, &tokens, &period_ns)) &&
           tokens == 0;
}

static bool read_bucket(struct rule_builder *builder)
{
    const struct yaml_node *rate = builder->field[RULE_FIELD_RATE];
    struct rule_amount *amount = &builder->rule->amount;
    if (!rate)
        return rule_missing(builder, RULE_FIELD_RATE, "a rate such as 100/m, or unlimited");
    if (is_zero_rate(rate) && builder->field[RULE_FIELD_BURST])
        return rule_fail(&builder->reader, builder->field[RULE_FIELD_BURST]->line,
                         "burst makes no sense with a rate of 0, which admits nothing");
    if (is_zero_rate(rate))
        return true;
    if (rate->kind != YAML_TEXT || !units_parse_rate(rate->text, &amount->rate, &amount->period_ns))
        return rule_wrong(&builder->reader, rate, "rate", "a rate such as 100/m, or unlimited");
    amount->limit = amount->rate;
    return check_amount(builder, rate, "rate", amount) &&
           rule_read_count(&builder->reader, builder->field[RULE_FIELD_BURST], "burst", 1, LIMIT_CAPACITY_MAX,
                           &amount->limit);
}

static const char *window_expected(enum rule_algorithm algorithm)
{
    if (rule_has_calendar(algorithm))
        return "hour, day, week, month or year";
    return rule_has_trait(algorithm, ALGORITHM_LEASES) ? "how long a lease lasts, such as 30s"
                                                       : "a duration such as 1m";
}

/* Reads the window, or the unit of the calendar. */
static bool read_span(const struct rule_builder *builder, struct rule_amount *amount)
{
    const struct yaml_node *window = builder->field[RULE_FIELD_WINDOW];
    const enum rule_algorithm algorithm = builder->rule->algorithm;
    int unit = 0;
    if (!rule_has_calendar(algorithm))
        return rule_read_duration(&builder->reader, window, "window", RULE_WINDOW_MIN_NS, LIMIT_PERIOD_MAX_NS,
                                  &amount->period_ns);
    if (!rule_read_choice(&builder->reader, window, "window", &rule_calendars, &unit))
        return false;
    amount->unit = (enum rule_calendar)unit;
    return true;
}

static bool read_window(struct rule_builder *builder)
{
    struct rule *rule = builder->rule;
    const struct yaml_node *limit = builder->field[RULE_FIELD_LIMIT], *window = builder->field[RULE_FIELD_WINDOW];
    if (!limit)
        return rule_missing(builder, RULE_FIELD_LIMIT, "a count such as 500, or unlimited");
    uint64_t most = limit_most(rule->algorithm);
    if (rule_is_listed(rule->algorithm) && limit->kind == YAML_TEXT &&
        units_parse_count(limit->text, &rule->amount.limit) && rule->amount.limit > most)
        return rule_fail(&builder->reader, limit->line,
                         "limit is '%.*s': expected at most %" PRIu64 ", since %s remembers each request%s",
                         (int)(limit->text.size < 32 ? limit->text.size : 32), limit->text.data, most,
                         rule_algorithm_name(rule->algorithm),
                         rule_has_trait(rule->algorithm, ALGORITHM_LEASES) ? "" : " (sliding_window counts more)");
    if (!rule_read_count(&builder->reader, limit, "limit", 0, most, &rule->amount.limit))
        return false;
    if (!window)
        return rule_missing(builder, RULE_FIELD_WINDOW, window_expected(rule->algorithm));
    return read_span(builder, &rule->amount);
}

/* Nothing of an unlimited amount is kept: its tiers and overrides are, each with its own window. */
static bool read_unlimited(struct rule_builder *builder)
{
    const bool has_window = builder->field[RULE_FIELD_WINDOW] != NULL;
    builder->spoken.unlimited = !has_window;
    return !has_window || read_span(builder, &builder->spoken);
}

static bool read_own(struct rule_builder *builder)
{
    struct rule *rule = builder->rule;
    if (!(rule_has_rate(rule->algorithm) ? read_bucket(builder) : read_window(builder)))
        return false;
    builder->spoken = rule->amount;
    return true;
}

static bool read_zone(struct rule_builder *builder)
{
    static const char expected[] = "a time zone such as Europe/Berlin or UTC";
    const struct yaml_node *node = builder->field[RULE_FIELD_ZONE];
    struct bytes zone = bytes_of(RULE_DEFAULT_ZONE);
    builder->rule->zone = rule_has_calendar(builder->rule->algorithm) ? zone : bytes_of("");
    if (!node)
        return true;
    if (!rule_read_text(&builder->reader, node, "zone", RULE_ZONE_MAX_BYTES, expected, &zone))
        return false;
    if (!rule_is_name(zone, "/+") || !calendar_zone_known(zone))
        return rule_wrong(&builder->reader, node, "zone", expected);
    builder->rule->zone = rule_keep(builder, zone);
    return true;
}

static bool read_begins(struct rule_builder *builder)
{
    const struct yaml_node *node = builder->field[RULE_FIELD_BEGINS];
    struct rule *rule = builder->rule;
    int begins = RULE_BEGINS_CLOCK;
    if (node && !rule_has_trait(rule->algorithm, ALGORITHM_BEGINS))
        return rule_fail(&builder->reader, node->line, "begins makes no sense with %s: expected fixed_window",
                         rule_algorithm_name(rule->algorithm));
    if (!rule_read_choice(&builder->reader, node, "begins", &rule_begins, &begins))
        return false;
    rule->begins = (enum rule_begins)begins;
    return true;
}

bool rule_read_amounts(struct rule_builder *builder)
{
    struct rule *rule = builder->rule;
    int algorithm = RULE_DEFAULT_ALGORITHM;
    if (!rule_read_choice(&builder->reader, builder->field[RULE_FIELD_ALGORITHM], "algorithm", &rule_algorithms,
                          &algorithm))
        return false;
    rule->algorithm = (enum rule_algorithm)algorithm;
    if (rule->overrides_of.size > 0) {
        rule->amount.unlimited = builder->spoken.unlimited = true;
        rule->zone = bytes_of("");
        return true;
    }
    enum rule_field main_field = rule_has_rate(rule->algorithm) ? RULE_FIELD_RATE : RULE_FIELD_LIMIT;
    rule->amount.unlimited = is_unlimited(builder->field[main_field]);
    if (!check_fields(builder, rule->amount.unlimited) || !read_zone(builder) || !read_begins(builder))
        return false;
    return rule->amount.unlimited ? read_unlimited(builder) : read_own(builder);
}

/* ---- terms ---- */

/* Tries full scale and, for an adaptive rule, every smaller scale. */
static bool check_terms(const struct rule_builder *builder, const char *field, const char *of,
                        const struct rule_amount *amount)
{
    const struct rule *rule = builder->rule;
    uint32_t least = rule->adaptive_floor > 0 ? 1 : RULE_SCALE_ONE;
    for (uint32_t scale = RULE_SCALE_ONE; rule_amount_counts(amount) && scale >= least; scale--) {
        struct limit_terms terms;
        struct limit limit;
        struct coarse coarse;
        struct error error;
        rule_terms(rule, amount, scale, &terms);
        if (!limit_init(&limit, &terms, &error))
            return rule_fail(&builder->reader, builder->reader.node->line, "%s%.64s cannot be counted%s: %s", field,
                             of, scale < RULE_SCALE_ONE ? " when it is scaled down" : "", error.text);
        if (rule->sync == RULE_CENTRAL && rule_has_rate(rule->algorithm) && !coarse_units(&limit, &coarse))
            return rule_fail(
                &builder->reader, builder->reader.node->line,
                "%s%.64s cannot be counted by a central store%s, which has 53 bits: expected a smaller "
                "burst, or a rate with a shorter or rounder period",
                field, of, scale < RULE_SCALE_ONE ? " when it is scaled down" : "");
    }
    return true;
}

bool rule_check_terms(const struct rule_builder *builder)
{
    struct rule_amount_of of;
    for (size_t i = 0; rule_amount_at(builder->rule, i, &of); i++)
        if (!check_terms(builder, of.field, of.name, of.amount))
            return false;
    return true;
}
