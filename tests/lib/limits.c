#include "tests/lib/limits.h"

bool limits_add_terms(struct test_limits *limits, const char *name, const struct limit_terms *terms)
{
    struct error error;
    assert(limits->count < NAMED_LIMITS_MAX);
    for (uint16_t i = 0; i < limits->count; i++)
        if (limit_terms_equal(&limits->named.limit[i].terms, terms))
            return false;
    if (!named_limit_init(&limits->named.limit[limits->count], bytes_of(name), terms, &error) ||
        !limit_init(&limits->limit[limits->count], terms, &error))
        return false;
    limits->named.count = ++limits->count;
    return true;
}

bool limits_add(struct test_limits *limits, const char *name, uint64_t capacity, uint64_t rate, uint64_t period_ns,
                uint64_t overshoot)
{
    return limits_add_terms(
        limits, name,
        &(struct limit_terms){.capacity = capacity, .rate = rate, .period_ns = period_ns, .overshoot = overshoot});
}

struct limit_set limits_view(struct test_limits *limits)
{
    return (struct limit_set){.count = limits->count, .room = limits->count, .limit = limits->limit};
}

struct limit limit_made(const struct limit_terms *terms)
{
    struct limit limit;
    struct error error;
    bool made = limit_init(&limit, terms, &error);
    assert(made);
    return limit;
}

struct limit bucket_limit(uint64_t capacity, uint64_t rate, uint64_t period_ns, uint64_t overshoot)
{
    return limit_made(
        &(struct limit_terms){.capacity = capacity, .rate = rate, .period_ns = period_ns, .overshoot = overshoot});
}

struct limit cell_limit(uint64_t capacity, uint64_t overshoot)
{
    return limit_made(&(struct limit_terms){.kind = LIMIT_CELL, .capacity = capacity, .overshoot = overshoot});
}

struct limit log_limit(uint64_t capacity, uint64_t period_ns, uint64_t overshoot, struct events *events)
{
    struct limit limit = limit_made(&(struct limit_terms){.kind = LIMIT_LOG,
                                                          .capacity = capacity,
                                                          .period_ns = period_ns,
                                                          .overshoot = overshoot});
    limit.events = events;
    return limit;
}
