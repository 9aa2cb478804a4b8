/*
 * transport_pipes: the connections that nng has for a transport (its "pipes"), and a safe end for each.
 *
 * The one idea: whoever closes a pipe of nng 1.5.2 while a part of a message has come, and the callback
 * that asks for the rest has not run, hangs nng's only reaper for ever. So nobody closes a pipe here. Its
 * socket is shut down instead: nng reads what has come, finds the end of the stream, and closes the pipe
 * itself, at a moment at which nothing is being read. nng does not tell the descriptor that this takes; a
 * thread of this module finds it (endpoint.h), shuts it down, and looks whether nng lets go of it. nng's
 * threads tell of pipes that come and go, so all of this is locked.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_PIPES_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_PIPES_H

#include <nng/nng.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* What the socket of a pipe is for. */
enum pipe_kind {
    PIPE_GOSSIP,    /* listens, and publishes */
    PIPE_SNAPSHOTS, /* listens, and answers */
    PIPE_LINK,      /* dials, and listens to what is published */
    PIPE_LANE,      /* dials, and asks */
    PIPE_KINDS,
};

enum {
    PIPES_MAX = 640,
    PIPES_LEAVING_MAX = 128, /* dialers that are being closed */
};

struct pipes_stats {
    uint64_t open;  /* connections, now */
    uint64_t stuck; /* connections that have ended and that nng does not let go of, now */
    uint64_t refused, cut, reopened;
};

struct pipes;

/*
 * Held once. `changed` is sent when `stuck` or `reopened` rises, until pipes_quit. NULL: no memory, descriptors or
 * threads.
 */
struct pipes *pipes_create(uv_async_t *changed);
/* Sends `changed` no more, and looks after ports no more: before their sockets are closed. */
void pipes_quit(struct pipes *pipes);
/* A further holder. The last one that releases it frees it, and no socket that it watches may be open then. */
struct pipes *pipes_hold(struct pipes *pipes);
void pipes_release(struct pipes **pipes);

/* Knows the pipes of `socket` from now on: before it listens or dials. Of nng's statuses. */
int pipes_watch(struct pipes *pipes, nng_socket socket, enum pipe_kind kind);

/*
 * Listens at a URL, of this kind, and again if nng stops doing so; nng's statuses. The kinds that listen do so once.
 */
int pipes_listen(struct pipes *pipes, nng_socket socket, enum pipe_kind kind, const char *url);
/* A peer is at the other end: its address is not a stranger's, and its connections may stay. */
void pipes_prove(struct pipes *pipes, nng_pipe id);

/* Ends the connection of a dialer, which dials anew by itself. False: it has none. */
bool pipes_restart(struct pipes *pipes, nng_dialer dialer);
/* Ends its connection, and closes the dialer of `socket` a moment later. */
void pipes_close_dialer(struct pipes *pipes, nng_socket socket, nng_dialer dialer);

/* Refuses new connections of `socket`, and ends those that it has. */
void pipes_retire(struct pipes *pipes, nng_socket socket);
/*
 * Waits until a retired socket has no connections, and no dialer that is being closed; then nng_close is
 * safe. False: it has some at `deadline_ns`.
 */
bool pipes_await_none(struct pipes *pipes, nng_socket socket, uint64_t deadline_ns);

struct pipes_stats pipes_stats(const struct pipes *pipes);

#endif
