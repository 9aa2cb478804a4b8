/*
 * store_writer: the store's own thread: it writes what waits, tends the file, and tries again when that fails.
 *
 * The one idea: owner and thread each have a queue, and change them under the mutex; what the thread has in hand it
 * writes without holding anything. Whatever befalls the file (damaged, gone, full disk) is seen to here, and told. What
 * the owner calls is in store.c; what is in the file, in store_file.h.
 */
#ifndef HEADGATE_EDGE_STORE_WRITER_H
#define HEADGATE_EDGE_STORE_WRITER_H

#include "edge/store_file.h"
#include "edge/store_queue.h"

#include <uv.h>

enum { STORE_NOTICES_MAX = 16 };

struct store {
    struct store_options options;
    char path[STORE_PATH_BYTES];
    bool started; /* the thread runs */
    uv_thread_t thread;

    uv_mutex_t mutex; /* all down to the next empty line */
    uv_cond_t work, idle;
    struct store_queue *filling, *writing; /* they change places; what `writing` points at is the thread's */
    bool busy;                             /* `writing` is not done */
    bool stopping, wants_all, lost_versions;
    uint64_t put, taken,
        kept; /* calls that put versions: all; those in `writing`, too; those that are on the disk */
    uint64_t unkept_since_ns; /* the oldest that is not waits since then */
    struct store_stats stats;
    struct notice notices[STORE_NOTICES_MAX];
    size_t notice_first, notice_count;

    /* The thread's, once it runs. */
    struct store_queue queue[2];
    struct store_file file;
    uint64_t next_try_ns, next_tend_ns, failing_since_ns;
};

/* Adds a notice, if there is room, and wakes the owner. Without the mutex. */
void store_say(struct store *store, enum notice_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Leaves a whole file open, or none. A damaged one is set aside. */
enum store_file_status store_writer_open(struct store *store);

/* It cannot be written now: told once, and tried again in a second. */
void store_writer_failed(struct store *store, uint64_t now_ns);

/* What the thread does, until the store is stopping and what waits was tried once. `argument`: the store. */
void store_writer_run(void *argument);

#endif
