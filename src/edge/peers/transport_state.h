/*
 * transport_state: what the parts of the transport share: sockets, links, request sockets. Only they include it.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_STATE_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_STATE_H

#include "edge/peers/transport.h"
#include "edge/peers/transport_pipes.h"

#include <nng/nng.h>

enum {
    ADDRESS_BYTES = 128,
    URL_BYTES = ADDRESS_BYTES + 8,
    TRANSPORT_ENVELOPE_BYTES = 64, /* more than nng puts before a request or a reply */
};

/* What is heard. */
enum inlet {
    INLET_PUBLISHED,
    INLET_REQUESTS,
    INLET_ANSWERS,
    INLETS,
};

/* An address that is listened to. */
struct link {
    char address[ADDRESS_BYTES]; /* "": free */
    nng_dialer dialer;
    uint64_t quiet_since_ns; /* the last message or dial, or the last time at which it may not have been heard */
    unsigned doublings;      /* of the patience, since the last message */
    bool spared;             /* it was given more time, since the last message or dial */
};

/* A socket for one request at a time, kept afterwards for the next one to the same address. */
struct request_socket {
    struct transport *transport;
    char address[ADDRESS_BYTES]; /* "": closed */
    nng_socket socket;
    nng_dialer dialer;
    nng_aio *sending;
    uv_poll_t *poll; /* on the heap: uv lets go of it one turn after the request socket is closed */
    bool waiting;    /* for an answer */
    bool spared;     /* was given more time for it */
    bool readable;
    uint64_t deadline_ns;
    uint64_t used_ns;
};

struct transport {
    struct transport_receiver receiver;
    struct transport_stats stats;
    uv_loop_t *loop;
    size_t message_max_bytes;
    uint64_t request_timeout_ns, redial_after_ns;
    nng_socket publisher, subscriber, replier;
    uv_poll_t subscriber_poll, replier_poll;
    nng_aio *at_once; /* for what does not wait; unused between calls */
    uv_idle_t later;  /* runs while some are to be published: */
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
    struct closing *closing; /* at the end */
    unsigned closing_ticks;
    bool held;
    bool in_call; /* one of the receiver's functions runs */
    uv_prepare_t polls;
    bool waits[INLETS];           /* there was something to hear when the loop polled, and may be still; */
    enum inlet next_inlet;        /* here first, */
    uint32_t next_request_socket; /* and of answers here */
    nng_pipe asking;              /* of the request that is being answered */
    void (*closed)(void *context);
    void *closed_context;
};

/* "tcp://" and the address; false when that is longer than nng takes. */
bool transport_url(char url[URL_BYTES], const char *address);
/* Of the sizes of messages that come, and of reconnecting. Statuses are nng's, here and below. */
int transport_set_limits(nng_socket socket, size_t message_max_bytes);
/* `ready` is called whenever something can be received; `poll->data` becomes `data`. */
int transport_poll(struct transport *transport, uv_poll_t *poll, void *data, nng_socket socket, uv_poll_cb ready);
/* One of the handles that the loop knew is closed. */
void transport_count_closed(struct transport *transport);

/* ---- transport_hear.c: of each kind one is heard at a time, in turns ---- */

/* Watches for what is published, and for requests. */
int inlets_open(struct transport *transport);
/* As far as the loop knew when it polled last. */
bool inlets_wait(const struct transport *transport);
/* Hears one thing, of each kind in turns; false: there was none. */
bool inlets_hear(struct transport *transport);
/* Hands `message` to one of the receiver's functions, and frees it. */
void transport_deliver(struct transport *transport, void (*function)(void *, struct bytes), nng_msg *message);

/* A message of nng's with a copy of `bytes`, or NULL, counted. */
nng_msg *transport_message(struct transport *transport, struct bytes bytes);

/* Looks by then, or sooner, after what is due: links_redial and lanes_expire. */
void transport_wake_by(struct transport *transport, uint64_t at_ns);
/* Somebody spoke on the link that this dialer made. */
void links_hear(struct transport *transport, nng_dialer dialer, uint64_t now_ns);
/*
 * Dials those anew that have been silent for too long. `late`: this process did not run for a while, and what came
 * meanwhile may not have been heard.
 */
void links_redial(struct transport *transport, uint64_t now_ns, bool late);
/* Lets go of all of them. */
void links_close(struct transport *transport);
/* Gives up the requests whose time is over. */
void request_sockets_expire(struct transport *transport, uint64_t now_ns, bool late);
/* Takes one answer, from a request socket that is readable; false: from none. */
bool request_sockets_hear(struct transport *transport);
/* Answers are not taken, or are again. */
void request_sockets_hold(struct transport *transport, bool held);
/* Closes all with others; the loop lets go of them later. */
void request_sockets_close(struct transport *transport, struct closing *closing);

/*
 * ---- transport_close.c ----
 *
 * A socket is closed when its connections have ended (transport_pipes.h), which takes a moment: so a thread
 * of its own closes it, and nobody waits for that for long. A socket whose connections do not end stays
 * open: nng may wait for ever where it closes one.
 */
struct closing;
/* NULL without memory: then what is added stays open. */
struct closing *closing_create(struct pipes *pipes);
/* The socket, and what sends by it (or NULL), are closed and freed; the loop knows them no more. */
void closing_add(struct closing *closing, nng_socket socket, nng_aio *sending);
/* Nothing is added after it. Without a thread, all stays open. */
void closing_begin(struct closing *closing);
bool closing_is_done(const struct closing *closing);
/* Nobody will ask whether it is done. */
void closing_forget(struct closing **closing);

#endif
