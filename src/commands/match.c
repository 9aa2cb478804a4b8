/*
 * Turns a client's words into charges, and verdicts into the figures that a client reads.
 */
#include "base/number.h"
#include "commands/call.h"
#include "limit/kind.h"

#include <stdio.h>

_Static_assert((int)PRIORITY_CRITICAL == (int)RULE_PRIORITY_CRITICAL && PRIORITY_LOW == 0, "the same levels");
_Static_assert((int)COMMAND_IDS_MAX == (int)REQUEST_IDS_MAX && (int)COMMAND_COSTS_MAX == (int)REQUEST_COSTS_MAX,
               "what clients may name fits a request");

void call_fill_request(struct request *request, const struct command_query *query, uint8_t thread)
{
    request->service = query->service;
    request->endpoint = query->endpoint;
    request->tier = query->tier;
    request->priority = (uint8_t)query->priority;
    request->thread = thread;
    request->id_count = query->id_count;
    request->cost = query->cost;
    request->only_rule = query->rule;
    for (uint32_t i = 0; i < query->id_count; i++)
        request->id[i] = (struct request_id){query->id[i].dimension, query->id[i].value};
    request->any_cost = query->any_cost;
    request->named_cost[0].tokens = 1; /* of any cost */
    request->cost_count = query->cost_count;
    for (uint32_t i = 0; i < query->cost_count; i++)
        request->named_cost[i] = (struct request_cost){query->named_cost[i].name, query->named_cost[i].tokens};
}

/*
 * Fills `error`: the service or rule that a request names does not exist, or does not exist yet.
 * `of` is the service of a rule.
 */
static bool refuse_name(const struct commands *commands, const char *kind, struct bytes name, const char *of,
                        struct bytes service, char *error)
{
    const char *end = of[0] ? "'" : "";
    if (node_rules_may_lack(commands->node))
        (void)snprintf(
            error, COMMAND_ERROR_BYTES,
            "LOADING %s '%.*s'%s%.*s%s is not known here yet, and rules of peers are on their way: ask again, "
            "or another node",
            kind, call_shown(name), name.data, of, call_shown(service), service.data, end);
    else
        (void)snprintf(error, COMMAND_ERROR_BYTES, "ERR unknown %s '%.*s'%s%.*s%s: RULE LIST names them all", kind,
                       call_shown(name), name.data, of, call_shown(service), service.data, end);
    return false;
}

bool call_match(const struct commands *commands, const struct command_query *query, struct turn turn,
                struct match *match, char *error)
{
    struct request request;
    struct bytes rule, service;
    if (!ask_serves(commands, query->service, error)) {
        match->status = MATCH_UNKNOWN_SERVICE;
        return false;
    }
    call_fill_request(&request, query, commands->thread);
    (void)ruleset_match(node_rules(commands->node), &request, turn.now_ns, turn.wall_ns, match);
    rule = request.only_rule;
    service = request.service.size > 0 ? request.service : bytes_of(RULE_DEFAULT_SERVICE);
    switch (match->status) {
    case MATCH_CHARGES:
    case MATCH_DENIED:
        return true;
    case MATCH_UNKNOWN_SERVICE:
        return refuse_name(commands, "service", service, "", bytes_of(""), error);
    case MATCH_UNKNOWN_RULE:
        return refuse_name(commands, "rule", rule, " of service '", service, error);
    case MATCH_RULE_NOT_CONCERNED:
        (void)snprintf(error, COMMAND_ERROR_BYTES,
                       "ERR rule '%.*s' of service '%.*s' is not about this request: RULE GET says which endpoint, "
                       "ids and costs it counts",
                       call_shown(rule), rule.data, call_shown(service), service.data);
        return false;
    }
    return false;
}

bool ask_match(const struct commands *commands, struct question *question, struct turn turn, char *error)
{
    return call_match(commands, &question->query, turn, &question->match, error);
}

bool call_question(struct call *call, unsigned takes, struct question *question)
{
    char error[COMMAND_ERROR_BYTES];
    const struct turn turn = {.now_ns = call->now_ns, .wall_ns = call->wall_ns};
    if (!command_parse_query(call->words, takes, &question->query, error)) {
        answer_error(&call->answer, "ERR %s", error);
        return false;
    }
    question->query.any_cost = (takes & QUERY_COST) == 0;
    if (ask_match(call->commands, question, turn, error)) {
        call->work += ask_work_of_keys(question->match.count);
        return true;
    }
    answer_error(&call->answer, "%s", error);
    return false;
}

uint64_t call_window_ns(const struct commands *commands, const struct charge *charge)
{
    const struct limit *limit = node_limit(commands->node, charge->limit);
    if (charge->window_ns > 0)
        return charge->window_ns;
    if (kind_refills((enum limit_kind)limit->kind))
        return limit_refill_ns(limit, limit->capacity_units);
    return limit->period_ns > 0 ? limit->period_ns : UINT64_MAX;
}

/* ---- the figures of a verdict ---- */

enum { FIGURES_NAMED = 6 };

