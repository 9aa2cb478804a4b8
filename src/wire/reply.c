#include "wire/reply.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    NUMBER_BYTES = 24, /* any int64_t with its sign */
    DOUBLE_BYTES = 32,
    ERROR_BYTES = 512,
    LINE_BYTES = 1024,
};

/* Writes `value` so that it ends at text[NUMBER_BYTES]; returns where it begins. */
static char *format_number(char text[NUMBER_BYTES], int64_t value)
{
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char *at = text + NUMBER_BYTES;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        *--at = '-';
    return at;
}

static void header(struct output *output, char type, int64_t value)
{
    char text[1 + NUMBER_BYTES + 2];
    char *at = format_number(text + 1, value);
    *--at = type;
    text[1 + NUMBER_BYTES] = '\r';
    text[1 + NUMBER_BYTES + 1] = '\n';
    output_append(output, at, (size_t)(text + sizeof text - at));
}

void reply_simple(struct reply *reply, const char *text)
{
    output_append(reply->output, "+", 1);
    output_append(reply->output, text, strlen(text));
    output_append(reply->output, "\r\n", 2);
}

void reply_error(struct reply *reply, const char *format, ...)
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
    output_append(reply->output, text, 1 + size + 2);
}

void reply_integer(struct reply *reply, int64_t value)
{
    header(reply->output, ':', value);
}

void reply_bulk(struct reply *reply, struct bytes bytes)
{
    header(reply->output, '$', (int64_t)bytes.size);
    output_append(reply->output, bytes.data, bytes.size);
    output_append(reply->output, "\r\n", 2);
}

void reply_text(struct reply *reply, const char *text)
{
    reply_bulk(reply, bytes_of(text));
}

void reply_null(struct reply *reply)
{
    if (reply->protocol >= 3)
        output_append(reply->output, "_\r\n", 3);
    else
        output_append(reply->output, "$-1\r\n", 5);
}

void reply_bool(struct reply *reply, bool value)
{
    if (reply->protocol >= 3)
        output_append(reply->output, value ? "#t\r\n" : "#f\r\n", 4);
    else
        reply_integer(reply, value ? 1 : 0);
}

void reply_double(struct reply *reply, double value)
{
    char text[DOUBLE_BYTES];
    const char *shown = text;
    if (isfinite(value))
        (void)snprintf(text, sizeof text, "%.10g", value);
    else
        shown = isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    if (reply->protocol < 3) {
        reply_text(reply, shown);
        return;
    }
    output_append(reply->output, ",", 1);
    output_append(reply->output, shown, strlen(shown));
    output_append(reply->output, "\r\n", 2);
}

void reply_array(struct reply *reply, size_t count)
{
    header(reply->output, '*', (int64_t)count);
}

void reply_map(struct reply *reply, size_t pairs)
{
    if (reply->protocol >= 3)
        header(reply->output, '%', (int64_t)pairs);
    else
        header(reply->output, '*', (int64_t)pairs * 2);
}

void reply_set(struct reply *reply, size_t count)
{
    header(reply->output, reply->protocol >= 3 ? '~' : '*', (int64_t)count);
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
