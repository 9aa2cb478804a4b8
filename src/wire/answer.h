/*
 * answer: encodes replies in the protocol version that a client chose.
 *
 * The one idea: the caller names the meaning (a map, a boolean, null), and version 2 gets its
 * nearest form (a flat array, 0 or 1, a null bulk). After a call that states a count, the caller
 * must write that many elements. Does not know what the elements mean.
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

/* Writes "+text"; the text must be without CR and LF. */
void answer_simple(struct answer *answer, const char *text);
/* Writes "-message", printf style, cut to 500 bytes. Control characters and bytes beyond ASCII
 * become '?'. */
void answer_error(struct answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void answer_integer(struct answer *answer, int64_t value);
void answer_bulk(struct answer *answer, struct bytes bytes);
void answer_text(struct answer *answer, const char *text);
void answer_null(struct answer *answer);
void answer_bool(struct answer *answer, bool value);
void answer_double(struct answer *answer, double value);
void answer_array(struct answer *answer, size_t count);
/* Writes the head of an array and its first `values_count` elements. */
void answer_array_of(struct answer *answer, size_t count, const int64_t *values, size_t values_count);
/*
 * Writes the reply of most requests, an array of six: the first element is 1 (allowed) and the
 * fourth 0 (nothing to wait for), so that constants cover both.
 */
void answer_allowed(struct answer *answer, int64_t limit, int64_t remaining, int64_t reset_ms, struct bytes rule);
/* Writes the head of a map; `pairs` keys must follow, each with its value: answer_pair_*, or a text and any value. */
void answer_map(struct answer *answer, size_t pairs);
void answer_pair_text(struct answer *answer, const char *key, const char *value);
void answer_pair_bulk(struct answer *answer, const char *key, struct bytes value);
void answer_pair_integer(struct answer *answer, const char *key, int64_t value);
/* A count beyond INT64_MAX does not fit an integer of RESP: its largest one stands for it. */
void answer_pair_count(struct answer *answer, const char *key, uint64_t value);
void answer_pair_double(struct answer *answer, const char *key, double value);
void answer_pair_bool(struct answer *answer, const char *key, bool value);
void answer_pair_array(struct answer *answer, const char *key, size_t count);
void answer_set(struct answer *answer, size_t count);

/*
 * Writes a bulk whose length is known at the end only: begin, append to the output, end with the
 * result of begin.
 */
size_t answer_bulk_begin(struct answer *answer);
void answer_bulk_end(struct answer *answer, size_t begun);

/* As answer_bulk_begin and answer_bulk_end, for an array whose count is known at the end only. */
size_t answer_array_begin(struct answer *answer);
void answer_array_end(struct answer *answer, size_t begun, size_t count);

/* Appends text (printf style, up to 1023 bytes) to the output, for instance a line of an open bulk. */
void output_print(struct output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
