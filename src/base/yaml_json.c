#include "base/yaml_json.h"

#include "base/hex.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ESCAPE_BYTES = 6, PAIR_BYTES = 2 * ESCAPE_BYTES, JOINED_BYTES = 10 };

/* The number of an escape "\u1234" at that offset; 0: there is none. */
static uint32_t escaped_at(struct bytes text, size_t at)
{
    uint8_t number[2];
    if (text.size - at < ESCAPE_BYTES || text.data[at] != '\\' || text.data[at + 1] != 'u' ||
        !hex_read((struct bytes){text.data + at + 2, 4}, number, sizeof number))
        return 0;
    return (uint32_t)number[0] << 8 | number[1];
}

/* The character of a pair at that offset; 0: there is none. */
static uint32_t pair_at(struct bytes text, size_t at)
{
    const uint32_t high = escaped_at(text, at);
    if (high < 0xd800 || high > 0xdbff)
        return 0;
    const uint32_t low = escaped_at(text, at + ESCAPE_BYTES);
    return low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : 0;
}

static bool is_one_of(char c, const char *characters)
{
    return c != '\0' && strchr(characters, c) != NULL;
}

bool yaml_json_has_pairs(struct bytes text)
{
    size_t at = 0;
    while (at < text.size && is_one_of(text.data[at], " \t\r\n"))
        at++;
    if (at == text.size || !is_one_of(text.data[at], "{["))
        return false;
    for (const char *found; (found = memchr(text.data + at, '\\', text.size - at)) != NULL; at++) {
        at = (size_t)(found - text.data);
        if (pair_at(text, at) != 0)
            return true;
    }
    return false;
}

/* Copies a string from behind its first quote to its last one. False: it has no end. */
static bool join_string(struct bytes text, size_t *at, char *joined, size_t *size)
{
    for (; *at < text.size && text.data[*at] != '"'; (*at)++) {
        const uint32_t character = pair_at(text, *at);
        if (character != 0) {
            char escape[JOINED_BYTES + 1];
            (void)snprintf(escape, sizeof escape, "\\U%08x", (unsigned)character);
            memcpy(joined + *size, escape, JOINED_BYTES);
            *size += JOINED_BYTES;
            *at += PAIR_BYTES - 1;
            continue;
        }
        if (text.data[*at] == '\\' && *at + 1 < text.size)
            joined[(*size)++] = text.data[(*at)++];
        joined[(*size)++] = text.data[*at];
    }
    return *at < text.size;
}

size_t yaml_json_join_pairs(struct bytes text, char *joined)
{
    size_t size = 0;
    char before = ','; /* the last byte that is no blank; JSON has a string behind some of these only */
    for (size_t at = 0; at < text.size; at++) {
        const char c = text.data[at];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || is_one_of(c, "+-.E");
        if (c != '"' && !is_letter && !is_one_of(c, "{}[],: \t\r\n"))
            return 0;
        joined[size++] = c;
        if (c == '"') {
            at++;
            if (!is_one_of(before, "{[,:") || !join_string(text, &at, joined, &size))
                return 0;
            joined[size++] = '"';
        }
        before = is_one_of(c, " \t\r\n") ? before : c;
    }
    return size;
}
