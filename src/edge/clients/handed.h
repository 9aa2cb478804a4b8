/*
 * handed: sockets that listen already, which the service manager (systemd's socket units) hands over at the start.
 *
 * The one idea: such a socket is the manager's, and outlives the daemon. Clients that connect while no daemon runs wait
 * in its queue, and nobody is refused. A socket belongs to the key of the config that names its address; whatever
 * belongs to none would swallow clients, so that is a mistake. Sockets of peers are never handed over.
 */
#ifndef HEADGATE_EDGE_CLIENTS_HANDED_H
#define HEADGATE_EDGE_CLIENTS_HANDED_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { HANDED_MAX = 256 };

struct handed {
    int fd[HANDED_MAX];
    bool taken[HANDED_MAX];
    uint32_t count;
};

/* Takes what the environment of this process names, once. False: one of them does not listen, or they are too many. */
bool handed_open(struct handed *handed, struct error *error);

/*
 * A descriptor for this thread, numbered from 0, that accepts what comes to `address`; the caller must close it. If
 * there are fewer sockets of the address than threads, threads share one. -1: there is none of this address; -2: errno
 * says what failed.
 */
int handed_take(struct handed *handed, const struct sockaddr *address, uint32_t thread);

/* Closes what nobody took. False: there was something, and `error` names its address. */
bool handed_close(struct handed *handed, struct error *error);

#endif
