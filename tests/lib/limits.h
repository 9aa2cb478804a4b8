/*
 * limits: limits for tests and the simulator, from figures.
 *
 * A node is given the names (`named`) and interns their terms in that order, so that the index of a limit here is
 * its index there, as long as no two have equal terms. `limit` has the same with their units.
 */
#ifndef HEADGATE_TESTS_LIB_LIMITS_H
#define HEADGATE_TESTS_LIB_LIMITS_H

#include "limit/named_limit.h"

#include <assert.h>

struct test_limits {
    uint16_t count;
    struct named_limits named;
    struct limit limit[NAMED_LIMITS_MAX];
};

/* Adds a bucket; false when the terms are out of range, or those of another one. */
bool limits_add(struct test_limits *limits, const char *name, uint64_t capacity, uint64_t rate, uint64_t period_ns,
                uint64_t overshoot);

/* All of them as a set, for those who only look up. */
struct limit_set limits_view(struct test_limits *limits);

/* The limit of these terms, which are valid. */
struct limit limit_made(const struct limit_terms *terms);

/* One bucket alone. */
struct limit bucket_limit(uint64_t capacity, uint64_t rate, uint64_t period_ns, uint64_t overshoot);

/* One cell of a window. */
struct limit cell_limit(uint64_t capacity, uint64_t overshoot);

/* One log, whose spends are listed in `events`. */
struct limit log_limit(uint64_t capacity, uint64_t period_ns, uint64_t overshoot, struct events *events);

#endif
