#include "limit/end_times.h"

#include <assert.h>
#include <stdlib.h>

/* Zeros are a slot without an end: the memory of slots that were never used is never written. */
struct end {
    uint64_t ends_ns;
    uint32_t heap_number; /* one more than its index in the heap; 0: the slot has no end */
};

struct end_times {
    uint32_t count;
    struct end *slot;
    uint32_t *heap; /* slots; the one that ends first at the top */
};

struct end_times *end_times_create(uint32_t room)
{
    struct end_times *times = calloc(1, sizeof *times);
    if (!times)
        return NULL;
    times->slot = calloc(room, sizeof *times->slot);
    times->heap = calloc(room, sizeof *times->heap);
    if (!times->slot || !times->heap)
        end_times_destroy(&times);
    return times;
}

void end_times_destroy(struct end_times **times)
{
    if (!*times)
        return;
    free((*times)->slot);
    free((*times)->heap);
    free(*times);
    *times = NULL;
}

static void put(struct end_times *times, uint32_t at, uint32_t slot)
{
    times->heap[at] = slot;
    times->slot[slot].heap_number = at + 1;
}

static uint64_t ends_ns(const struct end_times *times, uint32_t at)
{
    return times->slot[times->heap[at]].ends_ns;
}

/* Moves the slot at `at` of the heap to its place. */
static void fix(struct end_times *times, uint32_t at)
{
    uint32_t slot = times->heap[at];
    uint64_t own_ns = times->slot[slot].ends_ns;
    for (; at > 0 && ends_ns(times, (at - 1) / 2) > own_ns; at = (at - 1) / 2)
        put(times, at, times->heap[(at - 1) / 2]);
    for (uint32_t child = 2 * at + 1; child < times->count; child = 2 * at + 1) {
        if (child + 1 < times->count && ends_ns(times, child + 1) < ends_ns(times, child))
            child++;
        if (ends_ns(times, child) >= own_ns)
            break;
        put(times, at, times->heap[child]);
        at = child;
    }
    put(times, at, slot);
}

void end_times_set(struct end_times *times, uint32_t slot, uint64_t ends_ns)
{
    if (!end_times_has(times, slot))
        put(times, times->count++, slot);
    times->slot[slot].ends_ns = ends_ns;
    fix(times, times->slot[slot].heap_number - 1);
}

void end_times_remove(struct end_times *times, uint32_t slot)
{
    const uint32_t hole = times->slot[slot].heap_number - 1;
    assert(end_times_has(times, slot));
    times->slot[slot].heap_number = 0;
    times->count--;
    if (hole == times->count)
        return;
    put(times, hole, times->heap[times->count]);
    fix(times, hole);
}

bool end_times_has(const struct end_times *times, uint32_t slot)
{
    return times->slot[slot].heap_number != 0;
}

uint64_t end_times_of(const struct end_times *times, uint32_t slot)
{
    return times->slot[slot].ends_ns;
}

uint32_t end_times_count(const struct end_times *times)
{
    return times->count;
}

uint32_t end_times_slot(const struct end_times *times, uint32_t number)
{
    return times->heap[number];
}

bool end_times_first(const struct end_times *times, uint32_t *slot)
{
    if (times->count > 0)
        *slot = times->heap[0];
    return times->count > 0;
}

void end_times_check(const struct end_times *times)
{
    for (uint32_t at = 0; at < times->count; at++) {
        const struct end *end = &times->slot[times->heap[at]];
        assert(end->heap_number == at + 1);
        assert(at == 0 || ends_ns(times, (at - 1) / 2) <= end->ends_ns);
    }
}
