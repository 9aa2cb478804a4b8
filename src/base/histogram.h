/*
 * histogram: how often values occurred, in fixed memory and within 0.1% of each value.
 *
 * The one idea (HdrHistogram's): values below 2048 are counted one by one; above, each power of two is cut
 * into 1024 equal steps, so that a step is never wider than 1/1024 of its values. Any integer will do; the
 * range suits nanoseconds from 1 ns to 73 minutes. A few hundred kilobytes: static or heap, not the stack.
 */
#ifndef HEADGATE_BASE_HISTOGRAM_H
#define HEADGATE_BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HISTOGRAM_STEP_BITS = 10, /* steps in a power of two, as a power of two */
    HISTOGRAM_VALUE_BITS = 42,
    HISTOGRAM_SLOTS = (HISTOGRAM_VALUE_BITS - HISTOGRAM_STEP_BITS + 1) << HISTOGRAM_STEP_BITS,
};

#define HISTOGRAM_VALUE_MAX (((uint64_t)1 << HISTOGRAM_VALUE_BITS) - 1) /* larger values count as this one */

struct histogram {
    uint64_t count;
    uint64_t smallest, largest; /* exact; 0 when nothing was recorded */
    uint64_t sum_low, sum_high; /* 128 bits: the mean is exact, however many values there were */
    uint64_t slot[HISTOGRAM_SLOTS];
};

void histogram_init(struct histogram *histogram);

/* Counts `value` `times` times over. */
void histogram_record(struct histogram *histogram, uint64_t value, uint64_t times);

/*
 * A value that at least `percent` (0..100) of all recorded ones do not exceed, at most 0.1% above the exact
 * one and never above the largest. 0 when nothing was recorded.
 */
uint64_t histogram_percentile(const struct histogram *histogram, double percent);

/*
 * Goes through what was recorded, values ascending: *slot begins at 0 and is the function's own afterwards. False at
 * the end. Values that share a step come as the largest of them, as histogram_percentile() gives them.
 */
bool histogram_next(const struct histogram *histogram, uint32_t *slot, uint64_t *value, uint64_t *times);

double histogram_mean(const struct histogram *histogram);

/* Adds everything that `other` counted. */
void histogram_merge(struct histogram *histogram, const struct histogram *other);

#endif
