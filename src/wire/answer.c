/*
 * Encodes replies. The figures of an allowed request are written with one check for room.
 */
#include "wire/answer.h"

#include "wire/digits.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    DOUBLE_BYTES = 32,
    ERROR_BYTES = 512,
    LINE_BYTES = 1024,
    HEADER_BYTES = 1 + DIGITS_BYTES + 2,
};

/* Writes at most HEADER_BYTES and returns the end. */
static inline char *write_header(char *at, char type, int64_t value)
{
    uint64_t size = (uint64_t)value;
    *at++ = type;
    if (value < 0) {
        *at++ = '-';
        size = 0 - size;
    }
    at = digits_write(at, size);
    memcpy(at, "\r\n", 2);
    return at + 2;
}

/* noinline: keeps its buffer off the stack of headers that fit. */
__attribute__((noinline)) static void header_at_the_end(struct output *output, char type, int64_t value)
{
    char text[HEADER_BYTES];
    output_append(output, text, (size_t)(write_header(text, type, value) - text));
}

static void header(struct output *output, char type, int64_t value)
{
    char *front = output->data + output->size;
    if (output_has_room(output, HEADER_BYTES))
        output->size += (size_t)(write_header(front, type, value) - front);
    else
        header_at_the_end(output, type, value);
}

void answer_simple(struct answer *answer, const char *text)
{
    output_append(answer->output, "+", 1);
    output_append(answer->output, text, strlen(text));
    output_append(answer->output, "\r\n", 2);
}

void answer_error(struct answer *answer, const char *format, ...)
{
    char text[ERROR_BYTES] = "-";
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(text + 1, sizeof text - 3, format, arguments);
    va_end(arguments);
    size_t size = written < 0 ? 0 : (size_t)written;
    if (size > sizeof text - 4)
        size = sizeof text - 4;
    for (size_t i = 1; i <= size; i++)
        if (text[i] < ' ' || text[i] > '~')
            text[i] = '?';
    memcpy(text + 1 + size, "\r\n", 2);
    output_append(answer->output, text, 1 + size + 2);
}

void answer_integer(struct answer *answer, int64_t value)
{
    header(answer->output, ':', value);
}

/* Writes a bulk into room that the caller has checked; returns the end. */
static inline char *write_bulk(char *at, struct bytes bytes)
{
    at = write_header(at, '$', (int64_t)bytes.size);
    if (bytes.size > 0)
        memcpy(at, bytes.data, bytes.size);
    at += bytes.size;
    memcpy(at, "\r\n", 2);
    return at + 2;
}

void answer_bulk(struct answer *answer, struct bytes bytes)
{
    struct output *output = answer->output;
    if (!output_has_room(output, HEADER_BYTES + bytes.size + 2)) {
        header_at_the_end(output, '$', (int64_t)bytes.size);
        output_append(output, bytes.data, bytes.size);
        output_append(output, "\r\n", 2);
        return;
    }
    char *front = output->data + output->size;
    output->size += (size_t)(write_bulk(front, bytes) - front);
}

void answer_text(struct answer *answer, const char *text)
{
    answer_bulk(answer, bytes_of(text));
}

void answer_null(struct answer *answer)
{
    if (answer->protocol >= 3)
        output_append(answer->output, "_\r\n", 3);
    else
        output_append(answer->output, "$-1\r\n", 5);
}

void answer_bool(struct answer *answer, bool value)
{
    if (answer->protocol >= 3)
        output_append(answer->output, value ? "#t\r\n" : "#f\r\n", 4);
    else
        answer_integer(answer, value ? 1 : 0);
}

void answer_double(struct answer *answer, double value)
{
    char text[DOUBLE_BYTES];
    const char *shown = text;
    if (isfinite(value))
        (void)snprintf(text, sizeof text, "%.10g", value);
    else
        shown = isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    if (answer->protocol < 3) {
        answer_text(answer, shown);
        return;
    }
    output_append(answer->output, ",", 1);
    output_append(answer->output, shown, strlen(shown));
    output_append(answer->output, "\r\n", 2);
}

void answer_array(struct answer *answer, size_t count)
{
    header(answer->output, '*', (int64_t)count);
}

