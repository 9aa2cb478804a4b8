#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 4096 - 32, LINE_BYTES = 64 };

struct arena_block {
    struct arena_block *next;
    alignas(max_align_t) char data[];
};

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

void arena_close(struct arena *arena)
{
    for (struct arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    arena_init(arena);
}

static bool add_block(struct arena *arena, size_t size)
{
    size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    struct arena_block *block = calloc(1, sizeof *block + room);
    if (!block)
        return false;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->next = block->data;
    arena->left = room;
    arena->bytes += sizeof *block + room;
    return true;
}

void *arena_take(struct arena *arena, size_t count, size_t size)
{
    const size_t align = alignof(max_align_t);
    if (size > 0 && count > (SIZE_MAX / 2) / size)
        return NULL;
    size_t needed = (count * size + align - 1) & ~(align - 1);
    if (needed == 0)
        needed = align;
    if (needed > arena->left && !add_block(arena, needed))
        return NULL;
    void *piece = arena->next;
    arena->next += needed;
    arena->left -= needed;
    return piece;
}

void *arena_take_lines(struct arena *arena, size_t count, size_t size)
{
    if (size > 0 && count > (SIZE_MAX / 2) / size)
        return NULL;
    char *piece = arena_take(arena, count * size + LINE_BYTES - 1, 1);
    return piece ? piece + (LINE_BYTES - (uintptr_t)piece % LINE_BYTES) % LINE_BYTES : NULL;
}

struct bytes arena_copy(struct arena *arena, struct bytes text)
{
    char *copy = arena_take(arena, text.size + 1, 1);
    if (copy && text.size > 0)
        memcpy(copy, text.data, text.size);
    return (struct bytes){.data = copy, .size = text.size};
}
