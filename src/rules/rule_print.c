/*
 * Writes the canonical text of a rule: fixed order of fields, no defaults, one spelling for each
 * value, quotes only where YAML needs them.
 */
#include "limit/limit.h"
#include "rules/homes.h"
#include "rules/rule_pattern.h"
#include "rules/rule_text.h"
#include "rules/rule_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

/* The text under construction; bytes beyond the room are counted and cut. */
struct printer {
    char *out;
    size_t room, size;
    const char *indent; /* stands before every line but the first */
    bool begun;
};

static void put(struct printer *printer, const char *text, size_t size)
{
    if (printer->size < printer->room) {
        size_t left = printer->room - printer->size;
        memcpy(printer->out + printer->size, text, size < left ? size : left);
    }
    printer->size += size;
}

static void put_string(struct printer *printer, const char *text)
{
    put(printer, text, strlen(text));
}

/* Begins a line with "key: ", `depth` levels below the rule's own fields. */
static void key(struct printer *printer, unsigned depth, const char *name)
{
    if (printer->begun)
        put_string(printer, printer->indent);
    printer->begun = true;
    for (; depth > 0; depth--)
        put_string(printer, "  ");
    put_string(printer, name);
}

static void line(struct printer *printer, const char *name, const char *value)
{
    key(printer, 0, name);
    put_string(printer, ": ");
    put_string(printer, value);
    put_string(printer, "\n");
}

/* True if YAML reads the unquoted text as the same text, and no program takes it for a number, a
 * date or a boolean. */
static bool needs_no_quotes(struct bytes text)
{
    static const char *const words[] = {"y", "n", "yes", "no", "true", "false", "on", "off", "null"};
    if (text.size == 0)
        return false;
    char first = text.data[0];
    if (!(first >= 'a' && first <= 'z') && !(first >= 'A' && first <= 'Z') && first != '/')
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    (c && strchr("_-./+@=*", c));
        if (!good)
            return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (text.size == strlen(words[i]) && strncasecmp(text.data, words[i], text.size) == 0)
            return false;
    return true;
}

/* Writes two texts as one scalar: "dimension=value". */
static void scalar(struct printer *printer, struct bytes head, struct bytes tail)
{
    bool plain = needs_no_quotes(head.size > 0 ? head : tail);
    /* After a plain beginning the rest cannot make the scalar a number: only its characters matter. */
    struct bytes rest = head.size > 0 ? tail : (struct bytes){"", 0};
    for (size_t i = 0; i < rest.size && plain; i++)
        plain = needs_no_quotes((struct bytes){(char[2]){'a', rest.data[i]}, 2});
    if (!plain)
        put_string(printer, "\"");
    for (int part = 0; part < 2; part++) {
        struct bytes text = part == 0 ? head : tail;
        for (size_t i = 0; i < text.size; i++) {
            if (text.data[i] == '"' || text.data[i] == '\\')
                put_string(printer, "\\");
            put(printer, &text.data[i], 1);
        }
        if (part == 0 && head.size > 0)
            put_string(printer, "=");
    }
    if (!plain)
        put_string(printer, "\"");
}

static void name(struct printer *printer, const char *key_name, struct bytes value)
{
    key(printer, 0, key_name);
    put_string(printer, ": ");
    scalar(printer, (struct bytes){"", 0}, value);
    put_string(printer, "\n");
}

static void count_line(struct printer *printer, const char *key_name, uint64_t count)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, count);
    line(printer, key_name, text);
}

/* Writes "[a, b]" and ends the line. */
static void names(struct printer *printer, const struct bytes *texts, size_t count)
{
    put_string(printer, "[");
    for (size_t i = 0; i < count; i++) {
        put_string(printer, i > 0 ? ", " : "");
        scalar(printer, (struct bytes){"", 0}, texts[i]);
    }
    put_string(printer, "]\n");
}

static void by(struct printer *printer, const struct rule *rule)
{
    if (rule->by_count == 1 && bytes_equal(rule->by[0], bytes_of(RULE_DEFAULT_DIMENSION)))
        return;
    key(printer, 0, "by: ");
    if (rule->by_count != 1) {
        names(printer, rule->by, rule->by_count);
        return;
    }
    scalar(printer, (struct bytes){"", 0}, rule->by[0]);
    put_string(printer, "\n");
}

