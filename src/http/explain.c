/*
 * GET /v1/explain: what EXPLAIN says, as JSON: what each rule decides of a request, and from which figures.
 */
#include "commands/elsewhere.h"
#include "http/ask.h"
#include "http/words.h"

enum {
    ELSEWHERE_ROWS_MAX = 16,
    PLACES = 3, /* of tokens that are fractions */
};

/* In the words of EXPLAIN. */
static void put_says(struct output *body, enum verdict_reason reason)
{
    put_text(body, ",\"says\":\"");
    if (reason != VERDICT_ALLOWED) {
        put_text(body, "refused (");
        put_text(body, verdict_reason_name(reason));
        put_text(body, "): ");
    }
    put_text(body, verdict_reason_sentence(reason));
    put_text(body, "\"");
}

static void put_tokens(struct output *output, const char *name, double tokens)
{
    put_decimal(output, name, tokens, PLACES);
}

/* Whose tokens are where. */
static void put_key(struct http_call *call, const struct charge *charge)
{
    struct output *body = &call->body;
    struct explanation seen;
    node_explain(call->http->commands->node, charge->id, charge->limit, call->turn.now_ns, &seen);
    put_decimal(body, ",\"share\":", seen.share, 9);
    put_tokens(body, ",\"settled\":", seen.settled_tokens);
    put_tokens(body, ",\"unsettled\":", seen.unsettled_tokens);
    put_tokens(body, ",\"allowance\":", seen.allowance_tokens);
    put_count(body, ",\"granted\":", seen.voucher_tokens);
    put_tokens(body, ",\"overshoot_bound\":", seen.overshoot_bound_tokens);
    put_count(body, ",\"overshoot_declared\":", seen.overshoot_tokens);
    put_tokens(body, ",\"in_flight_bound\":", seen.in_flight_bound_tokens);
    put_tokens(body, ",\"worst_debt\":", seen.worst_debt_tokens);
    put_optional(body, ",\"last_spender\":", bytes_of(seen.last_spender));
    put_flag(body, ",\"in_use\":", seen.tracked);
}

static void put_rules(struct http_call *call, const struct match *match, const struct decision *decision)
{
    const struct commands *commands = call->http->commands;
    put_text(&call->body, ",\"rules\":[");
    for (uint32_t i = 0; i < verdict_rules(match); i++) {
        put_text(&call->body, i > 0 ? "," : "");
        put_verdict_rule(&call->body, commands, match, decision, i);
        if (i < verdict_counted(match)) {
            put_says(&call->body, decision->verdict[i].reason);
            put_key(call, &match->charge[i]);
        }
        put_text(&call->body, "}");
    }
    put_text(&call->body, "]");
}

/* ---- rules of other services, or for other endpoints ---- */

struct rows {
    struct http_call *call;
    uint32_t count;
};

static void put_row(void *context, const struct elsewhere *elsewhere)
{
    struct rows *rows = context;
    struct output *body = &rows->call->body;
    const struct verdict *verdict = &elsewhere->verdict;
    if (rows->count++ >= ELSEWHERE_ROWS_MAX)
        return;
    put_text(body, rows->count > 1 ? ",{\"service_id\":" : "{\"service_id\":");
    put_string(body, elsewhere->rule->service);
    put_word(body, ",\"rule\":", elsewhere->rule->id);
    put_text(body, ",\"endpoint\":");
    put_utf8(body, elsewhere->version->endpoint);
    put_word(body, ",\"mode\":", bytes_of(rule_mode_name(elsewhere->version->mode)));
    put_flag(body, ",\"allowed\":", !elsewhere->denied && verdict->allowed);
    const enum verdict_reason reason = elsewhere->denied ? match_denial((uint8_t)elsewhere->why) : verdict->reason;
    put_verdict_reason(body, reason);
    put_says(body, reason);
    if (elsewhere->denied) {
        put_text(body, "}");
        return;
    }
    const struct verdict_figures figures = verdict_figures(verdict);
    put_count(body, ",\"available_now\":", (uint64_t)figures.available);
    put_figure(body, ",\"retry_after_ms\":", figures.retry_after_ms);
    put_text(body, "}");
}

static void put_elsewhere(struct http_call *call, const struct question *question)
{
    struct rows rows = {.call = call};
    struct elsewhere_sum sum = {0};
    put_text(&call->body, ",\"elsewhere\":[");
    if (question->query.rule.size == 0)
        sum = ask_elsewhere(call->http->commands, question, call->turn, put_row, &rows);
    put_count(&call->body, "],\"looked_at\":{\"looked\":", sum.looked);
    put_count(&call->body, ",\"rules\":", sum.rules);
    put_count(&call->body, ",\"concerned\":", sum.concerned);
    put_count(&call->body, ",\"in_use\":", rows.count);
    put_text(&call->body, "}");
    call->work += sum.work;
}

/* ---- the path ---- */

static void explain(struct http_call *call, struct question *question)
{
    const struct commands *commands = call->http->commands;
    struct decision decision;
    if (!http_match(call, question, ""))
        return;
    call->work += command_table[COMMAND_EXPLAIN].work;
    const struct verdict_report report = http_decide(call, question, false, &decision);
    put_verdict(&call->body, &report);
    put_word(&call->body, ",\"node\":", bytes_of(commands->name));
    put_word(&call->body, ",\"region\":", bytes_of(commands->region));
    put_rules(call, &question->match, &decision);
    put_elsewhere(call, question);
    put_text(&call->body, "}\n");
}

void http_explain(struct http_call *call)
{
    struct commands *commands = call->http->commands;
    struct http_words words;
    struct question question;
    http_words_init(&words, &question.query, &commands->hash_key, call->settings->endpoint_spelling,
                    &call->decoded);
    if (!http_words_add_query(&words, call->query) || !http_words_end(&words)) {
        http_problem(call, 400, words.field[0] ? words.field : NULL, "%s", words.error);
        return;
    }
    if (words.denied_status > 0) {
        http_problem(call, 400, "denied", "an explanation denies nothing: expected no such name");
        return;
    }
    if (question.query.patience_ms != COMMAND_PATIENCE_NONE) {
        http_problem(call, 400, "patience_ms", "an explanation waits for nothing: expected no such name");
        return;
    }
    question.query.any_cost = question.query.cost_count == 0;
    http_alone(commands, true);
    explain(call, &question);
    http_alone(commands, false);
}
