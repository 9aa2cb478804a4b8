/*
 * arena: the memory in which one message is read and its answer is made.
 *
 * The one idea: as json_arena.h, for protobuf-c: pieces are cut off a room that is there before and none is given
 * back; whoever begins the next message forgets the last one. When the room is full, reading fails.
 */
#ifndef HEADGATE_GRPC_ARENA_H
#define HEADGATE_GRPC_ARENA_H

#include "base/bytes.h"

#include <protobuf-c/protobuf-c.h>

struct grpc_arena {
    char *room;
    size_t size, used;
    bool exhausted; /* since it was begun */
    ProtobufCAllocator allocator;
};

/* `room` is aligned for anything. */
void grpc_arena_init(struct grpc_arena *arena, char *room, size_t size);
void grpc_arena_begin(struct grpc_arena *arena);
/* NULL: there is not so much room. Valid until the next grpc_arena_begin. */
void *grpc_arena_take(struct grpc_arena *arena, size_t size);
/* A terminated copy. NULL as above. */
char *grpc_arena_text(struct grpc_arena *arena, struct bytes text);

#endif
