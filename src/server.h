/*
 * server: one running daemon, put together from a config: node, workers, transport, store.
 *
 * The one idea: the node decides, and everything else carries bytes. Bytes from clients and peers
 * become calls and events of the node, the node's effects become bytes, and its next wake-up
 * becomes the timer of the loop. The server itself decides only when to end.
 */
#ifndef HEADGATE_SERVER_H
#define HEADGATE_SERVER_H

#include "base/error.h"
#include "edge/settings/settings.h"

/*
 * Signals that ask for something else than an end wait from now on, until server_run takes them: by default they would
 * end the process. For the beginning of the process, while it has one thread.
 */
void server_hold_signals(void);

/*
 * Runs a daemon until SIGTERM or SIGINT; the daemon then leaves the cluster within leave_timeout,
 * and true is returned. A second signal ends the process at once. False: the daemon could not
 * start, and `error` has the exit status. `settings` must have its incarnation and seed, and must
 * outlive the call, which changes them when the config is read again. Clients can ask for `config_path`.
 */
bool server_run(struct settings *settings, const char *config_path, struct error *error);

#endif
