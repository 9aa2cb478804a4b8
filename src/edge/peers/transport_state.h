/*
 * transport_state: the data that the files of the transport share: sockets, links, request sockets.
 * Only the files transport*.c may include it.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_STATE_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_STATE_H

#include "edge/peers/transport.h"
#include "edge/peers/transport_loss.h"
#include "edge/peers/transport_pipes.h"
#include "edge/peers/transport_tunnel.h"

#include <nng/nng.h>

enum {
    NAME_BYTES = 64,
    ADDRESS_BYTES = 128,
    URL_BYTES = ADDRESS_BYTES + 8,
    TRANSPORT_ENVELOPE_BYTES = 64, /* more than nng adds in front of a request or a reply */
};

/* The sources of messages. */
enum inlet {
    INLET_PUBLISHED,
    INLET_REQUESTS,
    INLET_ANSWERS,
    INLETS,
};

/* A connection of a link. */
struct lane {
    nng_dialer dialer; /* its id is 0: nobody has dialled */
    /*
     * time of the last message or dial, or the last time at which a message may have waited unheard
     */
    uint64_t quiet_since_ns;
    unsigned doublings; /* doublings of the patience since the last message */
    bool spared;        /* the lane was given extra time since the last message or dial */
    struct loss_lane watch;
};

/* The messages that a link has brought lately, by a hash of each. */
enum { COPIES_KEPT = 128 };
struct copies {
    uint64_t seen[COPIES_KEPT]; /* in a ring; 0: none */
    uint32_t next;
};

/* An address that this daemon subscribes to. */
struct link {
    char address[ADDRESS_BYTES];       /* "": a free place */
    char name[NAME_BYTES];             /* the member there */
    struct lane lane[TRANSPORT_LANES]; /* the first is always there, the others while the link loses packets */
    struct loss loss;
    struct copies copies;
    uint32_t refused_looks;     /* for so many looks it is given no further lane: the peer takes none */
    bool is_unexplained;        /* it had no connection when it was dialled last, and was not looked at since */
    enum contact_finding found; /* what the log was told of the link since the last message */
};

/*
 * A socket for one request at a time. It is kept afterwards for the next request to the same
 * address.
 */
struct request_socket {
    struct transport *transport;
    char address[ADDRESS_BYTES]; /* "": the socket is closed */
    char name[NAME_BYTES];
    nng_socket socket;
    nng_dialer dialer;
    nng_aio *sending;
    /* on the heap, because libuv lets go of it one turn after the request socket is closed */
    uv_poll_t *poll;
    bool waiting; /* a request waits for its reply */
    bool spared;  /* the request was given extra time */
    bool readable;
    uint64_t deadline_ns;
    uint64_t used_ns;
};

struct transport {
    struct transport_receiver receiver;
    struct transport_stats stats;
    struct transport_tls *tls; /* NULL: peers speak in clear */
    uint64_t tls_ends_s;       /* see base/metric.h */
    struct tunnel *tunnel;     /* the pipes' own; NULL without TLS */
    struct contact *contact;   /* without TLS: of the link that is looked at; NULL: none is */
    uint32_t next_contact;     /* the link that is looked at next, if it is unexplained */
    uv_loop_t *loop;
    size_t message_max_bytes;
    uint64_t request_timeout_ns, redial_after_ns, look_each_ns;
    uint64_t look_ns; /* when links are looked at for losses next; 0: there was no link yet */
    struct hash_key hash_key;
    nng_socket publisher, subscriber, replier;
    uv_poll_t subscriber_poll, replier_poll;
    /* for calls that must not wait; unused between calls */
    nng_aio *at_once;
    /* runs while messages wait to be published */
    uv_idle_t later;
    nng_msg *to_publish[TRANSPORT_LATER_MAX];
    uint32_t to_publish_count;
    uv_timer_t timer;
    uint64_t wake_ns; /* when the timer is due; UINT64_MAX: never */
    struct link links[TRANSPORT_LINKS_MAX];
    struct request_socket request_sockets[TRANSPORT_REQUESTS_MAX];
    unsigned handles_open;
    struct pipes *pipes;
    uv_async_t pipes_changed;
    struct pipes_stats pipes_told;
    struct closing *closing; /* set while the transport closes */
    unsigned closing_ticks;
    bool held;
    bool in_call; /* a function of the receiver runs */
    bool told_too_large;
    uv_prepare_t polls;
    /* the inlet had a message when the loop polled, and may have more */
    bool waits[INLETS];
    enum inlet next_inlet; /* the inlet whose turn is next */
    /* the request socket whose turn is next */
    uint32_t next_request_socket;
    nng_pipe asking; /* the pipe of the request that is being answered */
    void (*closed)(void *context);
    void *closed_context;
};

