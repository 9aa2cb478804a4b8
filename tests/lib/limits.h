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

/* Fine and coarse ticks, slow and fast rates, tiny and huge capacities. */
enum { LIMITS_OF_BUCKETS = 8 };
static inline void limits_of_buckets(struct limit limits[LIMITS_OF_BUCKETS])
{
    const uint64_t second_ns = 1000000000, day_ns = 86400 * second_ns;
    limits[0] = bucket_limit(100, 100, second_ns, 0);
    limits[1] = bucket_limit(100, 100, second_ns, 20);
    limits[2] = bucket_limit(1, 1, 60 * second_ns, 1);
    limits[3] = bucket_limit(1000000, 999983, second_ns, 1000000);
    limits[4] = bucket_limit(10000, 9973, day_ns, 500);
    limits[5] = bucket_limit(1000000, 7, 366 * day_ns, 0);
    limits[6] = bucket_limit(LIMIT_CAPACITY_MAX, LIMIT_CAPACITY_MAX, second_ns, LIMIT_CAPACITY_MAX);
    limits[7] = bucket_limit(3, 1000, 1, 0);
}

#endif
