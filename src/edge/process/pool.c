#include "edge/process/pool.h"

#include <assert.h>
#include <stdlib.h>

/* free buffers beyond this size return to the system */
enum { KEPT_FREE_BYTES = 16 * 1024 * 1024 };

static struct pool_buffer **free_list(struct pool *pool, size_t room)
{
    return room == POOL_SMALL_BYTES ? &pool->free_small : &pool->free_large;
}

void pool_init(struct pool *pool, size_t bytes_max)
{
    *pool = (struct pool){.bytes_max = bytes_max};
}

static void free_all(struct pool_buffer **list)
{
    while (*list != NULL) {
        struct pool_buffer *buffer = *list;
        *list = buffer->next;
        free(buffer);
    }
}

void pool_close(struct pool *pool)
{
    assert(pool->taken_bytes == 0);
    free_all(&pool->free_small);
    free_all(&pool->free_large);
    pool->free_bytes = 0;
}

struct pool_buffer *pool_take(struct pool *pool, size_t size)
{
    assert(size <= POOL_LARGE_BYTES);
    size_t room = size <= POOL_SMALL_BYTES ? POOL_SMALL_BYTES : POOL_LARGE_BYTES;
    if (room > pool->bytes_max - pool->taken_bytes)
        return NULL;
    struct pool_buffer **list = free_list(pool, room), *buffer = *list;
    if (buffer != NULL) {
        *list = buffer->next;
        pool->free_bytes -= room;
    } else {
        buffer = malloc(sizeof *buffer + room);
        if (buffer == NULL)
            return NULL;
        buffer->room = room;
    }
    buffer->next = NULL;
    pool->taken_bytes += room;
    return buffer;
}

void pool_put(struct pool *pool, struct pool_buffer **buffer)
{
    struct pool_buffer *returned = *buffer;
    if (returned == NULL)
        return;
    *buffer = NULL;
    size_t room = returned->room;
    assert(pool->taken_bytes >= room);
    pool->taken_bytes -= room;
    if (pool->free_bytes + room > KEPT_FREE_BYTES) {
        free(returned);
        return;
    }
    struct pool_buffer **list = free_list(pool, room);
    returned->next = *list;
    *list = returned;
    pool->free_bytes += room;
}
