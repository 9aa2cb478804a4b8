/*
 * worker_threads runs the workers beside the first one. An event of a worker for the node goes to
 * the first loop as a remote call, and the worker waits outside the gate until the node has handled
 * it.
 */
#include "worker_threads.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <sysexits.h>

/* An event, or a wish to read the config again, whose worker waits for it; on the worker's stack. */
struct remote_call {
    struct list link;
    const struct event *event; /* NULL: the config is to be read again, */
    struct rules_result *result;
    struct reload_report *report; /* and the outcome is for these */
    struct error *error;
    bool reloaded;
    bool carried_out;
};

/* ---- in the workers' threads ---- */

static void call_first(struct worker_thread *worker_thread, struct remote_call *remote_call)
{
    struct worker_threads *worker_threads = worker_thread->worker_threads;
    worker_pause_alone(&worker_thread->worker);
    uv_mutex_lock(&worker_threads->mutex);
    if (!worker_threads->refuses) {
        list_insert_before(&worker_threads->remote_calls, &remote_call->link);
        (void)uv_async_send(&worker_threads->called);
        while (!remote_call->carried_out)
            uv_cond_wait(&worker_threads->carried_out, &worker_threads->mutex);
    }
    uv_mutex_unlock(&worker_threads->mutex);
    worker_resume_alone(&worker_thread->worker);
}

static void on_submit(void *context, const struct event *event, struct rules_result *result)
{
    struct remote_call remote_call = {.event = event, .result = result};
    call_first(context, &remote_call);
}

static bool on_reload(void *context, struct reload_report *report, struct error *error)
{
    struct remote_call remote_call = {.report = report, .error = error};
    (void)error_set(error, EX_TEMPFAIL, "the daemon is leaving");
    call_first(context, &remote_call);
    return remote_call.reloaded;
}

static void on_told_to_change(uv_async_t *handle)
{
    struct worker_thread *worker_thread = handle->data;
    uv_mutex_lock(&worker_thread->worker_threads->mutex);
    const bool has_changes = worker_thread->worker_threads->has_changes;
    const bool drains = worker_thread->worker_threads->drains;
    struct worker_changes changes = worker_thread->worker_threads->changes;
    uv_mutex_unlock(&worker_thread->worker_threads->mutex);
    if (has_changes) /* else it was roused */
        worker_change(&worker_thread->worker, &changes);
    sodium_memzero(&changes, sizeof changes);
    if (drains)
        worker_stop_accepting(&worker_thread->worker);
}

/*
 * The worker is inside the gate, so this comes before the step that clears the wish, and that step
 * sees all spends before it.
 */
static void on_decided(void *context, uint64_t now_ns)
{
    const struct worker_thread *worker_thread = context;
    struct worker_threads *worker_threads = worker_thread->worker_threads;
    (void)now_ns;
    if (node_wants_step(worker_thread->worker.commands.node) && !worker_threads_wants_step(worker_threads) &&
        !atomic_exchange(&worker_threads->wants_step, true))
        (void)uv_async_send(&worker_threads->called);
}

static void on_told_to_stop(uv_async_t *handle)
{
    struct worker_thread *worker_thread = handle->data;
    worker_close_listener(&worker_thread->worker);
    uv_close((uv_handle_t *)handle, NULL);
    uv_close((uv_handle_t *)&worker_thread->told_to_change, NULL);
    /* The worker's last use of worker_threads. */
    uv_mutex_lock(&worker_thread->worker_threads->mutex);
    (void)atomic_fetch_add(&worker_thread->worker_threads->stopped_count, 1);
    if (!worker_thread->worker_threads->refuses)
        (void)uv_async_send(&worker_thread->worker_threads->called);
    uv_mutex_unlock(&worker_thread->worker_threads->mutex);
}

static void work(void *context)
{
    struct worker_thread *worker_thread = context;
    node_use_thread(worker_thread->worker.thread);
    worker_run(&worker_thread->worker);
}

/* ---- in the thread of the first loop ---- */

