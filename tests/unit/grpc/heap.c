/*
 * The memory of connections: pieces are used again, and both bounds hold.
 */
#include "grpc/heap.h"

#include "tests/lib/tap.h"

#include <stdlib.h>

enum { ROOM = 64 << 10 };

static _Alignas(max_align_t) char room[ROOM];
static struct grpc_heap heap;

static void test_pieces(void)
{
    struct grpc_account account;
    grpc_heap_init(&heap, room, ROOM);
    grpc_account_open(&account, &heap, ROOM);
    char *first = grpc_take(&account, 100);
    OK(first != NULL && (uintptr_t)first % _Alignof(max_align_t) == 0, "a piece is aligned for anything");
    memset(first, 'x', 100);
    char *second = grpc_take(&account, 0);
    OK(second != NULL && second != first, "nothing is a piece as well");
    OK(grpc_resize(&account, first, 90) == first, "what fits stays where it is");
    char *larger = grpc_resize(&account, first, 1000);
    OK(larger != first && larger[0] == 'x' && larger[99] == 'x', "what does not fit is moved");
    OK(grpc_take(&account, 100) == first, "a piece that was given back is used again");
    grpc_give(&account, NULL);
    grpc_account_close(&account);
    OK_U64(account.taken, 0, "a connection that ends gives all back");
    const size_t used = heap.used;
    grpc_account_open(&account, &heap, ROOM);
    (void)grpc_take(&account, 1000);
    (void)grpc_take(&account, 100);
    OK_U64(heap.used, used, "and the next one uses that");
    grpc_account_close(&account);
}

static void test_bounds(void)
{
    struct grpc_account greedy, other;
    uint32_t count = 0;
    grpc_heap_init(&heap, room, ROOM);
    grpc_account_open(&greedy, &heap, ROOM / 2);
    grpc_account_open(&other, &heap, ROOM);
    while (grpc_take(&greedy, 200) != NULL)
        count++;
    OK_U64(count, ROOM / 2 / 256, "a connection has its part");
    OK(greedy.taken <= greedy.most, "and no more");
    OK(grpc_resize(&greedy, NULL, 1) == NULL, "not even by another way");
    count = 0;
    while (grpc_take(&other, 200) != NULL)
        count++;
    OK_U64(count, ROOM / 2 / 256, "others have the rest");
    OK(heap.used <= ROOM, "nothing lies behind the room");
    grpc_account_close(&greedy);
    OK(grpc_take(&other, 200) != NULL, "room that was given back is room for others");
    OK(grpc_take(&other, 1 << 20) == NULL, "nothing is larger than the largest piece");
    grpc_account_close(&other);
}

static void test_another_bound(void)
{
    struct grpc_account account;
    void *pieces[4];
    grpc_heap_init(&heap, room, ROOM);
    grpc_account_open(&account, &heap, ROOM);
    for (size_t i = 0; i < 4; i++)
        pieces[i] = grpc_take(&account, 200);
    grpc_heap_bound(&heap, 512);
    OK(heap.taken == 1024 && grpc_take(&account, 1) == NULL, "below what is given out nothing more is");
    for (size_t i = 0; i < 3; i++)
        grpc_give(&account, pieces[i]);
    OK(grpc_take(&account, 200) != NULL && grpc_take(&account, 1) == NULL, "until enough has come back");
    grpc_heap_bound(&heap, 2 * ROOM);
    OK(grpc_take(&account, 1) != NULL && heap.most == ROOM, "a larger bound is that of the region at most");
    grpc_account_close(&account);
    OK_U64(heap.taken, 0, "all is counted");
}

/* Whatever is asked and given back, no piece overlaps another. */
static void test_any_order(void)
{
    enum { LIVE = 40 };
    struct grpc_account account;
    unsigned char *live[LIVE] = {NULL};
    size_t size[LIVE] = {0};
    uint32_t drawn = 12345, spoiled = 0;
    grpc_heap_init(&heap, room, ROOM);
    grpc_account_open(&account, &heap, ROOM);
    for (uint32_t i = 0; i < 20000; i++) {
        drawn = drawn * 1664525 + 1013904223;
        const uint32_t at = (drawn >> 8) % LIVE;
        for (size_t byte = 0; byte < size[at]; byte++)
            spoiled += live[at] != NULL && live[at][byte] != at;
        grpc_give(&account, live[at]);
        size[at] = (drawn >> 16) % 3000;
        live[at] = grpc_take(&account, size[at]);
        if (live[at] == NULL)
            size[at] = 0;
        else
            memset(live[at], (int)at, size[at]);
    }
    OK_U64(spoiled, 0, "no piece is written by another");
    grpc_account_close(&account);
}

int main(void)
{
    test_pieces();
    test_bounds();
    test_another_bound();
    test_any_order();
    return tap_done();
}
