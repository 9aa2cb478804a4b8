/*
 * cow_array: an array in order whose copies cost next to nothing.
 *
 * The one idea: items lie in chunks, and a copy shares the chunks (copy on write). A chunk is
 * copied when one of its owners changes it and another owner still has it. So a caller can prepare
 * a change beside the array that is in use, in slices, and then put the copy into its place.
 *
 * Items have reference counts of one thread; the array holds one reference to each item. The caller
 * defines the order. The array asserts that memory is there.
 */
#ifndef HEADGATE_RULES_COW_ARRAY_H
#define HEADGATE_RULES_COW_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COW_ARRAY_CHUNK_MAX = 256 };

struct cow_array_kind {
    void (*retain)(void *item);
    void (*release)(void *item);
    uint64_t (*digest)(const void *item); /* NULL: the caller never asks for digests */
};

struct cow_array_chunk;

/* Where a chunk stands in this array; the same chunk may stand elsewhere in a copy. */
struct cow_array_position {
    struct cow_array_chunk *chunk;
    size_t first; /* the number of items in front of the chunk */
};

struct cow_array {
    const struct cow_array_kind *kind;
    size_t count;
    size_t position_count, position_room;
    struct cow_array_position *position;
};

void cow_array_init(struct cow_array *array, const struct cow_array_kind *kind);
void cow_array_close(struct cow_array *array);
/* Initialises `copy` and fills it. */
void cow_array_copy(struct cow_array *copy, const struct cow_array *array);

/* `index` must be below the count. */
void *cow_array_at(const struct cow_array *array, size_t index);
/* The index of the first item for which `before` is false, or the count. `before` must be true for
 * all items in front of that item. */
size_t cow_array_search(const struct cow_array *array, bool (*before)(const void *context, const void *item),
                        const void *context);
/* The exclusive or of the digests of the first `count` items; it does not depend on their order. */
uint64_t cow_array_digest(const struct cow_array *array, size_t count);

/* These functions take over one reference to `item`; replace and remove release the old item. */
void cow_array_insert(struct cow_array *array, size_t index, void *item);
void cow_array_replace(struct cow_array *array, size_t index, void *item);
void cow_array_remove(struct cow_array *array, size_t index);

#endif
