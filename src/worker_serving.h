/*
 * worker_serving: what the services of a worker share, one service for each protocol.
 *
 * The one idea: a service serves the input of one client inside the gate, between
 * worker_begin_serving and worker_end_serving; both are in line, since they surround every input. A
 * file worker_<protocol>.c has the service of one protocol. This file knows no protocol. Internal to
 * the worker.
 */
#ifndef HEADGATE_WORKER_SERVING_H
#define HEADGATE_WORKER_SERVING_H

#include "worker.h"

/* Each connection has room for the session of any protocol. */
union worker_session {
    struct session resp;
    struct http_session http;
    struct grpc_session grpc;
};

/* The services: of commands/, of http/, and of grpc/. `context` of each is the worker. */
struct service worker_resp_service(struct worker *worker);
struct service worker_http_service(struct worker *worker);
struct service worker_grpc_service(struct worker *worker);

/* Goes inside the gate, unless the worker is inside or alone. */
static inline void worker_enter(struct worker *worker)
{
    if (worker->gate == NULL || worker->inside || worker->alone > 0)
        return;
    gate_enter(worker->gate, worker->thread);
    worker->inside = true;
}

/*
 * Leaves the gate, unless requests are being served. Late requests were prepared under the present
 * rules, so the worker stays inside until they are decided.
 */
static inline void worker_leave(struct worker *worker)
{
    if (!worker->inside || worker->serving || commands_have_late(&worker->commands))
        return;
    gate_leave(worker->gate, worker->thread);
    worker->inside = false;
}

/* The part of the budget that is left. */
static inline uint32_t worker_work_left(uint32_t budget, uint32_t worked)
{
    return worked < budget ? budget - worked : 0;
}

/* Enters the gate. Requests are served at the time that it returns. */
static inline struct turn worker_begin_serving(struct worker *worker, const struct serve_budget *budget)
{
    struct turn turn = worker_turn(worker);
    turn.work_max = budget->work > 0 ? budget->work : 1;
    if (!atomic_load_explicit(&worker->asked, memory_order_relaxed))
        atomic_store_explicit(&worker->asked, true, memory_order_relaxed);
    worker_enter(worker);
    if (!worker->has_served)
        worker->served_ns = turn.now_ns;
    worker->serving = worker->has_served = true;
    return turn;
}

static inline void worker_end_serving(struct worker *worker, enum serve_status status, struct turn turn)
{
    if (status != SERVE_LATER) {
        worker->has_decided = false;
        worker->owner.decided(worker->owner.context, turn.now_ns);
    }
    worker->serving = false;
    worker_leave(worker);
}

/* Looks from now on whether the results have come that clients wait for. */
void worker_resume_soon(struct worker *worker);
/* Some have come. */
void worker_resume_now(struct worker *worker);

#endif
