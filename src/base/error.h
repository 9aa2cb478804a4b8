/*
 * error: one sentence for a human, and the exit status that fits it.
 *
 * A sentence may say where it names the field that is wrong, for programs.
 * Functions that can fail because of an operator's input fill a struct error and return false.
 * Programmer's errors are asserts; clients' and peers' errors are protocol statuses: neither uses this.
 */
#ifndef HEADGATE_BASE_ERROR_H
#define HEADGATE_BASE_ERROR_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

enum { ERROR_TEXT_BYTES = 640 };

/* A part of the sentence. Size 0: the sentence has no such part. */
struct error_part {
    uint16_t at, size;
};

struct error {
    int exit_status;             /* a sysexits(3) code: 78 for config, 69 for a busy port, ... */
    char text[ERROR_TEXT_BYTES]; /* a sentence without a newline, always terminated */
    struct error_part field, value, expected;
};

static inline struct bytes error_bytes(const struct error *error, struct error_part part)
{
    return (struct bytes){error->text + part.at, part.size};
}

/*
 * Fills `error` (printf style, truncating), without parts, and returns false, so that a caller can
 * `return error_set(...)`.
 */
bool error_set(struct error *error, int exit_status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Marks the first word `field` of the sentence as the field that is wrong; nothing, where it has no such word. */
void error_mark_field(struct error *error, const char *field);

#endif
