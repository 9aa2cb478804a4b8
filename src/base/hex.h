/*
 * hex: bytes as hexadecimal digits, as people compare them.
 *
 * The one idea: one length, known beforehand. Reading takes small and large letters, writing makes small ones.
 */
#ifndef HEADGATE_BASE_HEX_H
#define HEADGATE_BASE_HEX_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `text` has room for two digits of each byte, and the terminator. */
static inline void hex_write(const uint8_t *bytes, size_t count, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * count] = '\0';
}

static inline int hex_digit(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'a' && letter <= 'f')
        return letter - 'a' + 10;
    return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

/* False: the text is not that many bytes. */
static inline bool hex_read(struct bytes text, uint8_t *bytes, size_t count)
{
    if (text.size != 2 * count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const int high = hex_digit(text.data[2 * i]), low = hex_digit(text.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

#endif
