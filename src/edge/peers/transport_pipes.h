/*
 * transport_pipes: the connections of nng's sockets ("pipes"), and a safe end for each of them.
 *
 * The one idea: nng 1.5.2 hangs its only reaper for ever if a pipe is closed while a part of a
 * message has come and the callback that asks for the rest has not run. So this module never closes
 * a pipe that reads. It shuts the pipe's TCP socket down: nng reads the bytes that have come, finds
 * the end of the stream, and closes the pipe itself, at a moment at which it reads nothing. nng
 * does not tell the descriptor of a pipe; a thread of this module finds it (endpoint.h), shuts it
 * down, and watches whether nng lets go of it. nng's threads report new and removed pipes, so a
 * lock covers all of this. This module does not know what a message is.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_PIPES_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_PIPES_H

#include "edge/peers/endpoint.h"
#include "edge/process/patience.h"

#include <nng/nng.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* The purpose of the pipe's socket. */
enum pipe_kind {
    PIPE_GOSSIP,    /* listens, and publishes to subscribers */
    PIPE_SNAPSHOTS, /* listens, and replies to requests */
    PIPE_LINK,      /* dials, and receives published messages */
    PIPE_REQUESTS,  /* dials, and sends requests */
    PIPE_KINDS,
};

enum {
    PIPES_MAX = 640,
    PIPES_LEAVING_MAX = 160, /* dialers that are being closed */
};

struct pipes_stats {
    uint64_t open;  /* connections at present */
    uint64_t stuck; /* connections at present that have ended and that nng does not let go of */
    uint64_t refused, cut, reopened;
};

struct pipes;
struct tunnel;

/*
 * The caller is the first holder. The thread sends `changed` when `stuck` or `reopened` rises,
 * until pipes_quit. `tunnel`: ports take connections from it only, and the pipes
 * hold it; NULL: from anybody. NULL: no memory, descriptor or thread was left.
 */
struct pipes *pipes_create(uv_async_t *changed, struct tunnel *tunnel);
/*
 * From now on `changed` is not sent and ports are not tried. The caller must call this before it
 * closes the sockets of the ports.
 */
void pipes_quit(struct pipes *pipes);
/*
 * Adds a holder. The last release frees `pipes`; no socket that `pipes` watches may be open then.
 */
struct pipes *pipes_hold(struct pipes *pipes);
void pipes_release(struct pipes **pipes);

/*
 * Watches the pipes of `socket`. The caller must call this before the socket listens or dials.
 * Returns a status of nng.
 */
int pipes_watch(struct pipes *pipes, nng_socket socket, enum pipe_kind kind);

/*
 * Listens at a URL, and listens again if nng stops. `kind` must be PIPE_GOSSIP or PIPE_SNAPSHOTS;
 * each of these listens at one URL. Returns a status of nng.
 */
int pipes_listen(struct pipes *pipes, nng_socket socket, enum pipe_kind kind, const char *url);
/* The port that it listens at. */
uint16_t pipes_port(const struct pipes *pipes, enum pipe_kind kind);
/*
 * The remote end of this pipe is a peer: its address is not a stranger's any more, and all
 * connections of the address may stay.
 */
void pipes_prove(struct pipes *pipes, nng_pipe id);

/* The dialer of a pipe that has ended lately; its id is 0 if it is not known any more. */
nng_dialer pipes_former_dialer(struct pipes *pipes, nng_pipe id);

/*
 * The connection of a dialer, by a number that no other one has, and what the kernel counts of it. 0: it has
 * none, or its descriptor is not known yet, or the thread is looking at all of them.
 */
uint32_t pipes_arrivals(struct pipes *pipes, nng_dialer dialer, struct arrivals *arrivals);

/* Ends the connection of a dialer; nng then dials anew. False: the dialer has no connection. */
bool pipes_restart(struct pipes *pipes, nng_dialer dialer);
/* Ends the dialer's connection, and closes the dialer of `socket` a moment later. */
void pipes_close_dialer(struct pipes *pipes, nng_socket socket, nng_dialer dialer);

/* Refuses new connections of `socket`, and ends its connections. */
void pipes_retire(struct pipes *pipes, nng_socket socket);
/*
 * Waits until a retired socket has no connection and no dialer that is being closed; nng_close is
 * safe then. False: the patience is over.
 */
bool pipes_await_none(struct pipes *pipes, nng_socket socket, struct patience *patience);

struct pipes_stats pipes_stats(const struct pipes *pipes);

#endif
