/*
 * transport: bytes between peers, over nng on one uv loop.
 *
 * The one idea: no call waits, and no message is certain to arrive. A message that cannot be sent
 * at once is dropped and counted, because the node sends again whatever a peer lacks. One socket
 * publishes to all subscribers, one socket subscribes to all connected addresses; requests and
 * replies have sockets of their own. A link that brings no message for long is dialled anew,
 * because nng never notices that the host at the other end has vanished. This file does not know
 * what the bytes mean. It trusts the network only within the limits of messages and queues.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
    /* addresses that this daemon subscribes to */
    TRANSPORT_LINKS_MAX = 64,
    /*
     * connections to one of them while its link loses packets: each message comes over each, and TCP
     * makes the messages behind a lost packet wait on one of them only
     */
    TRANSPORT_LANES = 3,
    /* requests that wait for their replies at the same time */
    TRANSPORT_REQUESTS_MAX = 64,
    /*
     * requests of those that go to one address, so that an address without a daemon does not take
     * all places
     */
    TRANSPORT_REQUESTS_EACH = 8,
    /* this number of messages never waits to be published: the oldest message leaves before */
    TRANSPORT_LATER_MAX = 8,
    /*
     * Places for incoming connections. Subscribers are at the gossip port. Askers are at the
     * snapshot port, where one peer keeps up to eight connections. At each port at most
     * TRANSPORT_STRANGERS_MAX connections come from strangers, which are addresses that no peer is
     * known to have, and at most TRANSPORT_STRANGER_MAX from one such address.
     */
    TRANSPORT_SUBSCRIBERS_MAX = 96,
    /* Connections that this daemon makes to listen; a peer has no more places for all of its cluster. */
    TRANSPORT_LANES_MAX = TRANSPORT_SUBSCRIBERS_MAX,
    TRANSPORT_ASKERS_MAX = 192,
    TRANSPORT_STRANGERS_MAX = 32,
    TRANSPORT_STRANGER_MAX = 16,
    /* connections at both ports that have not named their protocol yet */
    TRANSPORT_GREETING_MAX = 32,
    /* descriptors of a request: its connection, and both ends of the pipe that tells of the reply */
    TRANSPORT_REQUEST_FILES = 3,
    /*
     * The most descriptors: one for each connection above, those of the requests, and 20 for
     * sockets, ports and libraries.
     */
    TRANSPORT_FILES_MAX = TRANSPORT_LANES_MAX + TRANSPORT_REQUEST_FILES * TRANSPORT_REQUESTS_MAX +
                          TRANSPORT_SUBSCRIBERS_MAX + TRANSPORT_ASKERS_MAX + TRANSPORT_GREETING_MAX + 20,
};

/*
 * transport_work makes the first three calls; `from` and `bytes` are valid during the call only.
 * `from`: whose certificate the connection has shown (of a link, the member; of a request, all names,
 * between commas); "": it is not known any more; NULL: peers speak in clear.
 */
struct transport_receiver {
    void *context;
    /* a peer has published `bytes` */
    void (*message)(void *context, const char *from, struct bytes bytes);
    /* a peer asks: the receiver must call transport_reply before it returns */
    void (*request)(void *context, const char *from, struct bytes bytes);
    /* the reply to a transport_request */
    void (*response)(void *context, const char *from, struct bytes bytes);
    /* A message was published between these two times of the monotonic clock. NULL: not called. */
    void (*published)(void *context, uint64_t from_ns, uint64_t to_ns);
    /*
     * More connections than before have ended without nng letting go of them: `connections` in all.
     * The loop calls this. NULL: not called.
     */
    void (*stuck)(void *context, uint64_t connections);
    /* A port that had stopped listening listens again. The loop calls this. NULL: not called. */
    void (*reopened)(void *context);
    /*
     * A warning for the operator: a member cannot be heard for its TLS, or ours, or a message was too large
     * to be sent; once for each cause. The loop calls this. NULL: not called.
     */
    void (*warn)(void *context, const char *sentence);
};

struct transport_tls;

