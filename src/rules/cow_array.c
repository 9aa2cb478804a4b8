/*
 * Chunks of at most COW_ARRAY_CHUNK_MAX items, and one position per chunk. A change first makes its
 * chunk private (own_chunk). A full chunk is split in halves; an insertion at the end of the array
 * begins a new chunk instead, so that arrays that grow at the end have full chunks.
 */
#include "rules/cow_array.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct cow_array_chunk {
    uint32_t references, count;
    uint64_t digest; /* exclusive or of the digests of all items */
    void *item[COW_ARRAY_CHUNK_MAX];
};

/* ---- chunks ---- */

static uint64_t digest_of(const struct cow_array *array, const void *item)
{
    return array->kind->digest ? array->kind->digest(item) : 0;
}

static void release_chunk(const struct cow_array *array, struct cow_array_chunk *chunk)
{
    assert(chunk->references > 0);
    if (--chunk->references > 0)
        return;
    for (uint32_t i = 0; i < chunk->count; i++)
        array->kind->release(chunk->item[i]);
    free(chunk);
}

/* The chunk at that position, after it was made private to this array. */
static struct cow_array_chunk *own_chunk(struct cow_array *array, size_t position)
{
    struct cow_array_chunk *chunk = array->position[position].chunk;
    if (chunk->references == 1)
        return chunk;
    struct cow_array_chunk *own = malloc(sizeof *own);
    assert(own && "out of memory");
    *own = (struct cow_array_chunk){.references = 1, .count = chunk->count, .digest = chunk->digest};
    memcpy(own->item, chunk->item, chunk->count * sizeof(void *));
    for (uint32_t i = 0; i < own->count; i++)
        array->kind->retain(own->item[i]);
    chunk->references--;
    array->position[position].chunk = own;
    return own;
}

/* Puts an empty chunk at that position. */
static void add_chunk(struct cow_array *array, size_t position, size_t first)
{
    ARRAY_REQUIRE(array->position, array->position_room, array->position_count + 1);
    struct cow_array_chunk *chunk = malloc(sizeof *chunk);
    assert(chunk && "out of memory");
    chunk->references = 1;
    chunk->count = 0;
    chunk->digest = 0;
    memmove(&array->position[position + 1], &array->position[position],
            (array->position_count - position) * sizeof *array->position);
    array->position[position] = (struct cow_array_position){.chunk = chunk, .first = first};
    array->position_count++;
}

static void drop_chunk(struct cow_array *array, size_t position)
{
    release_chunk(array, array->position[position].chunk);
    array->position_count--;
    memmove(&array->position[position], &array->position[position + 1],
            (array->position_count - position) * sizeof *array->position);
}

