/*
 * POST /v1/check and /v1/peek: one request, or a batch of them in an array.
 */
#include "http/ask.h"

#include <stdio.h>

enum { ASKS = JSON_TAKES_IDS | JSON_TAKES_COST, PLACE_BYTES = 16 };

static void answer_one(struct http_call *call, json_t *object, bool take)
{
    struct json_query read;
    struct question question;
    struct decision decision;
    if (!http_read(call, object, ASKS | JSON_TAKES_VERBOSE, "", &read))
        return;
    question.query = read.query;
    if (!http_match(call, &question, ""))
        return;
    const struct verdict_report report = http_decide(call, &question, take, &decision);
    http_answer_verdict(call, &report);
    if (read.verbose)
        put_verdict_rules(&call->body, call->http->commands, &question.match, &decision);
    put_text(&call->body, "}\n");
}

/* ---- batches ---- */

/* Reads one of a batch, and finds its rules. */
static bool question_at(struct http_call *call, json_t *batch, size_t index, struct question *question)
{
    struct json_query read;
    char place[PLACE_BYTES];
    (void)snprintf(place, sizeof place, "[%zu]", index);
    call->decoded.size = 0;
    if (!http_read(call, json_array_get(batch, index), ASKS, place, &read))
        return false;
    question->query = read.query;
    return http_match(call, question, place);
}

/* All of a batch is understood before any of it is decided: nothing is charged by a batch that is refused. */
static void answer_batch(struct http_call *call, json_t *batch, bool take)
{
    const size_t count = json_array_size(batch);
    struct question question;
    struct decision decision;
    if (count == 0 || count > HTTP_BATCH_MAX) {
        http_problem(call, 400, NULL, "a batch of %zu requests: expected 1 to %d", count, HTTP_BATCH_MAX);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (!question_at(call, batch, i, &question))
            return;
    for (size_t i = 0; i < count; i++) {
        if (!question_at(call, batch, i, &question))
            return;
        const struct verdict_report report = http_decide(call, &question, take, &decision);
        put_text(&call->body, i > 0 ? "," : "[");
        put_verdict(&call->body, &report);
        put_text(&call->body, "}");
    }
    put_text(&call->body, "]\n");
}

static void check(struct http_call *call, bool take)
{
    json_t *tree;
    if (!http_body(call, &tree))
        return;
    if (json_is_array(tree))
        answer_batch(call, tree, take);
    else
        answer_one(call, tree, take);
}

void http_check(struct http_call *call)
{
    check(call, true);
}

void http_peek(struct http_call *call)
{
    check(call, false);
}
