#include "http/http.h"

#include "commands/patient.h"
#include "http/call.h"
#include "http/live.h"
#include "http/query.h"

#include <assert.h>

#define END "Connection: close\r\nContent-Length: 0\r\n\r\n"
const char http_too_many[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n" END;
const char http_unfinished[] = "HTTP/1.1 408 Request Timeout\r\n" END;

/* Units of work, see src/wire/command.h. */
enum {
    REQUEST_WORK = 10, /* besides what its path costs */
    INPUT_WORK_BYTES = 64,
    OUTPUT_WORK_BYTES = 64,
};

void http_open(struct http_session *session, const char *address)
{
    const size_t size = strnlen(address, sizeof session->address - 1);
    memcpy(session->address, address, size);
    session->address[size] = '\0';
}

/* The request of the session waits for its share no more. */
static void end_wait(struct http *http, struct http_session *session)
{
    patient_leave(http->commands, &session->waiting);
    http_options_leave(&http->options, &session->kept);
}

void http_close(struct http *http, struct http_session *session)
{
    http_end_live(session, http->commands);
    end_wait(http, session);
    http_change_forget(&session->change);
}

uint32_t http_worked(const struct http *http)
{
    return http->worked;
}

uint32_t http_delay_ms(const struct http_session *session)
{
    if (session->waits_check)
        return SESSION_CHECK_MS;
    assert(session->refused > 0 && session->refused < SESSION_REFUSED_MAX);
    return (uint32_t)SESSION_DELAY_MS << (session->refused - 1);
}

/* ---- one request ---- */

static void begin(struct http_call *call, struct http *http, struct http_session *session, struct turn turn)
{
    call->http = http;
    call->settings = http_options_of(&http->options, &session->kept);
    call->session = session;
    call->message = &http->message;
    call->turn = turn;
    call->known = NULL;
    call->frame = call->path = call->query = (struct bytes){0};
    call->status = 200;
    call->type = "application/json";
    call->decoded = output_over(http->decoded, sizeof http->decoded);
    call->fields = output_over(call->fields_room, sizeof call->fields_room);
    call->body = output_over(http->body, HTTP_ANSWER_BYTES);
    call->last = true;
    call->closes = call->delays = call->feeds = call->endless = call->holds = false;
    call->work = 0;
}

static void answer_method(struct http_call *call, const struct http_route *route)
{
    static const struct {
        unsigned method;
        const char *name;
    } names[] = {{HTTP_METHOD_GET, "GET"},
                 {HTTP_METHOD_HEAD, "HEAD"},
                 {HTTP_METHOD_POST, "POST"},
                 {HTTP_METHOD_PUT, "PUT"},
                 {HTTP_METHOD_DELETE, "DELETE"}};
    const char *between = "Allow: ";
    http_problem(call, 405, NULL, "this path has other methods: see Allow");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((route->methods & names[i].method) == 0)
            continue;
        put_text(&call->fields, between);
        put_text(&call->fields, names[i].name);
        between = ", ";
    }
    put_text(&call->fields, "\r\n");
}

static void answer(struct http_call *call, const struct http_route *route)
{
    call->closes = !call->message->keep_alive || (call->http->leaves && call->last);
    if (route == NULL)
        http_problem(call, 404, NULL, "there is no such path");
    else if ((route->methods & call->message->method) == 0)
        answer_method(call, route);
    else if ((route->flags & HTTP_ROUTE_OPEN) != 0 || http_admit(call, route))
        route->answer(call);
}

static void count(struct http_call *call)
{
    struct commands_stats *stats = &call->http->commands->stats;
    stats->http_requests++;
    stats->http_errors += call->status >= 400 && call->status != 429;
}

/* The answer waits; other requests of the connection wait behind it. */
static void put_off(struct http_call *call)
{
    struct http_session *session = call->session;
    session->waits_last = !call->message->keep_alive || call->http->leaves;
    session->waits_head = call->message->method == HTTP_METHOD_HEAD;
}

bool http_resume(struct http *http, struct http_session *session, struct output *output, struct turn turn)
{
    struct http_call call;
    if (session->waits_check) {
        session->waits_check = false;
        return true;
    }
    if (session->waiting > 0)
        return patient_is_due(http->commands, session->waiting, turn.now_ns); /* it is served again */
    begin(&call, http, session, turn);
    http->message.method = session->waits_head ? HTTP_METHOD_HEAD : HTTP_METHOD_OTHER;
    http->message.is_1_0 = false;
    if (session->change == NULL)
        http_problem(&call, 401, "Authorization", "the password is wrong");
    else if (http_change_is_over(&call))
        count(&call);
    else
        return false;
    session->waits_last |= http->leaves;
    call.closes = session->waits_last;
    http_write(&call, output);
    return true;
}

bool http_ends(const struct http_session *session)
{
    return session->waits_last;
}