static struct remote_call *next_remote_call(struct worker_threads *worker_threads)
{
    struct remote_call *remote_call = NULL;
    uv_mutex_lock(&worker_threads->mutex);
    if (!list_empty(&worker_threads->remote_calls)) {
        remote_call = LIST_OWNER(worker_threads->remote_calls.next, struct remote_call, link);
        list_remove(&remote_call->link);
    }
    uv_mutex_unlock(&worker_threads->mutex);
    return remote_call;
}

static void carry_out(struct worker_threads *worker_threads)
{
    for (struct remote_call *remote_call; (remote_call = next_remote_call(worker_threads)) != NULL;) {
        if (remote_call->event != NULL)
            worker_threads->owner.submit(worker_threads->owner.context, remote_call->event, remote_call->result);
        else
            remote_call->reloaded = worker_threads->owner.reload(worker_threads->owner.context, remote_call->report,
                                                                 remote_call->error);
        uv_mutex_lock(&worker_threads->mutex);
        remote_call->carried_out = true;
        uv_cond_broadcast(&worker_threads->carried_out);
        uv_mutex_unlock(&worker_threads->mutex);
    }
}

static void on_called(uv_async_t *handle)
{
    struct worker_threads *worker_threads = handle->data;
    carry_out(worker_threads);
    if (worker_threads_wants_step(worker_threads))
        worker_threads->owner.wanted(worker_threads->owner.context);
    if (worker_threads->stops && !worker_threads->has_ended &&
        atomic_load(&worker_threads->stopped_count) == worker_threads->count) {
        worker_threads->has_ended = true;
        worker_threads->owner.ended(worker_threads->owner.context);
    }
}

bool worker_threads_init(struct worker_threads *worker_threads, uint32_t count, uv_loop_t *loop, struct gate *gate,
                         const struct worker_threads_owner *owner, struct error *error)
{
    *worker_threads = (struct worker_threads){.owner = *owner};
    list_init(&worker_threads->remote_calls);
    if (uv_mutex_init(&worker_threads->mutex) != 0 || uv_cond_init(&worker_threads->carried_out) != 0)
        abort(); /* fails only for want of memory, and these need none */
    (void)uv_async_init(loop, &worker_threads->called, on_called);
    worker_threads->called.data = worker_threads;
    worker_threads->worker_thread = calloc(count, sizeof *worker_threads->worker_thread);
    for (uint32_t i = 0; worker_threads->worker_thread && i < count; i++) {
        struct worker_thread *worker_thread = &worker_threads->worker_thread[i];
        struct worker_owner worker_owner = {worker_thread, on_decided, NULL, on_submit, on_reload};
        worker_thread->worker_threads = worker_threads;
        if (!worker_init(&worker_thread->worker, &worker_owner, gate, i + 1))
            break;
        (void)uv_async_init(&worker_thread->worker.loop, &worker_thread->told_to_stop, on_told_to_stop);
        worker_thread->told_to_stop.data = worker_thread;
        (void)uv_async_init(&worker_thread->worker.loop, &worker_thread->told_to_change, on_told_to_change);
        worker_thread->told_to_change.data = worker_thread;
        worker_threads->count++;
    }
    return worker_threads->count == count ||
           error_set(error, EX_OSERR, "cannot make %u event loops: out of memory or file descriptors", count + 1);
}

bool worker_threads_listen(struct worker_threads *worker_threads, const struct listener_options *options,
                           const struct worker_addresses *addresses, const struct worker *first,
                           struct error *error)
{
    struct listener_options own = *options;
    for (uint32_t i = 0; i < worker_threads->count; i++) {
        own.thread = worker_threads->worker_thread[i].worker.thread;
        own.id_first = options->id_first + own.thread;
        if (!worker_listen(&worker_threads->worker_thread[i].worker, &own, addresses, first, error))
            return false;
    }
    return true;
}

