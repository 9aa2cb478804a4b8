/*
 * POST /v1/refund, /v1/reset, /v1/reserve, /v1/commit, /v1/cancel, /v1/renew: giving back, and costs that are known
 * only afterwards.
 */
#include "http/once.h"

static void answer_number(struct http_call *call, const char *name, uint64_t number)
{
    put_text(&call->body, "{\"");
    put_text(&call->body, name);
    put_text(&call->body, "\":");
    put_number(&call->body, number);
    put_text(&call->body, "}\n");
}

/* Begins what has a key; FIRST where it has none. `read` and `question` are filled. */
static enum http_once_status begin_once(struct http_call *call, const char *operation,
                                        const struct json_query *read, const struct question *question,
                                        struct http_once *once)
{
    struct bytes key;
    if (!http_once_key(call, read, &key))
        return HTTP_ONCE_WRONG;
    return http_once_begin(call, once, key,
                           key.data != NULL ? http_once_request(call, operation, &question->query) : 0);
}

void http_refund(struct http_call *call)
{
    struct json_query read;
    struct question question;
    struct http_once once;
    if (!http_question(call, JSON_TAKES_IDS | JSON_TAKES_COST | JSON_TAKES_COSTS | JSON_TAKES_KEY, &read,
                       &question) ||
        !http_at_once(call, &question, "", "a refund"))
        return;
    const enum http_once_status status = begin_once(call, "refund", &read, &question, &once);
    if (status == HTTP_ONCE_WRONG)
        return;
    if (status == HTTP_ONCE_FIRST) {
        once.answer.number = ask_refund(call->http->commands, &question, call->turn.now_ns);
        http_once_end(call, &once, once.answer.number > 0);
    }
    answer_number(call, "refunded", once.answer.number);
}

void http_reset(struct http_call *call)
{
    struct json_query read;
    struct question question;
    if (http_question(call, JSON_TAKES_IDS, &read, &question) && http_at_once(call, &question, "", "a reset"))
        answer_number(call, "reset", ask_reset(call->http->commands, &question, call->turn.now_ns));
}

static void answer_reservation(struct http_call *call, const struct verdict_report *report,
                               const struct replay_answer *answer)
{
    http_answer_verdict(call, report);
    put_optional(&call->body, ",\"reservation\":",
                 (struct bytes){answer->reservation, report->allowed ? sizeof answer->reservation : 0});
    put_text(&call->body, "}\n");
}

/* Reserves, and remembers the reservation. False: the call is answered, or has to wait. */
static bool reserve(struct http_call *call, struct question *question, struct http_once *once,
                    struct verdict_report *report)
{
    struct commands *commands = call->http->commands;
    struct decision decision;
    char error[COMMAND_ERROR_BYTES];
    const struct reserving_client client = {call->session->address, &call->session->waiting};
    const enum ask_reserved reserved = ask_reserve(commands, question, client, call->turn.now_ns, &decision,
                                                   once->answer.reservation, error);
    call->holds = reserved == ASK_RESERVE_WAITS;
    if (reserved != ASK_RESERVE_DECIDED) {
        http_once_end(call, once, false); /* the key stands for nothing yet */
        if (reserved == ASK_RESERVE_FULL)
            http_refuse(call, 503, NULL, error);
        return false;
    }
    *report = verdict_report(commands, &question->match, decision.allowed, decision.verdict);
    replay_note(&once->answer, report);
    http_once_end(call, once, report->allowed);
    return true;
}

void http_reserve(struct http_call *call)
{
    struct json_query read;
    struct question question;
    struct http_once once;
    struct verdict_report report;
    char error[COMMAND_ERROR_BYTES];
    const unsigned takes = JSON_TAKES_IDS | JSON_TAKES_COST | JSON_TAKES_COSTS | JSON_TAKES_TTL |
                           JSON_TAKES_PATIENCE | JSON_TAKES_KEY;
    if (!http_question(call, takes, &read, &question))
        return;
    if (!http_at_once(call, &question, "", "a reservation"))
        return;
    if (!ask_ttl_fits(call->http->commands, question.query.ttl_ms, error)) {
        http_refuse(call, 400, "ttl_ms", error);
        return;
    }
    switch (begin_once(call, "reserve", &read, &question, &once)) {
    case HTTP_ONCE_WRONG:
        return;
    case HTTP_ONCE_AGAIN:
        report = http_once_report(&once, &call->decoded);
        break;
    case HTTP_ONCE_FIRST:
        if (!reserve(call, &question, &once, &report))
            return;
        break;
    }
    answer_reservation(call, &report, &once.answer);
}

/* Body and object of a request about a reservation. */
static bool read_reservation(struct http_call *call, unsigned takes, struct json_query *read)
{
    json_t *tree;
    return http_body(call, &tree) && http_read(call, tree, JSON_TAKES_RESERVATION | takes, "", read);
}

static void answer_charged(struct http_call *call, const struct command_query *query, const struct used_cost *used)
{
    struct output *body = &call->body;
    put_count(body, "{\"charged\":", used[0].charged);
    for (uint32_t i = 0; i < query->cost_count; i++) {
        put_text(body, i == 0 ? ",\"costs\":{" : ",");
        put_string(body, query->named_cost[i].name);
        put_count(body, ":", used[i + 1].charged);
    }
    put_text(body, query->cost_count > 0 ? "}}\n" : "}\n");
}

void http_commit(struct http_call *call)
{
    struct json_query read;
    struct used_cost used[COMMAND_COSTS_MAX + 1];
    char error[COMMAND_ERROR_BYTES];
    if (!read_reservation(call, JSON_TAKES_COST | JSON_NEEDS_COST | JSON_TAKES_COSTS, &read))
        return;
    if (ask_commit(call->http->commands, read.reservation, &read.query, call->turn.now_ns, used, error))
        answer_charged(call, &read.query, used);
    else
        http_refuse_by_word(call, "reservation", error);
}

void http_cancel(struct http_call *call)
{
    struct json_query read;
    bool found;
    char error[COMMAND_ERROR_BYTES];
    if (!read_reservation(call, 0, &read))
        return;
    if (ask_cancel(call->http->commands, read.reservation, call->turn.now_ns, &found, error))
        put_text(&call->body, found ? "{\"cancelled\":true}\n" : "{\"cancelled\":false}\n");
    else
        http_refuse_by_word(call, "reservation", error);
}

void http_renew(struct http_call *call)
{
    struct json_query read;
    bool renewed;
    char error[COMMAND_ERROR_BYTES];
    if (!read_reservation(call, JSON_TAKES_TTL, &read))
        return;
    if (!ask_ttl_fits(call->http->commands, read.query.ttl_ms, error))
        http_refuse(call, 400, "ttl_ms", error);
    else if (ask_renew(call->http->commands, read.reservation, read.query.ttl_ms, call->turn.now_ns, &renewed,
                       error))
        put_text(&call->body, renewed ? "{\"renewed\":true}\n" : "{\"renewed\":false}\n");
    else
        http_refuse_by_word(call, "reservation", error);
}
