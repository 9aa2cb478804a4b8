/*
 * What a thread serves gRPC with is made once: nothing is allocated for a request.
 */
#include "grpc/call.h"

#include <stdlib.h>

struct grpc *grpc_create(struct commands *commands, const struct grpc_options *options)
{
    struct grpc *grpc = calloc(1, sizeof *grpc);
    if (grpc == NULL)
        return NULL;
    grpc->commands = commands;
    grpc->options = *options;
    grpc->heap_room = malloc(options->memory_bytes); /* the system gives it as it is used */
    if (grpc->heap_room == NULL || !grpc_http2_prepare(grpc)) {
        grpc_destroy(&grpc);
        return NULL;
    }
    grpc_heap_init(&grpc->heap, grpc->heap_room, options->memory_bytes);
    grpc_arena_init(&grpc->arena, grpc->arena_room, sizeof grpc->arena_room);
    return grpc;
}

void grpc_take_options(struct grpc *grpc, const struct grpc_options *options)
{
    grpc->options = *options;
    grpc_heap_bound(&grpc->heap, options->memory_bytes);
}

void grpc_destroy(struct grpc **grpc)
{
    if (*grpc == NULL)
        return;
    nghttp2_session_callbacks_del((*grpc)->callbacks);
    nghttp2_option_del((*grpc)->option);
    free((*grpc)->heap_room);
    free(*grpc);
    *grpc = NULL;
}
