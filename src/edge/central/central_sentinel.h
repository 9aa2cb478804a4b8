/*
 * central_sentinel: addresses of a config: of the central store, and the list of sentinels, "host:port, host:port",
 * which know where it is.
 */
#ifndef HEADGATE_EDGE_CENTRAL_CENTRAL_SENTINEL_H
#define HEADGATE_EDGE_CENTRAL_CENTRAL_SENTINEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many the list has; 1 for an empty one. */
uint32_t central_sentinels(const char *list);
/* Writes number `index`, counted round and round. False: the list is empty, or there is no room. */
bool central_sentinel(const char *list, uint32_t index, char *address, size_t room);

#endif
