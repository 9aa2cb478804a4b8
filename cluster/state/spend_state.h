/*
 * spend_state: the memory of the folder spend/ besides the states of threads: limits and budgets, rings,
 * reservations.
 *
 * The one idea: figures of limits stand in arrays by the number of the limit, each as long as the
 * set of limits. Only steps change them; requests read them inside the gate.
 */
#ifndef HEADGATE_CLUSTER_STATE_SPEND_STATE_H
#define HEADGATE_CLUSTER_STATE_SPEND_STATE_H

#include "limit/bucket.h"
#include "limit/reservation.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct events;
struct spend;

/* By the number of the limit, limits.room of each: limits.c. sweep.c frees unused numbers. */
struct by_limit {
    struct budget *budget;
    uint16_t
        *list; /* the place of its weights in weight_lists, plus one; 0: it has none, or they are unknown here */
    /* unsettled units that our share of the refill pays off within an interval; -1: none */
    int64_t *soon_units;
    int64_t *worst_debt_units;
    uint64_t *doubted_tokens;
    uint64_t *named;       /* see limits_note_named; 0: no rule here has named it */
    struct events *events; /* of LOG limits */
    uint32_t config_count; /* smaller numbers are the config's: they stay */
    uint32_t added_count;  /* new numbers since unused ones were last freed */
    uint64_t swept_ns;     /* when unused limits were last freed; 0: never */
};

/* The rings of untold spends of all threads, one after the other: outbox.c. */
struct outbox {
    struct spend *spend;
    uint32_t room, places; /* of each ring: for requests; with the keys that these evict */
};

enum { RENEWALS_UNTOLD_MAX = 256 };

/* Reservations: reserve.c. */
struct reserving {
    struct reservations *pool; /* NULL: none can be made */
    uint64_t made_count;
    uint64_t former_incarnation; /* which held those of the former process */
    uint32_t former_place;       /* how far those of the former process are taken over: reserve_kept.c */
    /* those of whose renewals no batch tells yet: renewal.c */
    struct reservation_id untold[RENEWALS_UNTOLD_MAX];
    uint32_t untold_count;
    /* guards the pool, and `random` for requests, if there are several threads */
    atomic_bool locked;
};

/* How far all counters were told to the store again, while DO_RETELL: counters.c. */
struct retelling {
    uint32_t bits;
    uint64_t next; /* part of the table */
};

#endif
