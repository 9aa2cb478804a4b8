/*
 * error: one sentence for a human, and the exit status that fits it.
 *
 * Functions that can fail because of an operator's input fill a struct error and return false.
 * Programmer's errors are asserts; clients' and peers' errors are protocol statuses: neither uses this.
 */
#ifndef HEADGATE_BASE_ERROR_H
#define HEADGATE_BASE_ERROR_H

#include <stdbool.h>

enum { ERROR_TEXT_BYTES = 512 };

struct error {
    int exit_status;             /* a sysexits(3) code: 78 for config, 69 for a busy port, ... */
    char text[ERROR_TEXT_BYTES]; /* a sentence without a newline, always terminated */
};

/* Fills `error` (printf style, truncating) and returns false, so that a caller can `return error_set(...)`. */
bool error_set(struct error *error, int exit_status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
