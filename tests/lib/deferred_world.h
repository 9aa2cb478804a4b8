/*
 * deferred_world: a world of nodes (cluster_harness.h) of which one spends tokens that refill soon
 * pays off.
 *
 * The one idea: half of a share of "fast" refills 8 tokens within an interval. So a node defers a
 * spend of 8 tokens of a key, and tells a spend of 9.
 */
#ifndef HEADGATE_TESTS_LIB_DEFERRED_WORLD_H
#define HEADGATE_TESTS_LIB_DEFERRED_WORLD_H

#include "tests/lib/cluster_harness.h"

enum { FAST = 1, MANY = 400, FEW = 64 };

void take(unsigned host, const char *key, uint64_t cost);

void show(const char *when);

/* The same world with few places for untold spends. */
void world_of_few_places(void);

void take_many(unsigned host, uint64_t cost);

#endif
