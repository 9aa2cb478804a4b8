/*
 * answer: encodes replies in the protocol version that a client chose.
 *
 * The one idea: the caller says what it means (a map, a truth value, nothing), and version 2 gets the nearest
 * thing it knows (a flat array, 0 or 1, a null bulk). What has a count is followed by that many elements: the
 * caller's to keep.
 */
#ifndef HEADGATE_WIRE_ANSWER_H
#define HEADGATE_WIRE_ANSWER_H

#include "base/bytes.h"
#include "wire/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer {
    struct output *output;
    unsigned protocol; /* 2 or 3 */
};

/* "+text": a constant without CR or LF. */
void answer_simple(struct answer *answer, const char *text);
/* "-message", printf style and cut at 500 bytes; control characters and bytes beyond ASCII become '?'. */
void answer_error(struct answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void answer_integer(struct answer *answer, int64_t value);
void answer_bulk(struct answer *answer, struct bytes bytes);
void answer_text(struct answer *answer, const char *text);
void answer_null(struct answer *answer);
void answer_bool(struct answer *answer, bool value);
void answer_double(struct answer *answer, double value);
void answer_array(struct answer *answer, size_t count);
/* The same, and the first of its elements: `values_count` numbers. */
void answer_array_of(struct answer *answer, size_t count, const int64_t *values, size_t values_count);
/*
 * What most requests are answered: an array of six, of which the first says yes and the fourth that there is nothing to
 * wait for, so that no number has to be written for them.
 */
void answer_allowed(struct answer *answer, int64_t limit, int64_t remaining, int64_t reset_ms, struct bytes rule);
/* `pairs` keys, each followed by its value. */
void answer_map(struct answer *answer, size_t pairs);
void answer_set(struct answer *answer, size_t count);

/*
 * A bulk whose length is known only when it was written: begin, append to the output, end with what begin
 * returned.
 */
size_t answer_bulk_begin(struct answer *answer);
void answer_bulk_end(struct answer *answer, size_t begun);

/* The same for an array whose count is known only at the end. */
size_t answer_array_begin(struct answer *answer);
void answer_array_end(struct answer *answer, size_t begun, size_t count);

/* Appends text (printf style, up to 1023 bytes) to a piece that is being written, e.g. the lines of a bulk. */
void output_print(struct output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