bool worker_threads_start(struct worker_threads *worker_threads, struct error *error)
{
    for (uint32_t i = 0; i < worker_threads->count; i++) {
        struct worker_thread *worker_thread = &worker_threads->worker_thread[i];
        worker_thread->has_thread = uv_thread_create(&worker_thread->thread, work, worker_thread) == 0;
        if (!worker_thread->has_thread)
            return error_set(error, EX_OSERR, "cannot start %u threads: the system has not enough of something",
                             worker_threads->count + 1);
    }
    return true;
}

bool worker_threads_was_asked(struct worker_threads *worker_threads)
{
    bool asked = false;
    for (uint32_t i = 0; i < worker_threads->count; i++)
        asked |= worker_was_asked(&worker_threads->worker_thread[i].worker);
    return asked;
}

bool worker_threads_wants_step(const struct worker_threads *worker_threads)
{
    return atomic_load_explicit(&worker_threads->wants_step, memory_order_relaxed);
}

void worker_threads_stepped(struct worker_threads *worker_threads)
{
    if (worker_threads->count > 0)
        atomic_store_explicit(&worker_threads->wants_step, false, memory_order_relaxed);
}

void worker_threads_change(struct worker_threads *worker_threads, const struct worker_changes *changes)
{
    if (worker_threads->stops)
        return;
    uv_mutex_lock(&worker_threads->mutex);
    worker_threads->changes = *changes;
    worker_threads->has_changes = true;
    uv_mutex_unlock(&worker_threads->mutex);
    for (uint32_t i = 0; i < worker_threads->count; i++)
        (void)uv_async_send(&worker_threads->worker_thread[i].told_to_change);
}

void worker_threads_rouse(struct worker_threads *worker_threads)
{
    if (worker_threads->stops)
        return;
    for (uint32_t i = 0; i < worker_threads->count; i++)
        (void)uv_async_send(&worker_threads->worker_thread[i].told_to_change);
    (void)uv_async_send(&worker_threads->called);
}

void worker_threads_stop_accepting(struct worker_threads *worker_threads)
{
    uv_mutex_lock(&worker_threads->mutex);
    worker_threads->drains = true;
    uv_mutex_unlock(&worker_threads->mutex);
    worker_threads_rouse(worker_threads);
}

void worker_threads_stop(struct worker_threads *worker_threads)
{
    if (worker_threads->stops)
        return;
    worker_threads->stops = true;
    for (uint32_t i = 0; i < worker_threads->count; i++)
        (void)uv_async_send(&worker_threads->worker_thread[i].told_to_stop);
    /* wakes the first loop even if there are no worker threads */
    (void)uv_async_send(&worker_threads->called);
}

void worker_threads_leave(struct worker_threads *worker_threads)
{
    uv_mutex_lock(&worker_threads->mutex);
    worker_threads->refuses = true;
    while (!list_empty(&worker_threads->remote_calls)) {
        struct remote_call *remote_call = LIST_OWNER(worker_threads->remote_calls.next, struct remote_call, link);
        list_remove(&remote_call->link);
        remote_call->carried_out = true;
    }
    uv_cond_broadcast(&worker_threads->carried_out);
    uv_mutex_unlock(&worker_threads->mutex);
    uv_close((uv_handle_t *)&worker_threads->called, NULL);
}

void worker_threads_close(struct worker_threads *worker_threads)
{
    assert(worker_threads->stops && worker_threads->refuses);
    for (uint32_t i = 0; i < worker_threads->count; i++) {
        struct worker_thread *worker_thread = &worker_threads->worker_thread[i];
        if (worker_thread->has_thread)
            (void)uv_thread_join(&worker_thread->thread);
        else
            (void)uv_run(&worker_thread->worker.loop, UV_RUN_DEFAULT);
        worker_close(&worker_thread->worker);
    }
    free(worker_threads->worker_thread);
    sodium_memzero(&worker_threads->changes, sizeof worker_threads->changes);
    uv_cond_destroy(&worker_threads->carried_out);
    uv_mutex_destroy(&worker_threads->mutex);
}
