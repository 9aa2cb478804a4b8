/*
 * A change of rules that a path asked for: it is answered when it is on the disk, as RULE SET is, and until then the
 * connection waits.
 */
#include "http/rule_ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

struct http_change {
    struct rules_wait wait;
    enum http_change_kind kind;
    bool dry_run, missing; /* a DELETE of a rule that is not there */
    size_t plan_size;
    char plan[]; /* of a dry run */
};

/* ---- ETags ---- */

void rule_etag(struct rule_stamp stamp, char text[ETAG_BYTES])
{
    (void)snprintf(text, ETAG_BYTES, "\"%" PRIu64 ".%016" PRIx64 "\"", stamp.lamport, stamp.author);
}

void book_etag(const struct rulebook *book, char text[ETAG_BYTES])
{
    (void)snprintf(text, ETAG_BYTES, "\"rules-%016" PRIx64 "\"", rulebook_digest(book));
}

void put_etag(struct http_call *call, const char *etag)
{
    put_text(&call->fields, "ETag: ");
    put_text(&call->fields, etag);
    put_text(&call->fields, "\r\n");
}

bool etag_is_in(struct bytes field, const char *etag, bool weak)
{
    const size_t size = strlen(etag);
    if (field.size == 1 && field.data[0] == '*')
        return true;
    for (size_t at = 0; at + size <= field.size; at++) {
        if (memcmp(field.data + at, etag, size) != 0)
            continue;
        const bool is_weak = at >= 2 && field.data[at - 1] == '/' && field.data[at - 2] == 'W';
        if (weak || !is_weak)
            return true;
    }
    return false;
}

/* ---- answers ---- */

static void answer_done(struct http_call *call, const struct http_change *change)
{
    const struct rules_wait *wait = &change->wait;
    char warning[RULES_WARNING_BYTES], etag[ETAG_BYTES];
    ask_rules_warning(call->http->commands, wait, warning);
    call->body.size = 0;
    put_count(&call->body, "{\"changed\":", wait->changed_rules);
    put_count(&call->body, ",\"created\":", wait->created_rules);
    put_count(&call->body, ",\"removed\":", wait->removed_rules);
    put_count(&call->body, ",\"unchanged\":", wait->unchanged_rules);
    put_optional(&call->body, ",\"warning\":", bytes_of(warning));
    if (change->dry_run) {
        put_text(&call->body, ",\"dry_run\":true,");
        put_bytes(&call->body, (struct bytes){change->plan, change->plan_size});
    }
    put_text(&call->body, "}\n");
    if (change->kind != HTTP_CHANGE_PUT || change->dry_run)
        return;
    call->status = wait->created_rules > 0 ? 201 : 200;
    rule_etag(wait->newest, etag);
    put_etag(call, etag);
}

static void answer_refused(struct http_call *call, const struct http_change *change, const struct error *error)
{
    if (change->wait.unmet) {
        http_problem_of(call, 412, error);
    } else if (error->exit_status == EX_TEMPFAIL || error->exit_status == EX_OSERR) {
        http_problem_of(call, 503, error);
        put_text(&call->fields, "Retry-After: 1\r\n");
    } else if (change->kind == HTTP_CHANGE_DELETE && error->exit_status != EX_NOINPUT) {
        http_problem(call, 409, NULL, "%s", error->text); /* another rule names it: no field of this one */
    } else {
        http_problem_of(call, error->exit_status == EX_NOINPUT ? 404 : 400, error);
    }
}

/* False: it is not known yet. */
static bool answer(struct http_call *call, const struct http_change *change, enum rules_status status,
                   const struct error *error)
{
    switch (status) {
    case RULES_WAIT:
        return false;
    case RULES_DONE:
        if (change->missing)
            http_problem(call, 404, NULL, "there is no such rule");
        else
            answer_done(call, change);
        break;
    case RULES_REFUSED:
        answer_refused(call, change, error);
        break;
    case RULES_NOT_KEPT:
        http_problem_of(call, 500, error);
        break;
    }
    return true;
}

/* ---- changes ---- */

/* The plan of a dry run, in the room of the answer. */
static struct bytes make_plan(struct http_call *call, const struct rule_changes *changes)
{
    struct output plan = output_over(call->body.data, PLAN_MAX_BYTES);
    if (!changes->dry_run)
        return (struct bytes){0};
    put_plan(call, &plan, changes);
    return (struct bytes){plan.data, plan.size};
}

void http_change(struct http_call *call, enum http_change_kind kind, const struct rule_changes *changes)
{
    struct commands *commands = call->http->commands;
    struct error error;
    const struct bytes plan = make_plan(call, changes);
    struct http_change *change = malloc(sizeof *change + plan.size);
    if (change == NULL) {
        http_problem(call, 503, NULL, "no memory for a change of rules");
        return;
    }
    *change = (struct http_change){.kind = kind, .dry_run = changes->dry_run, .plan_size = plan.size};
    if (plan.size > 0)
        memcpy(change->plan, plan.data, plan.size);
    call->work += command_table[COMMAND_RULE].work;
    http_alone(commands, true);
    change->missing = kind == HTTP_CHANGE_DELETE && changes->expects.condition == RULES_IF_ANY &&
                      ask_rule(commands, changes->deleted[0].service, changes->deleted[0].id) == NULL;
    const struct rule_name *deleted = changes->deleted;
    const enum rules_status status =
        !change->missing ? ask_rules(commands, changes, call->turn.now_ns, &change->wait, &error)
        : ask_knew_rule(commands, deleted->service, deleted->id)
            ? ask_rules_none(commands, &change->wait, &error) /* its end may not be kept yet */
            : RULES_DONE;
    http_alone(commands, false);
    if (answer(call, change, status, &error))
        http_change_forget(&change);
    else
        call->session->change = change;
}

bool http_change_is_over(struct http_call *call)
{
    struct http_change *change = call->session->change;
    struct error error;
    if (!answer(call, change, ask_rules_again(call->http->commands, &change->wait, &error), &error))
        return false;
    http_change_forget(&call->session->change);
    return true;
}

void http_change_forget(struct http_change **change)
{
    free(*change);
    *change = NULL;
}
