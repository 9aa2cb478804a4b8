/*
 * hex: bytes as hexadecimal digits, as people compare them.
 *
 * The one idea: one length, known beforehand. Reading takes small and large letters, writing makes small ones. Keys are
 * among them, so libsodium does it, in the same time whatever the digits are.
 */
#ifndef HEADGATE_BASE_HEX_H
#define HEADGATE_BASE_HEX_H

#include "base/bytes.h"

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `text` has room for two digits of each byte, and the terminator. */
static inline void hex_write(const uint8_t *bytes, size_t count, char *text)
{
    (void)sodium_bin2hex(text, 2 * count + 1, bytes, count);
}

/* False: the text is not that many bytes. */
static inline bool hex_read(struct bytes text, uint8_t *bytes, size_t count)
{
    return text.size == 2 * count && sodium_hex2bin(bytes, count, text.data, text.size, NULL, NULL, NULL) == 0;
}

#endif
