/*
 * endpoint: the address and port of one end of a TCP connection, and the descriptors between two of them.
 *
 * The one idea: nng does not tell the descriptor of a connection, but both of its ends, and two ends have one
 * connection. IPv4 stands here as IPv6 has it (::ffff:a.b.c.d), so that equal addresses have equal bytes.
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
    uint16_t port; /* 0: none, for instance because the connection has ended */
};

struct endpoint endpoint_of_nng(const nng_sockaddr *address);
/* Of this end of the descriptor's connection; none for a descriptor of another kind, or that nobody has. */
struct endpoint endpoint_local(int fd);
/* Of the other end; none as well once the connection has ended. */
struct endpoint endpoint_remote(int fd);

bool endpoint_same(const struct endpoint *a, const struct endpoint *b);
bool endpoint_same_address(const struct endpoint *a, const struct endpoint *b);

/* The number that the system gives to the socket of a descriptor, and to no other one; 0: there is no such socket. */
ino_t endpoint_inode(int fd);

#endif
