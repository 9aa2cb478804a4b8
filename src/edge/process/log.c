/*
 * Writes each line with one system call, or drops it.
 */
#include "edge/process/log.h"

#include "edge/process/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void log_init(struct log *log, enum log_level level, int fd)
{
    *log = (struct log){.level = level, .fd = fd};
}

const char *log_level_name(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_ERROR:
        return "error";
    case LOG_LEVEL_WARNING:
        return "warning";
    case LOG_LEVEL_INFO:
        return "info";
    case LOG_LEVEL_DEBUG:
        return "debug";
    }
    return "?";
}

/* Writes the line whole or not at all: a pipe that polls as writable takes PIPE_BUF bytes, and
 * lines are shorter. */
static bool put(const struct log *log, const char *line, size_t size)
{
    struct pollfd room = {.fd = log->fd, .events = POLLOUT};
    if (poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0)
        return false;
    ssize_t written;
    do
        written = write(log->fd, line, size);
    while (written < 0 && errno == EINTR);
    return written >= 0;
}

static size_t put_time(char *line, size_t room)
{
    uint64_t now_ns = clock_wall_ns();
    time_t seconds = (time_t)(now_ns / 1000000000);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc);
    size_t size = strftime(line, room, "%Y-%m-%dT%H:%M:%S", &utc);
    return size + (size_t)snprintf(line + size, room - size, ".%03uZ", (unsigned)(now_ns / 1000000 % 1000));
}

void log_write(struct log *log, enum log_level level, const char *format, ...)
{
    if (level > log->level)
        return;
    char line[LOG_LINE_BYTES];
    size_t size = put_time(line, sizeof line);
    size += (size_t)snprintf(line + size, sizeof line - size, " %s ", log_level_name(level));
    if (log->dropped_lines > 0)
        size += (size_t)snprintf(line + size, sizeof line - size, "(%llu lines dropped before this one) ",
                                 (unsigned long long)log->dropped_lines);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + size, sizeof line - size, format, arguments);
    va_end(arguments);
    if (length > 0)
        size += (size_t)length;
    if (size > sizeof line - 1)
        size = sizeof line - 1;
    /* A text may hold bytes that a peer sent: they must not begin a line or move the cursor of a
     * terminal. */
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 127)
            line[i] = '?';
    line[size++] = '\n';
    log->dropped_lines = put(log, line, size) ? 0 : log->dropped_lines + 1;
}
