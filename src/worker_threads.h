/*
 * worker_threads: the workers beside the first one, each in a thread of its own.
 *
 * The one idea: only the first loop makes steps of the node. A worker that has an event for the
 * node hands the event to the first loop, and waits outside the gate until the node has handled it.
 * If spends of a worker call for a step, the worker says so once and goes on. Without further
 * threads all calls do nothing. This file serves no clients itself: worker.h does.
 */
#ifndef HEADGATE_WORKER_THREADS_H
#define HEADGATE_WORKER_THREADS_H

#include "base/list.h"
#include "worker.h"

#include <stdatomic.h>

/* The owner: the first loop. Its thread makes all calls. */
struct worker_threads_owner {
    void *context;
    /* See the hook `submit` of struct commands; the event comes from another thread. */
    void (*submit)(void *context, const struct event *event, struct rules_result *result);
    /* See the hook `reload` of struct commands; the call comes from another thread. */
    bool (*reload)(void *context, struct reload_report *report, struct error *error);
    void (*wanted)(void *context); /* worker_threads_wants_step became true */
    void (*ended)(void *context);  /* after worker_threads_stop: no worker serves any more */
};

/* A worker in a thread of its own. */
struct worker_thread {
    struct worker_threads *worker_threads;
    struct worker worker;
    uv_async_t told_to_stop, told_to_change;
    uv_thread_t thread;
    bool has_thread;
};

struct worker_threads {
    struct worker_threads_owner owner;
    uint32_t count; /* number of worker threads */
    struct worker_thread *worker_thread;
    uv_async_t called; /* a handle of the first loop */
    /* covers remote_calls, refuses, changes, has_changes, drains, and the wait for a remote call */
    uv_mutex_t mutex;
    uv_cond_t carried_out;
    struct list remote_calls;
    bool refuses;
    struct worker_changes changes; /* the last ones */
    bool has_changes;
    bool drains; /* no worker accepts clients any more */
    atomic_bool wants_step;
    atomic_uint_least32_t stopped_count;
    bool stops, has_ended;
};

/*
 * Makes `count` workers of the threads 1 to `count`. `loop` is the loop of the first worker; `loop`
 * and `gate` must outlive the worker threads. False with `error`: the caller must close
 * `worker_threads` all the same.
 */
bool worker_threads_init(struct worker_threads *worker_threads, uint32_t count, uv_loop_t *loop, struct gate *gate,
                         const struct worker_threads_owner *owner, struct error *error);
/* All workers listen on the port of `first`. `options` are the options of the first worker. */
bool worker_threads_listen(struct worker_threads *worker_threads, const struct listener_options *options,
                           const struct worker_addresses *addresses, const struct worker *first,
                           struct error *error);
/* Starts the threads. */
bool worker_threads_start(struct worker_threads *worker_threads, struct error *error);

/* worker_was_asked of any of these workers. */
bool worker_threads_was_asked(struct worker_threads *worker_threads);
/* True: spends of a worker call for a step. */
bool worker_threads_wants_step(const struct worker_threads *worker_threads);
/*
 * A step begins, and the caller is alone inside the gate: the step sees everything that was wanted
 * until now.
 */
void worker_threads_stepped(struct worker_threads *worker_threads);

/* Each worker takes over `changes` soon, in its own thread; the first one (struct worker) is not among them. */
void worker_threads_change(struct worker_threads *worker_threads, const struct worker_changes *changes);
/* The loops of all workers have a turn soon, the first one included. */
void worker_threads_rouse(struct worker_threads *worker_threads);
/* See worker_stop_accepting; each worker does so soon. */
void worker_threads_stop_accepting(struct worker_threads *worker_threads);
/* All workers stop serving; then the first loop calls `ended`. */
void worker_threads_stop(struct worker_threads *worker_threads);
/* Events that workers hand over from now on fail, and the handle on the first loop closes. */
void worker_threads_leave(struct worker_threads *worker_threads);
/*
 * Waits for the threads, which end when their clients have read their answers. The caller must have
 * called worker_threads_stop.
 */
void worker_threads_close(struct worker_threads *worker_threads);

#endif
