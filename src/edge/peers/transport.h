/*
 * transport: bytes between peers, over nng on one uv loop.
 *
 * The one idea: nothing here waits and nothing here is certain. What cannot be sent at once is dropped and
 * counted, because the node above resends what somebody lacks. One socket publishes to all who listen, one
 * listens to all that were connected, requests and replies have sockets of their own. A connection that says
 * nothing for long is dialled anew, because a reader of a vanished host would never notice. It knows nothing
 * of what the bytes mean, and it trusts the network no further than the limits of its messages and queues.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
    TRANSPORT_LINKS_MAX = 64,    /* addresses listened to */
    TRANSPORT_REQUESTS_MAX = 64, /* requests that wait for their answers at the same time, */
    TRANSPORT_REQUESTS_EACH = 8, /* and of them to one address, so that a dead one does not take them all */
    TRANSPORT_LATER_MAX = 8,     /* fewer than so many wait to be published */
    /*
     * Connections that others make to the gossip port, and to the snapshot port, where a peer keeps up to
     * eight. So many of them are for strangers: behind addresses at which no peer is known to be; and so many
     * for each such address.
     */
    TRANSPORT_SUBSCRIBERS_MAX = 96,
    TRANSPORT_ASKERS_MAX = 192,
    TRANSPORT_STRANGERS_MAX = 32,
    TRANSPORT_STRANGER_MAX = 16,
    TRANSPORT_GREETING_MAX = 32, /* those that have not said what they speak, at both ports */
    /* Descriptors at most: these, two for each request, and those of sockets, ports and the library. */
    TRANSPORT_FILES_MAX = TRANSPORT_LINKS_MAX + 2 * TRANSPORT_REQUESTS_MAX + TRANSPORT_SUBSCRIBERS_MAX +
                          TRANSPORT_ASKERS_MAX + TRANSPORT_GREETING_MAX + 20,
};

/* Calls come from transport_work; `bytes` is valid during the call. */
struct transport_receiver {
    void *context;
    void (*message)(void *context, struct bytes bytes);  /* a peer published */
    void (*request)(void *context, struct bytes bytes);  /* a peer asks: call transport_reply before returning */
    void (*response)(void *context, struct bytes bytes); /* the answer to a transport_request */
    /* A message has been published in this time, on the monotonic clock. NULL: nobody minds. */
    void (*published)(void *context, uint64_t from_ns, uint64_t to_ns);
    /* So many connections have ended and are not let go of, more than before. NULL: nobody minds. From the loop. */
    void (*stuck)(void *context, uint64_t connections);
    /* A port did not listen any more, and does again. NULL: nobody minds. From the loop. */
    void (*reopened)(void *context);
};

struct transport_options {
    uv_loop_t *loop;
    const char *gossip_address;   /* "host:port" to publish on; used during the call only, as the next */
    const char *snapshot_address; /* "host:port" to answer requests on */
    size_t message_max_bytes;     /* larger ones are neither sent nor received */
    uint64_t request_timeout_ms;  /* then an unanswered request is given up */
    uint64_t redial_after_ms;     /* a link is dialled anew after this long without a message; doubles to 4 times */
    struct transport_receiver receiver;
};

/* X(name, what it counts) */
#define TRANSPORT_STATS(X)                                                                                         \
    X(published_messages, "messages published")                                                                    \
    X(received_messages, "messages received from peers")                                                           \
    X(requests_sent, "requests made")                                                                              \
    X(requests_refused, "requests not made: too many were waiting, or the address was no good")                    \
    X(requests_expired, "requests given up without an answer")                                                     \
    X(requests_received, "requests answered")                                                                      \
    X(send_failures, "messages that could not be sent at once or were too large")                                  \
    X(links, "addresses listened to (now)")                                                                        \
    X(redials, "connections dialled anew because they were silent")                                                \
    X(connections, "connections to and from peers, whoever made them (now)")                                       \
    X(connections_stuck, "connections that have ended, and that nng does not let go of (now)")                     \
    X(connections_refused, "connections to the ports for peers refused: no place was free")                        \
    X(connections_cut, "connections to the ports for peers ended: they asked, or greeted, too late or too many")   \
    X(ports_reopened, "times that a port for peers was opened again, because it did not listen any more")

struct transport_stats {
#define X(name, help) uint64_t name;
    TRANSPORT_STATS(X)
#undef X
};

struct transport;

/* NULL with `error` set: EX_UNAVAILABLE (69) for a busy port, EX_CONFIG (78) for an address that makes no sense. */
struct transport *transport_create(const struct transport_options *options, struct error *error);

/*
 * Closes all sockets at once; what was published in this turn may be lost. Frees the memory, then calls
 * `closed`, from the loop, within some seconds even if a socket cannot be closed. Not to be called from a receiver's
 * functions.
 */
void transport_destroy(struct transport **transport, void (*closed)(void *context), void *context);

/*
 * Sends `bytes` to whoever is connected, in order. Never blocks. That takes a system call for each of them, and where
 * they are on this machine the kernel does their part in it: so it is transport_work that does it, but where too many
 * wait already: then the oldest leaves now.
 */
void transport_publish(struct transport *transport, struct bytes bytes);

/*
 * Something has come, as far as the loop knew when it polled, or is to be published: transport_work is wanted. While
 * that is so the loop does not sleep.
 */
bool transport_waits(const struct transport *transport);
/*
 * A piece of what waits: publishes one message, or else hears one thing; what was published, requests and answers in
 * turns. False: there was nothing.
 */
bool transport_work(struct transport *transport);

/* Publishes all that waits for that. */
void transport_flush(struct transport *transport);

/* Listens to what is published at `address`; again: nothing changes. False when the address or the room is short. */
bool transport_connect(struct transport *transport, const char *address);
void transport_disconnect(struct transport *transport, const char *address);

/* Asks `address`. An answer comes as receiver.response, or never. */
void transport_request(struct transport *transport, const char *address, struct bytes bytes);

/*
 * Held: nothing is heard, but for answers to requests that are made meanwhile; what comes waits, and does not count as
 * waiting for transport_work. Not at the beginning.
 */
void transport_hold(struct transport *transport, bool held);

/*
 * Answers the request of this call of receiver.request. Who gets an answer that is not empty is a peer: its connection
 * stays, and its address counts as a peer's.
 */
void transport_reply(struct transport *transport, struct bytes bytes);

/* A copy of the counters. Any thread may ask: the loop writes each counter as a tally. */
struct transport_stats transport_stats(const struct transport *transport);

#endif
