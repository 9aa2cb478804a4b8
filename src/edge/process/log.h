/*
 * log: lines for an operator on standard error, each with the time in UTC.
 *
 * The one idea: lines tell about states that changed, never about single packets or requests; INFO
 * counts those. Writing never waits: while the reader of standard error is stuck, lines are
 * dropped, and the next line that gets through says how many. So are lines beyond a pace: a peer
 * that says it has started anew with each message must not fill the disk.
 */
#ifndef HEADGATE_EDGE_PROCESS_LOG_H
#define HEADGATE_EDGE_PROCESS_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum log_format {
    LOG_FORMAT_TEXT,
    LOG_FORMAT_JSON, /* an object in each line: time, level, message, and dropped_lines after a gap */
};

enum {
    LOG_LINE_BYTES = 1024, /* longer lines are cut */
    LOG_TIME_BYTES = 32,   /* of a time, terminated */
    /* The pace of warnings, and that of infos: so many at once, and further ones one by one. Others have none. */
    LOG_BURST_LINES = 512,
    LOG_LINE_EVERY_MS = 50,
};

struct log {
    enum log_level level; /* less urgent lines are not written */
    enum log_format format;
    int fd;
    uint64_t dropped_lines;               /* lines dropped since the last one that got through */
    uint64_t due_ns[LOG_LEVEL_DEBUG + 1]; /* by level: when the next line would be due if all came one by one */
};

/* `fd` belongs to the caller: 2 for standard error. */
void log_init(struct log *log, enum log_level level, enum log_format format, int fd);

void log_write(struct log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes the time now, "2026-11-25T17:42:50.123Z", terminated. Returns its size. */
size_t log_time(char *line, size_t room);

/* "error", "warning", "info", "debug" */
const char *log_level_name(enum log_level level);

#endif
