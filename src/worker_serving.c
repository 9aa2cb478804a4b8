/*
 * What the services of a worker call: the time at which it serves, and the timer that looks for the
 * results of changes. Stands below the services, which worker.c puts together.
 */
#include "worker_serving.h"

enum { RESUME_MS = 1 };

struct turn worker_turn(struct worker *worker)
{
    uint64_t now_ns = loop_clock_now(&worker->clock);
    return (struct turn){.now_ns = now_ns, .wall_ns = loop_clock_wall(&worker->clock)};
}

static void on_resumes(uv_timer_t *timer)
{
    struct worker *worker = timer->data;
    waiting_begin_round(&worker->commands.waiting);
    listener_resume(&worker->listener);
    listener_rouse(&worker->listener);
    const bool rouses = worker->grpc != NULL && grpc_waits_soon(worker->grpc);
    if (!listener_waits(&worker->listener) && !rouses && list_empty(&worker->listener.late))
        (void)uv_timer_stop(timer);
}

void worker_resume_soon(struct worker *worker)
{
    if (!uv_is_active((uv_handle_t *)&worker->resumes))
        (void)uv_timer_start(&worker->resumes, on_resumes, RESUME_MS, RESUME_MS);
}

void worker_resume_now(struct worker *worker)
{
    (void)uv_timer_start(&worker->resumes, on_resumes, 0, RESUME_MS);
}
