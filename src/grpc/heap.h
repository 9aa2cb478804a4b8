/*
 * heap: the memory of all gRPC connections of a thread, for a library that wants to allocate and free.
 *
 * The one idea: one region, as large as the config says, is cut into pieces of a few sizes, and a piece that was given
 * back waits for the next one of its size. So HTTP/2 costs a bounded amount of memory, and each connection a bounded
 * part of it, which its account counts. Beyond either bound there is no piece, and the connection or the request ends.
 * Pieces of different sizes never share memory later: the region may be used up while pieces of another size are free.
 */
#ifndef HEADGATE_GRPC_HEAP_H
#define HEADGATE_GRPC_HEAP_H

#include "base/list.h"

#include <stddef.h>

enum { GRPC_PIECE_SIZES = 12 };

struct grpc_heap {
    char *room; /* aligned for anything */
    size_t size, used;
    size_t taken, most; /* bytes of pieces that are given out */
    struct list free[GRPC_PIECE_SIZES];
};

/* What one connection has of it. */
struct grpc_account {
    struct grpc_heap *heap;
    struct list pieces;
    size_t taken, most; /* bytes */
};

void grpc_heap_init(struct grpc_heap *heap, char *room, size_t size);
/* From now on pieces of at most `most` bytes together are given out, at most the size of the region. */
void grpc_heap_bound(struct grpc_heap *heap, size_t most);
void grpc_account_open(struct grpc_account *account, struct grpc_heap *heap, size_t most);
/* Gives back all that it has. */
void grpc_account_close(struct grpc_account *account);
/* NULL: a bound is reached. A size of 0 gives a piece. */
void *grpc_take(struct grpc_account *account, size_t size);
/* As realloc does. */
void *grpc_resize(struct grpc_account *account, void *data, size_t size);
/* `data` may be NULL. */
void grpc_give(struct grpc_account *account, void *data);

#endif
