/*
 * events_pool: the memory behind events.h, for the files that implement it: events.c and events_own.c.
 *
 * The one idea: an event is in one list, or free. Only events.c moves events between the two.
 */
#ifndef HEADGATE_LIMIT_EVENTS_POOL_H
#define HEADGATE_LIMIT_EVENTS_POOL_H

#include "limit/events.h"

#include <stdatomic.h>

struct events {
    uint32_t room, kept;
    bool shared;
    atomic_bool locked; /* what follows; if shared */
    uint32_t used;
    uint32_t held;    /* events of which reservations hold something */
    uint32_t touched; /* events that were ever used: 1..touched */
    uint32_t free;    /* the first of those that are free again, linked by `newer`; 0: none */
    uint64_t refused, merged, lost;
    struct log_event event[]; /* event[0] is not used */
};

static inline uint32_t events_least(uint64_t tokens, uint32_t most)
{
    return tokens < most ? (uint32_t)tokens : most;
}

/* Events of several lists, and of several threads, are counted: see events_hold_nothing. */
static inline void events_set_held(struct events *events, struct log_event *event, uint32_t held)
{
    if (event->held == 0 && held > 0)
        __atomic_fetch_add(&events->held, 1, __ATOMIC_RELAXED);
    else if (event->held > 0 && held == 0)
        __atomic_fetch_sub(&events->held, 1, __ATOMIC_RELAXED);
    event->held = held;
    if (held == 0)
        event->held_ms = 0;
}

/* Takes tokens out of an event of the list. The event goes when nothing is left. */
void events_lower(struct events *events, struct event_list *list, uint32_t index, uint32_t tokens);

#endif