static void own_amount(struct printer *printer, const struct rule *rule)
{
    const struct rule_amount *own = &rule->amount;
    char text[RULE_AMOUNT_TEXT_BYTES];
    struct rule_amount without_burst = *own;
    without_burst.limit = own->rate;
    line(printer, "algorithm", rule_algorithm_name(rule->algorithm));
    if (own->unlimited)
        line(printer, rule_has_rate(rule->algorithm) ? "rate" : "limit", "unlimited");
    else if (rule_has_rate(rule->algorithm)) {
        line(printer, "rate", rule_amount_text(rule->algorithm, own, &without_burst, text, sizeof text));
        if (own->limit != own->rate)
            count_line(printer, "burst", own->limit);
    } else {
        count_line(printer, "limit", own->limit);
        line(printer, "window",
             rule_has_calendar(rule->algorithm) ? rule_calendars.name[own->unit]
                                                : rule_duration_text(own->period_ns, text, sizeof text));
    }
    if (rule->zone.size > 0 && !bytes_equal(rule->zone, bytes_of(RULE_DEFAULT_ZONE)))
        name(printer, "zone", rule->zone);
    if (rule->begins != RULE_BEGINS_CLOCK)
        line(printer, "begins", rule_begins.name[rule->begins]);
}

static void homes(struct printer *printer, struct bytes list)
{
    struct bytes home[HOMES_MAX];
    size_t count = 0;
    while (count < HOMES_MAX && home_next(&list, &home[count]))
        count++;
    key(printer, 0, "home: ");
    names(printer, home, count);
}

static void behaviour(struct printer *printer, const struct rule *rule)
{
    char text[32];
    bool by_default =
        rule->sync != RULE_GOSSIP || (rule->overshoot_relative && rule->overshoot == RULE_OVERSHOOT_DEFAULT);
    if (!by_default && rule->overshoot_relative)
        line(printer, "overshoot", rule_percent_text(rule->overshoot, text, sizeof text));
    else if (!by_default)
        count_line(printer, "overshoot", rule->overshoot);
    if (rule->sync != RULE_GOSSIP)
        line(printer, "sync", rule_syncs.name[rule->sync]);
    if (rule->on_isolation != ISOLATION_BUDGET)
        line(printer, "on_isolation", rule_isolations.name[rule->on_isolation]);
    if (rule->when_down != ISOLATION_BUDGET)
        line(printer, "when_down", rule_isolations.name[rule->when_down]);
    if (rule->patience_ns > 0)
        line(printer, "patience", rule_duration_text(rule->patience_ns, text, sizeof text));
    if (home_is_list(rule->home))
        homes(printer, rule->home);
    else if (rule->home.size > 0)
        name(printer, "home", rule->home);
    else if (rule->home_none)
        line(printer, "home", HOME_NONE);
    if (rule->mode != RULE_ENFORCE)
        line(printer, "mode", rule_mode_name(rule->mode));
}

static void weights(struct printer *printer, const struct rule *rule)
{
    if (rule->weights_count > 0)
        key(printer, 0, "weights:\n");
    for (size_t i = 0; i < rule->weights_count; i++) {
        char text[RULE_WEIGHT_TEXT_BYTES];
        key(printer, 1, "");
        scalar(printer, (struct bytes){"", 0}, rule->weights[i].region);
        put_string(printer, ": ");
        put_string(printer, rule_weight_text(rule->weights[i].billionths, text, sizeof text));
        put_string(printer, "\n");
    }
}

static void floors(struct printer *printer, const struct rule *rule)
{
    bool begun = false;
    for (int i = RULE_PRIORITY_LOW; i < RULE_PRIORITY_CRITICAL; i++) {
        char text[32];
        if (rule->priority_floor[i] == rule->priority_floor[i + 1])
            continue;
        if (!begun)
            key(printer, 0, "priority_floor:\n");
        begun = true;
        key(printer, 1, rule_priorities.name[i]);
        put_string(printer, ": ");
        put_string(printer, rule_percent_text(rule->priority_floor[i], text, sizeof text));
        put_string(printer, "\n");
    }
}

static void put_amount(struct printer *printer, const struct rule *rule, const struct rule_amount *value)
{
    char text[RULE_AMOUNT_TEXT_BYTES];
    put_string(printer, ": ");
    put_string(printer, rule_amount_text(rule->algorithm, &rule->amount, value, text, sizeof text));
    put_string(printer, "\n");
}

static void tiers(struct printer *printer, const struct rule *rule)
{
    if (rule->tier_count > 0)
        key(printer, 0, "tiers:\n");
    for (size_t i = 0; i < rule->tier_count; i++) {
        key(printer, 1, "");
        scalar(printer, (struct bytes){"", 0}, rule->tiers[i].name);
        put_amount(printer, rule, &rule->tiers[i].amount);
    }
}

/* Writes "dimension=pattern". */
static void whom(struct printer *printer, struct bytes dimension, enum rule_form form, struct bytes value)
{
    char text[PATTERN_TEXT_MAX_BYTES];
    scalar(printer, dimension, (struct bytes){text, rule_pattern_text(form, value, text)});
    put_string(printer, "\n");
}

static void overrides(struct printer *printer, const struct rule *rule)
{
    if (rule->override_count > 0)
        key(printer, 0, "overrides:\n");
    for (size_t i = 0; i < rule->override_count; i++) {
        const struct rule_override *override = &rule->overrides[i];
        char text[32];
        key(printer, 1, "- for: ");
        whom(printer, rule->by[override->dimension], override->form, override->value);
        key(printer, 2, "amount");
        put_amount(printer, rule, &override->amount);
        if (override->until_s == 0)
            continue;
        key(printer, 2, "until: ");
        put_string(printer, rule_moment_text(override->until_s, text, sizeof text));
        put_string(printer, "\n");
    }
}

