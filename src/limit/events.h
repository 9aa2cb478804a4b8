/*
 * events: the spends that logs list, in a pool of memory fixed at creation.
 *
 * The one idea: each list belongs to one bucket (LOG), which has its ends; the pool has the rest. A list is ordered
 * by time, oldest first; an event is a number of tokens at a moment, which is either settled or an own spend that
 * somebody may not know yet. Spends of one moment are one event. A part of the pool is kept for spends that were
 * made elsewhere: they cannot be refused. When even that is used up, such a spend is merged into the neighbour that
 * ends later, and counted. The sums in struct bucket are kept here, too: they cannot differ from the list.
 */
#ifndef HEADGATE_LIMIT_EVENTS_H
#define HEADGATE_LIMIT_EVENTS_H

#include "limit/bucket.h"

#include <stdbool.h>
#include <stdint.h>

struct events;

struct events_stats {
    uint64_t room, used; /* now */
    uint64_t bytes;
    uint64_t refused; /* own spends, because the pool was full */
    uint64_t merged;  /* spends of others that count for longer than they should, because the pool was full */
    uint64_t lost;    /* spends of others that do not count, because the pool was full and their log empty */
};

/* Room for that many events, 1..2^31. Memory is reserved but not touched. NULL without memory. */
struct events *events_create(uint32_t room);
void events_destroy(struct events **events);

/* An own spend can be listed now, and `more` others after it. */
bool events_have_room(const struct events *events, uint32_t more);

void events_stats(const struct events *events, struct events_stats *stats);

/* Asserts that the list of that bucket is ordered and sums up to what the bucket says; its length. */
uint64_t events_check(const struct events *events, const struct bucket *bucket, const struct limit *limit);

#endif
