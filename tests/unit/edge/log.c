/* Log lines as a reader of standard error gets them, also when nobody reads. */
#include "edge/process/log.h"

#include "edge/process/clock.h"
#include "tests/lib/tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char text[1 << 17];

static const char *read_all(int fd)
{
    ssize_t size = read(fd, text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    return text;
}

/* What a program that reads lines of JSON gets, whatever a text holds. */
static void test_json(int fds[2])
{
    struct log log;
    log_init(&log, LOG_LEVEL_INFO, LOG_FORMAT_JSON, fds[1]);
    log_write(&log, LOG_LEVEL_WARNING, "%s is \"gone\" \\ a\nb\xc3\xa9", "eu-west");
    const char *line = read_all(fds[0]);
    OK(strncmp(line, "{\"time\":\"20", 11) == 0, "JSON begins with the time");
    OK_STRING(line + 9 + 24, "\",\"level\":\"warning\",\"message\":\"eu-west is \\\"gone\\\" \\\\ a?b??\"}\n",
              "quotes are escaped, and nothing ends a line");
    static char quotes[2 * LOG_LINE_BYTES];
    unsigned broken = 0;
    for (unsigned i = 0; i < 2; i++) {
        memset(quotes, '"', sizeof quotes - 1);
        quotes[0] = i == 0 ? '"' : 'x'; /* the cut falls on either byte of an escape */
        log_write(&log, LOG_LEVEL_INFO, "%s", quotes);
        line = read_all(fds[0]);
        const size_t size = strlen(line);
        broken += size > LOG_LINE_BYTES || size < LOG_LINE_BYTES - 3 || strcmp(line + size - 5, "\\\"\"}\n") != 0;
    }
    OK(broken == 0, "a long text is cut between letters, and still ends");
    log.dropped_lines = 3;
    log_write(&log, LOG_LEVEL_INFO, "back");
    OK(strstr(read_all(fds[0]), "\"dropped_lines\":3,\"message\":\"back\"}\n") != NULL,
       "lines that were dropped are told");
}

/* A peer that changes its state without end, for instance. */
static void test_pace(int fds[2])
{
    struct log log, none;
    int written = 0;
    log_init(&none, LOG_LEVEL_INFO, LOG_FORMAT_TEXT, open("/dev/null", O_WRONLY));
    log = none;
    while (log.dropped_lines == 0 && written < 100000) {
        log_write(&log, LOG_LEVEL_INFO, "%s has started anew", "eu-west");
        written++;
    }
    OK(written > LOG_BURST_LINES && written < 2 * LOG_BURST_LINES, "lines without end are dropped, after %d",
       written);
    log.dropped_lines = 7;
    log.fd = fds[1];
    log_write(&log, LOG_LEVEL_WARNING, "the disk is full");
    OK_STRING(read_all(fds[0]) + 24, " warning (7 lines dropped before this one) the disk is full\n",
              "a warning is not hidden by infos");
    const uint64_t deadline_ns = clock_monotonic_ns() + 20 * UINT64_C(1000000000);
    for (text[0] = '\0'; text[0] == '\0' && clock_monotonic_ns() < deadline_ns; read_all(fds[0]))
        log_write(&log, LOG_LEVEL_INFO, "it goes on");
    OK(strstr(text, " lines dropped before this one) it goes on\n") != NULL, "one by one they are written again");
    for (int i = 0; i < 2 * LOG_BURST_LINES; i++)
        log_write(&none, LOG_LEVEL_ERROR, "error");
    OK_U64(none.dropped_lines, 0, "errors have no pace");
    close(none.fd);
}

int main(void)
{
    struct log log;
    int fds[2];
    OK(pipe2(fds, O_NONBLOCK) == 0, "a pipe");
    /* The log does not know that the pipe would not block it: it asks first. */
    log_init(&log, LOG_LEVEL_INFO, LOG_FORMAT_TEXT, fds[1]);

    log_write(&log, LOG_LEVEL_INFO, "%s is silent", "eu-west");
    const char *line = read_all(fds[0]);
    OK(strlen(line) == 24 + strlen(" info eu-west is silent\n") && line[10] == 'T' && line[23] == 'Z',
       "time in UTC");
    OK_STRING(line + 24, " info eu-west is silent\n", "level and text");

    log_write(&log, LOG_LEVEL_DEBUG, "not wanted");
    OK_STRING(read_all(fds[0]), "", "what is less urgent than the level is not written");
    log_write(&log, LOG_LEVEL_ERROR, "a\nb\033[31mc\x7f\xc3\xa9");
    OK_STRING(read_all(fds[0]) + 24, " error a?b?[31mc?\xc3\xa9\n", "control characters do not get through");

    static char longest[3 * LOG_LINE_BYTES];
    memset(longest, 'x', sizeof longest - 1);
    log_write(&log, LOG_LEVEL_WARNING, "%s", longest);
    OK_U64(strlen(read_all(fds[0])), LOG_LINE_BYTES, "a long line is cut");
    OK(strcmp(text + LOG_LINE_BYTES - 2, "x\n") == 0, "and still ends");

    int written = 0;
    while (log.dropped_lines < 5 && written < 10000) {
        log_write(&log, LOG_LEVEL_INFO, "%s", longest);
        written++;
    }
    OK_U64(log.dropped_lines, 5, "nobody reads: lines are dropped, the caller does not wait");
    while (*read_all(fds[0]))
        ;
    log_write(&log, LOG_LEVEL_INFO, "back");
    OK_STRING(read_all(fds[0]) + 24, " info (5 lines dropped before this one) back\n", "and counted in the next");
    log_write(&log, LOG_LEVEL_INFO, "again");
    OK_STRING(read_all(fds[0]) + 24, " info again\n", "once");
    test_json(fds);
    test_pace(fds);
    return tap_done();
}
