/*
 * number: the smaller of two numbers, a sum that does not wrap, and how many bits are set.
 *
 * The one idea: UINT64_MAX stands for never, or for as much as there is, and whatever is added to that stays it.
 */
#ifndef HEADGATE_BASE_NUMBER_H
#define HEADGATE_BASE_NUMBER_H

#include <stdint.h>

static inline uint64_t number_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* a + b, at most UINT64_MAX. */
static inline uint64_t number_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* How many bits are set: in line, since not all processors can count. */
static inline unsigned number_ones(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (unsigned)(bits * 0x0101010101010101u >> 56);
}

#endif
