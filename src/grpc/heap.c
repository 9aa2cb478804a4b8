#include "grpc/heap.h"

#include <string.h>

/* Bytes with the head. One size is for the 16 KiB and a few bytes in which nghttp2 builds frames. */
static const size_t sizes[GRPC_PIECE_SIZES] = {64,   128,  256,   512,   1024,  2048,
                                               4096, 8192, 17408, 33792, 66560, 132096};

/* Its data follow; both are aligned for anything. */
struct piece {
    _Alignas(max_align_t) struct list link; /* of its account, or of the free ones of its size */
    size_t size_index;
};

static char *data_of(struct piece *piece)
{
    return (char *)(piece + 1);
}

static struct piece *piece_of(void *data)
{
    return (struct piece *)data - 1;
}

void grpc_heap_init(struct grpc_heap *heap, char *room, size_t size)
{
    heap->room = room;
    heap->size = size;
    heap->used = heap->taken = 0;
    heap->most = size;
    for (size_t i = 0; i < GRPC_PIECE_SIZES; i++)
        list_init(&heap->free[i]);
}

void grpc_heap_bound(struct grpc_heap *heap, size_t most)
{
    heap->most = most < heap->size ? most : heap->size;
}

/* A free piece, or one that was never used; NULL: there is neither. */
static struct piece *find(struct grpc_heap *heap, size_t index)
{
    if (heap->taken > heap->most || sizes[index] > heap->most - heap->taken)
        return NULL;
    if (!list_empty(&heap->free[index])) {
        struct piece *piece = LIST_OWNER(heap->free[index].next, struct piece, link);
        list_remove(&piece->link);
        return piece;
    }
    if (sizes[index] > heap->size - heap->used)
        return NULL;
    struct piece *piece = (void *)(heap->room + heap->used);
    heap->used += sizes[index];
    list_init(&piece->link);
    piece->size_index = index;
    return piece;
}

void *grpc_take(struct grpc_account *account, size_t size)
{
    size_t index = 0;
    while (index < GRPC_PIECE_SIZES && size > sizes[index] - sizeof(struct piece))
        index++;
    if (index == GRPC_PIECE_SIZES || sizes[index] > account->most - account->taken)
        return NULL;
    struct piece *piece = find(account->heap, index);
    if (piece == NULL)
        return NULL;
    list_insert_before(&account->pieces, &piece->link);
    account->taken += sizes[index];
    account->heap->taken += sizes[index];
    return data_of(piece);
}

void grpc_give(struct grpc_account *account, void *data)
{
    if (data == NULL)
        return;
    struct piece *piece = piece_of(data);
    account->taken -= sizes[piece->size_index];
    account->heap->taken -= sizes[piece->size_index];
    list_remove(&piece->link);
    /* the front, whose memory is in the caches */
    list_insert_before(account->heap->free[piece->size_index].next, &piece->link);
}

void *grpc_resize(struct grpc_account *account, void *data, size_t size)
{
    if (data == NULL)
        return grpc_take(account, size);
    const size_t room = sizes[piece_of(data)->size_index] - sizeof(struct piece);
    if (size <= room)
        return data;
    void *larger = grpc_take(account, size);
    if (larger == NULL)
        return NULL;
    memcpy(larger, data, room);
    grpc_give(account, data);
    return larger;
}

void grpc_account_open(struct grpc_account *account, struct grpc_heap *heap, size_t most)
{
    *account = (struct grpc_account){.heap = heap, .most = most};
    list_init(&account->pieces);
}

void grpc_account_close(struct grpc_account *account)
{
    while (!list_empty(&account->pieces))
        grpc_give(account, data_of(LIST_OWNER(account->pieces.next, struct piece, link)));
}
