#include "http/json_arena.h"

#include <stdalign.h>

static _Thread_local struct json_arena *in_use;

static void *take(size_t size)
{
    const size_t align = alignof(max_align_t), whole = (size + align - 1) / align * align;
    struct json_arena *arena = in_use;
    if (arena == NULL || whole < size || whole > arena->size - arena->used) {
        if (arena != NULL)
            arena->exhausted = true;
        return NULL;
    }
    arena->used += whole;
    return arena->room + arena->used - whole;
}

static void give_back(void *piece)
{
    (void)piece;
}

void json_arena_prepare(uint64_t seed)
{
    json_set_alloc_funcs(take, give_back);
    json_object_seed((size_t)seed | 1);
}

void json_arena_init(struct json_arena *arena, char *room, size_t size)
{
    const size_t align = alignof(max_align_t), off = (uintptr_t)room % align;
    const size_t skipped = off > 0 ? align - off : 0;
    arena->room = room + skipped;
    arena->size = size - skipped;
    arena->used = 0;
    arena->exhausted = false;
}

json_t *json_arena_parse(struct json_arena *arena, struct bytes text, json_error_t *fault)
{
    arena->used = 0;
    arena->exhausted = false;
    in_use = arena;
    json_t *tree = json_loadb(text.data ? text.data : "", text.size, JSON_REJECT_DUPLICATES, fault);
    in_use = NULL;
    return tree;
}

char *json_arena_room(struct json_arena *arena, size_t size)
{
    in_use = arena;
    char *room = take(size);
    in_use = NULL;
    return room;
}
