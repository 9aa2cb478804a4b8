/*
 * server_state: the data of one server, which the files server*.c share. No other file may include
 * it.
 */
#ifndef HEADGATE_SERVER_STATE_H
#define HEADGATE_SERVER_STATE_H

#include "cluster/node.h"
#include "commands/refusals.h"
#include "edge/clients/handed.h"
#include "edge/clients/tls.h"
#include "edge/peers/transport.h"
#include "edge/peers/transport_tls.h"
#include "edge/process/log.h"
#include "edge/process/pace.h"
#include "edge/process/populate.h"
#include "edge/process/supervisor.h"
#include "edge/settings/settings.h"
#include "edge/settings/settings_changes.h"
#include "persist.h"
#include "worker.h"
#include "worker_threads.h"

#include <stdatomic.h>

#define MILLISECOND_NS ((uint64_t)1000000)

enum { SERVER_SIGNALS = 5 };

struct server {
    struct gate gate; /* unused if there is one worker only */
    /* server_reload changes some while it is alone: other threads read those inside the gate only */
    struct settings *settings;
    const char *config_path;
    struct config_reads config_reads;
    struct log log;
    struct journal *journal;         /* of refusals; NULL: none is written, as the next */
    struct refusals *refusals;       /* what the workers share of it */
    struct users *users;             /* of the config; NULL: there are none */
    struct tls *tls;                 /* of all ports that speak it; NULL: none does */
    struct transport_tls *peers_tls; /* of peers; NULL: they speak in clear */
    struct handed handed;            /* sockets of the service manager, while the workers begin to listen */
    atomic_uint_least32_t connected; /* connections of all workers together */
    struct worker worker;
    struct worker_threads worker_threads;
    struct commands_worker_threads serving; /* the commands of all workers */
    struct node *node;
    struct effects effects;
    /* NULL before it is open, and from the moment at which it closes */
    struct transport *transport;
    struct replays *replays;
    struct persist persist;
    struct populate populate;
    struct supervisor supervisor;
    uv_async_t store_wakes;
    uv_timer_t wake;
    /* runs while a step is due, so that the loop does not sleep */
    uv_idle_t awake;
    uv_signal_t signals[SERVER_SIGNALS];
    uv_timer_t signals_due;     /* runs for a while after each signal that was obeyed */
    uv_timer_t drained;         /* runs from SIGTERM until no worker serves any more */
    uint64_t weights_told;      /* the version of weights that the log was told to be above the config */
    uint64_t journal_looked_ns; /* when the journal was looked at */
    uint64_t journal_lost;      /* lines that it had lost when it worked last */
    int journal_told; /* the errno that the log was told of the journal; 0: it works; -1: it is to be told anew */
    struct version_stamp limits_told; /* the version of limits that the log was told of */
    uint64_t next_wake_ns, last_step_ns;
    uint64_t wake_ns; /* the time that the timer is set to */
    /* how much time steps and messages may take from requests */
    struct pace pace;
    uint64_t accepts_handed_ns; /* accepts_handed is true from then on in any case */
    atomic_bool accepts_handed; /* clients of sockets of the service manager are accepted; true for good */
    /* a step must run as soon as clients leave time for it */
    bool step_due;
    /* steps wait, unless a client's call or the store needs one */
    bool resting;
    bool stepping; /* effects are being carried out */
    bool leaving, ending;
    bool reservations_go_on; /* all that were open when the former process ended */
    bool
        reservations_recalled; /* the file of the former process is read; before that it is not this one's to write */
    bool signals_wait[SERVER_SIGNALS]; /* have come, and are obeyed when signals_due ends */
    uint64_t memory_limit_bytes;       /* that the system lets this process have */
    struct sandboxed sandbox;          /* changes only before the process serves */
};

/* What each thread serves gRPC by. */
static inline struct grpc_options server_grpc_options(const struct settings *settings)
{
    return (struct grpc_options){.limit_fields = settings->grpc.limit_fields,
                                 .endpoint_spelling = settings->grpc.endpoint_spelling,
                                 .memory_bytes = (size_t)(settings->grpc.memory_bytes / settings->threads),
                                 .request_timeout_ns = settings->request_timeout_ns};
}

/* ---- server_describe.c ---- */

