/*
 * The service of HTTP: gives the input of clients to http/, and feeds the clients that read
 * /v1/live.
 */
#include "http/live.h"
#include "worker_serving.h"

static void on_http_open(void *context, void *session, uint64_t id, const char *address)
{
    (void)context, (void)id;
    http_open(session, address);
}

static void on_http_close(void *context, void *session)
{
    struct worker *worker = context;
    worker_enter(worker); /* other threads read the counts of readers and of those that wait */
    http_close(worker->http, session);
    worker_leave(worker);
}

static bool on_http_feed(void *context, void *session, struct output *output)
{
    struct worker *worker = context;
    worker_enter(worker);
    const bool goes_on = http_feed(worker->http, session, output);
    worker_leave(worker);
    return goes_on;
}

/* Clients that read /v1/live get the next event. */
static void on_feeds(uv_timer_t *timer)
{
    struct worker *worker = timer->data;
    if (!listener_feeds(&worker->listener)) {
        (void)uv_timer_stop(timer);
        return;
    }
    worker_enter(worker);
    http_make_event(worker->http, worker_turn(worker));
    worker_leave(worker);
    listener_feed(&worker->listener);
}

static enum serve_status on_http_serve(void *context, void *session, struct bytes input, struct output *output,
                                       struct serve_budget *budget, size_t *consumed)
{
    struct worker *worker = context;
    const struct turn turn = worker_begin_serving(worker, budget);
    enum serve_status status = http_serve(worker->http, session, input, output, turn, consumed);
    worker_end_serving(worker, status, turn);
    budget->work = worker_work_left(budget->work, http_worked(worker->http));
    if (status == SERVE_DELAY)
        budget->delay_ms = http_delay_ms(session);
    if (status == SERVE_FEED && !uv_is_active((uv_handle_t *)&worker->feeds))
        (void)uv_timer_start(&worker->feeds, on_feeds, HTTP_LIVE_STEP_MS, HTTP_LIVE_STEP_MS);
    if (status == SERVE_WAIT)
        worker_resume_soon(worker);
    return status;
}

static bool on_http_resume(void *context, void *session, struct output *output)
{
    struct worker *worker = context;
    worker_enter(worker);
    bool known = http_resume(worker->http, session, output, worker_turn(worker));
    worker_leave(worker);
    return known;
}

static bool on_http_ends(void *context, void *session)
{
    (void)context;
    return http_ends(session);
}

static bool on_http_knows(void *context, void *session)
{
    const struct http_session *client = session;
    (void)context;
    return client->known;
}

struct service worker_http_service(struct worker *worker)
{
    return (struct service){
        .context = worker,
        .session_bytes = sizeof(struct http_session),
        .open = on_http_open,
        .serve = on_http_serve,
        .resume = on_http_resume,
        .ends = on_http_ends,
        .feed = on_http_feed,
        .close = on_http_close,
        .knows = on_http_knows,
        .alpn = "\x08http/1.1",
        .too_many = http_too_many,
        .unfinished = http_unfinished,
    };
}
