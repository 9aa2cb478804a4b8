/*
 * metric: counters and gauges that one thread writes and any thread reads.
 *
 * The one idea: a reader may see an older number, but never half of a number; the writer pays for one load and one
 * store, without a locked instruction. Both are relaxed: a metric orders no other access to memory. A metric must have
 * one writer: with two writers, an addition may be lost.
 */
#ifndef HEADGATE_BASE_METRIC_H
#define HEADGATE_BASE_METRIC_H

#include <stdint.h>

static inline uint64_t metric_get(const uint64_t *metric)
{
    return __atomic_load_n(metric, __ATOMIC_RELAXED);
}

static inline void metric_set(uint64_t *metric, uint64_t number)
{
    uint64_t *place = metric; /* without this copy clang-tidy reports a parameter that may be const */
    __atomic_store_n(place, number, __ATOMIC_RELAXED);
}

/* Adds `number`, modulo 2^64: UINT64_MAX takes one away from a gauge. */
static inline void metric_add(uint64_t *metric, uint64_t number)
{
    metric_set(metric, metric_get(metric) + number);
}

#endif
