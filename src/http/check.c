/*
 * POST /v1/check and /v1/peek: one request, or a batch of them in an array.
 */
#include "commands/centrally.h"
#include "http/once.h"

#include <stdio.h>

enum { PLACE_BYTES = 32 };

/* A batch is decided at once, whatever its rules say. */
enum decide_way { DECIDE_PEEK, DECIDE_AT_ONCE, DECIDE_PATIENTLY };

static unsigned takes_of(bool take)
{
    return JSON_TAKES_IDS | JSON_TAKES_COST | JSON_TAKES_COSTS | (take ? JSON_TAKES_KEY | JSON_TAKES_DRAIN : 0);
}

/* Decides, at once or patiently. False: the request has to wait. */
static bool decide_now(struct http_call *call, struct question *question, enum decide_way way,
                       struct decision *decision, struct verdict_report *report)
{
    if ((way == DECIDE_PATIENTLY && !question->query.drain) || centrally_is(&question->match))
        return http_decide_patiently(call, &question->query, &question->match, way != DECIDE_PEEK, decision,
                                     report);
    *report = http_decide(call, question, way != DECIDE_PEEK, decision);
    return true;
}

/* Decides, or gives the answer that the key stands for. False: the call is answered, or has to wait. */
static bool decide(struct http_call *call, struct question *question, struct bytes key, enum decide_way way,
                   struct decision *decision, struct verdict_report *report)
{
    struct http_once once;
    const uint64_t request = key.data != NULL ? http_once_request(call, "check", &question->query) : 0;
    switch (http_once_begin(call, &once, key, request)) {
    case HTTP_ONCE_WRONG:
        return false;
    case HTTP_ONCE_AGAIN:
        *report = http_once_report(&once, &call->decoded);
        return true;
    case HTTP_ONCE_FIRST:
        break;
    }
    if (!decide_now(call, question, way, decision, report)) {
        http_once_end(call, &once, false); /* the key stands for nothing yet */
        return false;
    }
    replay_note(&once.answer, report);
    http_once_end(call, &once, report->allowed);
    return true;
}

/* A key stands for a verdict, not for what each rule said, or how much was taken. */
static bool read_key(struct http_call *call, const struct json_query *read, bool take, struct bytes *key)
{
    *key = (struct bytes){0};
    if (take && !http_once_key(call, read, key))
        return false;
    if (key->data == NULL || (!read->verbose && !read->query.drain))
        return true;
    http_problem(call, 400, read->verbose ? "verbose" : "drain",
                 "not with an idempotency key: expected one of the two");
    return false;
}

static void answer_one(struct http_call *call, json_t *object, bool take)
{
    struct json_query read;
    struct question question;
    struct decision decision;
    struct verdict_report report;
    struct bytes key;
    const unsigned takes = takes_of(take) | JSON_TAKES_VERBOSE | (take ? JSON_TAKES_PATIENCE : 0);
    if (!http_read(call, object, takes, "", &read) || !read_key(call, &read, take, &key))
        return;
    if (read.query.drain && read.query.patience_ms != COMMAND_PATIENCE_NONE) {
        http_problem(call, 400, "patience_ms", "not with drain, which waits for nothing: expected one of the two");
        return;
    }
    question.query = read.query;
    if (!http_match(call, &question, "") || (read.query.drain && !http_at_once(call, &question, "", "drain")) ||
        !decide(call, &question, key, take ? DECIDE_PATIENTLY : DECIDE_PEEK, &decision, &report))
        return;
    http_answer_verdict(call, &report);
    if (read.verbose)
        put_verdict_rules(&call->body, call->http->commands, &question.match, &decision);
    put_text(&call->body, "}\n");
}

/* ---- batches ---- */

/* The keys of a batch, as numbers. */
struct batch_keys {
    uint32_t count;
    uint64_t key[HTTP_BATCH_MAX];
};

/* Reads one of a batch, and finds its rules. `key`: .data NULL: it has none. */
static bool question_at(struct http_call *call, json_t *batch, size_t index, bool take, struct question *question,
                        struct bytes *key)
{
    struct json_query read;
    char place[PLACE_BYTES];
    (void)snprintf(place, sizeof place, "[%zu]", index);
    call->decoded.size = 0;
    if (!http_read(call, json_array_get(batch, index), takes_of(take), place, &read))
        return false;
    question->query = read.query;
    *key = read.idempotency_key;
    if (key->data != NULL && read.query.drain) {
        (void)snprintf(place, sizeof place, "[%zu].drain", index);
        http_problem(call, 400, place, "not with an idempotency key: expected one of the two");
        return false;
    }
    return http_match(call, question, place) && http_at_once(call, question, place, "a batch");
}

/* Each key of a batch stands there once, and for no other request. */
static bool check_key(struct http_call *call, struct bytes key, size_t index, const struct question *question,
                      struct batch_keys *keys)
{
    const struct commands *commands = call->http->commands;
    char field[PLACE_BYTES + 20];
    if (key.data == NULL)
        return true;
    (void)snprintf(field, sizeof field, "[%zu].idempotency_key", index);
    if (!replay_is_key(key)) {
        http_problem(call, 400, field, HTTP_ONCE_EXPECTED);
        return false;
    }
    const uint64_t number = hash_64(&commands->hash_key, key.data, key.size);
    for (uint32_t i = 0; i < keys->count; i++)
        if (keys->key[i] == number) {
            http_problem(call, 400, field,
                         "it stands in this batch twice: expected a key of its own for each request");
            return false;
        }
    keys->key[keys->count++] = number;
    if (commands->replays == NULL ||
        !replay_is_other(commands->replays, http_once_user(call), key,
                         http_once_request(call, "check", &question->query), call->turn.now_ns))
        return true;
    http_problem(call, 422, field, HTTP_ONCE_OTHER);
    return false;
}

/* All of a batch is understood before any of it is decided: nothing is charged by a batch that is refused. */
static bool check_batch(struct http_call *call, json_t *batch, size_t count, bool take)
{
    struct question question;
    struct batch_keys keys = {.count = 0};
    struct bytes key;
    if (count == 0 || count > HTTP_BATCH_MAX) {
        http_problem(call, 400, NULL, "a batch of %zu requests: expected 1 to %d", count, HTTP_BATCH_MAX);
        return false;
    }
    if (take && http_header(call->message, "idempotency-key").data != NULL) {
        http_problem(call, 400, "Idempotency-Key",
                     "one key for a batch: expected an idempotency_key in each request of it");
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (!question_at(call, batch, i, take, &question, &key) || !check_key(call, key, i, &question, &keys))
            return false;
    return true;
}

static void answer_batch(struct http_call *call, json_t *batch, bool take)
{
    const size_t count = json_array_size(batch);
    struct question question;
    struct decision decision;
    struct verdict_report report;
    struct bytes key;
    if (!check_batch(call, batch, count, take))
        return;
    for (size_t i = 0; i < count; i++) {
        if (!question_at(call, batch, i, take, &question, &key) ||
            !decide(call, &question, key, take ? DECIDE_AT_ONCE : DECIDE_PEEK, &decision, &report))
            return;
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
