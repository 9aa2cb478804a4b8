/*
 * server: the composition root: what the config says, as one running daemon on one loop.
 *
 * The one idea: the node decides, everything else only carries. Bytes from clients and peers become calls and
 * events of the node, its effects become bytes again, its next wake-up becomes the loop's timer. It decides
 * nothing itself but when to end.
 */
#ifndef HEADGATE_SERVER_H
#define HEADGATE_SERVER_H

#include "base/error.h"
#include "edge/settings/settings.h"

/*
 * Runs until SIGTERM or SIGINT has been obeyed: leaves the cluster, within leave_timeout, and returns true. A second
 * signal ends the process at once. False, with the exit status in `error`, when it could not start. `settings` has
 * its incarnation and seed filled in and outlives the call; `config_path` is shown to clients.
 */
bool server_run(const struct settings *settings, const char *config_path, struct error *error);

#endif
