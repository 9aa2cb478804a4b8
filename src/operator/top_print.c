/*
 * Prints what happened between two looks at a daemon, as a page of lines or as one line of JSON.
 */
#include "base/units.h"
#include "operator/clock_cell.h"
#include "operator/json.h"
#include "operator/top.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 512, DURATION_BYTES = UNITS_TEXT_BYTES, SHARE_CELL_BYTES = 16 };

/* ---- figures a second ---- */

/* A daemon that was started anew counts from 0 again. */
static bool has_rates(const struct top *before, const struct top *now)
{
    return before != NULL && now->at_ms > before->at_ms && now->uptime_s >= before->uptime_s &&
           strcmp(now->node, before->node) == 0;
}

static double rate(const struct top *before, const struct top *now, uint64_t was, uint64_t is)
{
    return is >= was ? (double)(is - was) * 1000 / (double)(now->at_ms - before->at_ms) : 0;
}

static const struct top_rule *rule_before(const struct top *before, const char *name)
{
    static const struct top_rule none;
    for (uint32_t i = 0; before != NULL && i < before->rule_count; i++)
        if (strcmp(before->rule[i].name, name) == 0)
            return &before->rule[i];
    return &none;
}

struct rule_rates {
    const struct top_rule *rule;
    double allowed, denied, shadow_denied, over_limit;
};

/* Those that deny most stand first. */
static int compare(const void *left, const void *right)
{
    const struct rule_rates *a = left, *b = right;
    if (a->denied < b->denied || a->denied > b->denied)
        return a->denied < b->denied ? 1 : -1;
    if (a->allowed < b->allowed || a->allowed > b->allowed)
        return a->allowed < b->allowed ? 1 : -1;
    return strcmp(a->rule->name, b->rule->name);
}

static void rate_rules(const struct top *before, const struct top *now, struct rule_rates rates[TOP_RULES_MAX])
{
    for (uint32_t i = 0; i < now->rule_count; i++) {
        const struct top_rule *rule = &now->rule[i], *was = rule_before(before, rule->name);
        rates[i] = (struct rule_rates){.rule = rule};
        if (!has_rates(before, now))
            continue;
        rates[i].allowed = rate(before, now, was->allowed, rule->allowed);
        rates[i].denied = rate(before, now, was->denied, rule->denied);
        rates[i].shadow_denied = rate(before, now, was->shadow_denied, rule->shadow_denied);
        rates[i].over_limit = rate(before, now, was->over_limit, rule->over_limit);
    }
    qsort(rates, now->rule_count, sizeof rates[0], compare);
}

/* ---- lines ---- */

struct page {
    FILE *out;
    uint32_t rows, columns; /* rows: that are left */
    const char *end;
};

/* One line, cut to the page's width. What a daemon sends is no command to the terminal. */
__attribute__((format(printf, 2, 3))) static void line(struct page *page, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (page->rows == 0)
        return;
    page->rows--;
    for (char *at = text; *at != '\0'; at++)
        if (!isprint((unsigned char)*at))
            *at = '?';
    (void)fprintf(page->out, "%.*s%s", (int)page->columns, text, page->end);
}

static const char *duration(char out[DURATION_BYTES], uint64_t ms)
{
    return units_format_duration_short(out, DURATION_BYTES, ms * 1000000);
}

static void print_head(struct page *page, const struct top *before, const struct top *now)
{
    char up[DURATION_BYTES], memory[UNITS_TEXT_BYTES];
    line(page, "headgate %s  %s (%s)  %s, holds %.1f%%  up %s", now->version, now->node, now->region, now->state,
         now->share * 100, duration(up, now->uptime_s * 1000));
    if (has_rates(before, now))
        line(page, "admitted %.1f/s  refused %.1f/s  (%" PRIu64 " and %" PRIu64 " since the start)",
             rate(before, now, before->admitted, now->admitted), rate(before, now, before->refused, now->refused),
             now->admitted, now->refused);
    else
        line(page, "admitted %" PRIu64 "  refused %" PRIu64 " since the start", now->admitted, now->refused);
    line(page, "keys %" PRIu64 "  clients %" PRIu64 "  memory %s  worst debt %" PRIu64 " tokens", now->keys,
         now->clients, units_format_size_short(memory, sizeof memory, now->memory_bytes), now->worst_debt);
}

/* As `headgate nodes` shows it: whoever has left takes no part. */
static const char *share_cell(char text[SHARE_CELL_BYTES], const struct top_peer *peer)
{
    if (strcmp(peer->state, "left") == 0)
        return "-";
    (void)snprintf(text, SHARE_CELL_BYTES, "%.2f%%", peer->share * 100);
    return text;
}