struct transport_options {
    uv_loop_t *loop;
    /* "host:port" to publish on; used during transport_create only */
    const char *gossip_address;
    /* "host:port" to answer requests on; used during transport_create only */
    const char *snapshot_address;
    /* larger messages are neither sent nor received */
    size_t message_max_bytes;
    /* an unanswered request is given up after this time */
    uint64_t request_timeout_ms;
    /*
     * a link without a message is dialled anew after this time; the time doubles up to 4 times its
     * value
     */
    uint64_t redial_after_ms;
    /* how often each link is looked at for lost packets; 0: never, and it has one connection */
    uint64_t look_each_ms;
    /* of messages, to know copies; any secret will do */
    struct hash_key hash_key;
    /* what peers are shown, and demanded, over TLS (transport_tls.h); the transport holds it. NULL: in clear */
    struct transport_tls *tls;
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
    X(send_failures, "messages that could not be sent at once")                                                    \
    X(messages_too_large, "messages that were not sent because they were larger than message_max")                 \
    X(links, "addresses listened to (now)")                                                                        \
    X(spare_connections, "connections beyond the first to addresses whose links lose packets (now)")               \
    X(spares_opened, "times that a link that loses packets was given another connection")                          \
    X(copies, "messages that had come over another connection of their link, and were not read again")             \
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

/*
 * NULL with `error` set: EX_UNAVAILABLE (69) if a port is in use, EX_CONFIG (78) if an address is
 * invalid.
 */
struct transport *transport_create(const struct transport_options *options, struct error *error);

/*
 * Closes all sockets at once; messages that were published in this turn may be lost. Frees the
 * memory and then calls `closed` from the loop, within some seconds even if a socket cannot be
 * closed. A receiver's function must not call this.
 */
void transport_destroy(struct transport **transport, void (*closed)(void *context), void *context);

/*
 * Sends `bytes` to all connected subscribers, in the order of the calls. Never blocks. The message
 * leaves in a later call of transport_work, because sending takes a system call for each
 * subscriber, in which the kernel also does the receiver's part if the receiver is on this machine.
 * If too many messages wait already, the oldest leaves at once.
 */
void transport_publish(struct transport *transport, struct bytes bytes);

/*
 * True: a message had come when the loop polled last, or a message waits to be published. The
 * caller should call transport_work then. The loop does not sleep while a message waits to be
 * published.
 */
bool transport_waits(const struct transport *transport);
/*
 * Does one piece of work: publishes one message, or else hears one message. Published messages,
 * requests and replies are heard in turns. False: there was no work.
 */
bool transport_work(struct transport *transport);

/* Publishes all messages that wait. */
void transport_flush(struct transport *transport);

/*
 * Subscribes to the member `name` at `address`; a second call for the same two changes nothing.
 * False: the address is invalid, or all places are taken.
 */
bool transport_connect(struct transport *transport, const char *name, const char *address);
void transport_disconnect(struct transport *transport, const char *name, const char *address);

/* Sends a request to the member `name` at `address`. The reply comes as receiver.response, or never. */
void transport_request(struct transport *transport, const char *name, const char *address, struct bytes bytes);

/*
 * Uses `tls` from now on; the transport must have had another one from its start. All connections
 * are made anew, and what is on its way is lost.
 */
void transport_renew(struct transport *transport, struct transport_tls *tls);

/*
 * While the transport is held it hears nothing but replies to requests that are made meanwhile.
 * Messages that come in wait, and transport_waits does not count them. A new transport is not held.
 */
void transport_hold(struct transport *transport, bool held);

/*
 * Replies to the request of the present call of receiver.request. Only a peer gets a reply that is
 * not empty, so such a reply proves the connection: the connection stays, and its address counts as
 * a peer's address.
 */
void transport_reply(struct transport *transport, struct bytes bytes);

/*
 * A copy of the counters. Any thread may call this: the loop writes each counter as
 * base/metric.h says.
 */
struct transport_stats transport_stats(const struct transport *transport);
/* When the certificate that peers are shown ends, in seconds since 1970; 0: peers speak in clear. Any thread, too. */
uint64_t transport_certificate_ends_s(const struct transport *transport);

#endif
