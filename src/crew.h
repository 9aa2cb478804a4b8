/*
 * crew: the workers beside the first, each in a thread of its own; and what they need of the first loop.
 *
 * The one idea: only the first loop steps the node. A worker hands it an event and waits, outside the gate, until it
 * was stepped; that spends call for a step, it says once and goes on. Without further threads all of it does nothing.
 */
#ifndef HEADGATE_CREW_H
#define HEADGATE_CREW_H

#include "base/list.h"
#include "worker.h"

#include <stdatomic.h>

/* The first loop's; all calls come from its thread. */
struct crew_owner {
    void *context;
    /* As the hook of the commands, for an event of another thread's. */
    void (*submit)(void *context, const struct event *event, struct rules_result *result);
    void (*wanted)(void *context); /* crew_wants_step became true */
    void (*ended)(void *context);  /* after crew_stop: no worker serves any more */
};

/* A worker of the crew. */
struct mate {
    struct crew *crew;
    struct worker worker;
    uv_async_t told_to_stop;
    uv_thread_t thread;
    bool has_thread;
};

struct crew {
    struct crew_owner owner;
    uint32_t count; /* of mates */
    struct mate *mate;
    uv_async_t called; /* on the first loop */
    uv_mutex_t mutex;  /* of the next three */
    uv_cond_t carried_out;
    struct list errands;
    bool refuses;
    atomic_bool wants_step;
    atomic_uint_least32_t stopped_count;
    bool stops, has_ended;
};

/*
 * Makes `count` workers, from lane 1 on; `loop` is the first one's, which, like `gate`, outlives the crew. False with
 * `error`; to be closed in either case.
 */
bool crew_init(struct crew *crew, uint32_t count, uv_loop_t *loop, struct gate *gate,
               const struct crew_owner *owner, struct error *error);
/* All listen where `first` does; the options are for the worker of lane 0. */
bool crew_listen(struct crew *crew, const struct listener_options *options, const struct worker *first,
                 struct error *error);
/* Starts the threads. */
bool crew_start(struct crew *crew, struct error *error);

/* As worker_was_asked, of any of them. */
bool crew_was_asked(struct crew *crew);
/* Spends of a worker call for a step. */
bool crew_wants_step(const struct crew *crew);
/* A step begins, alone: what was wanted until now, it sees. */
void crew_stepped(struct crew *crew);

/* All stop serving; then `ended` is called by the first loop. */
void crew_stop(struct crew *crew);
/* The first loop does nothing more for the crew: what is submitted fails. Its handle on that loop closes. */
void crew_leave(struct crew *crew);
/* Waits for the threads, which end when their clients have read what they were told. After crew_stop. */
void crew_close(struct crew *crew);

#endif
