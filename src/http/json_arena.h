/*
 * json_arena: the memory of one JSON tree.
 *
 * The one idea: jansson asks for memory by two functions of the whole process. While a thread has an arena in use, they
 * cut pieces off it and give none back; when the arena is full, parsing fails. So a body costs a bounded amount of
 * memory, which is there before, and a tree is forgotten at once.
 */
#ifndef HEADGATE_HTTP_JSON_ARENA_H
#define HEADGATE_HTTP_JSON_ARENA_H

#include "base/bytes.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_arena {
    char *room;
    size_t size, used;
    bool exhausted; /* since it was begun */
};

/* Before the first use in this process; `seed` keeps clients from choosing names that collide. */
void json_arena_prepare(uint64_t seed);
void json_arena_init(struct json_arena *arena, char *room, size_t size);

/*
 * The tree of `text`, or NULL: then arena->exhausted, or `fault` says what is wrong. Valid until the next call with
 * this arena. Duplicate names are refused.
 */
json_t *json_arena_parse(struct json_arena *arena, struct bytes text, json_error_t *fault);
/* Room beside the last tree, as long as that is valid; NULL: there is not so much. */
char *json_arena_room(struct json_arena *arena, size_t size);

#endif