static void print_peers(struct page *page, const struct top *now)
{
    char heard[DURATION_BYTES], clock[CLOCK_CELL_BYTES], share[SHARE_CELL_BYTES];
    line(page, "%s", "");
    line(page, "%-16s %-12s %-9s %7s %9s %5s %5s  %-9s %s", "PEER", "REGION", "STATE", "SHARE", "HEARD", "LAG",
         "LOG", "CLOCK", "CONFIG");
    for (uint32_t i = 0; i < now->peer_count; i++) {
        const struct top_peer *peer = &now->peer[i];
        clock_cell(clock, peer->clock, peer->clock_rate, (int64_t)peer->clock_jumps);
        line(page, "%-16s %-12s %-9s %7s %9s %5" PRIu64 " %5" PRIu64 "  %-9s %s", peer->name, peer->region,
             peer->forgotten ? "forgotten" : peer->state, share_cell(share, peer),
             peer->self           ? "-"
             : peer->heard_ms < 0 ? "never"
                                  : duration(heard, (uint64_t)peer->heard_ms),
             peer->lag, peer->log, clock, peer->config_differs ? "DIFFERS" : "same");
    }
}

static void print_rules(struct page *page, const struct top *before, const struct top *now)
{
    struct rule_rates rates[TOP_RULES_MAX] = {{0}};
    if (now->rule_count == 0)
        return;
    rate_rules(before, now, rates);
    line(page, "%s", "");
    line(page, "%-28s %9s %9s %9s %10s %10s", "RULE", "ALLOWED/S", "DENIED/S", "OVER/S", "ALLOWED", "DENIED");
    for (uint32_t i = 0; i < now->rule_count; i++)
        line(page, "%-28s %9.1f %9.1f %9.1f %10" PRIu64 " %10" PRIu64, rates[i].rule->name, rates[i].allowed,
             rates[i].denied, rates[i].shadow_denied + rates[i].over_limit, rates[i].rule->allowed,
             rates[i].rule->denied);
    if (now->rules_left_out > 0)
        line(page, "%" PRIu64 " more rules: headgate rules list", now->rules_left_out);
}

void top_print(FILE *out, const struct top *before, const struct top *now, uint32_t rows, uint32_t columns,
               const char *end)
{
    struct page page = {.out = out, .rows = rows, .columns = columns, .end = end};
    print_head(&page, before, now);
    print_peers(&page, now);
    print_rules(&page, before, now);
}

/* ---- JSON ---- */

static void json_peers(struct json *json, const struct top *now)
{
    json_open(json, "peers", '[');
    for (uint32_t i = 0; i < now->peer_count; i++) {
        const struct top_peer *peer = &now->peer[i];
        json_open(json, NULL, '{');
        json_string(json, "name", peer->name);
        json_string(json, "region", peer->region);
        json_string(json, "state", peer->state);
        json_bool(json, "self", peer->self);
        json_number(json, "share", peer->share);
        if (peer->heard_ms < 0)
            json_null(json, "heard_ms");
        else
            json_integer(json, "heard_ms", peer->heard_ms);
        json_count(json, "lag_batches", peer->lag);
        json_count(json, "log_batches", peer->log);
        json_string(json, "clock", peer->clock[0] != '\0' ? peer->clock : "unmeasured");
        if (peer->clock[0] != '\0')
            json_number(json, "clock_rate", peer->clock_rate);
        else
            json_null(json, "clock_rate");
        json_count(json, "clock_jumps", peer->clock_jumps);
        json_bool(json, "config_differs", peer->config_differs);
        json_bool(json, "forgotten", peer->forgotten);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_rules(struct json *json, const struct top *before, const struct top *now)
{
    struct rule_rates rates[TOP_RULES_MAX] = {{0}};
    rate_rules(before, now, rates);
    json_open(json, "rules", '[');
    for (uint32_t i = 0; i < now->rule_count; i++) {
        json_open(json, NULL, '{');
        json_string(json, "rule", rates[i].rule->name);
        json_number(json, "allowed_per_s", rates[i].allowed);
        json_number(json, "denied_per_s", rates[i].denied);
        json_number(json, "shadow_denied_per_s", rates[i].shadow_denied);
        json_number(json, "over_limit_per_s", rates[i].over_limit);
        json_count(json, "allowed", rates[i].rule->allowed);
        json_count(json, "denied", rates[i].rule->denied);
        json_count(json, "shadow_denied", rates[i].rule->shadow_denied);
        json_count(json, "over_limit", rates[i].rule->over_limit);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_count(json, "rules_left_out", now->rules_left_out);
}

void top_print_json(FILE *out, const struct top *before, const struct top *now)
{
    struct json json;
    json_begin(&json, out, '{');
    json_string(&json, "node", now->node);
    json_string(&json, "region", now->region);
    json_string(&json, "version", now->version);
    json_string(&json, "state", now->state);
    json_number(&json, "share", now->share);
    json_count(&json, "uptime_s", now->uptime_s);
    if (has_rates(before, now)) {
        json_number(&json, "admitted_per_s", rate(before, now, before->admitted, now->admitted));
        json_number(&json, "refused_per_s", rate(before, now, before->refused, now->refused));
    } else {
        json_null(&json, "admitted_per_s");
        json_null(&json, "refused_per_s");
    }
    json_count(&json, "admitted_requests", now->admitted);
    json_count(&json, "refused_requests", now->refused);
    json_count(&json, "keys", now->keys);
    json_count(&json, "clients", now->clients);
    json_count(&json, "memory_bytes", now->memory_bytes);
    json_count(&json, "worst_debt_tokens", now->worst_debt);
    json_peers(&json, now);
    json_rules(&json, before, now);
    json_close(&json, '}');
}
