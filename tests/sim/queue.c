#include "tests/sim/queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void queue_init(struct queue *queue)
{
    queue->count = 0;
    queue->posted = 0;
    queue->overflow = false;
}

void queue_close(struct queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        payload_release(queue->heap[i].payload);
    queue->count = 0;
}

static bool before(const struct happening *a, const struct happening *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

uint64_t queue_post(struct queue *queue, struct happening happening)
{
    happening.order = ++queue->posted;
    if (queue->count == QUEUE_EVENTS_MAX) {
        queue->overflow = true;
        payload_release(happening.payload);
        return happening.order;
    }
    size_t hole = queue->count++;
    while (hole > 0 && before(&happening, &queue->heap[(hole - 1) / 2])) {
        queue->heap[hole] = queue->heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    queue->heap[hole] = happening;
    return happening.order;
}

bool queue_take(struct queue *queue, struct happening *happening)
{
    if (queue->count == 0)
        return false;
    *happening = queue->heap[0];
    struct happening last = queue->heap[--queue->count];
    size_t hole = 0;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child >= queue->count)
            break;
        if (child + 1 < queue->count && before(&queue->heap[child + 1], &queue->heap[child]))
            child++;
        if (!before(&queue->heap[child], &last))
            break;
        queue->heap[hole] = queue->heap[child];
        hole = child;
    }
    queue->heap[hole] = last;
    return true;
}

struct payload *payload_create(const void *data, size_t size)
{
    struct payload *payload = malloc(sizeof *payload + size);
    assert(payload != NULL);
    payload->references = 1;
    payload->size = size;
    if (size > 0)
        memcpy(payload->data, data, size);
    return payload;
}

void payload_release(struct payload *payload)
{
    if (payload != NULL && --payload->references == 0)
        free(payload);
}
