/*
 * network: addresses of IPv4 and IPv6 and networks of them, between text and bytes.
 *
 * The one idea: an address has one form, however it is written. IPv4 inside IPv6 (::ffff:10.0.0.1) is IPv4. A network
 * has no bit set beyond its own bits, and one text (RFC 5952). Names, zones and ports are no addresses. No I/O, no
 * allocation.
 */
#ifndef HEADGATE_BASE_NETWORK_H
#define HEADGATE_BASE_NETWORK_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    ADDRESS_TEXT_MAX_BYTES = 45, /* 0000:0000:0000:0000:0000:ffff:255.255.255.255 */
    NETWORK_TEXT_BYTES = 50,     /* with the slash, three digits and the terminator */
};

struct address {
    bool ipv6;
    uint8_t byte[16]; /* IPv4: the first four; the others are 0 */
};

struct network {
    struct address first;
    uint8_t bits; /* up to 32, IPv6: up to 128 */
};

/* False leaves `address` as it was. */
bool address_parse(struct bytes text, struct address *address);
/* Clears what is beyond the first `bits` bits. */
void address_mask(struct address *address, unsigned bits);

enum network_status {
    NETWORK_GOOD,
    NETWORK_MALFORMED,
    NETWORK_BEYOND, /* bits are set beyond its own: `network` is the one that the address lies in */
};
/* "10.0.0.0/8", "2001:db8::/32". */
enum network_status network_parse(struct bytes text, struct network *network);
/* The one text that it has. Returns `out`. */
const char *network_text(const struct network *network, char out[NETWORK_TEXT_BYTES]);

#endif
