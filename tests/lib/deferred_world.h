/*
 * deferred_world: a world of nodes (cluster_harness.h) of which one spends what refill soon pays off, and what
 * became of it.
 *
 * Of "fast", half of the shares is paid back 8 tokens within an interval: so many wait, and 9 are told.
 */
#ifndef HEADGATE_TESTS_LIB_DEFERRED_WORLD_H
#define HEADGATE_TESTS_LIB_DEFERRED_WORLD_H

#include "tests/lib/cluster_harness.h"

enum { FAST = 1, MANY = 400, FEW = 64 };

void take(unsigned host, const char *key, uint64_t cost);

void show(const char *when);

/* There, few places are for what is to be told. */
void world_of_few_places(void);

void take_many(unsigned host, uint64_t cost);

#endif
