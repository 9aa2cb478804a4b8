/*
 * rights_world: even regions, 40 ms apart, that grant each other rights of keys.
 *
 * The one idea: after a story, every host takes all that it still can, round after round; the sum of all tokens that
 * were admitted is what a test compares with the limit.
 */
#ifndef HEADGATE_TESTS_LIB_RIGHTS_WORLD_H
#define HEADGATE_TESTS_LIB_RIGHTS_WORLD_H

#include "tests/lib/cluster_harness.h"

/* GATHERED_MS: after so long a burst is over, and what it lacked has been asked for. */
enum { WAY_MS = 40, GATHERED_MS = 4, TURN_MS = 2 * WAY_MS + 20 + GATHERED_MS };

/* All name each other; none is started. The test may change their options. */
void rights_world_init(unsigned count);
/* All are active, and the transcript is empty. */
void rights_world_start(void);
/* The host starts anew after a crash, and catches up. */
void rights_world_restart(unsigned host);

/* Asks for one token after the other; returns how many the host gave. */
unsigned rights_take(unsigned host, const char *key, const struct limit_terms *terms, unsigned count);
/* Asks for `cost` tokens at once. */
struct verdict rights_take_at_once(unsigned host, const char *key, const struct limit_terms *terms, uint64_t cost);
/* Asks for the charge with a second's patience, behind those of `await`; returns how many were admitted, 0 or 1. */
uint64_t rights_await(unsigned host, struct charge *charge, struct await *await);
/* How the host explains the key. */
struct explanation rights_explain(unsigned host, const char *key, const struct limit_terms *terms);
/* All running hosts take all that they can, until `rounds` round trips are over; returns how many tokens that was. */
unsigned rights_take_all(const char *key, const struct limit_terms *terms, unsigned rounds);

#endif
