/*
 * GET /metrics: the figures of INFO in the text format of Prometheus. A row of a table of figures is here without a
 * line of its own. No label has an identity of a client: labels are names of rules, services, limits and peers.
 */
#include "commands/figures.h"
#include "commands/refusals.h"
#include "edge/peers/transport.h"
#include "http/call.h"
#include "http/metrics_cluster.h"
#include "http/metrics_limits.h"
#include "http/metrics_process.h"
#include "wire/command.h"

enum {
    METRICS_RULES_MAX = 200,  /* rules with series of their own; further ones share those of "(others)" */
    METRICS_END_BYTES = 1024, /* kept for "(others)" and for the last metric */
    RULES_FOR_A_WORK = 2,     /* so many are counted in the time of a unit of work */
};
#define BILLION ((uint64_t)1000000000)

static void put_tables(struct metrics_page *page, const struct figures *figures)
{
#define X(name, help) page_row(page, "", #name, help, figures->listener.name);
    LISTENER_STATS(X)
#undef X
#define X(name, help) page_row(page, "", #name, help, figures->commands.name);
    COMMANDS_STATS(X)
#undef X
#define X(name, help) page_row(page, "", #name, help, figures->node.name);
    NODE_STATS(X)
#undef X
}

static void put_more_tables(struct metrics_page *page, const struct commands *commands,
                            const struct figures *figures)
{
    struct table_stats table;
    node_table_stats(commands->node, &table);
#define X(name, help) page_row(page, "", #name, help, table.name);
    TABLE_STATS(X)
#undef X
    if (commands->transport != NULL) {
#define X(name, help) page_row(page, "transport_", #name, help, figures->transport.name);
        TRANSPORT_STATS(X)
#undef X
    }
    if (commands->central != NULL) {
#define X(name, help) page_row(page, "central_", #name, help, figures->central.name);
        CENTRAL_STATS(X)
#undef X
    }
    if (commands->store != NULL) {
        struct store_stats store;
        store_stats(commands->store, &store);
        page_gauge(page, "store_failing", "1: the last write to the store failed", store.failing, 1);
#define X(name, help) page_row(page, "store_", #name, help, store.name);
        STORE_STATS(X)
#undef X
    }
}

static void put_refusals(struct metrics_page *page, const struct commands *commands)
{
    struct refusals_stats stats;
    if (commands->observer.refusals == NULL)
        return;
    refusals_stats(commands->observer.refusals, &stats);
    page_gauge(page, "refusal_log_failing", "1: the last write to the log of refusals failed",
               stats.journal.failing, 1);
    page_row(page, "refusal_log_", "repeated", "refusals without a line: their key had one in its window",
             stats.repeated);
#define X(name, help) page_row(page, "refusal_log_", #name, help, stats.journal.name);
    JOURNAL_STATS(X)
#undef X
}

static void put_decision(struct metrics_page *page, const char *outcome, const char *reason, uint64_t count)
{
    page_begin(page);
    page_name(page, "decisions_total");
    page_label(page, 0, "outcome", bytes_of(outcome));
    page_label(page, 1, "reason", bytes_of(reason));
    page_value(page, 2, count, 1);
    (void)page_end(page);
}

static void put_decisions(struct metrics_page *page, const struct figures *figures)
{
    page_head(page, "decisions_total", "counter",
              "requests that a rule or a limit decided; those that a mode spared are allowed ones as well");
    put_decision(page, "allowed", "none", figures->node.admitted_requests);
    for (unsigned reason = VERDICT_ALLOWED + 1; reason < VERDICT_REASON_COUNT; reason++)
        put_decision(page, "refused", verdict_reason_name((enum verdict_reason)reason), figures->refused[reason]);
    put_decision(page, "would_refuse", "shadow", figures->observed.shadow);
    put_decision(page, "would_refuse", "soft", figures->observed.soft);
}

/* ---- latency ---- */

static void put_latency_line(struct metrics_page *page, const char *name, struct bytes protocol, const char *bound,
                             uint64_t value, uint64_t divisor)
{
    page_name(page, name);
    page_label(page, 0, "protocol", protocol);
    if (bound != NULL)
        page_label(page, 1, "le", bytes_of(bound));
    page_value(page, 1, value, divisor);
}

