/*
 * server_state: a server between its beginning (server_start.c) and its end. Shared by the files
 * of the server (server*.c), nobody else's.
 */
#ifndef HEADGATE_SERVER_STATE_H
#define HEADGATE_SERVER_STATE_H

#include "cluster/node.h"
#include "edge/peers/transport.h"
#include "edge/process/log.h"
#include "edge/process/pace.h"
#include "edge/process/populate.h"
#include "edge/settings/settings.h"
#include "persist.h"
#include "worker.h"
#include "worker_threads.h"

#include <stdatomic.h>

#define MILLISECOND_NS ((uint64_t)1000000)

enum { SERVER_SIGNALS = 5 };

struct server {
    const struct settings *settings;
    struct log log;
    atomic_uint_least32_t connected; /* clients of all workers */
    struct worker worker;
    struct worker_threads worker_threads;
    struct commands_worker_threads serving; /* both */
    struct node *node;
    struct effects effects;
    struct transport *transport; /* NULL before it is open and once it closes */
    struct persist persist;
    struct populate populate;
    uv_async_t store_wakes;
    uv_timer_t wake;
    uv_idle_t awake; /* while a step is due */
    uv_signal_t signals[SERVER_SIGNALS];
    uint64_t next_wake_ns, last_step_ns;
    uint64_t wake_ns; /* what the timer is set to */
    bool step_due;    /* as soon as clients leave time for it */
    struct pace pace; /* of steps: requests wait meanwhile */
    bool resting;     /* no step yet, unless a client or the store needs one */
    bool stepping;    /* effects are being carried out */
    bool leaving, ending;
    struct gate gate; /* if there are several workers */
};

/* ---- server_describe.c ---- */

/* Nothing, unless the log's level is debug: the config with its defaults, the peers, where state is written. */
void server_describe(struct server *server, const char *config_path);

/* ---- server.c: while it runs ---- */

/* Has the node handle the event, whose times are filled in, and carries out the effects. Nothing once it ends. */
void server_step(struct server *server, struct event *event);
void server_tell(struct server *server, const struct notice *notice);
/* Closes everything; then the loop runs empty. */
void server_end(struct server *server);

/* Hooks of the store, */
void server_hear_store(struct server *server);
void server_on_store_wake(void *context); /* in the store's thread */
void server_on_store_wakes(uv_async_t *handle);
void server_on_persist_step(void *context, struct event *event);
/* of the transport, */
void server_on_message(void *context, struct bytes bytes);
void server_on_request(void *context, struct bytes bytes);
void server_on_response(void *context, struct bytes bytes);
void server_on_published(void *context, uint64_t from_ns, uint64_t to_ns);
void server_on_stuck(void *context, uint64_t connections);
void server_on_reopened(void *context);
/* of the workers, */
void server_on_decided(void *context, uint64_t now_ns);
void server_on_polled(void *context, bool served);
void server_on_submit(void *context, const struct event *event, struct rules_result *result);
void server_on_wanted(void *context);
void server_on_ended(void *context);
/* and of the loop. */
void server_on_wake(uv_timer_t *timer);
void server_on_awake(uv_idle_t *handle);

/* ---- server_signals.c ---- */

/* Before there is a loop, and once it ends. */
void server_signals_ignore(void);
void server_signals_init(struct server *server);
void server_signals_start(struct server *server);
void server_signals_close(struct server *server);

#endif
