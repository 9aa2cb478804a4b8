/*
 * put: bytes of an answer, appended one after the other: texts, numbers, JSON strings.
 *
 * The one idea: the answers of a decision are short and of one form, so that they are written as they are, without a
 * tree in memory and without printf. Each put_* looks for room. Where the longest form of several parts is known,
 * put_begin looks for the room of all of them, write_* writes one part after the other, and put_end ends them.
 */
#ifndef HEADGATE_HTTP_PUT_H
#define HEADGATE_HTTP_PUT_H

#include "base/bytes.h"
#include "wire/digits.h"
#include "wire/output.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- parts whose room was looked for: each writes at `at` and returns its end ---- */

static inline char *write_bytes(char *at, const char *data, size_t size)
{
    memcpy(at, data, size);
    return at + size;
}

static inline char *write_text(char *at, const char *text)
{
    return write_bytes(at, text, strlen(text));
}

/* Where to write `most` bytes; NULL: there is no room, and the output overflows. */
static inline char *put_begin(struct output *output, size_t most)
{
    if (output_has_room(output, most))
        return output->data + output->size;
    output->overflowed = true;
    return NULL;
}

/* What stands before `end` was written since put_begin. */
static inline void put_end(struct output *output, const char *end)
{
    output->size = (size_t)(end - output->data);
    assert(output->size <= output->room);
}

/* ---- parts that look for room ---- */

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
    char digits[DIGITS_BYTES];
    output_append(output, digits, (size_t)(digits_write(digits, number) - digits));
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

/* The same for a number with at most that many places, and for a flag. */
static inline void put_decimal(struct output *output, const char *before, double number, int places)
{
    put_text(output, before);
    put_real(output, number, places);
}

static inline void put_flag(struct output *output, const char *before, bool flag)
{
    put_text(output, before);
    put_bool(output, flag);
}

/* The same for a figure that may be unknown or infinite: a negative one is null. */
static inline char *write_figure(char *at, const char *before, int64_t figure)
{
    at = write_text(at, before);
    return figure < 0 ? write_text(at, "null") : digits_write(at, (uint64_t)figure);
}

static inline void put_figure(struct output *output, const char *before, int64_t figure)
{
    char *at = put_begin(output, strlen(before) + DIGITS_BYTES);
    if (at != NULL)
        put_end(output, write_figure(at, before, figure));
}

/* `before` and a string; an empty one is null. */
void put_optional(struct output *output, const char *before, struct bytes text);

/* A JSON string, quoted. Bytes beyond ASCII become '?': names of rules are ASCII, and so are our sentences. */
void put_string(struct output *output, struct bytes text);
/* `before` and such a string. */
static inline void put_word(struct output *output, const char *before, struct bytes word)
{
    put_text(output, before);
    put_string(output, word);
}

/* The same for a text that is known to be UTF-8: all of it is put. */
void put_utf8(struct output *output, struct bytes text);

#endif
