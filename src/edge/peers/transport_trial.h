/*
 * transport_trial: whether the system gives the library of the transport all that it starts with.
 *
 * The one idea: nng starts some threads for each processor at its first use. Where a limit gives it fewer (ulimit -u,
 * pids.max, TasksMax, ulimit -v), it ends the process by a signal, or waits for ever. So a child process tries first,
 * and dies in the place of the daemon.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_TRIAL_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_TRIAL_H

#include "base/error.h"

#include <stdbool.h>

/* Must be called while the process has one thread, before a transport is made. False: `error` says what is missing. */
bool transport_trial(struct error *error);

#endif
