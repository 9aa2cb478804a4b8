/*
 * reserving_world: two nodes that know each other and may keep eight reservations each, and calls
 * that reserve.
 */
#ifndef HEADGATE_TESTS_LIB_RESERVING_WORLD_H
#define HEADGATE_TESTS_LIB_RESERVING_WORLD_H

#include "tests/lib/cluster_harness.h"

/* Shares are 1/2 (ann) and 1/2 (bob); a sixteenth of each is held back of a full bucket; links take 10 ms. */

extern const struct limit_terms cell;
extern const struct limit_terms leases;

/* A charge of a limit that lists spends is held by a reservation: a lease. */
struct charge held_at(unsigned i, const char *key, const struct limit_terms *terms, uint64_t cost);

int64_t tokens_left(unsigned i, const char *key, const struct limit_terms *terms);

void reserving_world(void);

bool reserve(unsigned i, const struct charge *charges, size_t count, uint64_t ttl_ms, struct reservation_id *id);

#endif
