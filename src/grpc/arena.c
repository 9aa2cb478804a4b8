#include "grpc/arena.h"

#include <string.h>

static void *take(void *context, size_t size)
{
    return grpc_arena_take(context, size);
}

static void give(void *context, void *data)
{
    (void)context, (void)data;
}

void grpc_arena_init(struct grpc_arena *arena, char *room, size_t size)
{
    *arena = (struct grpc_arena){.size = size, .allocator = {.alloc = take, .free = give, .allocator_data = arena}};
    arena->room = room;
}

void grpc_arena_begin(struct grpc_arena *arena)
{
    arena->used = 0;
    arena->exhausted = false;
}

void *grpc_arena_take(struct grpc_arena *arena, size_t size)
{
    const size_t align = _Alignof(max_align_t), left = arena->size - arena->used;
    if (size > left || (size + align - 1) / align * align > left) {
        arena->exhausted = true;
        return NULL;
    }
    char *data = arena->room + arena->used;
    arena->used += (size + align - 1) / align * align;
    return data;
}

char *grpc_arena_text(struct grpc_arena *arena, struct bytes text)
{
    char *copy = grpc_arena_take(arena, text.size + 1);
    if (copy == NULL)
        return NULL;
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return copy;
}
