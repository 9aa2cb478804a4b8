/*
 * transport_tunnel_state: the data of the tunnel, which its calls and its thread share. Only the files
 * transport_tunnel*.c may include it.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_TUNNEL_STATE_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_TUNNEL_STATE_H

#include "edge/peers/transport_tunnel.h"

#include <pthread.h>
#include <uv.h>

enum { TUNNEL_BUFFER_BYTES = 16384 };

/* Bytes on their way in one direction. */
struct tunnel_pipe {
    uint32_t begin, end;
    bool ended; /* nothing comes after them */
    char bytes[TUNNEL_BUFFER_BYTES];
};

enum tunnel_state {
    TUNNEL_FREE,
    TUNNEL_DIALS,  /* nng has dialled a route, and a contact is being made */
    TUNNEL_SHAKES, /* somebody has dialled this daemon */
    TUNNEL_CARRIES,
};

struct tunnel_connection {
    enum tunnel_state state;
    int inner, outer; /* -1: none */
    struct ssl_st *ssl;
    struct contact *contact; /* of TUNNEL_DIALS */
    uint32_t route;          /* of the same */
    enum tunnel_port port;   /* of one that was accepted */
    bool accepted, known;    /* from a peer's address */
    bool again;              /* it has more to do at once */
    short outer_wants;       /* events of poll without which TLS cannot go on */
    uint64_t since_ns;
    uint64_t ending_ns;           /* when nng ended it, or it had to end; 0: it goes on */
    struct endpoint remote;       /* the other side */
    struct endpoint inner_local;  /* of one that was accepted: what nng sees as its remote end */
    struct endpoint inner_remote; /* of one that nng dialled: nng's local end */
    char names[TRANSPORT_NAMES_BYTES];
    struct tunnel_pipe out, in; /* from nng, and to it */
};

struct tunnel_route {
    int fd; /* listens; -1: a free place */
    uint16_t port;
    uint64_t used;
    char name[CONTACT_NAME_BYTES], address[CONTACT_ADDRESS_BYTES];
    enum contact_finding found;
    char sentence[CONTACT_SENTENCE_BYTES];
};

struct tunnel {
    atomic_uint holders;
    uv_mutex_t lock; /* covers routes, doors, tls, and the state, ends and names of connections */
    pthread_t thread;
    int wake_fd;
    bool quits, renews;
    uint64_t lacks_ns; /* when there was no descriptor or memory for a connection; 0: there was */
    struct transport_tls *tls;
    struct {
        int fd; /* -1: it does not listen yet */
        uint16_t inner_port;
    } door[TUNNEL_PORTS];
    uint64_t uses;
    struct tunnel_route route[TUNNEL_ROUTES_MAX];
    struct endpoint_ring known; /* addresses of peers */
    struct tunnel_stats stats;  /* see base/metric.h */
    struct tunnel_connection *connection[TUNNEL_CONNECTIONS_MAX];
};

/* The function of the thread, with a struct tunnel; it holds the lock but while it waits. */
void *tunnel_run(void *context);

/* ---- transport_tunnel_carry.c: one connection ---- */

/* Carries what can be carried. False: it has ended. */
bool tunnel_carry(struct tunnel_connection *connection);
/* Goes on with the handshake. False: it has failed. *done: it is over. */
bool tunnel_shake(struct tunnel_connection *connection, bool *done);
short tunnel_inner_events(const struct tunnel_connection *connection);
short tunnel_outer_events(const struct tunnel_connection *connection);
/* Closes both ends and forgets the contact. */
void tunnel_close(struct tunnel_connection *connection);

#endif