static void answer_named(struct answer *answer, bool allowed, const struct verdict_figures *figures)
{
    static const char *const names[] = {"limit", "remaining", "available_now", "retry_after_ms", "reset_after_ms"};
    const int64_t values[] = {figures->limit, figures->remaining, figures->available, figures->retry_after_ms,
                              figures->reset_after_ms};
    _Static_assert(1 + sizeof names / sizeof names[0] == FIGURES_NAMED, "allowed and the others");
    answer_pair_bool(answer, "allowed", allowed);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        answer_pair_integer(answer, names[i], values[i]);
    }
}

/*
 * Begins an array in RESP2, whose elements have fixed places, or a map in RESP3, which alone has room for `over` and
 * the reason.
 */
void call_answer_report(struct answer *answer, size_t more, const struct verdict_report *report)
{
    const struct verdict_figures *figures = &report->figures;
    if (answer->protocol < 3) {
        const int64_t values[] = {report->allowed, figures->limit, figures->remaining, figures->retry_after_ms,
                                  figures->reset_after_ms};
        answer_array_of(answer, VERDICT_FIELDS + more, values, sizeof values / sizeof values[0]);
    } else {
        answer_map(answer, FIGURES_NAMED + (size_t)(report->over_limit || !report->allowed) + 1 + more);
        answer_named(answer, report->allowed, figures);
        if (report->over_limit) {
            answer_pair_bool(answer, "over_limit", true);
        }
        if (!report->allowed) {
            answer_pair_text(answer, "reason", verdict_reason_name(report->reason));
        }
        answer_text(answer, "rule");
    }
    answer_bulk(answer, report->rule);
}

_Static_assert(VERDICT_FIELDS == 6, "answer_allowed answers as many");

/* noinline: keeps its frame off the way of what is simply allowed. */
__attribute__((noinline)) static void answer_any(struct answer *answer, size_t more, const struct match *match,
                                                 bool allowed, const struct verdict *verdicts)
{
    const struct verdict_report report = verdict_report_of(match, allowed, verdicts);
    call_answer_report(answer, more, &report);
}

void call_answer_verdict(struct answer *answer, size_t more, const struct match *match, bool allowed,
                         const struct verdict *verdicts)
{
    const bool is_plain = allowed && more == 0 && answer->protocol < 3 && match->passed_count == 0;
    const int decider = is_plain ? decision_of(match, true, verdicts) : -1;
    if (decider < 0 || !verdicts[decider].allowed) {
        answer_any(answer, more, match, allowed, verdicts);
        return;
    }
    answer_allowed(answer, (int64_t)verdicts[decider].limit_tokens, (int64_t)verdicts[decider].remaining_tokens,
                   call_ms(verdicts[decider].reset_after_ns), match->rule[decider].rule->id);
}

void call_answer_next(struct answer *answer, const char *name)
{
    if (answer->protocol >= 3)
        answer_text(answer, name);
}

/* ---- WAIT ---- */

/*
 * A leaky bucket admits a request that fits the bucket and drains at its rate. For an even stream,
 * a client must hold each request until the requests before it have drained. The longest time of
 * all rules counts.
 */
void call_answer_wait(struct answer *answer, const struct node *node, const struct match *match, bool allowed,
                      const struct verdict *verdicts)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < match->count && allowed; i++) {
        const struct charge *charge = &match->charge[i];
        if (!rule_has_trait(match->rule[i].version->algorithm, ALGORITHM_DRAINS) || charge->shadow)
            continue;
        const struct limit *limit = node_limit(node, charge->limit);
        uint64_t full_ns = verdicts[i].reset_after_ns;
        uint64_t own_ns = limit_refill_ns(limit, (int64_t)charge->cost * limit->units_per_token);
        uint64_t hold_ns = number_minus(full_ns, own_ns);
        longest = hold_ns > longest ? hold_ns : longest;
    }
    call_answer_next(answer, "hold_ms");
    answer_integer(answer, allowed ? call_ms(longest) : -1);
}

/* ---- VERBOSE ---- */

static void answer_rule_begin(struct answer *answer, const struct matched *matched)
{
    const struct ruled_version *version = matched->version;
    answer_map(answer, 8 + FIGURES_NAMED);
    answer_pair_bulk(answer, "rule", matched->rule->id);
    answer_pair_bulk(answer, "endpoint", version->endpoint);
    answer_pair_bulk(answer, "by", version->by);
    answer_pair_text(answer, "algorithm", rule_algorithm_name(version->algorithm));
    answer_pair_text(answer, "mode", rule_mode_name(version->mode));
    answer_pair_text(answer, "why", match_why_name((enum match_why)matched->why));
    answer_pair_bool(answer, "canary", matched->candidate);
}

void call_answer_rules(struct answer *answer, const struct match *match, const struct verdict *verdicts)
{
    call_answer_next(answer, "rules");
    answer_array(answer, verdict_rules(match));
    for (uint32_t i = 0; i < verdict_rules(match); i++) {
        const struct verdict_report report = verdict_report_of_rule(match, verdicts, i);
        answer_rule_begin(answer, verdict_rule(match, i));
        answer_named(answer, report.allowed, &report.figures);
        answer_pair_text(answer, "reason", verdict_reason_name(report.reason));
    }
}
