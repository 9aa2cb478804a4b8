/*
 * spend_state: what the folder spend/ remembers besides lanes: limits and budgets, rings, reservations.
 *
 * The one idea: what depends on a limit stands in arrays by its number, each as long as the set of limits. Steps change
 * them alone; requests read them inside the gate.
 */
#ifndef HEADGATE_CLUSTER_STATE_SPEND_STATE_H
#define HEADGATE_CLUSTER_STATE_SPEND_STATE_H

#include "limit/bucket.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct events;
struct reservations;
struct spend;

/* By the number of the limit, limits.room of each: limits.c. sweep.c frees unused numbers. */
struct by_limit {
    struct budget *budget;
    int64_t *early_units; /* a key's unsent tokens, none of them paid off, that ask for an early push */
    int64_t *soon_units;  /* unsettled ones that our share of the refill pays off within an interval; -1: none */
    int64_t *worst_debt_units;
    uint64_t *doubted_tokens;
    struct events *events; /* of LOG limits */
    uint32_t config_count; /* numbers below are the config's: they stay */
    uint32_t added_count;  /* that were new, since unused ones were last freed */
    uint64_t swept_ns;     /* when unused limits were last freed; 0: never */
};

/* The rings of untold spends of all lanes, one behind the other: untold.c. */
struct outbox {
    struct spend *spend;
    uint32_t room, places; /* of each ring: for requests; and for what these evict besides */
};

/* Reservations: reserve.c. */
struct reserving {
    struct reservations *pool; /* NULL: none can be made */
    uint64_t made_count;
    atomic_bool locked; /* the pool, and the node's `random` for requests: if there are several lanes */
};

/* How far the store has been told all counters again, while DO_RETELL: counters.c. */
struct retelling {
    uint32_t bits;
    uint64_t next; /* part of the table */
};

#endif
