/*
 * refunds_world: one key of one limit, which nodes of a world take from and give back to.
 *
 * The one idea: a test names an algorithm, and all calls are about the key "alice" under its terms.
 */
#ifndef HEADGATE_TESTS_LIB_REFUNDS_WORLD_H
#define HEADGATE_TESTS_LIB_REFUNDS_WORLD_H

#include "tests/lib/cluster_harness.h"

struct algorithm {
    const char *name;
    struct limit_terms terms;
    bool sliding;
};

/* What the calls below are about. */
extern const struct algorithm *algorithm;

struct charge refunds_charge(unsigned i, uint64_t cost);
bool refunds_take(unsigned i, uint64_t cost);
/* How many of these tokens the node gives back. */
uint64_t refunds_give(unsigned i, uint64_t tokens);
/* The tokens that the node sees. */
int64_t refunds_left(unsigned i);

#endif
