/*
 * put: bytes of an answer, appended one after the other: texts, numbers, JSON strings.
 *
 * The one idea: the answers of a decision are short and of one form, so that they are written as they are, without a
 * tree in memory and without printf.
 */
#ifndef HEADGATE_HTTP_PUT_H
#define HEADGATE_HTTP_PUT_H

#include "base/bytes.h"
#include "wire/output.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline void put_text(struct output *output, const char *text)
{
    output_append(output, text, strlen(text));
}

static inline void put_bytes(struct output *output, struct bytes bytes)
{
    output_append(output, bytes.data, bytes.size);
}

static inline void put_number(struct output *output, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    output_append(output, digits + at, sizeof digits - at);
}

/* 0.333, with at most that many places; null for what is no number. */
void put_real(struct output *output, double number, int places);

static inline void put_bool(struct output *output, bool value)
{
    put_text(output, value ? "true" : "false");
}

/* `before`, most often the name of a member with its colon, and a number. */
static inline void put_count(struct output *output, const char *before, uint64_t count)
{
    put_text(output, before);
    put_number(output, count);
}

/* The same for a figure that may be unknown or infinite: a negative one is null. */
static inline void put_figure(struct output *output, const char *before, int64_t figure)
{
    if (figure < 0) {
        put_text(output, before);
        put_text(output, "null");
    } else {
        put_count(output, before, (uint64_t)figure);
    }
}

/* `before` and a string; an empty one is null. */
void put_optional(struct output *output, const char *before, struct bytes text);

/* A JSON string, quoted. Bytes beyond ASCII become '?': names of rules are ASCII, and so are our sentences. */
void put_string(struct output *output, struct bytes text);
/* The same for a text that is known to be UTF-8: all of it is put. */
void put_utf8(struct output *output, struct bytes text);

#endif