/* The last position whose first item stands at `index` or before; 0 if there is none. */
static size_t position_of(const struct cow_array *array, size_t index)
{
    size_t low = 0, high = array->position_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (array->position[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void shift(struct cow_array *array, size_t position, size_t by)
{
    for (; position < array->position_count; position++)
        array->position[position].first += by;
    array->count += by;
}

/* Moves the upper half of a full chunk into a new chunk behind it. */
static void split(struct cow_array *array, size_t position)
{
    const uint32_t half = COW_ARRAY_CHUNK_MAX / 2;
    struct cow_array_chunk *lower = own_chunk(array, position);
    add_chunk(array, position + 1, array->position[position].first + half);
    struct cow_array_chunk *upper = array->position[position + 1].chunk;
    upper->count = lower->count - half;
    memcpy(upper->item, &lower->item[half], upper->count * sizeof(void *));
    lower->count = half;
    for (uint32_t i = 0; i < upper->count; i++)
        upper->digest ^= digest_of(array, upper->item[i]);
    lower->digest ^= upper->digest;
}

/* ---- creation and destruction ---- */

void cow_array_init(struct cow_array *array, const struct cow_array_kind *kind)
{
    *array = (struct cow_array){.kind = kind};
}

void cow_array_close(struct cow_array *array)
{
    for (size_t i = 0; i < array->position_count; i++)
        release_chunk(array, array->position[i].chunk);
    free(array->position);
    cow_array_init(array, array->kind);
}

void cow_array_copy(struct cow_array *copy, const struct cow_array *array)
{
    cow_array_init(copy, array->kind);
    if (array->position_count == 0)
        return;
    copy->position = malloc(array->position_count * sizeof *copy->position);
    assert(copy->position && "out of memory");
    memcpy(copy->position, array->position, array->position_count * sizeof *copy->position);
    copy->position_count = copy->position_room = array->position_count;
    copy->count = array->count;
    for (size_t i = 0; i < copy->position_count; i++)
        copy->position[i].chunk->references++;
}

/* ---- reading ---- */

void *cow_array_at(const struct cow_array *array, size_t index)
{
    assert(index < array->count);
    const struct cow_array_position *position = &array->position[position_of(array, index)];
    return position->chunk->item[index - position->first];
}

size_t cow_array_search(const struct cow_array *array, bool (*before)(const void *context, const void *item),
                        const void *context)
{
    size_t low = 0, high = array->position_count; /* chunks below `low` are in front of the result as a whole */
    while (low < high) {
        /* Most searches end in the last chunk. */
        size_t middle = high == array->position_count ? high - 1 : low + (high - low) / 2;
        const struct cow_array_chunk *chunk = array->position[middle].chunk;
        if (before(context, chunk->item[chunk->count - 1]))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == array->position_count)
        return array->count;
    const struct cow_array_position *position = &array->position[low];
    uint32_t from = 0, to = position->chunk->count - 1; /* the last item is not in front */
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (before(context, position->chunk->item[middle]))
            from = middle + 1;
        else
            to = middle;
    }
    return position->first + from;
}

uint64_t cow_array_digest(const struct cow_array *array, size_t count)
{
    uint64_t digest = 0;
    assert(count <= array->count);
    for (size_t i = 0; i < array->position_count && array->position[i].first < count; i++) {
        const struct cow_array_chunk *chunk = array->position[i].chunk;
        size_t part = count - array->position[i].first;
        if (part >= chunk->count)
            digest ^= chunk->digest;
        for (size_t k = 0; k < part && part < chunk->count; k++)
            digest ^= digest_of(array, chunk->item[k]);
    }
    return digest;
}

/* ---- changes ---- */

void cow_array_insert(struct cow_array *array, size_t index, void *item)
{
    assert(index <= array->count);
    size_t position = position_of(array, index);
    if (array->position_count > 0 && index == array->position[position].first && position > 0 &&
        array->position[position - 1].chunk->count < COW_ARRAY_CHUNK_MAX)
        position--; /* append to the chunk before */
    if (array->position_count == 0 ||
        (index == array->count && array->position[position].chunk->count == COW_ARRAY_CHUNK_MAX)) {
        add_chunk(array, array->position_count, array->count);
        position = array->position_count - 1;
    } else if (array->position[position].chunk->count == COW_ARRAY_CHUNK_MAX) {
        split(array, position);
        position += index > array->position[position + 1].first;
    }
    struct cow_array_chunk *chunk = own_chunk(array, position);
    size_t at = index - array->position[position].first;
    memmove(&chunk->item[at + 1], &chunk->item[at], (chunk->count - at) * sizeof(void *));
    chunk->item[at] = item;
    chunk->count++;
    chunk->digest ^= digest_of(array, item);
    shift(array, position + 1, 1);
}

void cow_array_replace(struct cow_array *array, size_t index, void *item)
{
    assert(index < array->count);
    size_t position = position_of(array, index);
    struct cow_array_chunk *chunk = own_chunk(array, position);
    void **there = &chunk->item[index - array->position[position].first];
    chunk->digest ^= digest_of(array, *there) ^ digest_of(array, item);
    array->kind->release(*there);
    *there = item;
}

void cow_array_remove(struct cow_array *array, size_t index)
{
    assert(index < array->count);
    size_t position = position_of(array, index);
    struct cow_array_chunk *chunk = own_chunk(array, position);
    size_t at = index - array->position[position].first;
    void *item = chunk->item[at];
    chunk->digest ^= digest_of(array, item);
    chunk->count--;
    memmove(&chunk->item[at], &chunk->item[at + 1], (chunk->count - at) * sizeof(void *));
    array->kind->release(item);
    if (chunk->count == 0)
        drop_chunk(array, position--);
    shift(array, position + 1, (size_t)-1);
}
