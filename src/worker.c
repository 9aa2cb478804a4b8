/*
 * worker runs one loop that serves clients. It enters the gate before a decision and leaves it
 * before the loop sleeps; for everything but decisions it waits until it is alone inside. After
 * each poll it answers the late requests (commands/late.c) and tells its owner.
 */
#include "worker_serving.h"

#include "commands/hot.h"
#include "commands/patient.h"

#include <assert.h>
#include <pthread.h>
#include <sysexits.h>

/* ---- the gate ---- */

void worker_begin_alone(struct worker *worker)
{
    if (worker->alone++ > 0)
        return;
    if (worker->has_listener)
        /* late requests must be decided under the rules and limits that they were prepared for */
        listener_answer(&worker->listener);
    if (worker->gate == NULL)
        return;
    worker->inside_after = worker->inside;
    worker->inside = false;
    gate_close(worker->gate, worker->thread);
}

void worker_end_alone(struct worker *worker)
{
    assert(worker->alone > 0);
    if (--worker->alone > 0 || worker->gate == NULL)
        return;
    gate_open(worker->gate, worker->thread, worker->inside_after);
    worker->inside = worker->inside_after;
}

void worker_pause_alone(struct worker *worker)
{
    assert(worker->alone > 0 && worker->gate != NULL);
    gate_open(worker->gate, worker->thread, false);
}

void worker_resume_alone(struct worker *worker)
{
    gate_close(worker->gate, worker->thread);
}

/* ---- clients ---- */

bool worker_was_asked(struct worker *worker)
{
    bool asked = atomic_load_explicit(&worker->asked, memory_order_relaxed);
    if (asked)
        atomic_store_explicit(&worker->asked, false, memory_order_relaxed);
    return asked;
}

/* ---- the turn of the loop ---- */

/* Answers all late requests. */
static void answer_all(struct worker *worker)
{
    if (!worker->has_listener || (list_empty(&worker->listener.late) && !worker->has_decided))
        return;
    worker_enter(worker);
    worker->serving = true;
    listener_answer(&worker->listener);
    worker->has_decided = false;
    worker->owner.decided(worker->owner.context, loop_clock_now(&worker->clock));
    worker->serving = false;
    worker_leave(worker);
}

/* All answers of this turn were written: the listener did so when the loop had polled, before the worker is told. */
static void note_latency(struct worker *worker)
{
    const struct commands_stats *stats = &worker->commands.stats;
    const uint64_t requests[DOORS] = {[DOOR_RESP] = stats->total_commands_processed,
                                      [DOOR_HTTP] = stats->http_requests,
                                      [DOOR_GRPC] = stats->grpc_requests};
    latencies_note(&worker->commands.latencies, requests, clock_monotonic_ns() - worker->served_ns);
}

/* The loop has polled and has served every client that sent something. */
static void on_polled(uv_check_t *handle)
{
    struct worker *worker = handle->data;
    bool served = worker->has_served;
    answer_all(worker);
    if (served)
        note_latency(worker);
    worker->has_served = false;
    loop_clock_forget(&worker->clock); /* answering took time */
    if (worker->owner.polled)
        worker->owner.polled(worker->owner.context, served);
}

/* A worker that sleeps must be outside the gate, or others would wait for it. */
static void on_sleep(uv_prepare_t *handle)
{
    const struct worker *worker = handle->data;
    assert(!worker->inside && worker->alone == 0);
}

static void on_alone(void *context, bool alone)
{
    if (alone)
        worker_begin_alone(context);
    else
        worker_end_alone(context);
}

static void on_submit(void *context, const struct event *event, struct rules_result *result)
{
    struct worker *worker = context;
    worker->owner.submit(worker->owner.context, event, result);
}

static bool on_reload(void *context, struct reload_report *report, struct error *error)
{
    struct worker *worker = context;
    return worker->owner.reload(worker->owner.context, report, error);
}

static void on_refused(void *context, const char *address, bool barred)
{
    struct worker *worker = context;
    refused_log_note(&worker->refused_log, &worker->log, address, barred, uv_now(&worker->loop));
}

/* ---- creation and end ---- */

bool worker_init(struct worker *worker, const struct worker_owner *owner, struct gate *gate, uint32_t thread)
{
    *worker = (struct worker){.owner = *owner, .gate = gate, .thread = thread};
    if (uv_loop_init(&worker->loop) != 0)
        return false;
    loop_clock_init(&worker->clock, &worker->loop);
    (void)uv_check_init(&worker->loop, &worker->polled);
    worker->polled.data = worker;
    (void)uv_check_start(&worker->polled, on_polled);
    uv_unref((uv_handle_t *)&worker->polled);
    (void)uv_prepare_init(&worker->loop, &worker->sleeps);
    worker->sleeps.data = worker;
    (void)uv_prepare_start(&worker->sleeps, on_sleep);
    uv_unref((uv_handle_t *)&worker->sleeps);
    (void)uv_timer_init(&worker->loop, &worker->resumes);
    worker->resumes.data = worker;
    (void)uv_timer_init(&worker->loop, &worker->feeds);
    worker->feeds.data = worker;
    uv_unref((uv_handle_t *)&worker->feeds);
    (void)uv_timer_init(&worker->loop, &worker->watches);
    worker->watches.data = worker;
    uv_unref((uv_handle_t *)&worker->watches);
    worker_central_init(&worker->central, &worker->loop);
    return true;
}

/*
 * No thread here is ever cancelled. In a process with several threads, glibc makes each call that
 * reads or writes a cancellation point, with two atomic operations around the call, unless the
 * thread may be cancelled anywhere.
 */
static void never_be_cancelled(void)
{
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL); /* NOLINT(cert-pos47-c): it is off */
}

