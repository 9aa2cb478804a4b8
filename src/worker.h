/*
 * worker: one loop that serves clients: a clock, a listener, its commands, and a place at the gate.
 *
 * The one idea: several workers, each in a thread of its own, serve clients over one node.
 * Decisions run inside the gate, side by side with decisions of other workers; for everything else
 * a worker is alone inside for a moment. Between two turns of its loop a worker is outside. A
 * worker knows neither peers nor store: its owner decides what follows from an event for the node.
 */
#ifndef HEADGATE_WORKER_H
#define HEADGATE_WORKER_H

#include "base/gate.h"
#include "commands/commands.h"
#include "edge/clients/listener.h"
#include "edge/process/clock.h"
#include "edge/process/log.h"
#include "edge/settings/http_settings.h"
#include "grpc/grpc.h"
#include "http/http.h"
#include "refused_log.h"
#include "worker_central.h"

#include <stdatomic.h>

/* The owner of the worker. The worker's thread makes all calls. */
struct worker_owner {
    void *context;
    /*
     * Requests were decided: the owner must look whether the node wants a step. The worker is
     * inside the gate.
     */
    void (*decided)(void *context, uint64_t now_ns);
    /*
     * The loop has polled, and the worker has answered. `served`: some client had asked. The worker
     * is outside the gate. May be NULL.
     */
    void (*polled)(void *context, bool served);
    /* See the hook `submit` of struct commands. The worker is alone inside. */
    void (*submit)(void *context, const struct event *event, struct rules_result *result);
    /* See the hook `reload` of struct commands. The worker is alone inside. */
    bool (*reload)(void *context, struct reload_report *report, struct error *error);
};

struct worker {
    struct worker_owner owner;
    struct gate *gate; /* NULL: there is one worker only */
    uint32_t thread;
    bool inside;
    uint32_t alone;     /* nested calls of worker_begin_alone; 0: not alone */
    bool inside_after;  /* was inside before it was alone */
    bool serving;       /* stays inside until the requests are served */
    bool has_decided;   /* requests were decided since the owner was told */
    bool has_served;    /* requests were served since the loop polled */
    uint64_t served_ns; /* when the first of them had come */
    bool has_listener;  /* the listener is initialised and does not close yet */
    atomic_bool asked;  /* see worker_was_asked */
    uv_loop_t loop;
    struct loop_clock clock;
    uv_check_t polled;
    uv_prepare_t sleeps;
    uv_timer_t resumes; /* runs while clients wait for the result of a change */
    uv_timer_t feeds;   /* runs while clients read /v1/live */
    uv_timer_t watches; /* runs while answers of gRPC wait or go on */
    struct log log;     /* a copy of its own, because a log counts lines */
    struct refused_log refused_log;
    struct listener listener;
    struct commands commands;
    struct http *http; /* NULL: HTTP is not served */
    struct grpc *grpc; /* NULL: gRPC is not served */
    struct hot *hot;   /* what this thread notes for HOT */
    struct worker_central central;
};

/*
 * Makes the loop and its handles, without a listener. `gate` may be NULL, and must outlive the
 * worker. False: no descriptor or memory was left, and nothing needs closing.
 */
bool worker_init(struct worker *worker, const struct worker_owner *owner, struct gate *gate, uint32_t thread);
/*
 * Serves in the calling thread until the loop has ended. The thread must never be cancelled from
 * now on.
 */
void worker_run(struct worker *worker);
/* Closes the worker's own handles and the loop. Nothing else may be left in the loop. */
void worker_close(struct worker *worker);

/* Where clients connect: for RESP, for HTTP, for gRPC, and for each over TLS ("": nowhere). */
struct worker_addresses {
    const char *resp, *http, *grpc, *resp_tls, *http_tls, *grpc_tls;
    struct tls *tls; /* of the last three; must outlive the worker */
    const struct http_settings *http_settings;
    struct grpc_options grpc_options;
};

/*
 * Listens on the addresses, or if `first` is not NULL on the ports that `first` has for them. False:
 * `error` is as from listener_bind.
 */
bool worker_listen(struct worker *worker, const struct listener_options *options,
                   const struct worker_addresses *addresses, const struct worker *first, struct error *error);
/* Makes the memory for what HOT shows; before worker_set_commands. `names`: names of keys are remembered. */
bool worker_watch(struct worker *worker, bool names, uint64_t seed, struct error *error);
/*
 * Copies from `like` what the commands of all workers share, and fills in the rest. Must be called
 * before the loop runs.
 */
void worker_set_commands(struct worker *worker, const struct commands *like, const struct log *log);
/*
 * Begins to connect to the central store; after worker_set_commands. `tells`: the log says when the store is up or
 * down.
 */
bool worker_connect(struct worker *worker, const struct central_settings *settings, bool tells,
                    struct error *error);
/* What a worker takes over while it runs. */
struct worker_changes {
    enum log_level log_level;
    struct listener_limits limits;
    struct central_settings central; /* if there is a central store */
    struct http_settings http;       /* if HTTP is served */
    struct grpc_options grpc;        /* if gRPC is served */
};
/* In the worker's own thread. */
void worker_change(struct worker *worker, const struct worker_changes *changes);
/*
 * Accepts no more clients. Requests of those that are there are taken until worker_close_listener, and their answers
 * say that no others should follow, where the protocol can say so.
 */
void worker_stop_accepting(struct worker *worker);
/* Takes no more requests. The loop goes on until clients have read their answers. */
void worker_close_listener(struct worker *worker);

/*
 * Between begin and end no other thread is inside the gate. Late requests are answered before.
 * Calls may be nested.
 */
void worker_begin_alone(struct worker *worker);
void worker_end_alone(struct worker *worker);
/*
 * Only while alone: pause lets others in, who may be alone themselves; resume waits until the
 * worker is alone again.
 */
void worker_pause_alone(struct worker *worker);
void worker_resume_alone(struct worker *worker);

struct turn worker_turn(struct worker *worker);

/* True: clients have sent something since the last call. Any thread may call this. */
bool worker_was_asked(struct worker *worker);

#endif
