#include "edge/process/journal.h"

#include "edge/process/background.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>
#include <uv.h>

struct journal {
    const char *path;
    int fd;    /* -1: it could not be opened again */
    bool torn; /* the file ends within a line */
    uv_thread_t thread;
    uv_mutex_t mutex; /* covers what follows */
    uv_cond_t wanted;
    bool closing, reopens;
    struct journal_stats stats;
    size_t size, line_count; /* of what waits */
    char *waiting;           /* JOURNAL_BYTES */
    char *writing;           /* the thread's: JOURNAL_BYTES */
};

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
}

/* ---- the thread ---- */

/* The number of bytes that were written; fewer than `size`: a write failed. */
static size_t write_all(int fd, const char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t written = write(fd, data + done, size - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = EIO;
        if (written <= 0)
            break;
        done += (size_t)written;
    }
    return done;
}

static size_t count_lines(const char *data, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += data[i] == '\n';
    return count;
}

/* The number of whole lines that reached the file. A line that is there in part is ended before the next one. */
static size_t write_lines(struct journal *journal, size_t size)
{
    if (journal->fd < 0 || (journal->torn && write_all(journal->fd, "\n", 1) < 1))
        return 0;
    const size_t done = write_all(journal->fd, journal->writing, size);
    journal->torn = done > 0 && journal->writing[done - 1] != '\n';
    return count_lines(journal->writing, done);
}

static void open_again(struct journal *journal)
{
    if (journal->fd >= 0)
        (void)close(journal->fd);
    journal->fd = open_file(journal->path);
    journal->torn = false;
}

/* Writes what waits. The mutex is held at the begin and at the end, and not while the disk works. */
static void write_waiting(struct journal *journal)
{
    const size_t size = journal->size, count = journal->line_count;
    const bool reopens = journal->reopens;
    char *taken = journal->waiting;
    journal->waiting = journal->writing;
    journal->writing = taken;
    journal->size = journal->line_count = 0;
    journal->reopens = false;
    uv_mutex_unlock(&journal->mutex);
    if (reopens || journal->fd < 0)
        open_again(journal);
    const size_t written = write_lines(journal, size);
    const int reason = errno; /* of the write or the opening, if one failed */
    uv_mutex_lock(&journal->mutex);
    journal->stats.lines += written;
    journal->stats.lost += count - written;
    journal->stats.failing = journal->fd < 0 || written < count;
    journal->stats.reason = journal->stats.failing ? reason : 0;
}

static void run(void *argument)
{
    struct journal *journal = argument;
    uv_mutex_lock(&journal->mutex);
    while (!journal->closing || journal->size > 0) {
        if (journal->size > 0 || journal->reopens)
            write_waiting(journal);
        else
            uv_cond_wait(&journal->wanted, &journal->mutex);
    }
    uv_mutex_unlock(&journal->mutex);
}

/* ---- everybody else ---- */

static bool start(struct journal *journal, const char *path, struct error *error)
{
    journal->path = path;
    journal->waiting = malloc(JOURNAL_BYTES);
    journal->writing = malloc(JOURNAL_BYTES);
    journal->fd = open_file(path);
    if (journal->fd < 0)
        return error_set(error, EX_CANTCREAT,
                         "refusal_log is '%s': expected a file that can be made and written (%s)", path,
                         strerror(errno));
    if (journal->waiting == NULL || journal->writing == NULL || uv_mutex_init(&journal->mutex) != 0)
        return error_set(error, EX_OSERR, "not enough memory to write %s", path);
    if (uv_cond_init(&journal->wanted) == 0) {
        const bool is_background = background_begin();
        const int failed = uv_thread_create(&journal->thread, run, journal);
        if (is_background)
            background_end();
        if (failed == 0)
            return true;
        uv_cond_destroy(&journal->wanted);
    }
    uv_mutex_destroy(&journal->mutex);
    return error_set(error, EX_OSERR, "cannot start a thread to write %s", path);
}

static void release(struct journal **journal)
{
    if ((*journal)->fd >= 0)
        (void)close((*journal)->fd);
    free((*journal)->waiting);
    free((*journal)->writing);
    free(*journal);
    *journal = NULL;
}

struct journal *journal_open(const char *path, struct error *error)
{
    struct journal *journal = calloc(1, sizeof *journal);
    if (journal == NULL)
        (void)error_set(error, EX_OSERR, "not enough memory to write %s", path);
    else if (!start(journal, path, error))
        release(&journal);
    return journal;
}

void journal_close(struct journal **journal)
{
    if (*journal == NULL)
        return;
    uv_mutex_lock(&(*journal)->mutex);
    (*journal)->closing = true;
    uv_cond_signal(&(*journal)->wanted);
    uv_mutex_unlock(&(*journal)->mutex);
    (void)uv_thread_join(&(*journal)->thread);
    uv_cond_destroy(&(*journal)->wanted);
    uv_mutex_destroy(&(*journal)->mutex);
    release(journal);
}

bool journal_put(struct journal *journal, const char *line, size_t size)
{
    assert(size > 0 && size <= JOURNAL_LINE_MAX_BYTES && line[size - 1] == '\n');
    uv_mutex_lock(&journal->mutex);
    const bool fits = size <= JOURNAL_BYTES - journal->size;
    if (fits) {
        memcpy(journal->waiting + journal->size, line, size);
        journal->size += size;
        journal->line_count++;
        uv_cond_signal(&journal->wanted);
    } else {
        journal->stats.dropped++;
    }
    uv_mutex_unlock(&journal->mutex);
    return fits;
}

void journal_reopen(struct journal *journal)
{
    uv_mutex_lock(&journal->mutex);
    journal->reopens = true;
    uv_cond_signal(&journal->wanted);
    uv_mutex_unlock(&journal->mutex);
}

void journal_stats(struct journal *journal, struct journal_stats *stats)
{
    uv_mutex_lock(&journal->mutex);
    *stats = journal->stats;
    uv_mutex_unlock(&journal->mutex);
}
