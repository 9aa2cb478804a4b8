/*
 * host_port: the two parts of an address to connect to or to listen at, "host:port".
 *
 * The one idea: an address of IPv6 stands in brackets, so the last colon always ends the host. Nothing is resolved, and
 * no host is checked.
 */
#ifndef HEADGATE_BASE_HOST_PORT_H
#define HEADGATE_BASE_HOST_PORT_H

#include <stdbool.h>
#include <stddef.h>

enum { PORT_TEXT_BYTES = 6 }; /* five digits, terminated */

/*
 * Splits "host:port" or "[host]:port"; the host may be empty. False: the address has neither form, its port is above
 * 65535, or the host does not fit.
 */
bool host_port_split(const char *address, char *host, size_t host_room, char port[PORT_TEXT_BYTES]);

#endif