void answer_array_of(struct answer *answer, size_t count, const int64_t *values, size_t values_count)
{
    struct output *output = answer->output;
    if (!output_has_room(output, (1 + values_count) * HEADER_BYTES)) {
        answer_array(answer, count);
        for (size_t i = 0; i < values_count; i++)
            answer_integer(answer, values[i]);
        return;
    }
    char *front = output->data + output->size, *at = write_header(front, '*', (int64_t)count);
    for (size_t i = 0; i < values_count; i++)
        at = write_header(at, ':', values[i]);
    output->size += (size_t)(at - front);
}

void answer_allowed(struct answer *answer, int64_t limit, int64_t remaining, int64_t reset_ms, struct bytes rule)
{
    static const char yes[8] = "*6\r\n:1\r\n", no_wait[4] = ":0\r\n";
    struct output *output = answer->output;
    if (!output_has_room(output, sizeof yes + sizeof no_wait + 4 * (size_t)HEADER_BYTES + rule.size + 2)) {
        const int64_t figures[] = {1, limit, remaining, 0, reset_ms};
        answer_array_of(answer, 6, figures, sizeof figures / sizeof figures[0]);
        answer_bulk(answer, rule);
        return;
    }
    char *front = output->data + output->size, *at = front;
    memcpy(at, yes, sizeof yes);
    at = write_header(at + sizeof yes, ':', limit);
    at = write_header(at, ':', remaining);
    memcpy(at, no_wait, sizeof no_wait);
    at = write_header(at + sizeof no_wait, ':', reset_ms);
    output->size += (size_t)(write_bulk(at, rule) - front);
}

void answer_map(struct answer *answer, size_t pairs)
{
    if (answer->protocol >= 3)
        header(answer->output, '%', (int64_t)pairs);
    else
        header(answer->output, '*', (int64_t)pairs * 2);
}

void answer_pair_text(struct answer *answer, const char *key, const char *value)
{
    answer_text(answer, key);
    answer_text(answer, value);
}

void answer_pair_bulk(struct answer *answer, const char *key, struct bytes value)
{
    answer_text(answer, key);
    answer_bulk(answer, value);
}

void answer_pair_integer(struct answer *answer, const char *key, int64_t value)
{
    answer_text(answer, key);
    answer_integer(answer, value);
}

void answer_pair_count(struct answer *answer, const char *key, uint64_t value)
{
    answer_pair_integer(answer, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void answer_pair_double(struct answer *answer, const char *key, double value)
{
    answer_text(answer, key);
    answer_double(answer, value);
}

void answer_pair_bool(struct answer *answer, const char *key, bool value)
{
    answer_text(answer, key);
    answer_bool(answer, value);
}

void answer_pair_array(struct answer *answer, const char *key, size_t count)
{
    answer_text(answer, key);
    answer_array(answer, count);
}

void answer_set(struct answer *answer, size_t count)
{
    header(answer->output, answer->protocol >= 3 ? '~' : '*', (int64_t)count);
}

/* Leaves room for the longest header; end() moves the body up to the real header. */
static size_t begin(struct output *output)
{
    static const char room_for_header[HEADER_BYTES];
    size_t begun = output->size;
    output_append(output, room_for_header, sizeof room_for_header);
    return begun;
}

/* `count` < 0: a bulk; the header states its bytes. */
static void end(struct output *output, size_t begun, char type, int64_t count)
{
    if (output->overflowed)
        return;
    size_t body = begun + HEADER_BYTES, size = output->size - body;
    output->size = begun;
    header(output, type, count < 0 ? (int64_t)size : count);
    memmove(output->data + output->size, output->data + body, size);
    output->size += size;
}

size_t answer_bulk_begin(struct answer *answer)
{
    return begin(answer->output);
}

void answer_bulk_end(struct answer *answer, size_t begun)
{
    end(answer->output, begun, '$', -1);
    output_append(answer->output, "\r\n", 2);
}

size_t answer_array_begin(struct answer *answer)
{
    return begin(answer->output);
}

void answer_array_end(struct answer *answer, size_t begun, size_t count)
{
    end(answer->output, begun, '*', (int64_t)count);
}

void output_print(struct output *output, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (written < 0 || (size_t)written >= sizeof text)
        output->overflowed = true;
    else
        output_append(output, text, (size_t)written);
}
