/*
 * transport_pipes_state: the data that transport_pipes.c, its thread and transport_ports.c share.
 * No other file may include it. The caller must hold the lock in every call but pipes_thread and
 * pipes_free.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_PIPES_STATE_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_PIPES_STATE_H

#include "edge/peers/endpoint.h"
#include "edge/peers/transport.h"
#include "edge/peers/transport_pipes.h"

#define PORT_TRY_EACH_NS ((uint64_t)3 * 1000000000)
/* A leaving dialer without a connection is closed after this time. */
#define PIPES_LEAVING_NS ((uint64_t)300 * 1000000)

struct pipe {
    uint32_t id; /* nng's id of the pipe; 0: a free place */
    uint32_t socket, dialer;
    enum pipe_kind kind;
    struct endpoint local, remote;
    int fd; /* -1: not found */
    ino_t inode;
    bool looked_for; /* the thread has looked for the descriptor */
    /* nng has removed the pipe; its descriptor may still be open */
    bool gone;
    bool known;     /* the remote address is a peer's */
    uint32_t looks; /* how often the thread has looked at the pipe */
    uint64_t since_ns;
    /* when the connection was asked to end; 0: it was not */
    uint64_t ending_ns;
    /* when the thread first saw that the connection had ended; 0: it has not seen that */
    uint64_t dead_ns;
    uint32_t dead_looks;
    bool shut_writing, shut_all;
};

/*
 * A dialer that must be closed. If the dialer has a connection, the connection is ended first: the
 * dialer makes no new connection before nng has removed the old pipe, and a connection that it is
 * making meanwhile is refused. If the dialer makes no connection for PIPES_LEAVING_NS, it is
 * closed: it waits then, and nothing is half done.
 */
struct leaving {
    uint32_t dialer; /* 0: a free place */
    uint32_t socket;
    uint64_t deadline_ns; /* UINT64_MAX: the dialer has a connection, or is being closed */
};

/*
 * A connection at one of the ports that nng has not reported: it has not named its protocol yet, or
 * it has ended.
 */
struct greeting {
    ino_t inode; /* 0: a free place */
    uint32_t looks;
    bool seen, cut, dead;
    uint64_t gone_seen; /* `gone_count` at the last look at an ended connection */
};

enum port_state {
    PORT_CLOSED,
    PORT_LISTENS,
    /* the port does not listen: it is opened again when its connections have ended */
    PORT_ENDS,
};

struct port {
    enum port_state state;
    nng_socket socket;
    nng_listener listener;
    char url[NNG_MAXADDRLEN];
    struct endpoint local;
    int try_fd; /* -1: no try runs */
    struct endpoint try_from;
    uint64_t try_ns; /* when the present try began, or when the next try begins */
    uint32_t looks;  /* looks at the present try */
};

struct pipes;

struct watched {
    struct pipes *pipes;
    enum pipe_kind kind;
};

/* A pipe that has ended; messages that it brought may still wait. */
struct former {
    uint32_t id, dialer;
};

enum { FORMER_MAX = 256 };
enum { GREETINGS_MAX = 2 * TRANSPORT_GREETING_MAX, PORTS = 2 };

struct pipes {
    uv_mutex_t lock;
    uv_cond_t work;   /* wakes the thread */
    uv_cond_t fewer;  /* a pipe or a dialer has gone: wakes pipes_await_none */
    unsigned holders; /* at 0 the thread ends and frees this struct */
    struct watched watched[PIPE_KINDS];
    struct tunnel *tunnel; /* NULL: without TLS */
    struct pipe pipe[PIPES_MAX];
    struct former former[FORMER_MAX]; /* in a ring */
    uint32_t former_next;
    struct leaving leaving[PIPES_LEAVING_MAX];
    struct endpoint_ring known; /* addresses of peers */
    struct greeting greeting[GREETINGS_MAX];
    uint64_t greetings_ns;    /* when greetings are looked at next */
    struct port port[PORTS];  /* ports that listen, by kind */
    struct pipes_stats stats; /* see base/metric.h: written under the lock, read without it */
    uint64_t gone_count;      /* number of pipes that nng has removed */
    bool quits;
    bool hurry;          /* the thread must look again at once */
    uv_async_t *changed; /* NULL: nobody is told */
    int blank_fd;        /* /proc/self/status, which has the size of the table of descriptors */
    /* a descriptor reserved for duplicates, so that one is left if all others are in use */
    int spare_fd;
};

/* The function of the thread. `context` must be a struct pipes; the thread frees it at its end. */
void *pipes_thread(void *context);
void pipes_free(struct pipes *pipes);
/* The place of a dialer that is being closed; NULL: the dialer is not. */
struct leaving *pipes_leaving(struct pipes *pipes, uint32_t dialer);
/*
 * Ends all connections of the socket. False: the socket has no connection, and no dialer that is
 * being closed.
 */
bool pipes_end_all(struct pipes *pipes, nng_socket socket);
/* Closes the dialer. The lock is released during the call of nng. */
void pipes_let_go(struct pipes *pipes, struct leaving *leaving);
/* ---- transport_ports.c ---- */

void ports_look(struct pipes *pipes, uint64_t now_ns);
/*
 * True: the connection from `remote` is a try of this module. nng's refusal of it proves that the
 * port listens.
 */
bool ports_try(const struct pipes *pipes, const struct endpoint *remote);
/*
 * True: nng has forgotten this ended connection, so this module must close its descriptor. The
 * caller must call this at each look since the connection has ended.
 */
bool ports_forgotten(struct pipes *pipes, struct greeting *dead);
/* Ends all tries and all looks at ports. */
void ports_close(struct pipes *pipes);

/* Wakes the thread. */
void pipes_hurry(struct pipes *pipes);

#endif
