#include "http/ask.h"

#include "commands/centrally.h"
#include "commands/patient.h"

#include <stdio.h>
#include <strings.h>

enum { PLACED_BYTES = JSON_FIELD_BYTES + 16, TRACE_BYTES = 55 };

bool http_is_type(const struct http_message *message, const char *name)
{
    const struct bytes type = http_header(message, "content-type");
    const size_t size = strlen(name);
    return type.size >= size && strncasecmp(type.data, name, size) == 0 &&
           (type.size == size || type.data[size] == ';' || type.data[size] == ' ');
}

/* What is JSON and cannot be read all the same is said as what it is. */
static void refuse_body(struct http_call *call, const json_error_t *fault)
{
    const enum json_error_code code = json_error_code(fault);
    if (code == json_error_null_character)
        http_problem(call, 400, NULL, "line %d, column %d: \\u0000 in a text: expected other characters",
                     fault->line, fault->column);
    else if (code == json_error_numeric_overflow)
        http_problem(call, 400, NULL, "line %d, column %d: a number of more than 64 bits: expected a smaller one",
                     fault->line, fault->column);
    else
        http_problem(call, 400, NULL, "the body is no JSON: line %d, column %d: %s", fault->line, fault->column,
                     fault->text);
}

bool http_body(struct http_call *call, json_t **tree)
{
    struct json_arena *arena = &call->http->arena;
    json_error_t fault;
    /* Other types a web page may have a browser send anywhere without asking. */
    if (!http_is_type(call->message, "application/json")) {
        http_problem(call, 415, "Content-Type", "expected a body of Content-Type: application/json");
        return false;
    }
    call->work += (uint32_t)(call->message->body.size / 8);
    *tree = json_arena_parse(arena, call->message->body, &fault);
    if (*tree != NULL)
        return true;
    if (arena->exhausted)
        http_problem(call, 413, NULL, "the body needs more than %d KiB of memory to be read",
                     HTTP_JSON_BYTES >> 10);
    else
        refuse_body(call, &fault);
    return false;
}

/* "[3].cost" */
static const char *placed(char text[PLACED_BYTES], const char *place, const char *field)
{
    (void)snprintf(text, PLACED_BYTES, "%s%s%s", place, place[0] && field[0] ? "." : "", field);
    return text[0] ? text : NULL;
}

bool http_read(struct http_call *call, json_t *object, unsigned takes, const char *place, struct json_query *out)
{
    char text[PLACED_BYTES];
    if (json_query_read(out, object, takes, &call->decoded))
        return true;
    http_problem(call, 400, placed(text, place, out->field), "%s", out->error);
    return false;
}

bool http_match(struct http_call *call, struct question *question, const char *place)
{
    char error[COMMAND_ERROR_BYTES], text[PLACED_BYTES];
    if (ask_match(call->http->commands, question, call->turn, error)) {
        call->work += ask_work_of_keys(question->match.count);
        return true;
    }
    const char *field = question->match.status == MATCH_UNKNOWN_SERVICE ? "service_id" : "rule";
    http_refuse_by_word(call, placed(text, place, field), error);
    return false;
}

/* Of W3C's Trace Context; anything else is none. */
static struct bytes trace_of(const void *context)
{
    static const struct bytes none = {NULL, 0};
    const struct http_call *call = context;
    const struct bytes trace = http_header(call->message, "traceparent");
    if (trace.size != TRACE_BYTES)
        return none;
    for (size_t i = 0; i < trace.size; i++)
        if (memchr("0123456789abcdef-", trace.data[i], 17) == NULL)
            return none;
    return trace;
}

struct verdict_report http_decide(struct http_call *call, struct question *question, bool take,
                                  struct decision *decision)
{
    struct commands *commands = call->http->commands;
    const struct asker asker = {.query = &question->query, .trace = trace_of, .trace_context = call};
    const bool drains = take && question->query.drain;
    uint64_t taken = 0;
    if (drains)
        ask_drain(commands, question, NULL, &asker, call->turn.now_ns, decision, &taken);
    else
        call_decide(commands, &question->match, take ? &asker : NULL, call->turn.now_ns, decision);
    call->work += command_table[COMMAND_CHECK].work;
    struct verdict_report report = verdict_report(commands, &question->match, decision->allowed, decision->verdict);
    report.drained = drains;
    report.taken = taken;
    return report;
}

bool http_at_once(struct http_call *call, const struct question *question, const char *place, const char *what)
{
    char error[COMMAND_ERROR_BYTES], text[PLACED_BYTES];
    if (centrally_spares(&question->match, what, error))
        return true;
    http_refuse(call, 400, placed(text, place, ""), error);
    return false;
}

bool http_decide_patiently(struct http_call *call, const struct command_query *query, struct match *match,
                           bool take, struct decision *decision, struct verdict_report *report)
{
    struct commands *commands = call->http->commands;
    const struct asker asker = {.query = query, .trace = trace_of, .trace_context = call};
    patient_say(match, query->patience_ms);
    call->work += command_table[COMMAND_CHECK].work;
    call->holds = !call_decide_patiently(commands, match, take ? &asker : NULL, &call->session->waiting,
                                         call->turn.now_ns, decision);
    if (!call->holds)
        *report = verdict_report(commands, match, decision->allowed, decision->verdict);
    return !call->holds;
}

void http_answer_verdict(struct http_call *call, const struct verdict_report *report)
{
    call->status = report->allowed ? 200 : 429;
    put_verdict_fields(&call->fields, report, call->settings->limit_fields);
    put_verdict(&call->body, report);
}

bool http_question(struct http_call *call, unsigned takes, struct json_query *read, struct question *question)
{
    json_t *tree;
    if (!http_body(call, &tree) || !http_read(call, tree, takes, "", read))
        return false;
    question->query = read->query;
    return http_match(call, question, "");
}
