/*
 * The service of RESP: gives the input of clients to the commands. Requests that the commands put
 * off are answered when the loop has polled (worker.c).
 */
#include "worker_serving.h"

static void on_open(void *context, void *session, uint64_t id, const char *address)
{
    struct worker *worker = context;
    session_open(session, &worker->commands, id, address);
}

static void on_close(void *context, void *session)
{
    struct worker *worker = context;
    worker_enter(worker); /* other threads read the count of those that wait */
    session_close(session, &worker->commands);
    worker_leave(worker);
}

static bool on_resume(void *context, void *session, struct output *output)
{
    struct worker *worker = context;
    worker_enter(worker);
    bool known = commands_holds(session) ? commands_is_due(&worker->commands, session, worker_turn(worker))
                                         : commands_resume(&worker->commands, session, output);
    worker_leave(worker);
    return known;
}

static bool on_knows(void *context, void *session)
{
    (void)context;
    return session_is_known(session);
}

static enum serve_status on_serve(void *context, void *session, struct bytes input, struct output *output,
                                  struct serve_budget *budget, size_t *consumed)
{
    struct worker *worker = context;
    const struct turn turn = worker_begin_serving(worker, budget);
    enum serve_status status = commands_serve(&worker->commands, session, input, output, turn, consumed);
    worker_end_serving(worker, status, turn);
    budget->work = worker_work_left(budget->work, worker->commands.worked);
    if (status == SERVE_DELAY)
        budget->delay_ms = session_delay_ms(session);
    if (status == SERVE_WAIT)
        worker_resume_soon(worker);
    return status;
}

static void on_answer(void *context, void *session, struct output *output)
{
    struct worker *worker = context;
    commands_answer(&worker->commands, session, output, worker_turn(worker));
    worker->has_decided = true;
    worker_leave(worker);
}

struct service worker_resp_service(struct worker *worker)
{
    return (struct service){
        .context = worker,
        .session_bytes = sizeof(union worker_session),
        .open = on_open,
        .serve = on_serve,
        .answer = on_answer,
        .resume = on_resume,
        .knows = on_knows,
        .close = on_close,
        .too_many = "-ERR max number of clients reached\r\n",
        .unfinished = "-ERR the request is not whole after clients.request_timeout\r\n",
        .no_password = "-NOAUTH no password came within clients.auth_timeout\r\n",
    };
}