/* Writes "tcp://" and the address. False: the URL is longer than nng allows. */
bool transport_url(char url[URL_BYTES], const char *address);
/* Dials the member, through the tunnel if there is one. Returns a status of nng. */
int transport_dial(struct transport *transport, nng_socket socket, const char *name, const char *address,
                   nng_dialer *dialer);
/*
 * Limits the size of received messages, and the time between attempts to connect. This call and the
 * following ones return statuses of nng.
 */
int transport_set_limits(nng_socket socket, size_t message_max_bytes);
/* libuv calls `ready` whenever the socket can receive; `poll->data` becomes `data`. */
int transport_poll(struct transport *transport, uv_poll_t *poll, void *data, nng_socket socket, uv_poll_cb ready);
/* A handle of the loop has been closed. After the last one the transport is freed. */
void transport_count_closed(struct transport *transport);

/* ---- transport_hear.c: one message in each call, the inlets in turns ---- */

/* Watches for published messages and for requests. */
int inlets_open(struct transport *transport);
/* True: an inlet had a message when the loop polled last, and may still have one. */
bool inlets_wait(const struct transport *transport);
/* Hears one message, from the inlet whose turn it is. False: there was none. */
bool inlets_hear(struct transport *transport);
/*
 * Hands `message` to one of the receiver's functions, and frees it. `from`: who has brought it. The
 * function is handed NULL if peers speak in clear.
 */
void transport_deliver(struct transport *transport,
                       void (*function)(void *context, const char *from, struct bytes bytes), const char *from,
                       nng_msg *message);

/* ---- transport_send.c ---- */

/*
 * Makes an nng message with a copy of `bytes`. NULL: no memory, or too large; counted, and the first one that is too
 * large is told with its `receiver`.
 */
nng_msg *transport_message(struct transport *transport, struct bytes bytes, const char *receiver);

/* ---- deadlines, links and requests ---- */

/* Makes the timer call request_sockets_expire and links_redial by `at_ns` at the latest. */
void transport_wake_by(struct transport *transport, uint64_t at_ns);
/* A message has come over this dialer's connection. Returns its link; NULL: there is none. */
struct link *links_hear(struct transport *transport, nng_dialer dialer, uint64_t now_ns);
/* Dials for one lane of a link, and is patient with it. */
bool links_dial(struct transport *transport, struct link *link, struct lane *lane);
/*
 * Dials all links anew that were silent for too long. `late`: this process did not run for a while,
 * so messages may wait unheard.
 */
void links_redial(struct transport *transport, uint64_t now_ns, bool late);
/* Tells the receiver what was found out about a link without a connection. */
void links_tell(struct transport *transport);
/* Drops all links. */
void links_close(struct transport *transport);
/* ---- transport_lanes.c ---- */

/* Gives links that lose packets more lanes, if it is time to look, and takes them from those that do so no more. */
void lanes_look(struct transport *transport, uint64_t now_ns);
void lanes_drop(struct transport *transport, struct link *link, uint32_t from);
/* True: another lane of the link has brought the same message. */
bool lanes_have_brought(const struct transport *transport, struct link *link, struct bytes message);

/* Gives up the requests whose deadlines have passed. `late`: see links_redial. */
void request_sockets_expire(struct transport *transport, uint64_t now_ns, bool late);
/* Takes one reply from a request socket that is readable. False: no socket had a reply. */
bool request_sockets_hear(struct transport *transport);
/* Stops or starts hearing replies. */
void request_sockets_hold(struct transport *transport, bool held);
/* Adds all request sockets to `closing`; the loop lets go of them later. */
void request_sockets_close(struct transport *transport, struct closing *closing);

/*
 * ---- transport_close.c ----
 *
 * A socket may be closed only after its connections have ended (transport_pipes.h), which takes a
 * moment. A thread closes the sockets, so that the loop does not wait. A socket whose connections
 * do not end stays open, because nng may wait for ever while it closes such a socket.
 */
struct closing;
/* NULL: no memory; the sockets that are added then stay open. */
struct closing *closing_create(struct pipes *pipes);
/*
 * Adds a socket, and the aio that sends on it or NULL. The thread closes and frees both; the caller
 * must not use them any more.
 */
void closing_add(struct closing *closing, nng_socket socket, nng_aio *sending);
/*
 * Starts the thread. The caller must add nothing afterwards. If no thread can start, all sockets
 * stay open.
 */
void closing_begin(struct closing *closing);
bool closing_is_done(const struct closing *closing);
/* The caller will not ask whether closing is done. */
void closing_forget(struct closing **closing);

#endif
