/* Log lines as a reader of standard error gets them, also when nobody reads. */
#include "edge/process/log.h"

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

int main(void)
{
    struct log log;
    int fds[2];
    OK(pipe2(fds, O_NONBLOCK) == 0, "a pipe");
    /* The log does not know that the pipe would not block it: it asks first. */
    log_init(&log, LOG_LEVEL_INFO, fds[1]);

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
    return tap_done();
}
