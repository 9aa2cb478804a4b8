/*
 * populate: makes the system back large memory before requests need it.
 *
 * The one idea: the memory of a table is reserved at the start, and the system zeroes each page at
 * its first touch, which may delay a request by milliseconds. A thread populates the pages in slices
 * while requests are served, without reading or writing their content. Nothing else depends on it. It
 * is no thread of libuv's pool, which ends the process where the system gives it none.
 */
#ifndef HEADGATE_EDGE_PROCESS_POPULATE_H
#define HEADGATE_EDGE_PROCESS_POPULATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

enum { POPULATE_PARTS_MAX = 4 };

struct populate {
    uv_async_t told;
    pthread_t thread;
    struct populate_part {
        char *memory; /* whole pages */
        size_t bytes;
    } part[POPULATE_PARTS_MAX];
    size_t part_count, part_at;
    size_t offset; /* of the next slice within part_at */
    size_t bytes;  /* bytes backed so far */
    int failed;    /* the errno of a slice that failed; 0: none */
    atomic_bool stopping;
    void (*ended)(void *context, size_t bytes, int failed);
    void *context;
};

/* Adds memory of the caller, which must stay until the loop has run empty. Must be called before
 * populate_start, at most POPULATE_PARTS_MAX times. */
void populate_add(struct populate *populate, void *memory, size_t bytes);

/*
 * Starts. Before populate_add the caller must have set `populate` to zero. `ended` is called once
 * in the loop: with the bytes that are backed now, and with 0 or the errno of the system (EINVAL:
 * the system cannot do it). It is never called after populate_stop. Returns false if no thread is
 * available.
 */
bool populate_start(struct populate *populate, uv_loop_t *loop,
                    void (*ended)(void *context, size_t bytes, int failed), void *context);
/* Starts no further slice. The loop runs empty when the current slice is done. */
void populate_stop(struct populate *populate);

#endif
