/*
 * limits: limits for tests and the simulator, from figures.
 *
 * A node is given the names (`named`) and interns their terms in that order, so that the index of a limit here is
 * its index there, as long as no two have equal terms. `limit` has the same with their units.
 */
#ifndef HEADGATE_TESTS_LIMITS_H
#define HEADGATE_TESTS_LIMITS_H

#include "limit/named_limit.h"

#include <assert.h>

struct test_limits {
    uint16_t count;
    struct named_limits named;
    struct limit limit[NAMED_LIMITS_MAX];
};

/* Adds a bucket; false when the terms are out of range, or those of another one. */
__attribute__((unused)) static bool limits_add(struct test_limits *limits, const char *name, uint64_t capacity,
                                               uint64_t rate, uint64_t period_ns, uint64_t overshoot)
{
    const struct limit_terms terms = {.capacity = capacity,
                                      .rate = rate,
                                      .period_ns = period_ns,
                                      .overshoot = overshoot};
    struct error error;
    assert(limits->count < NAMED_LIMITS_MAX);
    for (uint16_t i = 0; i < limits->count; i++)
        if (limit_terms_equal(&limits->named.limit[i].terms, &terms))
            return false;
    if (!named_limit_init(&limits->named.limit[limits->count], bytes_of(name), &terms, &error) ||
        !limit_init(&limits->limit[limits->count], &terms, &error))
        return false;
    limits->named.count = ++limits->count;
    return true;
}

/* All of them as a set, for those who only look up. */
__attribute__((unused)) static struct limit_set limits_view(struct test_limits *limits)
{
    return (struct limit_set){.count = limits->count, .room = limits->count, .limit = limits->limit};
}

/* The limit of these terms, which are valid. */
__attribute__((unused)) static struct limit limit_made(const struct limit_terms *terms)
{
    struct limit limit;
    struct error error;
    bool made = limit_init(&limit, terms, &error);
    assert(made);
    return limit;
}

/* One bucket alone. */
__attribute__((unused)) static struct limit bucket_limit(uint64_t capacity, uint64_t rate, uint64_t period_ns,
                                                         uint64_t overshoot)
{
    return limit_made(
        &(struct limit_terms){.capacity = capacity, .rate = rate, .period_ns = period_ns, .overshoot = overshoot});
}

/* One cell of a window. */
__attribute__((unused)) static struct limit cell_limit(uint64_t capacity, uint64_t overshoot)
{
    return limit_made(&(struct limit_terms){.kind = LIMIT_CELL, .capacity = capacity, .overshoot = overshoot});
}

/* One log, whose spends are listed in `events`. */
__attribute__((unused)) static struct limit log_limit(uint64_t capacity, uint64_t period_ns, uint64_t overshoot,
                                                      struct events *events)
{
    struct limit limit = limit_made(&(struct limit_terms){.kind = LIMIT_LOG,
                                                          .capacity = capacity,
                                                          .period_ns = period_ns,
                                                          .overshoot = overshoot});
    limit.events = events;
    return limit;
}

#endif