/* A histogram as Prometheus has them: each bucket counts the ones before as well. A piece for each door. */
static void put_latencies(struct metrics_page *page, const struct figures *figures)
{
    page_head(page, "request_duration_seconds", "histogram",
              "time of the turn of the loop that served the request, from its first input to its last answer");
    for (size_t door = 0; door < DOORS; door++) {
        const struct latency *latency = &figures->latency[door];
        const struct bytes protocol = bytes_of(latency_door_name((enum latency_door)door));
        uint64_t count = 0;
        page_begin(page);
        for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
            count += latency->requests[i];
            put_latency_line(page, "request_duration_seconds_bucket", protocol, latency_bound(i), count, 1);
        }
        put_latency_line(page, "request_duration_seconds_sum", protocol, NULL, latency->sum_ns, BILLION);
        put_latency_line(page, "request_duration_seconds_count", protocol, NULL, count, 1);
        (void)page_end(page);
    }
}

/* ---- rules ---- */

struct rules_page {
    struct metrics_page *page;
    const struct ruleset *rules;
    uint32_t shown;
    struct rule_counts others; /* of the rules that are not shown, */
    uint32_t other_count;      /* and how many these are */
};

/* All series of one rule: a piece. `mode` says which outcomes are there although they are 0; RULE_OFF: all. */
static bool put_rule(struct metrics_page *page, struct bytes service, struct bytes id, enum rule_mode mode,
                     const struct rule_counts *counts)
{
    static const enum rule_mode modes[] = {RULE_OFF, RULE_OFF, RULE_SHADOW, RULE_SOFT};
    static const char *const outcomes[] = {"allowed", "denied", "shadow_denied", "over_limit"};
    const uint64_t of_outcome[] = {counts->allowed, counts->denied, counts->shadow_denied, counts->over_limit};
    page_begin(page);
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++) {
        if (of_outcome[i] == 0 && modes[i] != RULE_OFF && mode != RULE_OFF && mode != modes[i])
            continue;
        page_name(page, "rule_decisions_total");
        page_label(page, 0, "service", service);
        page_label(page, 1, "rule", id);
        page_label(page, 2, "outcome", bytes_of(outcomes[i]));
        page_value(page, 3, of_outcome[i], 1);
    }
    return page_end(page);
}

static void visit_rule(void *context, const struct ruled *rule)
{
    struct rules_page *rules_page = context;
    if (ruled_is_sheet(rule))
        return;
    const struct rule_counts counts = ruled_counts(rule);
    const enum rule_mode mode = (rule->stable ? rule->stable : rule->candidate)->mode;
    if (rules_page->shown < METRICS_RULES_MAX &&
        put_rule(rules_page->page, rule->service, rule->id, mode, &counts)) {
        rules_page->shown++;
        return;
    }
    rules_page->other_count++;
    rules_page->others.allowed += counts.allowed;
    rules_page->others.denied += counts.denied;
    rules_page->others.shadow_denied += counts.shadow_denied;
    rules_page->others.over_limit += counts.over_limit;
}

static void visit_service(void *context, const struct ruled_service *service)
{
    const struct rules_page *rules_page = context;
    ruleset_visit_rules(rules_page->rules, service->name, visit_rule, context);
}

void http_metrics(struct http_call *call)
{
    struct commands *commands = call->http->commands;
    struct figures figures;
    struct ruleset_stats stats;
    struct metrics_page page = {.output = &call->body};
    const size_t room = call->body.room;
    struct rules_page rules_page = {.page = &page, .rules = node_rules(commands->node)};
    call->type = "text/plain; version=0.0.4; charset=utf-8";
    figures_gather(commands, &figures);
    ruleset_stats(rules_page.rules, &stats);
    call->work += command_table[COMMAND_INFO].work + stats.rules / RULES_FOR_A_WORK;
    call->body.room -= METRICS_END_BYTES;
    metrics_put_process(&page, commands, call->turn);
    put_tables(&page, &figures);
    put_more_tables(&page, commands, &figures);
    put_refusals(&page, commands);
    put_decisions(&page, &figures);
    put_latencies(&page, &figures);
    metrics_put_cluster(&page, commands->node, call->turn.now_ns);
    metrics_limits(&page, commands);
    page_gauge(&page, "services", "services with rules", stats.services, 1);
    page_gauge(&page, "rules", "rules in use", stats.rules, 1);
    page_gauge(&page, "rules_bytes", "memory of the rules in use", stats.bytes, 1);
    page_head(&page, "rule_decisions_total", "counter", "decisions of a rule, whatever other rules decided");
    ruleset_visit_services(rules_page.rules, visit_service, &rules_page);
    call->body.room = room;
    if (rules_page.other_count > 0)
        (void)put_rule(&page, bytes_of(METRICS_OTHERS), bytes_of(METRICS_OTHERS), RULE_OFF, &rules_page.others);
    call->body.room = room - METRICS_END_BYTES;
    metrics_bounds(&page, commands->node);
    call->body.room = room;
    page_gauge(&page, "metrics_truncated", "1: there are more metrics than this page has room for", page.truncated,
               1);
}
