/*
 * limits: limits for tests and the simulator, made from figures.
 *
 * The one idea: a node gets the names (`named`) and interns their terms in that order, so a limit
 * has the same index here and in the node, as long as no two limits have equal terms. `limit` has
 * the same limits with their units.
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

/* Adds a limit. False: its terms are out of range, or another limit has the same terms. */
bool limits_add_terms(struct test_limits *limits, const char *name, const struct limit_terms *terms);
/* The same of a bucket. */
bool limits_add(struct test_limits *limits, const char *name, uint64_t capacity, uint64_t rate, uint64_t period_ns,
                uint64_t overshoot);

/* All limits as a set, for callers that only read. */
struct limit_set limits_view(struct test_limits *limits);

/* The limit of these terms, which must be valid. */
struct limit limit_made(const struct limit_terms *terms);

/* A single bucket. */
struct limit bucket_limit(uint64_t capacity, uint64_t rate, uint64_t period_ns, uint64_t overshoot);

/* A single cell of a window. */
struct limit cell_limit(uint64_t capacity, uint64_t overshoot);

/* A single log, whose spends are listed in `events`. */
struct limit log_limit(uint64_t capacity, uint64_t period_ns, uint64_t overshoot, struct events *events);

#endif
