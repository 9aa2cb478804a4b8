/*
 * reply: encodes answers in the protocol version that a client chose.
 *
 * The one idea: the caller says what it means (a map, a truth value, nothing), and version 2 gets the nearest
 * thing it knows (a flat array, 0 or 1, a null bulk). What has a count is followed by that many elements: the
 * caller's to keep.
 */
#ifndef HEADGATE_WIRE_REPLY_H
#define HEADGATE_WIRE_REPLY_H

#include "base/bytes.h"
#include "wire/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reply {
    struct output *output;
    unsigned protocol; /* 2 or 3 */
};

/* "+text": a constant without CR or LF. */
void reply_simple(struct reply *reply, const char *text);
/* "-message", printf style and cut at 500 bytes; control characters and bytes beyond ASCII become '?'. */
void reply_error(struct reply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));
void reply_integer(struct reply *reply, int64_t value);
void reply_bulk(struct reply *reply, struct bytes bytes);
void reply_text(struct reply *reply, const char *text);
void reply_null(struct reply *reply);
void reply_bool(struct reply *reply, bool value);
void reply_double(struct reply *reply, double value);
void reply_array(struct reply *reply, size_t count);
/* `pairs` keys, each followed by its value. */
void reply_map(struct reply *reply, size_t pairs);
void reply_set(struct reply *reply, size_t count);

/* Appends text (printf style) to a piece that is being written, e.g. the lines of a bulk. */
void output_print(struct output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
