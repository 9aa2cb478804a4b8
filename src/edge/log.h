/*
 * log: what an operator reads: one line each to standard error, with the time in UTC.
 *
 * Lines are about states that changed, never about single packets or requests: those are counters in INFO.
 * Writing never waits: when the reader of standard error is stuck, lines are dropped, and the next line that
 * gets through says how many.
 */
#ifndef HEADGATE_EDGE_LOG_H
#define HEADGATE_EDGE_LOG_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum { LOG_LINE_BYTES = 1024 }; /* longer ones are cut */

struct log {
    enum log_level level; /* what is less urgent is not written */
    int fd;
    uint64_t dropped_lines; /* since the last one that got through */
};

/* `fd` is the caller's: 2 for standard error. */
void log_init(struct log *log, enum log_level level, int fd);

void log_write(struct log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "error", "warning", "info", "debug" */
const char *log_level_name(enum log_level level);
bool log_level_parse(struct bytes text, enum log_level *level);

#endif
