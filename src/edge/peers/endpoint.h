/*
 * endpoint: the address and port of one end of a TCP connection, and the search for the descriptors
 * of connections.
 *
 * The one idea: nng does not tell the descriptor of a connection, but it tells both ends of the
 * connection, and no two connections have the same two ends. An IPv4 address is kept as IPv6 maps
 * it (::ffff:a.b.c.d), so that equal addresses have equal bytes. This file closes nothing.
 */
#ifndef HEADGATE_EDGE_PEERS_ENDPOINT_H
#define HEADGATE_EDGE_PEERS_ENDPOINT_H

#include <nng/nng.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ENDPOINT_ADDRESS_BYTES = 16 };

struct endpoint {
    uint8_t address[ENDPOINT_ADDRESS_BYTES];
    uint16_t port; /* 0: no endpoint, for instance because the connection has ended */
};

struct endpoint endpoint_of_nng(const nng_sockaddr *address);
/*
 * The local end of the descriptor's connection. Port 0: the descriptor is closed, or is not a TCP
 * socket.
 */
struct endpoint endpoint_local(int fd);
/* The remote end of the descriptor's connection. Port 0 too if the connection has ended. */
struct endpoint endpoint_remote(int fd);

bool endpoint_same(const struct endpoint *a, const struct endpoint *b);
bool endpoint_same_address(const struct endpoint *a, const struct endpoint *b);
/* The same, where all of one /64 of IPv6 is one place: whoever has one address of it has them all. */
bool endpoint_same_place(const struct endpoint *a, const struct endpoint *b);

/* The addresses that were added last. All zero: none. */
enum { ENDPOINT_RING_MAX = 64 };
struct endpoint_ring {
    struct endpoint at[ENDPOINT_RING_MAX];
    uint32_t next;
};
bool endpoint_ring_has(const struct endpoint_ring *ring, const struct endpoint *endpoint);
/* False: it has the address already, or this is no endpoint. */
bool endpoint_ring_add(struct endpoint_ring *ring, const struct endpoint *endpoint);

/* What the kernel counts of a connection; both counters wrap. */
struct arrivals {
    uint32_t segments;   /* with data, that have come */
    uint32_t disordered; /* of these, those before which one was missing */
};
/* False: the descriptor is none of TCP, or the kernel does not count these. */
bool endpoint_arrivals(int fd, struct arrivals *arrivals);

/*
 * The inode of the descriptor's socket: no other open socket has the same number. 0: the descriptor
 * has no socket.
 */
ino_t endpoint_inode(int fd);

#endif
