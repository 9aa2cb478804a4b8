/*
 * transport_pipes_state: what transport_pipes.c and its thread share. Only they include it.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_PIPES_STATE_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_PIPES_STATE_H

#include "edge/peers/endpoint.h"
#include "edge/peers/transport.h"
#include "edge/peers/transport_pipes.h"

#define PORT_TRY_EACH_NS ((uint64_t)3 * 1000000000)
/* For a dialer without a connection to make one. */
#define PIPES_LEAVING_NS ((uint64_t)300 * 1000000)

struct pipe {
    uint32_t id; /* nng's; 0: a free place */
    uint32_t socket, dialer;
    enum pipe_kind kind;
    struct endpoint local, remote;
    int fd; /* -1: not found */
    ino_t inode;
    bool looked_for; /* its descriptor */
    bool gone;       /* nng has said so; its descriptor may be open still */
    bool known;      /* its address is a peer's */
    uint32_t looks;  /* so often was it looked after */
    uint64_t since_ns;
    uint64_t ending_ns; /* asked to end, since; 0: it is not */
    uint64_t dead_ns;   /* its connection has ended, seen first; 0: it has not */
    uint32_t dead_looks;
    bool shut_writing, shut_all;
};

/*
 * A dialer that is to be closed: when its connection has gone, since it does not make a new one before nng has said so;
 * the one that it is just making is refused. When it has made none in a while it is closed as well: then it is waiting
 * for something, and nothing of it is half done.
 */
struct leaving {
    uint32_t dialer; /* 0: a free place */
    uint32_t socket;
    uint64_t deadline_ns; /* UINT64_MAX: it has a connection */
};

/* A connection to one of the ports of which nng has not told: it has not said yet what it speaks, or has ended. */
struct greeting {
    ino_t inode; /* 0: a free place */
    uint32_t looks;
    bool seen, cut, dead;
    uint64_t gone_seen; /* `gone_count` at the last look at a dead one */
};

enum port_state {
    PORT_CLOSED,
    PORT_LISTENS,
    PORT_ENDS, /* it does not listen: when its connections have ended it is opened again */
};

struct port {
    enum port_state state;
    nng_socket socket;
    nng_listener listener;
    char url[NNG_MAXADDRLEN];
    struct endpoint local;
    int try_fd; /* -1: none */
    struct endpoint try_from;
    uint64_t try_ns; /* when it began, or the next one does */
    uint32_t looks;  /* at this one */
};

struct pipes;

struct watched {
    struct pipes *pipes;
    enum pipe_kind kind;
};

enum { KNOWN_MAX = 64, GREETINGS_MAX = 2 * TRANSPORT_GREETING_MAX, PORTS = 2 };

struct pipes {
    uv_mutex_t lock;
    uv_cond_t work;   /* for the thread */
    uv_cond_t fewer;  /* pipes: for pipes_await_none */
    unsigned holders; /* the thread goes when there is none, and frees this */
    struct watched watched[PIPE_KINDS];
    struct pipe pipe[PIPES_MAX];
    struct leaving leaving[PIPES_LEAVING_MAX];
    struct endpoint known[KNOWN_MAX]; /* addresses of peers, in a ring */
    uint32_t known_next;
    struct greeting greeting[GREETINGS_MAX];
    uint64_t greetings_ns;    /* when they are looked at again */
    struct port port[PORTS];  /* that are listened to, by kind */
    struct pipes_stats stats; /* tallies: written under the lock, read without it */
    uint64_t gone_count;      /* pipes of which nng has said so */
    bool quits;
    bool hurry;          /* there is work at once */
    uv_async_t *changed; /* NULL: nobody minds */
    int blank_fd;        /* /proc/self/status, which tells how many descriptors there may be */
    int spare_fd;        /* a descriptor to make duplicates in, also when there is no other left */
};

/* The thread: with `context` a struct pipes, which it frees at the end. */
void *pipes_thread(void *context);
void pipes_free(struct pipes *pipes);
/* Peers are at this address. The lock is held. */
bool pipes_know(const struct pipes *pipes, const struct endpoint *remote);
/* The place among those that leave; NULL: it does not. The lock is held. */
struct leaving *pipes_leaving(struct pipes *pipes, uint32_t dialer);
/* Ends all connections of the socket. False: there are none, nor dialers that leave. The lock is held. */
bool pipes_end_all(struct pipes *pipes, nng_socket socket);
/* Closes it; the lock is held, but not meanwhile. */
void pipes_let_go(struct pipes *pipes, struct leaving *leaving);
/* ---- transport_ports.c; the lock is held ---- */

void ports_look(struct pipes *pipes, uint64_t now_ns);
/* This is a try of ours, which has done its part when it is turned away. */
bool ports_try(const struct pipes *pipes, const struct endpoint *remote);
/* Nobody will close the descriptor of this connection. To be asked at each look since it has ended. */
bool ports_forgotten(struct pipes *pipes, struct greeting *dead);
/* No more looks. */
void ports_close(struct pipes *pipes);

/* Wakes it up. The lock is held. */
void pipes_hurry(struct pipes *pipes);

#endif
