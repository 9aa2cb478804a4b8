/*
 * number: the smaller and the larger of two numbers, sums and differences that do not wrap, and room for products of
 * two numbers.
 *
 * The one idea: UINT64_MAX stands for never, or for as much as there is, and whatever is added to that stays it.
 */
#ifndef HEADGATE_BASE_NUMBER_H
#define HEADGATE_BASE_NUMBER_H

#include <stdint.h>

__extension__ typedef unsigned __int128 uint128;

static inline uint64_t number_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t number_most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* a - b, at least 0. */
static inline uint64_t number_minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* a + b, at most UINT64_MAX. */
static inline uint64_t number_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
