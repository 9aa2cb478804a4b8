/*
 * POST /v1/refund, /v1/reset, /v1/reserve, /v1/commit, /v1/cancel: giving back, and costs that are known only
 * afterwards.
 */
#include "http/ask.h"

static void answer_number(struct http_call *call, const char *name, uint64_t number)
{
    put_text(&call->body, "{\"");
    put_text(&call->body, name);
    put_text(&call->body, "\":");
    put_number(&call->body, number);
    put_text(&call->body, "}\n");
}

void http_refund(struct http_call *call)
{
    struct json_query read;
    struct question question;
    if (http_question(call, JSON_TAKES_IDS | JSON_TAKES_COST, &read, &question))
        answer_number(call, "refunded", ask_refund(call->http->commands, &question, call->turn.now_ns));
}

void http_reset(struct http_call *call)
{
    struct json_query read;
    struct question question;
    if (http_question(call, JSON_TAKES_IDS, &read, &question))
        answer_number(call, "reset", ask_reset(call->http->commands, &question, call->turn.now_ns));
}

void http_reserve(struct http_call *call)
{
    struct commands *commands = call->http->commands;
    struct json_query read;
    struct question question;
    struct decision decision;
    char text[RESERVATION_TEXT_BYTES], error[COMMAND_ERROR_BYTES];
    if (!http_question(call, JSON_TAKES_IDS | JSON_TAKES_COST | JSON_TAKES_TTL, &read, &question))
        return;
    if (!ask_ttl_fits(commands, question.query.ttl_ms, error)) {
        http_refuse(call, 400, "ttl_ms", error);
        return;
    }
    if (!ask_reserve(commands, &question, call->turn.now_ns, &decision, text, error)) {
        http_refuse(call, 503, NULL, error);
        return;
    }
    const struct verdict_report report =
        verdict_report(commands, &question.match, decision.allowed, decision.verdict);
    http_answer_verdict(call, &report);
    put_text(&call->body, ",\"reservation\":");
    if (report.allowed)
        put_string(&call->body, (struct bytes){text, sizeof text});
    else
        put_text(&call->body, "null");
    put_text(&call->body, "}\n");
}

/* Body and object of a request about a reservation. */
static bool read_reservation(struct http_call *call, unsigned takes, struct json_query *read)
{
    json_t *tree;
    return http_body(call, &tree) && http_read(call, tree, JSON_TAKES_RESERVATION | takes, "", read);
}

static void answer_unknown(struct http_call *call, const char *error)
{
    http_refuse(call, strncmp(error, "NORESERVATION", 13) == 0 ? 404 : 400, "reservation", error);
}

void http_commit(struct http_call *call)
{
    struct json_query read;
    uint64_t charged;
    char error[COMMAND_ERROR_BYTES];
    if (!read_reservation(call, JSON_TAKES_COST | JSON_NEEDS_COST, &read))
        return;
    if (ask_commit(call->http->commands, read.reservation, read.query.cost, call->turn.now_ns, &charged, error))
        answer_number(call, "charged", charged);
    else
        answer_unknown(call, error);
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
        answer_unknown(call, error);
}
