/*
 * bits: how many of them are set.
 *
 * The one idea: it is done in line. Not all processors can count, and a compiler that may not rely on it calls a
 * function of its library each time.
 */
#ifndef HEADGATE_BASE_BITS_H
#define HEADGATE_BASE_BITS_H

#include <stdint.h>

/* Of pairs of bits, then of fours, then of bytes; the product adds all bytes up. */
static inline unsigned bits_count(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (unsigned)(bits * 0x0101010101010101u >> 56);
}

#endif
