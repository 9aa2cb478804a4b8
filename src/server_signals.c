/*
 * server_signals decides what signals do. SIGTERM and SIGINT ask the daemon to leave; a second one
 * ends the process at once. SIGHUP and SIGUSR1 open the log of refusals again, if there is one.
 * Otherwise they and SIGUSR2, by which other daemons read their config or open their log again, only
 * write a line into the log: by default they would end the process without a goodbye. SIGQUIT keeps
 * its default for a daemon that is stuck: the process ends at once, and leaves a core if the system
 * keeps cores.
 */
#include "server_state.h"

#include <stdlib.h>

static const struct {
    const char *name;
    const char *said; /* the line for the log; NULL: the signal asks the daemon to leave */
    int number;
    bool reopens; /* opens the log of refusals again, if there is one */
} signals[SERVER_SIGNALS] = {
    {"SIGTERM", NULL, SIGTERM, false},
    {"SIGINT", NULL, SIGINT, false},
    {"SIGHUP", "nothing is read again: a changed config needs a restart", SIGHUP, true},
    {"SIGUSR1", "nothing is opened again: the log is the standard error stream", SIGUSR1, true},
    {"SIGUSR2", "it asks for nothing here", SIGUSR2, false},
};

static void leave(struct server *server, int number, const char *name)
{
    if (server->leaving) {
        log_write(&server->log, LOG_LEVEL_WARNING, "%s again: ending at once", name);
        _Exit(128 + number);
    }
    log_write(&server->log, LOG_LEVEL_INFO, "%s: leaving the cluster", name);
    server->leaving = true;
    supervisor_stopping();
    worker_close_listener(&server->worker);
    /* server_on_ended goes on when all workers have stopped */
    worker_threads_stop(&server->worker_threads);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    for (size_t i = 0; i < SERVER_SIGNALS; i++) {
        if (signals[i].number != number)
            continue;
        if (signals[i].reopens && server->journal != NULL) {
            journal_reopen(server->journal);
            log_write(&server->log, LOG_LEVEL_INFO, "%s: %s is opened again; a changed config needs a restart",
                      signals[i].name, server->settings->refusal_log);
        } else if (signals[i].said)
            log_write(&server->log, LOG_LEVEL_INFO, "%s: %s", signals[i].name, signals[i].said);
        else
            leave(server, number, signals[i].name);
    }
}

void server_signals_ignore(void)
{
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        if (signals[i].said)
            (void)signal(signals[i].number, SIG_IGN);
    /* the write reports that a client is gone */
    (void)signal(SIGPIPE, SIG_IGN);
    /* the write reports that a file may not grow */
    (void)signal(SIGXFSZ, SIG_IGN);
}

void server_signals_init(struct server *server)
{
    for (size_t i = 0; i < SERVER_SIGNALS; i++) {
        (void)uv_signal_init(&server->worker.loop, &server->signals[i]);
        server->signals[i].data = server;
    }
}

void server_signals_start(struct server *server)
{
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        (void)uv_signal_start(&server->signals[i], on_signal, signals[i].number);
}

/* libuv restores the default of a signal when its last handle closes. */
void server_signals_close(struct server *server)
{
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        uv_close((uv_handle_t *)&server->signals[i], NULL);
    server_signals_ignore();
}
