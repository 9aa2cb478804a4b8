/*
 * /check: what a gateway asks before it lets a request of its own client pass. The status says all; a gateway may also
 * pass the fields of the head on.
 */
#include "http/ask.h"
#include "http/words.h"

enum { PATH_BYTES = sizeof "/check" - 1 };

bool http_gateway_read(struct http_call *call, struct http_words *words)
{
    const struct bytes below = {call->path.data + PATH_BYTES, call->path.size - PATH_BYTES};
    if (below.size == 0)
        return http_words_add_query(words, call->query) &&
               http_words_add_fields(words, call->message, call->settings) && http_words_end(words);
    /* /check/what/the/client/asked: its query is the client's and says nothing here */
    return http_words_add_fields(words, call->message, call->settings) && http_words_add_endpoint(words, below) &&
           http_words_end(words);
}

/* False: the request has to wait. */
static bool answer(struct http_call *call, const struct command_query *query, struct match *match,
                   unsigned denied_status)
{
    struct decision decision;
    struct verdict_report report;
    if (!http_decide_patiently(call, query, match, true, &decision, &report))
        return false;
    http_answer_verdict(call, &report);
    if (!report.allowed && denied_status > 0)
        call->status = denied_status;
    put_text(&call->body, "}\n");
    return true;
}

/* noinline: keeps its large frame off the path of requests that are recognised. */
__attribute__((noinline)) static void answer_parsed(struct http_call *call)
{
    struct http_words words;
    struct question question;
    http_words_init(&words, &question.query, &call->http->commands->hash_key, call->settings->endpoint_spelling,
                    &call->decoded);
    if (!http_gateway_read(call, &words))
        http_problem(call, 400, words.field[0] ? words.field : NULL, "%s", words.error);
    else if (http_match(call, &question, "") && answer(call, &question.query, &question.match, words.denied_status))
        http_shapes_learn(call, &question.match);
}

void http_gateway(struct http_call *call)
{
    struct http_known *known = call->known;
    if (known == NULL) {
        answer_parsed(call);
        return;
    }
    call->work += ask_work_of_keys(known->match.match.count);
    (void)answer(call, &known->query, &known->match.match, known->denied_status);
}