void worker_run(struct worker *worker)
{
    never_be_cancelled();
    (void)uv_run(&worker->loop, UV_RUN_DEFAULT);
}

void worker_close(struct worker *worker)
{
    uv_close((uv_handle_t *)&worker->polled, NULL);
    uv_close((uv_handle_t *)&worker->sleeps, NULL);
    uv_close((uv_handle_t *)&worker->resumes, NULL);
    uv_close((uv_handle_t *)&worker->feeds, NULL);
    uv_close((uv_handle_t *)&worker->watches, NULL);
    worker_central_close(&worker->central);
    loop_clock_close(&worker->clock);
    (void)uv_run(&worker->loop, UV_RUN_DEFAULT);
    int busy = uv_loop_close(&worker->loop);
    assert(busy == 0);
    worker_central_destroy(&worker->central);
    http_destroy(&worker->http);
    grpc_destroy(&worker->grpc);
    commands_close(&worker->commands);
    hot_destroy(&worker->hot);
}

/* Does nothing without an address. */
static bool listen_at(struct worker *worker, const struct service *service, const char *address,
                      const struct worker *first, struct error *error)
{
    if (!address[0])
        return true;
    return first != NULL ? listener_join(&worker->listener, &first->listener, service, error)
                         : listener_bind(&worker->listener, address, service, error);
}

static bool serve_http(struct worker *worker, const struct worker_addresses *addresses, struct error *error)
{
    if (!addresses->http[0] && !addresses->http_tls[0])
        return true;
    worker->http = http_create(&worker->commands, addresses->http_settings);
    return worker->http != NULL || error_set(error, EX_OSERR, "not enough memory to serve HTTP");
}

static bool serve_grpc(struct worker *worker, const struct worker_addresses *addresses, struct error *error)
{
    if (!addresses->grpc[0] && !addresses->grpc_tls[0])
        return true;
    worker->grpc = grpc_create(&worker->commands, &addresses->grpc_options);
    return worker->grpc != NULL ||
           error_set(error, EX_OSERR, "not enough memory to serve gRPC: grpc.memory says how much there is to be");
}

bool worker_listen(struct worker *worker, const struct listener_options *options,
                   const struct worker_addresses *addresses, const struct worker *first, struct error *error)
{
    const struct service resp = worker_resp_service(worker), http = worker_http_service(worker),
                         grpc = worker_grpc_service(worker);
    if (!listener_init(&worker->listener, &worker->loop, &resp, options, error))
        return false;
    worker->has_listener = true;
    if (!serve_http(worker, addresses, error) || !serve_grpc(worker, addresses, error))
        return false;
    struct service resp_tls = resp, http_tls = http, grpc_tls = grpc;
    resp_tls.tls = http_tls.tls = grpc_tls.tls = addresses->tls;
    return listen_at(worker, &resp, addresses->resp, first, error) &&
           listen_at(worker, &http, addresses->http, first, error) &&
           listen_at(worker, &resp_tls, addresses->resp_tls, first, error) &&
           listen_at(worker, &http_tls, addresses->http_tls, first, error) &&
           listen_at(worker, &grpc, addresses->grpc, first, error) &&
           listen_at(worker, &grpc_tls, addresses->grpc_tls, first, error);
}

bool worker_watch(struct worker *worker, bool names, uint64_t seed, struct error *error)
{
    worker->hot = hot_create(names, seed + worker->thread);
    return worker->hot != NULL || error_set(error, EX_OSERR, "not enough memory to note which keys are refused");
}

void worker_set_commands(struct worker *worker, const struct commands *like, const struct log *log)
{
    worker->log = *log;
    worker->commands = *like;
    worker->commands.thread = (uint8_t)worker->thread;
    worker->commands.listener = &worker->listener.stats;
    worker->commands.observer.hot = worker->hot;
    worker->commands.alone = worker->gate != NULL ? on_alone : NULL;
    worker->commands.refused = on_refused;
    worker->commands.submit = on_submit;
    worker->commands.reload = on_reload;
    worker->commands.context = worker;
    commands_init(&worker->commands);
}

/* The requests that waited for the store are served in the next turn of the loop, which comes at once. */
static void on_central(void *context)
{
    struct worker *worker = context;
    if (worker->has_listener && worker->commands.central != NULL)
        worker_resume_now(worker);
}

bool worker_connect(struct worker *worker, const struct central_settings *settings, bool tells, struct error *error)
{
    worker->central.commands = &worker->commands;
    worker->central.log = &worker->log;
    worker->central.news = on_central;
    worker->central.context = worker;
    return worker_central_connect(&worker->central, settings, tells, error);
}

void worker_change(struct worker *worker, const struct worker_changes *changes)
{
    worker->log.level = changes->log_level;
    if (worker->has_listener)
        listener_change(&worker->listener, &changes->limits);
    if (worker->has_listener && worker->central.now != NULL)
        worker_central_change(&worker->central, &changes->central);
    if (worker->http != NULL)
        http_take_settings(worker->http, &changes->http);
    if (worker->grpc != NULL)
        grpc_take_options(worker->grpc, &changes->grpc);
}

static void nothing(void *context)
{
    (void)context;
}

void worker_stop_accepting(struct worker *worker)
{
    if (!worker->has_listener)
        return;
    listener_stop_accepting(&worker->listener);
    if (worker->http != NULL)
        http_leave(worker->http);
    if (worker->grpc != NULL)
        grpc_go_away(worker->grpc);
}

void worker_close_listener(struct worker *worker)
{
    (void)uv_timer_stop(&worker->feeds);
    (void)uv_timer_stop(&worker->watches);
    patient_stop(&worker->commands);
    if (worker->has_listener)
        listener_close(&worker->listener, nothing, NULL);
    worker->has_listener = false;
    worker_central_stop(&worker->central);
}
