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

/* Runs in a thread of the loop's pool. */
static void populate_slice(uv_work_t *work)
{
    struct populate *populate = work->data;
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

static void on_slice(uv_work_t *work, int status)
{
    struct populate *populate = work->data;
    if (populate->stopping || status != 0)
        return;
    bool more = populate->failed == 0 && populate->part_at < populate->part_count;
    if (!more || uv_queue_work(work->loop, work, populate_slice, on_slice) != 0)
        populate->ended(populate->context, populate->bytes, populate->failed);
}

bool populate_start(struct populate *populate, uv_loop_t *loop,
                    void (*ended)(void *context, size_t bytes, int failed), void *context)
{
    populate->work.data = populate;
    populate->ended = ended;
    populate->context = context;
    return populate->part_count == 0 || uv_queue_work(loop, &populate->work, populate_slice, on_slice) == 0;
}

void populate_stop(struct populate *populate)
{
    populate->stopping = true;
}
