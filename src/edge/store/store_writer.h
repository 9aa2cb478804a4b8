/*
 * store_writer: the store's own thread: writes the queue, tends the file, and retries after
 * failures.
 *
 * The one idea: owner and thread have a queue each and exchange the queues under the mutex; the
 * thread writes its queue without holding the mutex. The thread deals with everything that happens
 * to the file (damage, removal, a full disk) and reports it. store.c has the calls of the owner;
 * store_file.h has the content of the file.
 */
#ifndef HEADGATE_EDGE_STORE_STORE_WRITER_H
#define HEADGATE_EDGE_STORE_STORE_WRITER_H

#include "edge/process/steady_wall.h"
#include "edge/store/store_file.h"
#include "edge/store/store_queue.h"

#include <uv.h>

enum { STORE_NOTICES_MAX = 16 };

struct store {
    struct store_options options;
    char path[STORE_PATH_BYTES];
    bool started; /* the thread runs */
    uv_thread_t thread;

    uv_mutex_t mutex; /* The mutex guards all fields down to the next empty line. */
    uv_cond_t work;
    /* Exchanged under the mutex; the queue behind `writing` belongs to the thread. */
    struct store_queue *filling, *writing;
    bool busy; /* the thread has not finished `writing` */
    bool stopping, wants_all, lost_versions;
    uint64_t put, taken,
        /* Numbers of calls that put versions: the newest one; the newest one in `writing`; the
         * newest one on disk. */
        kept;
    uint64_t unkept_since_ns; /* since when the oldest call waits that is not on disk */
    struct store_stats stats;
    struct notice notices[STORE_NOTICES_MAX];
    size_t notice_first, notice_count;

    /* Fields of the thread alone, once it runs. */
    struct store_queue queue[2];
    struct store_file file;
    uint64_t next_try_ns, next_tend_ns, failing_since_ns;
    struct steady_wall steady_wall; /* counters end by it */
};

/* Adds a notice if there is room, and wakes the owner. The caller must not hold the mutex. */
void store_say(struct store *store, enum notice_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens the file, or leaves none open. Sets a damaged file aside. */
enum store_file_status store_writer_open(struct store *store);

/* Reports once that the file cannot be written now; the thread retries in a second. */
void store_writer_failed(struct store *store, uint64_t now_ns);

/* The body of the thread. Returns once the store is stopping and the queue was tried once more.
 * `argument` is the store. */
void store_writer_run(void *argument);

#endif
