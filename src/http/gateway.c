/*
 * /check: what a gateway asks before it lets a request of its own client pass. The status says all; a gateway may also
 * pass the fields of the head on.
 */
#include "http/ask.h"
#include "http/words.h"

static void answer_wrong(struct http_call *call, const struct http_words *words)
{
    http_problem(call, 400, words->field[0] ? words->field : NULL, "%s", words->error);
}

static void answer(struct http_call *call, struct http_words *words, struct question *question)
{
    struct decision decision;
    if (!http_words_end(words)) {
        answer_wrong(call, words);
        return;
    }
    if (!http_match(call, question, ""))
        return;
    struct verdict_report report;
    if (!http_decide_patiently(call, question, true, &decision, &report))
        return;
    http_answer_verdict(call, &report);
    if (!report.allowed && words->denied_status > 0)
        call->status = words->denied_status;
    put_text(&call->body, "}\n");
}

void http_gateway(struct http_call *call)
{
    struct http_words words;
    struct question question;
    http_words_init(&words, &question.query);
    if (http_words_add_query(&words, call->query, &call->decoded) &&
        http_words_add_fields(&words, call->message, call->settings))
        answer(call, &words, &question);
    else
        answer_wrong(call, &words);
}

/* /check/what/the/client/asked: its query is the client's and says nothing here. */
void http_gateway_below(struct http_call *call)
{
    static const char prefix[] = "/check";
    const struct bytes path = {call->path.data + sizeof prefix - 1, call->path.size - (sizeof prefix - 1)};
    struct http_words words;
    struct question question;
    http_words_init(&words, &question.query);
    if (http_words_add_fields(&words, call->message, call->settings) && http_words_add_endpoint(&words, path))
        answer(call, &words, &question);
    else
        answer_wrong(call, &words);
}
