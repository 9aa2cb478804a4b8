#include "edge/process/populate.h"

#include "edge/process/memory.h"

#include <assert.h>

/* A few huge pages: another thread that maps memory waits for one slice at most. */
enum { SLICE_BYTES = 8 << 20 };

void populate_add(struct populate *populate, void *memory, size_t bytes)
{
    assert(populate->part_count < POPULATE_PARTS_MAX);
    /* Whole pages only: slices must not share a page, since no slice would populate it. */
    char *pages = memory_pages(memory, &bytes);
    if (bytes > 0)
        populate->part[populate->part_count++] = (struct populate_part){pages, bytes};
}

static void populate_slice(struct populate *populate)
{
    const struct populate_part *part = &populate->part[populate->part_at];
    size_t left = part->bytes - populate->offset, bytes = left < SLICE_BYTES ? left : SLICE_BYTES;
    populate->failed = memory_populate(part->memory + populate->offset, bytes);
    if (populate->failed != 0)
        return;
    populate->bytes += bytes;
    populate->offset += bytes;
    if (populate->offset == part->bytes) {
        populate->part_at++;
        populate->offset = 0;
    }
}

static void *populate_all(void *context)
{
    struct populate *populate = context;
    while (!atomic_load(&populate->stopping) && populate->failed == 0 && populate->part_at < populate->part_count)
        populate_slice(populate);
    (void)uv_async_send(&populate->told);
    return NULL;
}

static void on_told(uv_async_t *handle)
{
    struct populate *populate = handle->data;
    (void)pthread_join(populate->thread, NULL);
    uv_close((uv_handle_t *)handle, NULL);
    if (!atomic_load(&populate->stopping))
        populate->ended(populate->context, populate->bytes, populate->failed);
}

bool populate_start(struct populate *populate, uv_loop_t *loop,
                    void (*ended)(void *context, size_t bytes, int failed), void *context)
{
    populate->ended = ended;
    populate->context = context;
    if (populate->part_count == 0)
        return true;
    if (uv_async_init(loop, &populate->told, on_told) != 0)
        return false;
    populate->told.data = populate;
    if (pthread_create(&populate->thread, NULL, populate_all, populate) == 0)
        return true;
    uv_close((uv_handle_t *)&populate->told, NULL);
    return false;
}

void populate_stop(struct populate *populate)
{
    atomic_store(&populate->stopping, true);
}
