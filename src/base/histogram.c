#include "base/histogram.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A value of b significant bits keeps its 11 highest: one of 1024 steps in the power of two number b - 11. */
static uint32_t slot_of(uint64_t value)
{
    if (value < (uint64_t)2 << HISTOGRAM_STEP_BITS)
        return (uint32_t)value;
    uint32_t shift = (uint32_t)(63 - __builtin_clzll(value)) - HISTOGRAM_STEP_BITS;
    return (shift << HISTOGRAM_STEP_BITS) + (uint32_t)(value >> shift);
}

/* The largest value that slot_of puts into the slot. */
static uint64_t slot_top(uint32_t slot)
{
    if (slot < (uint32_t)2 << HISTOGRAM_STEP_BITS)
        return slot;
    uint32_t shift = (slot >> HISTOGRAM_STEP_BITS) - 1;
    uint64_t step = slot - (shift << HISTOGRAM_STEP_BITS);
    return ((step + 1) << shift) - 1;
}

static void sum_add(struct histogram *histogram, uint64_t low, uint64_t high)
{
    histogram->sum_low += low;
    histogram->sum_high += high + (histogram->sum_low < low);
}

void histogram_init(struct histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
}

void histogram_record(struct histogram *histogram, uint64_t value, uint64_t times)
{
    if (times == 0)
        return;
    if (value > HISTOGRAM_VALUE_MAX)
        value = HISTOGRAM_VALUE_MAX;
    if (histogram->count == 0 || value < histogram->smallest)
        histogram->smallest = value;
    if (value > histogram->largest)
        histogram->largest = value;
    histogram->count += times;
    histogram->slot[slot_of(value)] += times;
    /* value has 42 bits: split `times` so that no product overflows. */
    uint64_t upper = value * (times >> 22);
    sum_add(histogram, value * (times & 0x3fffff), 0);
    sum_add(histogram, upper << 22, upper >> 42);
}

uint64_t histogram_percentile(const struct histogram *histogram, double percent)
{
    assert(percent >= 0 && percent <= 100);
    if (histogram->count == 0)
        return 0;
    double exact_rank = ceil((double)histogram->count * percent / 100);
    uint64_t rank = exact_rank < 1 ? 1 : (uint64_t)exact_rank;
    if (rank >= histogram->count)
        return histogram->largest;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++) {
        seen += histogram->slot[i];
        if (seen >= rank) {
            uint64_t top = slot_top(i);
            return top < histogram->largest ? top : histogram->largest;
        }
    }
    assert(seen == histogram->count); /* the slots hold all counted values */
    return histogram->largest;
}

bool histogram_next(const struct histogram *histogram, uint32_t *slot, uint64_t *value, uint64_t *times)
{
    while (*slot < HISTOGRAM_SLOTS && histogram->slot[*slot] == 0)
        ++*slot;
    if (*slot == HISTOGRAM_SLOTS)
        return false;
    uint64_t top = slot_top(*slot);
    *value = top < histogram->largest ? top : histogram->largest;
    *times = histogram->slot[(*slot)++];
    return true;
}

double histogram_mean(const struct histogram *histogram)
{
    if (histogram->count == 0)
        return 0;
    double sum = (double)histogram->sum_high * 0x1.0p64 + (double)histogram->sum_low;
    return sum / (double)histogram->count;
}

void histogram_merge(struct histogram *histogram, const struct histogram *other)
{
    if (other->count == 0)
        return;
    if (histogram->count == 0 || other->smallest < histogram->smallest)
        histogram->smallest = other->smallest;
    if (other->largest > histogram->largest)
        histogram->largest = other->largest;
    histogram->count += other->count;
    sum_add(histogram, other->sum_low, other->sum_high);
    for (uint32_t i = 0; i < HISTOGRAM_SLOTS; i++)
        histogram->slot[i] += other->slot[i];
}