static void answer_fault(struct http *http, struct http_session *session, const struct http_fault *fault,
                         struct output *output, struct turn turn)
{
    struct http_call call;
    begin(&call, http, session, turn);
    http->message.method = HTTP_METHOD_OTHER;
    http->message.is_1_0 = false;
    call.closes = true;
    http_problem(&call, fault->status, NULL, "%s", fault->text);
    count(&call);
    http->commands->stats.protocol_errors++;
    http_write(&call, output);
}

/* ---- the requests of one input ---- */

/* What is served of one input. */
struct serving {
    struct http *http;
    struct http_session *session;
    struct output *output;
    struct turn turn;
    size_t begun; /* of the output */
    uint32_t work;
    bool last;            /* there is no input behind the message */
    uint64_t walks_begun; /* of ask_begin_walks */
};

static uint32_t work_done(const struct serving *serving)
{
    return serving->work + ask_work_of_walks(serving->walks_begun) +
           (uint32_t)((serving->output->size - serving->begun) / OUTPUT_WORK_BYTES);
}

/*
 * The message that was framed in these bytes, or recognised there. SERVE_AGAIN, or the session waits for a check or its
 * share: it was not served.
 */
static enum serve_status serve_message(struct serving *serving, struct bytes frame, struct http_known *known)
{
    struct http *http = serving->http;
    struct http_call call;
    begin(&call, http, serving->session, serving->turn);
    call.frame = frame;
    call.last = serving->last;
    call.known = known;
    if (known == NULL)
        http_query_split(call.message->target, &call.path, &call.query);
    else
        call.path = bytes_of("/check");
    const struct http_route *route = http_route(call.path);
    if (route != NULL && (route->flags & HTTP_ROUTE_LONG) != 0) {
        if (serving->output->size > serving->begun)
            return SERVE_AGAIN;
        call.body.room = HTTP_LONG_BYTES;
    }
    answer(&call, route);
    serving->work += REQUEST_WORK + (uint32_t)(frame.size / INPUT_WORK_BYTES) + call.work;
    if (call.session->waits_check)
        return SERVE_DELAY;
    if (call.holds) {
        http_options_keep(&http->options, &serving->session->kept);
        return SERVE_WAIT;
    }
    end_wait(http, serving->session); /* perhaps it was answered without being decided */
    if (call.session->change != NULL) {
        put_off(&call);
        return SERVE_WAIT;
    }
    count(&call);
    if (call.delays) {
        put_off(&call);
        return SERVE_DELAY;
    }
    http_write(&call, serving->output);
    if (call.feeds)
        return SERVE_FEED;
    return call.closes ? SERVE_CLOSE : SERVE_MORE;
}

/* The request at the front of `input`; *size: its bytes, if it was served. */
static enum serve_status serve_front(struct serving *serving, struct bytes input, size_t *size)
{
    struct http *http = serving->http;
    struct http_fault fault;
    const uint32_t parsed_before = serving->session->framer.parsed_bytes;
    size_t whole = 0;
    enum serve_status status;
    *size = 0;
    struct http_known *known = http_shapes_find(http, serving->session, input, &whole);
    switch (known != NULL ? HTTP_WHOLE
                          : http_frame(&serving->session->framer, input, &http->message, &whole, &fault)) {
    case HTTP_WHOLE:
        serving->last = whole == input.size;
        status = serve_message(serving, (struct bytes){input.data, whole}, known);
        *size = status == SERVE_AGAIN || serving->session->waits_check || serving->session->waiting > 0 ? 0 : whole;
        return status;
    case HTTP_CONTINUE:
        put_text(serving->output, "HTTP/1.1 100 Continue\r\n\r\n");
        break;
    case HTTP_MORE:
        break;
    case HTTP_FAULT:
        answer_fault(http, serving->session, &fault, serving->output, serving->turn);
        return SERVE_CLOSE;
    }
    serving->work += REQUEST_WORK + (uint32_t)((input.size - parsed_before) / INPUT_WORK_BYTES);
    return SERVE_MORE;
}

enum serve_status http_serve(struct http *http, struct http_session *session, struct bytes input,
                             struct output *output, struct turn turn, size_t *consumed)
{
    struct serving serving = {.http = http,
                              .session = session,
                              .output = output,
                              .turn = turn,
                              .begun = output->size,
                              .walks_begun = ask_begin_walks()};
    enum serve_status status = session->waits_last ? SERVE_CLOSE : SERVE_MORE;
    *consumed = 0;
    while (status == SERVE_MORE && *consumed < input.size) {
        size_t size;
        if (turn.work_max > 0 && work_done(&serving) >= turn.work_max)
            status = SERVE_ENOUGH;
        else if (output->room - output->size < (size_t)HTTP_HEAD_BYTES + HTTP_ANSWER_BYTES)
            status = SERVE_AGAIN;
        if (status != SERVE_MORE)
            break;
        status = serve_front(&serving, (struct bytes){input.data + *consumed, input.size - *consumed}, &size);
        *consumed += size;
        if (status == SERVE_MORE && size == 0)
            break; /* the rest is no whole request */
    }
    http->worked = work_done(&serving);
    return status;
}
