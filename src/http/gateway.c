/*
 * /check: what a gateway asks before it lets a request of its own client pass. The status says all; a gateway may also
 * pass the fields of the head on.
 */
#include "http/ask.h"
#include "http/call.h"
#include "http/verdict.h"
#include "http/words.h"

static void answer_wrong(struct http_call *call, const struct http_words *words)
{
    http_problem(call, 400, words->field[0] ? words->field : NULL, "%s", words->error);
}

static void answer(struct http_call *call, struct http_words *words)
{
    struct commands *commands = call->http->commands;
    struct question question;
    struct decision decision;
    if (!http_words_end(words)) {
        answer_wrong(call, words);
        return;
    }
    question.query = words->query;
    if (!http_match(call, &question, ""))
        return;
    call_decide(commands, &question.match, true, call->turn.now_ns, &decision);
    call->work += command_table[COMMAND_CHECK].work;
    const struct verdict_report report =
        verdict_report(commands, &question.match, decision.allowed, decision.verdict);
    call->status = report.allowed ? 200 : words->denied_status > 0 ? words->denied_status : 429;
    put_verdict(&call->body, &report);
    put_text(&call->body, "}\n");
    put_verdict_fields(&call->fields, &report, call->http->options);
}

void http_gateway(struct http_call *call)
{
    struct http_words words;
    http_words_init(&words);
    if (http_words_add_query(&words, call->query, &call->decoded) &&
        http_words_add_fields(&words, call->message, call->http->options))
        answer(call, &words);
    else
        answer_wrong(call, &words);
}

/* /check/what/the/client/asked: its query is the client's and says nothing here. */
void http_gateway_below(struct http_call *call)
{
    static const char prefix[] = "/check";
    const struct bytes path = {call->path.data + sizeof prefix - 1, call->path.size - (sizeof prefix - 1)};
    struct http_words words;
    http_words_init(&words);
    if (http_words_add_fields(&words, call->message, call->http->options) && http_words_add_endpoint(&words, path))
        answer(call, &words);
    else
        answer_wrong(call, &words);
}
