/* The journal: lines reach the file in order; a stuck or full disk costs lines, which are counted, and nobody waits. */
#include "edge/process/journal.h"

#include "tests/lib/tap.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WAITS_MAX = 60000 };

static char place[] = "/tmp/headgate-journal-XXXXXX", path[64], moved[64], text[1 << 20];

static bool put_line(struct journal *journal, unsigned number)
{
    char line[32];
    const int size = snprintf(line, sizeof line, "line %u\n", number);
    return journal_put(journal, line, (size_t)size);
}

static const char *content(const char *of)
{
    FILE *file = fopen(of, "r");
    const size_t size = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    text[size] = '\0';
    if (file != NULL)
        (void)fclose(file);
    return text;
}

static bool comes(struct journal *journal, bool (*met)(const struct journal_stats *))
{
    struct journal_stats stats;
    for (unsigned i = 0; i < WAITS_MAX; i++) {
        journal_stats(journal, &stats);
        if (met(&stats))
            return true;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

static bool two_written(const struct journal_stats *stats)
{
    return stats->lines == 2;
}

static bool one_lost(const struct journal_stats *stats)
{
    return stats->lost == 1 && stats->failing;
}

static bool four_written(const struct journal_stats *stats)
{
    return stats->lines == 4 && !stats->failing;
}

static bool opens(const struct journal_stats *stats)
{
    (void)stats;
    return access(path, F_OK) == 0;
}

static void test_file(void)
{
    struct error error;
    struct journal *journal = journal_open(path, &error);
    assert(journal != NULL);
    OK(put_line(journal, 1) && put_line(journal, 2) && comes(journal, two_written), "two lines are written");
    OK_STRING(content(path), "line 1\nline 2\n", "in order");
    assert(rename(path, moved) == 0);
    journal_reopen(journal);
    OK(comes(journal, opens), "it is opened again though nothing is to be written");
    OK(put_line(journal, 3) && put_line(journal, 4) && comes(journal, four_written), "two more");
    OK_STRING(content(path), "line 3\nline 4\n", "are in the new file");
    OK_STRING(content(moved), "line 1\nline 2\n", "and not in the old one");
    (void)put_line(journal, 5);
    journal_close(&journal);
    OK_STRING(content(path), "line 3\nline 4\nline 5\n", "closing writes what waits");
    journal = journal_open("/nowhere/at/all", &error);
    OK(journal == NULL && strstr(error.text, "refusal_log is '/nowhere/at/all': expected a file") != NULL,
       "a place that is none: %s", error.text);
}

static void test_full(void)
{
    struct error error;
    struct journal *journal = journal_open("/dev/full", &error);
    assert(journal != NULL);
    OK(put_line(journal, 1), "who writes does not notice that the disk is full");
    OK(comes(journal, one_lost), "the line is counted as lost");
    journal_close(&journal);
}

struct drain {
    int fd;
    size_t size, lines;
};

static void *drain(void *argument)
{
    struct drain *drain = argument;
    char bytes[4096];
    ssize_t got;
    while ((got = read(drain->fd, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < got; i++)
            drain->lines += bytes[i] == '\n';
    return NULL;
}

/* A pipe that nobody reads is a disk that hangs. */
static void test_stuck(void)
{
    struct error error;
    struct journal_stats stats;
    pthread_t thread;
    (void)unlink(path);
    assert(mkfifo(path, 0600) == 0);
    struct drain drained = {.fd = open(path, O_RDONLY | O_NONBLOCK)};
    struct journal *journal = journal_open(path, &error);
    assert(drained.fd >= 0 && journal != NULL);
    unsigned count = 0, taken = 0;
    for (; count < 200000; count++)
        taken += put_line(journal, count);
    journal_stats(journal, &stats);
    OK(taken < count && stats.dropped == count - taken,
       "beyond the buffer lines are dropped, and nobody waits: %u of %u", count - taken, count);
    OK(taken * 10 > JOURNAL_BYTES / 2, "the buffer takes what it has room for: %u", taken);
    (void)fcntl(drained.fd, F_SETFL, 0);
    int failed = pthread_create(&thread, NULL, drain, &drained);
    assert(failed == 0);
    journal_close(&journal);
    (void)pthread_join(thread, NULL);
    OK_U64(drained.lines, taken, "all others arrive when it goes on");
    (void)close(drained.fd);
}

int main(void)
{
    const char *made = mkdtemp(place);
    assert(made != NULL);
    (void)snprintf(path, sizeof path, "%s/file", place);
    (void)snprintf(moved, sizeof moved, "%s/moved", place);
    test_file();
    if (access("/dev/full", W_OK) == 0)
        test_full();
    else
        tap_skip("a full disk", "there is no /dev/full");
    test_stuck();
    (void)unlink(path);
    (void)unlink(moved);
    (void)rmdir(place);
    return tap_done();
}
