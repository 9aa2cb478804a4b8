/*
 * arena: memory for many small things that live and die together.
 *
 * The one idea: allocations are cut off large blocks and are never freed one by one; closing the arena frees all. Every
 * allocation is zero and aligned for any type.
 */
#ifndef HEADGATE_BASE_ARENA_H
#define HEADGATE_BASE_ARENA_H

#include "base/bytes.h"

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks;
    char *next; /* where the next piece begins */
    size_t left;
    size_t bytes; /* of all blocks */
};

void arena_init(struct arena *arena);
void arena_close(struct arena *arena);

/* `count` pieces of `size` bytes, in a row; NULL when memory is short. 0 bytes are a valid piece. */
void *arena_take(struct arena *arena, size_t count, size_t size);

/* The same, of types that are aligned to cache lines of 64 bytes. */
void *arena_take_lines(struct arena *arena, size_t count, size_t size);

/* A copy with a zero behind it; .data is NULL when memory is short. */
struct bytes arena_copy(struct arena *arena, struct bytes text);

#endif
