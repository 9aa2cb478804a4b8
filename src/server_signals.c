/*
 * What signals do to a daemon: SIGTERM and SIGINT ask it to leave, a second one ends it at once. Those by which other
 * daemons are asked to read their config or to open their log again have no effect but a line in the log: by default
 * they would end the process without a goodbye. SIGQUIT keeps its default, for a daemon that is stuck: the process ends
 * at once, and leaves a core where the system keeps them.
 */
#include "server_state.h"

#include <stdlib.h>

static const struct {
    int number;
    const char *name;
    const char *said; /* NULL: it asks to leave */
} signals[SERVER_SIGNALS] = {
    {SIGTERM, "SIGTERM", NULL},
    {SIGINT, "SIGINT", NULL},
    {SIGHUP, "SIGHUP", "nothing is read again: a changed config needs a restart"},
    {SIGUSR1, "SIGUSR1", "nothing is opened again: the log is the standard error stream"},
    {SIGUSR2, "SIGUSR2", "it asks for nothing here"},
};

static void leave(struct server *server, int number, const char *name)
{
    if (server->leaving) {
        log_write(&server->log, LOG_LEVEL_WARNING, "%s again: ending at once", name);
        _Exit(128 + number);
    }
    log_write(&server->log, LOG_LEVEL_INFO, "%s: leaving the cluster", name);
    server->leaving = true;
    worker_close_listener(&server->worker);
    worker_threads_stop(&server->worker_threads); /* then see server_on_ended */
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    for (size_t i = 0; i < SERVER_SIGNALS; i++) {
        if (signals[i].number != number)
            continue;
        if (signals[i].said)
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
    (void)signal(SIGPIPE, SIG_IGN); /* a client that is gone is told of by the write, */
    (void)signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow */
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

/* libuv sets what nobody waits for any more to its default. */
void server_signals_close(struct server *server)
{
    for (size_t i = 0; i < SERVER_SIGNALS; i++)
        uv_close((uv_handle_t *)&server->signals[i], NULL);
    server_signals_ignore();
}
