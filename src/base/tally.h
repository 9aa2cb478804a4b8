/*
 * tally: counters that one thread writes and any thread reads.
 *
 * The one idea: a reader may be late, but never sees half a number; the writer pays for a load and a store only. A
 * tally orders no other memory access. It must have one writer: with two, an addition could be lost.
 */
#ifndef HEADGATE_BASE_TALLY_H
#define HEADGATE_BASE_TALLY_H

#include <stdint.h>

static inline uint64_t tally_get(const uint64_t *tally)
{
    return __atomic_load_n(tally, __ATOMIC_RELAXED);
}

static inline void tally_set(uint64_t *tally, uint64_t number)
{
    uint64_t *place = tally; /* or clang-tidy thinks that nothing is written */
    __atomic_store_n(place, number, __ATOMIC_RELAXED);
}

static inline void tally_add(uint64_t *tally, uint64_t number)
{
    tally_set(tally, tally_get(tally) + number);
}

#endif