static void listed(struct printer *printer, const char *field, const struct rule_listed *list, size_t count)
{
    if (count > 0)
        key(printer, 0, field);
    for (size_t i = 0; i < count; i++) {
        key(printer, 1, "- ");
        whom(printer, list[i].dimension, list[i].form, list[i].value);
    }
}

/* A dimension with one value is "dimension: value", with several "dimension: [value, value]". */
static void conditions(struct printer *printer, const struct rule *rule)
{
    const struct rule_listed *when = rule->when;
    if (rule->when_count > 0)
        key(printer, 0, "when:\n");
    for (size_t i = 0, next; i < rule->when_count; i = next) {
        for (next = i + 1; next < rule->when_count && bytes_equal(when[next].dimension, when[i].dimension);
             next++) {
        }
        key(printer, 1, "");
        scalar(printer, (struct bytes){"", 0}, when[i].dimension);
        put_string(printer, next > i + 1 ? ": [" : ": ");
        for (size_t j = i; j < next; j++) {
            char text[PATTERN_TEXT_MAX_BYTES];
            const size_t size = rule_pattern_text((enum rule_form)when[j].form, when[j].value, text);
            put_string(printer, j > i ? ", " : "");
            scalar(printer, (struct bytes){"", 0}, (struct bytes){text, size});
        }
        put_string(printer, next > i + 1 ? "]\n" : "\n");
    }
}

static void adaptive(struct printer *printer, const struct rule *rule)
{
    char text[64];
    if (rule->adaptive_floor == 0)
        return;
    key(printer, 0, "adaptive:\n");
    key(printer, 1, "floor: ");
    put_string(printer, rule_percent_text(rule->adaptive_floor, text, sizeof text));
    put_string(printer, "\n");
    if (rule->adaptive_latency_ns == 0)
        return;
    key(printer, 1, "latency: ");
    put_string(printer, rule_duration_text(rule->adaptive_latency_ns, text, sizeof text));
    put_string(printer, "\n");
}

static void put_sheet(struct printer *printer, const struct rule *rule)
{
    by(printer, rule);
    line(printer, "algorithm", rule_algorithm_name(rule->algorithm));
    name(printer, "overrides_of", rule->overrides_of);
    overrides(printer, rule);
}

static void put_rule(struct printer *printer, const struct rule *rule)
{
    printer->begun = false;
    name(printer, "id", rule->id);
    if (!bytes_equal(rule->service, bytes_of(RULE_DEFAULT_SERVICE)))
        name(printer, "service", rule->service);
    if (rule->overrides_of.size > 0) {
        put_sheet(printer, rule);
        return;
    }
    if (!bytes_equal(rule->endpoint, bytes_of(RULE_ANY_ENDPOINT)))
        name(printer, "endpoint", rule->endpoint);
    by(printer, rule);
    if (rule->counts.size > 0)
        name(printer, "counts", rule->counts);
    conditions(printer, rule);
    if (rule->replaces_count > 0) {
        key(printer, 0, "replaces: ");
        names(printer, rule->replaces, rule->replaces_count);
    }
    own_amount(printer, rule);
    behaviour(printer, rule);
    weights(printer, rule);
    floors(printer, rule);
    tiers(printer, rule);
    overrides(printer, rule);
    if (rule->overrides_file.size > 0)
        name(printer, "overrides_file", rule->overrides_file);
    listed(printer, "allow:\n", rule->allow, rule->allow_count);
    listed(printer, "deny:\n", rule->deny, rule->deny_count);
    adaptive(printer, rule);
    if (rule->persist != rule_has_trait(rule->algorithm, ALGORITHM_KEEPS))
        line(printer, "persist", rule_booleans.name[rule->persist]);
    if (rule->inherit != RULE_KEEP)
        line(printer, "inherit", rule_inherits.name[rule->inherit]);
}

static size_t finish(struct printer *printer)
{
    if (printer->room > 0)
        printer->out[printer->size < printer->room ? printer->size : printer->room - 1] = '\0';
    return printer->size;
}

size_t rule_print(const struct rule *rule, char *out, size_t room)
{
    struct printer printer = {.room = room, .indent = ""};
    printer.out = out;
    put_rule(&printer, rule);
    return finish(&printer);
}

size_t rules_print(const struct rule *const *rules, size_t count, char *out, size_t room)
{
    struct printer printer = {.room = room, .indent = "    "};
    printer.out = out;
    put_string(&printer, count > 0 ? "rules:\n" : "rules: []\n");
    for (size_t i = 0; i < count; i++) {
        put_string(&printer, "  - ");
        put_rule(&printer, rules[i]);
    }
    return finish(&printer);
}
