/*
 * digits: numbers as people write them, into room that the caller has checked.
 *
 * The one idea: nearly all numbers of answers are short, so up to three digits take a path without loops. Says nothing
 * of what stands around a number.
 */
#ifndef HEADGATE_WIRE_DIGITS_H
#define HEADGATE_WIRE_DIGITS_H

#include <stdint.h>

enum { DIGITS_BYTES = 20 }; /* of any uint64_t, and of any int64_t with its sign */

/* Writes any number, two digits at a time; returns the end. */
char *digits_write_long(char *at, uint64_t number);

/* Writes at most DIGITS_BYTES and returns the end. */
static inline char *digits_write(char *at, uint64_t number)
{
    const uint32_t low = (uint32_t)number, tens = low / 10;
    if (number < 10) {
        *at = (char)('0' + low);
        return at + 1;
    }
    if (number >= 1000)
        return digits_write_long(at, number);
    if (low >= 100) {
        *at++ = (char)('0' + low / 100);
        *at++ = (char)('0' + tens % 10);
    } else {
        *at++ = (char)('0' + tens);
    }
    *at = (char)('0' + low - 10 * tens);
    return at + 1;
}

#endif
