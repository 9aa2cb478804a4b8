/*
 * wanted_state: the memory of spend/wanted.h: for each key that is refused for this node's share alone, how much of the
 * others' part of it was wanted here.
 *
 * The one idea: fixed places, found by hash. Where none is free, the key that is full soonest loses its place.
 */
#ifndef HEADGATE_CLUSTER_STATE_WANTED_STATE_H
#define HEADGATE_CLUSTER_STATE_WANTED_STATE_H

#include "base/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WANTED_KEYS_MAX = 1024 };

struct wanted_key {
    struct key_id id;
    uint64_t full_ns; /* when a bucket of the others' part would be full again; 0: a free place */
};

struct wanted {
    atomic_bool locked;
    struct wanted_key key[WANTED_KEYS_MAX];
};

#endif
