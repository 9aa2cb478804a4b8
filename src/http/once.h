/*
 * once: a request with an idempotency key is charged once, and answered the same however often it comes.
 *
 * The one idea: a key stands in the member `idempotency_key`, or in the field Idempotency-Key of the head, which is the
 * same for a body of one request. The request is named by what it asks, not by its bytes. Internal to src/http.
 */
#ifndef HEADGATE_HTTP_ONCE_H
#define HEADGATE_HTTP_ONCE_H

#include "commands/replay.h"
#include "http/ask.h"

enum http_once_status {
    HTTP_ONCE_WRONG, /* the call is answered */
    HTTP_ONCE_FIRST, /* decide it, and end it */
    HTTP_ONCE_AGAIN, /* give `answer` */
};

struct http_once {
    bool has_key;
    struct replay replay;
    struct replay_answer answer;
};

#define HTTP_ONCE_EXPECTED REPLAY_KEY_EXPECTED
#define HTTP_ONCE_OTHER "this key " REPLAY_OTHER_KEY

/* The key of a body of one request, or .data NULL. False: the call is answered. */
bool http_once_key(struct http_call *call, const struct json_query *read, struct bytes *key);
/* Whose keys the call's are. */
const struct user *http_once_user(const struct http_call *call);
/* The request as a number; `operation` names the path. */
uint64_t http_once_request(const struct http_call *call, const char *operation, const struct command_query *query);
/* `key`: .data NULL: it has none, and is always the first. Nothing that waits may be done until the end. */
enum http_once_status http_once_begin(struct http_call *call, struct http_once *once, struct bytes key,
                                      uint64_t request);
/* `keeps`: what was done must not be done again: once->answer is remembered. */
void http_once_end(struct http_call *call, struct http_once *once, bool keeps);

/* What the answer says; `texts` outlives the report. */
struct verdict_report http_once_report(const struct http_once *once, struct output *texts);

#endif
