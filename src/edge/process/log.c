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

/* What follows a message of JSON: a quote and a brace. The end of the line follows any. */
enum { JSON_END_BYTES = 2, LINE_ROOM_BYTES = LOG_LINE_BYTES - 1 };

void log_init(struct log *log, enum log_level level, enum log_format format, int fd)
{
    *log = (struct log){.level = level, .format = format, .fd = fd};
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

/*
 * Errors are the last words of a process, and who asks for debug lines wants them all. Warnings have a pace of their
 * own: infos without end must not hide them.
 */
static bool is_within_pace(struct log *log, enum log_level level)
{
    const uint64_t every_ns = LOG_LINE_EVERY_MS * UINT64_C(1000000), now_ns = clock_monotonic_ns();
    uint64_t *due_ns = &log->due_ns[level];
    if (level != LOG_LEVEL_WARNING && level != LOG_LEVEL_INFO)
        return true;
    if (*due_ns < now_ns)
        *due_ns = now_ns;
    if (*due_ns - now_ns > (LOG_BURST_LINES - 1) * every_ns)
        return false;
    *due_ns += every_ns;
    return true;
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

size_t log_time(char *line, size_t room)
{
    uint64_t now_ns = clock_wall_ns();
    time_t seconds = (time_t)(now_ns / 1000000000);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc);
    size_t size = strftime(line, room, "%Y-%m-%dT%H:%M:%S", &utc);
    return size + (size_t)snprintf(line + size, room - size, ".%03uZ", (unsigned)(now_ns / 1000000 % 1000));
}

/* Appends as far as there is room. */
static void add(char line[LOG_LINE_BYTES], size_t *size, const char *text, size_t text_size)
{
    const size_t room = LINE_ROOM_BYTES - *size;
    text_size = text_size < room ? text_size : room;
    memcpy(line + *size, text, text_size);
    *size += text_size;
}

/*
 * A text may hold bytes that a peer sent: they must not begin a line, move the cursor of a terminal, or end a text of
 * JSON. In JSON bytes beyond ASCII are '?' as well: what is cut must not be half a letter.
 */
static void add_message(char line[LOG_LINE_BYTES], size_t *size, enum log_format format, const char *text)
{
    const size_t kept = format == LOG_FORMAT_JSON ? JSON_END_BYTES + 1 : 0; /* and a second byte of an escape */
    for (; *text && *size < LINE_ROOM_BYTES - kept; text++) {
        const unsigned char c = (unsigned char)*text;
        const bool is_wrong = c < ' ' || c == 127 || (format == LOG_FORMAT_JSON && c > 127);
        if (format == LOG_FORMAT_JSON && (c == '"' || c == '\\'))
            add(line, size, "\\", 1);
        add(line, size, is_wrong ? "?" : text, 1);
    }
}

static void begin_line(const struct log *log, char line[LOG_LINE_BYTES], size_t *size, enum log_level level)
{
    char time[LOG_TIME_BYTES], head[LOG_TIME_BYTES + 96];
    const unsigned long long dropped = log->dropped_lines;
    const char *name = log_level_name(level);
    (void)log_time(time, sizeof time);
    int count;
    if (log->format == LOG_FORMAT_JSON && dropped > 0)
        count =
            snprintf(head, sizeof head, "{\"time\":\"%s\",\"level\":\"%s\",\"dropped_lines\":%llu,\"message\":\"",
                     time, name, dropped);
    else if (log->format == LOG_FORMAT_JSON)
        count = snprintf(head, sizeof head, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":\"", time, name);
    else if (dropped > 0)
        count = snprintf(head, sizeof head, "%s %s (%llu lines dropped before this one) ", time, name, dropped);
    else
        count = snprintf(head, sizeof head, "%s %s ", time, name);
    add(line, size, head, (size_t)count);
}

void log_write(struct log *log, enum log_level level, const char *format, ...)
{
    if (level > log->level)
        return;
    if (!is_within_pace(log, level)) {
        log->dropped_lines++;
        return;
    }
    char line[LOG_LINE_BYTES], message[LOG_LINE_BYTES];
    size_t size = 0;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    begin_line(log, line, &size, level);
    add_message(line, &size, log->format, length > 0 ? message : "");
    if (log->format == LOG_FORMAT_JSON) {
        memcpy(line + size, "\"}", 2);
        size += 2;
    }
    line[size++] = '\n';
    log->dropped_lines = put(log, line, size) ? 0 : log->dropped_lines + 1;
}
