/*
 * resp_short: reads the header of an argument of 1 to 99 bytes, "$12\r\n", in line. Nearly all
 * arguments are that short. Other headers are resp.c's.
 */
#ifndef HEADGATE_WIRE_RESP_SHORT_H
#define HEADGATE_WIRE_RESP_SHORT_H

#include <stddef.h>
#include <string.h>

enum { RESP_SHORT_LEAST_BYTES = 6 }; /* bytes that must be readable at `at` */

/* Returns the start of the argument's text and sets its size, 1 to 99. NULL: the header is written
 * otherwise. The text itself may not have arrived. */
static inline const char *resp_short_text(const char *at, size_t *size)
{
    size_t second = (size_t)(unsigned char)at[2] - '0';
    *size = (size_t)(unsigned char)at[1] - '0';
    if (at[0] != '$' || *size - 1 > 8)
        return NULL;
    at += 2;
    if (second <= 9) {
        *size = *size * 10 + second;
        at++;
    }
    return memcmp(at, "\r\n", 2) == 0 ? at + 2 : NULL;
}

#endif
