/*
 * The service of gRPC: gives the input of clients to grpc/.
 */
#include "worker_serving.h"

static void on_grpc_open(void *context, void *session, uint64_t id, const char *address)
{
    struct worker *worker = context;
    (void)id;
    grpc_open(worker->grpc, session, address);
}

static void on_grpc_close(void *context, void *session)
{
    struct worker *worker = context;
    worker_enter(worker); /* other threads read the count of those that wait */
    grpc_close(session);
    worker_leave(worker);
}

/* Clients whose answers go on hear what has changed. */
static void on_watches(uv_timer_t *timer)
{
    struct worker *worker = timer->data;
    listener_rouse(&worker->listener);
    if (!listener_rouses(&worker->listener))
        (void)uv_timer_stop(timer);
}

static enum serve_status on_grpc_serve(void *context, void *session, struct bytes input, struct output *output,
                                       struct serve_budget *budget, size_t *consumed)
{
    struct worker *worker = context;
    const struct turn turn = worker_begin_serving(worker, budget);
    enum serve_status status = grpc_serve(worker->grpc, session, input, output, turn, consumed);
    worker_end_serving(worker, status, turn);
    budget->work = worker_work_left(budget->work, grpc_worked(worker->grpc));
    budget->rouses = grpc_waits(session);
    if (grpc_waits_soon(worker->grpc))
        worker_resume_soon(worker);
    if (budget->rouses && !uv_is_active((uv_handle_t *)&worker->watches))
        (void)uv_timer_start(&worker->watches, on_watches, GRPC_WATCH_MS, GRPC_WATCH_MS);
    return status;
}

static bool on_grpc_rouse(void *context, void *session, struct output *output)
{
    struct worker *worker = context;
    const struct serve_budget budget = {.work = 0};
    const struct turn turn = worker_begin_serving(worker, &budget);
    bool more = grpc_rouse(worker->grpc, session, output, turn);
    worker_end_serving(worker, SERVE_MORE, turn);
    return more;
}

static bool on_grpc_knows(void *context, void *session)
{
    const struct grpc_session *client = session;
    (void)context;
    return client->known;
}

static void on_grpc_leave(void *context, void *session, struct output *output)
{
    (void)context;
    grpc_leave(session, output);
}

struct service worker_grpc_service(struct worker *worker)
{
    return (struct service){
        .context = worker,
        .session_bytes = sizeof(struct grpc_session),
        .open = on_grpc_open,
        .serve = on_grpc_serve,
        .rouse = on_grpc_rouse,
        .close = on_grpc_close,
        .knows = on_grpc_knows,
        .leave = on_grpc_leave,
        .alpn = "\x02h2",
    };
}
