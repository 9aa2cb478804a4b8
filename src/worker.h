/*
 * worker: one loop that serves clients: a clock, a listener, its commands, and a place at the gate.
 *
 * The one idea: several workers, each in a thread of its own, serve clients over one node. What only decides is done
 * inside the gate, at the same time as others; for everything else a worker is alone for a moment. Between two turns of
 * its loop it is outside. It knows neither peers nor store: what an event for the node comes to, its owner says.
 */
#ifndef HEADGATE_WORKER_H
#define HEADGATE_WORKER_H

#include "base/gate.h"
#include "commands/commands.h"
#include "edge/clients/listener.h"
#include "edge/process/clock.h"
#include "edge/process/log.h"

#include <stdatomic.h>

/* Who has it; all calls come from its thread. */
struct worker_owner {
    void *context;
    /* Requests were decided: look whether the node wants a step. Inside the gate. */
    void (*decided)(void *context, uint64_t now_ns);
    /* The loop has polled, and has answered whom it heard, if it `served` anybody. Outside the gate. May be NULL. */
    void (*polled)(void *context, bool served);
    /* As the hook of the commands. The worker is alone. */
    void (*submit)(void *context, const struct event *event, struct rules_result *result);
};

struct worker {
    struct worker_owner owner;
    struct gate *gate; /* NULL: there is one worker only */
    uint32_t lane;
    bool inside;
    uint32_t alone;    /* how many times it began to be; 0: it is not */
    bool inside_after; /* it was inside before */
    bool serving;      /* stays inside until that is over */
    bool has_decided;  /* since the owner was told */
    bool has_served;   /* since the loop polled */
    bool has_listener; /* it was initialised and does not close yet */
    atomic_bool asked; /* see worker_was_asked */
    uv_loop_t loop;
    struct loop_clock clock;
    uv_check_t polled;
    uv_prepare_t sleeps;
    uv_timer_t resumes;      /* while clients wait for what becomes of a change */
    struct log log;          /* of its own: it counts lines */
    uint64_t refused_count;  /* wrong passwords since the last line about them, */
    uint64_t barred_log_ms;  /* when a line about an address that hints was written; 0: never */
    uint64_t refused_log_ms; /* and when that was written; 0: never */
    struct listener listener;
    struct commands commands;
};

/*
 * Makes the loop and what belongs to it, without a listener. `gate` (or NULL) outlives it. False without descriptors or
 * memory: then there is nothing to close.
 */
bool worker_init(struct worker *worker, const struct worker_owner *owner, struct gate *gate, uint32_t lane);
/* Serves in this thread, which nobody may cancel from now on, until the loop has run out. */
void worker_run(struct worker *worker);
/* Once the loop has run out, but for the worker's own handles: closes these and the loop. */
void worker_close(struct worker *worker);

/* Listens on `address`; or, if that is NULL, where `first` does. False with `error` as from listener_bind. */
bool worker_listen(struct worker *worker, const struct listener_options *options, const char *address,
                   const struct worker *first, struct error *error);
/* Before the loop runs: what all workers' commands have in common; the rest is filled in. */
void worker_set_commands(struct worker *worker, const struct commands *like, const struct log *log);
/* No requests after this; the loop goes on until clients have read what they were told. */
void worker_close_listener(struct worker *worker);

/* From begin to end no other thread is inside. What was put off is answered before. May be nested. */
void worker_begin_alone(struct worker *worker);
void worker_end_alone(struct worker *worker);
/* While alone: lets others in, or be alone themselves, and is alone again. */
void worker_pause_alone(struct worker *worker);
void worker_resume_alone(struct worker *worker);

struct turn worker_turn(struct worker *worker);

/* Clients have sent something since it was asked last. In any thread. */
bool worker_was_asked(struct worker *worker);

#endif
