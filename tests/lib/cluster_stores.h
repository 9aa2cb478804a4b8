/*
 * cluster_stores: a world of nodes with a store each, and a quota to spend. A store keeps the
 * counters that the steps of its node give it.
 */
#ifndef HEADGATE_TESTS_LIB_CLUSTER_STORES_H
#define HEADGATE_TESTS_LIB_CLUSTER_STORES_H

#include "tests/lib/cluster_harness.h"

extern const struct limit_terms quota;

enum { STORE_MAX = 1024 };

/* The content of each store: the newest counter of each key. */
extern struct counter stores[WORLD_HOSTS_MAX][STORE_MAX];
extern size_t stores_count[WORLD_HOSTS_MAX], stores_told[WORLD_HOSTS_MAX];

bool spend(unsigned i, const char *key, const struct limit_terms *terms, uint64_t cost);

int64_t stores_left(unsigned i, const char *key, const struct limit_terms *terms);

void keep_all(unsigned i, const struct effects *effects);

/* Starts the host with the content of its store. */
void restore(unsigned i);

void stores_begin(unsigned count);

#endif
