/*
 * server_signals decides what signals do. SIGTERM and SIGINT ask the daemon to leave; a second one
 * ends the process at once. SIGHUP and SIGUSR1 open the log of refusals again, if there is one, and
 * SIGHUP reads the config again. SIGUSR2, which other daemons take for some such wish, only writes a
 * line into the log: by default it would end the process without a goodbye. SIGQUIT keeps its default
 * for a daemon that is stuck: the process ends at once, and leaves a core if the system keeps cores.
 *
 * Before the loop runs, signals that do not ask to leave wait: a SIGHUP of that time may be about a config that was
 * read already. After that they are obeyed at most once in SIGNALS_EACH_MS: the first at once, all others
 * together when that time is over. So clients do not wait for a flood of signals.
 */
#include "server_state.h"

#include "base/metric.h"
#include "server.h"

#include <stdlib.h>

enum {
    SIGNALS_EACH_MS = 100,
    DRAIN_MS = 100, /* for requests of clients that had connected before SIGTERM */
};

static const struct {
    const char *name;
    const char *said; /* the line for the log; NULL: the signal asks the daemon to leave */
    int number;
    bool reopens; /* opens the log of refusals again, if there is one */
    bool reloads; /* reads the config again, which writes its own line */
} signals[SERVER_SIGNALS] = {
    {"SIGTERM", NULL, SIGTERM, false, false},
    {"SIGINT", NULL, SIGINT, false, false},
    {"SIGHUP", "the config is read again", SIGHUP, true, true},
    {"SIGUSR1", "nothing is opened again: the log is the standard error stream", SIGUSR1, true, false},
    {"SIGUSR2", "it asks for nothing here", SIGUSR2, false, false},
};

/* server_on_ended goes on when all workers have stopped. */
static void on_drained(uv_timer_t *timer)
{
    struct server *server = timer->data;
    worker_close_listener(&server->worker);
    worker_threads_stop(&server->worker_threads);
}

static bool has_clients(struct server *server)
{
    if (server->worker_threads.count > 0)
        return atomic_load(&server->connected) > 0;
    return metric_get(&server->worker.listener.stats.connected_clients) > 0;
}

/*
 * Who has connected for one request is about to send it, or has sent it: such requests are served before all
 * connections end.
 */
static void leave(struct server *server, int number, const char *name)
{
    if (server->leaving) {
        log_write(&server->log, LOG_LEVEL_WARNING, "%s again: ending at once", name);
        _Exit(128 + number);
    }
    log_write(&server->log, LOG_LEVEL_INFO, "%s: leaving the cluster", name);
    server->leaving = true;
    supervisor_stopping();
    worker_stop_accepting(&server->worker);
    worker_threads_stop_accepting(&server->worker_threads);
    (void)uv_timer_start(&server->drained, on_drained, has_clients(server) ? DRAIN_MS : 0, 0);
}

static void reload(struct server *server, const char *name)
{
    struct reload_report report;
    struct error error;
    (void)server_reload(server, name, &report, &error); /* it has written what came of it */
}

static void obey(struct server *server, size_t i)
{
    const char *name = signals[i].name;
    if (signals[i].reopens && server->journal != NULL)
        server_reopen_journal(server, name);
    else if (!signals[i].reloads)
        log_write(&server->log, LOG_LEVEL_INFO, "%s: %s", name, signals[i].said);
    if (signals[i].reloads)
        reload(server, name);
}

static void on_signals_due(uv_timer_t *timer)
{
    struct server *server = timer->data;
    bool obeyed = false;
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        if (server->signals_wait[i]) {
            server->signals_wait[i] = false;
            obey(server, i);
            obeyed = true;
        }
    if (obeyed)
        (void)uv_timer_start(timer, on_signals_due, SIGNALS_EACH_MS, 0);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    for (size_t i = 0; i < SERVER_SIGNALS; i++) {
        if (signals[i].number != number)
            continue;
        if (!signals[i].said)
            leave(server, number, signals[i].name);
        else
            server->signals_wait[i] = true;
    }
    if (!uv_is_active((uv_handle_t *)&server->signals_due))
        on_signals_due(&server->signals_due);
}

static void mask(int how)
{
    sigset_t held;
    (void)sigemptyset(&held);
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        if (signals[i].said)
            (void)sigaddset(&held, signals[i].number);
    (void)pthread_sigmask(how, &held, NULL);
}

void server_hold_signals(void)
{
    mask(SIG_BLOCK);
}

void server_signals_init(struct server *server)
{
    /* the write reports that a client is gone */
    (void)signal(SIGPIPE, SIG_IGN);
    /* the write reports that a file may not grow */
    (void)signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < SERVER_SIGNALS; i++) {
        (void)uv_signal_init(&server->worker.loop, &server->signals[i]);
        server->signals[i].data = server;
    }
    (void)uv_timer_init(&server->worker.loop, &server->signals_due);
    server->signals_due.data = server;
    (void)uv_timer_init(&server->worker.loop, &server->drained);
    server->drained.data = server;
}

void server_signals_start(struct server *server)
{
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        (void)uv_signal_start(&server->signals[i], on_signal, signals[i].number);
    mask(SIG_UNBLOCK);
}

/* libuv restores the default of a signal when its last handle closes. */
void server_signals_close(struct server *server)
{
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        uv_close((uv_handle_t *)&server->signals[i], NULL);
    uv_close((uv_handle_t *)&server->signals_due, NULL);
    uv_close((uv_handle_t *)&server->drained, NULL);
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        if (signals[i].said)
            (void)signal(signals[i].number, SIG_IGN);
}
