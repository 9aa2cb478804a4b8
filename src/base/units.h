/*
 * units: numbers as operators write and read them: 100ms, 64MiB, 6000/m, 20%, 1,048,576.
 *
 * The one idea: exact or refused. What is written becomes one integer of the smallest unit, without
 * floating point; what does not come out whole, or does not fit 64 bits, is refused rather than rounded.
 * A number is digits with an optional decimal fraction, then at most one space, then its unit; no sign.
 * A parser that returns false leaves its result untouched; naming the culprit is the caller's business.
 */
#ifndef HEADGATE_BASE_UNITS_H
#define HEADGATE_BASE_UNITS_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNITS_TEXT_BYTES = 64 }; /* room for whatever a formatter writes, terminator included */

/* "10ns" "250us" "100ms" "1.5s" "5m" "2h" "7d", or "0". */
bool units_parse_duration(struct bytes text, uint64_t *ns);

/* "4096" "4096B" "1kB" "1MB" "1.5GB" "2TB" (powers of 1000), "16KiB" "64MiB" "1GiB" "1TiB" (of 1024). */
bool units_parse_size(struct bytes text, uint64_t *bytes);

/* "1048576", "1,048,576" or "1_048_576": where separators stand, they stand before every three digits. */
bool units_parse_count(struct bytes text, uint64_t *count);

/* "100/s" "6000/m" "1/d" "5/10s" "1,000/1.5h": a count per duration, which is above 0. Not reduced. */
bool units_parse_rate(struct bytes text, uint64_t *tokens, uint64_t *period_ns);

/* "20%" is 200,000 millionths of the whole, "0.5%" 5,000; more than 100% is allowed. */
bool units_parse_percent(struct bytes text, uint64_t *millionths);

/* What one of these parses, if it is from `least` to `most`. */
bool units_take(struct bytes text, bool (*parse)(struct bytes text, uint64_t *number), uint64_t least,
                uint64_t most, uint64_t *number);

/*
 * Formatters write at most `room` bytes, terminator included (room >= 1), and return `out`. Except for the
 * _short ones, what they write parses back to the same number: the largest unit with at most 3 decimals.
 */
const char *units_format_duration(char *out, size_t room, uint64_t ns); /* "1.5 ms", "90.001 s" */
const char *units_format_size(char *out, size_t room, uint64_t bytes);  /* "64 MiB", "1025 B" */
const char *units_format_count(char *out, size_t room, uint64_t count); /* "1,048,576" */
/* "100/s", "5/10s" */
const char *units_format_rate(char *out, size_t room, uint64_t tokens, uint64_t period_ns);

/*
 * Examples for a mistake: the first two of some usual values from `least` to `most`, as ", such as 100ms or 2s"; "" if
 * none is usual.
 */
const char *units_duration_examples(char *out, size_t room, uint64_t least_ns, uint64_t most_ns);
const char *units_size_examples(char *out, size_t room, uint64_t least, uint64_t most);

/* For the eye: three digits, rounded to nearest: "1.23 ms", "87.1 MiB". */
const char *units_format_duration_short(char *out, size_t room, uint64_t ns);
const char *units_format_size_short(char *out, size_t room, uint64_t bytes);

#endif
