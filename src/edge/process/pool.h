/*
 * pool: buffers of two sizes, taken and put back, with a bound on all of them together.
 *
 * What was put back is kept for the next taker, so that a busy server allocates only while it grows.
 */
#ifndef HEADGATE_EDGE_PROCESS_POOL_H
#define HEADGATE_EDGE_PROCESS_POOL_H

#include <stddef.h>

enum {
    POOL_SMALL_BYTES = 4 * 1024,
    POOL_LARGE_BYTES = 128 * 1024,
};

struct pool_buffer {
    struct pool_buffer *next; /* the pool's, while it is free */
    size_t room;              /* POOL_SMALL_BYTES or POOL_LARGE_BYTES */
    char data[];
};

struct pool {
    struct pool_buffer *free_small, *free_large;
    size_t free_bytes, taken_bytes, bytes_max;
};

void pool_init(struct pool *pool, size_t bytes_max);
/* Frees what was put back; everything taken must have been put back. */
void pool_close(struct pool *pool);
/* A buffer with room for `size` <= POOL_LARGE_BYTES, or NULL when the bound or the memory is reached. */
struct pool_buffer *pool_take(struct pool *pool, size_t size);
/* Puts *buffer back, if it is one, and forgets it. */
void pool_put(struct pool *pool, struct pool_buffer **buffer);

#endif