/* Writes into the log what this daemon is, where it listens, and what its config leaves open. The node is made. */
void server_introduce(struct server *server);
/*
 * Writes the config with its defaults, the peers, and the place of the state into the log, if the
 * log's level is debug.
 */
void server_describe(struct server *server, const char *config_path);

/* ---- server.c: a server that runs ---- */

/*
 * Fills in the times of the event, makes a step of the node, and carries out the effects. Does
 * nothing once the server ends.
 */
void server_step(struct server *server, struct event *event);
void server_tell(struct server *server, const struct notice *notice);
/* Closes everything; the loop then ends, because it has nothing left to do. */
void server_end(struct server *server);

/* ---- callbacks of the store ---- */
void server_hear_store(struct server *server);
void server_on_store_wake(void *context); /* runs in the store's thread */
void server_on_store_wakes(uv_async_t *handle);
void server_on_persist_step(void *context, struct event *event);
/* ---- callbacks of the transport ---- */
void server_on_message(void *context, const char *from, struct bytes bytes);
void server_on_request(void *context, const char *from, struct bytes bytes);
void server_on_response(void *context, const char *from, struct bytes bytes);
void server_on_published(void *context, uint64_t from_ns, uint64_t to_ns);
void server_on_stuck(void *context, uint64_t connections);
void server_on_reopened(void *context);
void server_on_warn(void *context, const char *sentence);
/* ---- callbacks of the workers ---- */
void server_on_decided(void *context, uint64_t now_ns);
void server_on_polled(void *context, bool served);
void server_on_submit(void *context, const struct event *event, struct rules_result *result);
void server_on_wanted(void *context);
void server_on_ended(void *context);
/* ---- callbacks of the loop ---- */
void server_on_wake(uv_timer_t *timer);
void server_on_awake(uv_idle_t *handle);

/* ---- server_replays.c: the directory of the state is held ---- */

/* After server_recall_reservations. */
void server_recall_replays(struct server *server);
void server_keep_replays(struct server *server);

/* ---- server_reservations.c: likewise ---- */

/* The node has started, and serves nobody yet. A step must follow: it ends those whose time is over. */
void server_recall_reservations(struct server *server);
/* Nobody is served any more. */
void server_keep_reservations(struct server *server);

/* ---- server_reload.c ---- */

/*
 * Reads the config again, with the files that it names, and takes over what a running daemon can take. False: nothing
 * has changed, and `error` says why. The log tells either. `why`: who asks, for the log. `report` is written anew.
 */
bool server_reload(struct server *server, const char *why, struct reload_report *report, struct error *error);
/* The hook of the workers. */
bool server_on_reload(void *context, struct reload_report *report, struct error *error);
/* Says so if a certificate of the daemon ends soon. */
void server_tell_certificates(struct server *server);
/* Warns of a secret of peers that anybody can guess. */
void server_tell_secret(struct server *server);

/* ---- server_weights.c ---- */

/* Says which weights of the settings have no effect. */
void server_tell_weights(struct server *server, const struct settings *settings);
/* The same of the present settings, once for each version of weights that comes into force. */
void server_watch_weights(struct server *server);

/* ---- server_limits.c ---- */

/* True: the limits of the config's file, as it was last read, are not those in force, as the sentence says. */
bool server_limits_differ(const struct server *server, struct error *sentence);
/* Says so in the log. */
void server_tell_limits(struct server *server);
/* The same, once for each version of limits that comes into force. */
void server_watch_limits(struct server *server);

/* ---- server_journal.c ---- */

/* Opens the log of refusals again. `why` is for the log. */
void server_reopen_journal(struct server *server, const char *why);
/* Says once why the log of refusals cannot be written, and once that it can again. */
void server_watch_journal(struct server *server, uint64_t now_ns);

/* ---- server_fence.c ---- */

/* Keeps other files from the process, if its config asks for that. Must be called before there are other threads. */
bool server_build_fence(struct server *server, struct error *error);

/* ---- server_signals.c ---- */

void server_signals_init(struct server *server);
/* Signals that were held come as soon as the loop runs. */
void server_signals_start(struct server *server);
/* From here on signals that do not ask to leave are ignored. */
void server_signals_close(struct server *server);

#endif
