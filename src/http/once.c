#include "http/once.h"

static bool answer_key(struct http_call *call, const char *field)
{
    http_problem(call, 400, field, HTTP_ONCE_EXPECTED);
    return false;
}

/* The field is a quoted string in the draft of the IETF, and mostly bare in use. */
static struct bytes unquoted(struct bytes text)
{
    if (text.size >= 2 && text.data[0] == '"' && text.data[text.size - 1] == '"')
        return (struct bytes){text.data + 1, text.size - 2};
    return text;
}

/* Of two keys nobody knows which one the client means: another server on the way may read the other. */
static bool stands_once(const struct http_message *message, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < message->header_count; i++)
        count += http_name_is(message->header[i].name, name);
    return count <= 1;
}

bool http_once_key(struct http_call *call, const struct json_query *read, struct bytes *key)
{
    const struct bytes field = http_header(call->message, "idempotency-key"), said = unquoted(field);
    *key = read->idempotency_key;
    if (key->data != NULL && !replay_is_key(*key))
        return answer_key(call, "idempotency_key");
    if (field.data == NULL)
        return true;
    if (!replay_is_key(said) || !stands_once(call->message, "idempotency-key"))
        return answer_key(call, "Idempotency-Key");
    if (key->data != NULL && !bytes_equal(*key, said)) {
        http_problem(call, 400, "idempotency_key", "another key than in Idempotency-Key: expected one of the two");
        return false;
    }
    *key = said;
    return true;
}

const struct user *http_once_user(const struct http_call *call)
{
    const struct user *caller = call->http->commands->caller;
    return caller != NULL ? caller : &user_default;
}

uint64_t http_once_request(const struct http_call *call, const char *operation, const struct command_query *query)
{
    return replay_request(&call->http->commands->hash_key, operation, query);
}

enum http_once_status http_once_begin(struct http_call *call, struct http_once *once, struct bytes key,
                                      uint64_t request)
{
    const struct user *user = http_once_user(call);
    struct replays *replays = call->http->commands->replays;
    once->has_key = key.data != NULL && replays != NULL;
    once->answer = (struct replay_answer){.number = 0};
    if (!once->has_key)
        return HTTP_ONCE_FIRST;
    switch (replay_open(&once->replay, replays, user, key, request, call->turn.now_ns, &once->answer)) {
    case REPLAY_NEW:
        return HTTP_ONCE_FIRST;
    case REPLAY_KNOWN:
        call->http->commands->stats.replayed_answers++;
        return HTTP_ONCE_AGAIN;
    case REPLAY_OTHER:
        break;
    }
    http_problem(call, 422, "idempotency_key", HTTP_ONCE_OTHER);
    return HTTP_ONCE_WRONG;
}

void http_once_end(struct http_call *call, struct http_once *once, bool keeps)
{
    if (once->has_key && replay_close(&once->replay, keeps ? &once->answer : NULL, call->turn.now_ns))
        call->http->commands->stats.forgotten_answers++;
    once->has_key = false;
}

struct verdict_report http_once_report(const struct http_once *once, struct output *texts)
{
    struct verdict_report report = replay_report(&once->answer);
    const char *copy = texts->data + texts->size;
    output_append(texts, report.rule.data, report.rule.size);
    report.rule = (struct bytes){copy, texts->overflowed ? 0 : report.rule.size};
    return report;
}
