/*
 * worker_threads: the workers beside the first, each in a thread of its own; and what they need of the first loop.
 *
 * The one idea: only the first loop steps the node. A worker hands it an event and waits, outside the gate, until it
 * was stepped; that spends call for a step, it says once and goes on. Without further threads all of it does nothing.
 */
#ifndef HEADGATE_WORKER_THREADS_H
#define HEADGATE_WORKER_THREADS_H

#include "base/list.h"
#include "worker.h"

#include <stdatomic.h>

/* The first loop's; all calls come from its thread. */
struct worker_threads_owner {
    void *context;
    /* As the hook of the commands, for an event of another thread's. */
    void (*submit)(void *context, const struct event *event, struct rules_result *result);
    void (*wanted)(void *context); /* worker_threads_wants_step became true */
    void (*ended)(void *context);  /* after worker_threads_stop: no worker serves any more */
};

/* A worker in a thread of its own. */
struct worker_thread {
    struct worker_threads *worker_threads;
    struct worker worker;
    uv_async_t told_to_stop;
    uv_thread_t thread;
    bool has_thread;
};

struct worker_threads {
    struct worker_threads_owner owner;
    uint32_t count; /* of `worker_thread` */
    struct worker_thread *worker_thread;
    uv_async_t called; /* on the first loop */
    uv_mutex_t mutex;  /* of the next three */
    uv_cond_t carried_out;
    struct list remote_calls;
    bool refuses;
    atomic_bool wants_step;
    atomic_uint_least32_t stopped_count;
    bool stops, has_ended;
};

/*
 * Makes `count` workers, from lane 1 on; `loop` is the first one's, which, like `gate`, outlives the worker
 * threads. False with `error`; to be closed in either case.
 */
bool worker_threads_init(struct worker_threads *worker_threads, uint32_t count, uv_loop_t *loop, struct gate *gate,
                         const struct worker_threads_owner *owner, struct error *error);
/* All listen where `first` does; the options are for the worker of lane 0. */
bool worker_threads_listen(struct worker_threads *worker_threads, const struct listener_options *options,
                           const struct worker *first, struct error *error);
/* Starts the threads. */
bool worker_threads_start(struct worker_threads *worker_threads, struct error *error);

/* As worker_was_asked, of any of them. */
bool worker_threads_was_asked(struct worker_threads *worker_threads);
/* Spends of a worker call for a step. */
bool worker_threads_wants_step(const struct worker_threads *worker_threads);
/* A step begins, alone: what was wanted until now, it sees. */
void worker_threads_stepped(struct worker_threads *worker_threads);

/* All stop serving; then `ended` is called by the first loop. */
void worker_threads_stop(struct worker_threads *worker_threads);
/* The first loop does nothing more for the worker threads: what is submitted fails. Its handle on that loop closes. */
void worker_threads_leave(struct worker_threads *worker_threads);
/* Waits for the threads, which end when their clients have read what they were told. After worker_threads_stop. */
void worker_threads_close(struct worker_threads *worker_threads);

#endif
