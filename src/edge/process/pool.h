/*
 * pool: buffers of two sizes, with one bound on all of them together.
 *
 * The one idea: a buffer that was put back is kept for the next caller, so that a busy server
 * allocates memory only while it grows. One thread at a time may use a pool.
 */
#ifndef HEADGATE_EDGE_PROCESS_POOL_H
#define HEADGATE_EDGE_PROCESS_POOL_H

#include <stddef.h>

enum {
    POOL_SMALL_BYTES = 4 * 1024,
    POOL_LARGE_BYTES = 130 * 1024, /* the longest output, and what TLS adds to it */
};

struct pool_buffer {
    struct pool_buffer *next; /* belongs to the pool while the buffer is free */
    size_t room;              /* POOL_SMALL_BYTES or POOL_LARGE_BYTES */
    char data[];
};

struct pool {
    struct pool_buffer *free_small, *free_large;
    size_t free_bytes, taken_bytes, bytes_max;
};

void pool_init(struct pool *pool, size_t bytes_max);
/* Frees the buffers that were put back. The caller must have put back all buffers that it took. */
void pool_close(struct pool *pool);
/*
 * A buffer with room for `size` bytes; `size` must be at most POOL_LARGE_BYTES. NULL: the bound is
 * reached, or no memory is left.
 */
struct pool_buffer *pool_take(struct pool *pool, size_t size);
/* Puts *buffer back if it is not NULL, and sets it to NULL. */
void pool_put(struct pool *pool, struct pool_buffer **buffer);

#endif
