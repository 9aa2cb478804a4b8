/*
 * ruleset_window: the present windows of rules that have a window or a quota. Only ruleset*.c and match*.c may
 * include this header.
 *
 * The one idea: rules with the same kind of window share it. Each thread keeps the present window of a kind and
 * computes it anew only when the wall clock leaves it.
 */
#ifndef HEADGATE_RULES_RULESET_WINDOW_H
#define HEADGATE_RULES_RULESET_WINDOW_H

#include "base/hash.h"
#include "limit/key.h"
#include "rules/calendar.h"
#include "rules/rule.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    LINE_BYTES = 64,       /* a cache line; the data that requests need begins at one */
    WINDOWS_MAX = 4096,    /* kinds of windows in use at a time */
    WINDOW_TICK_BITS = 26, /* expiries are rounded up to whole 2^26 ns, so that few different ones exist */
};

/* The present window as one thread knows it. It is valid while the wall clock is within the window and both
 * clocks advance together. */
struct present {
    _Alignas(LINE_BYTES) uint64_t wall_start_ns;
    uint64_t wall_length_ns;
    uint64_t offset_ns; /* the wall clock minus the monotonic clock, modulo 2^64 */
    uint64_t end_ns, expires_ns, next_expires_ns;
    struct key_id stamp, previous; /* joined to a key, they give the key of this window and of the window before */
};

/* A kind of window, shared by all rules that have it. */
struct window {
    uint32_t users;          /* the number of amounts that use it; 0: free */
    uint64_t period_ns;      /* the length of each window; 0: a calendar gives the length */
    enum rule_calendar unit; /* the unit of a calendar */
    char zone[RULE_ZONE_MAX_BYTES + 1];
    struct calendar *calendar;   /* NULL if period_ns is given */
    atomic_bool calendar_locked; /* a lock: one thread at a time may use the calendar */
    struct present present[];    /* one for each thread */
};

struct windows {
    struct window **window; /* `room` entries; NULL or 0 users: free */
    uint32_t count, threads;
    size_t room;
    struct hash_key hash_key;
};

void windows_close(struct windows *windows);
/* Returns the window of that kind and adds one user. NULL, with a sentence: memory is short or the zone is
 * unknown. */
struct window *window_obtain(struct windows *windows, uint64_t period_ns, enum rule_calendar unit,
                             struct bytes zone, struct error *error);
void window_release(struct window *window);
/* Computes window->present[thread]. */
void window_renew(const struct windows *windows, struct window *window, uint8_t thread, uint64_t now_ns,
                  uint64_t wall_ns);

/* True while the window holds the wall clock and the difference of the clocks has moved by at most half a tick. */
static inline bool present_is_current(const struct present *present, uint64_t now_ns, uint64_t wall_ns)
{
    const uint64_t tick_ns = (uint64_t)1 << WINDOW_TICK_BITS;
    return wall_ns - present->wall_start_ns < present->wall_length_ns &&
           wall_ns - now_ns - present->offset_ns + tick_ns / 2 <= tick_ns;
}

#endif
