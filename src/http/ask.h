/*
 * ask: what the paths that decide have in common: a JSON body, and the question that it asks. Internal to src/http.
 *
 * A call that returns false has answered with the problem.
 */
#ifndef HEADGATE_HTTP_ASK_H
#define HEADGATE_HTTP_ASK_H

#include "http/call.h"
#include "http/json_query.h"
#include "http/verdict.h"

/* Whether the body has that Content-Type, in small letters. */
bool http_is_type(const struct http_message *message, const char *name);
/* The tree of the body, which has to be JSON. */
bool http_body(struct http_call *call, json_t **tree);
/* Reads an object; `place` names it in a batch ("[3]") or is "". */
bool http_read(struct http_call *call, json_t *object, unsigned takes, const char *place, struct json_query *out);
/* Finds the rules of question->query. */
bool http_match(struct http_call *call, struct question *question, const char *place);
/* Decides, and counts what that cost. */
struct verdict_report http_decide(struct http_call *call, struct question *question, bool take,
                                  struct decision *decision);
/*
 * The same for the only request of a call, which may wait: for the central store, and if it takes tokens for its share.
 * False: it has to (call->holds): nothing may be done for the call.
 */
bool http_decide_patiently(struct http_call *call, const struct command_query *query, struct match *match,
                           bool take, struct decision *decision, struct verdict_report *report);
/* False, with a problem: the central store has a say in the request, and `what`, which it is part of, never waits. */
bool http_at_once(struct http_call *call, const struct question *question, const char *place, const char *what);
/* Begins the answer: its status, the fields of the head, and the object of the verdict, without its closing bracket. */
void http_answer_verdict(struct http_call *call, const struct verdict_report *report);
/* Body, object and rules of one request. `read` has what is no part of the query. */
bool http_question(struct http_call *call, unsigned takes, struct json_query *read, struct question *question);

#endif
