/*
 * rows: the results of a mode that measures, as lines of TAP if they are wanted, and as an exit status.
 */
#ifndef HEADGATE_TESTS_SIM_ROWS_H
#define HEADGATE_TESTS_SIM_ROWS_H

#include <stdbool.h>

struct rows {
    bool tap;
    unsigned count, broken;
};

/* One result; the text says what should hold. */
void rows_add(struct rows *rows, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The plan of TAP. Returns the exit status: of failure, if a row does not hold. */
int rows_end(const struct rows *rows);

#endif
