/* Pieces that live and die together. */
#include "base/arena.h"

#include "tests/lib/tap.h"

#include <stdalign.h>

int main(void)
{
    struct arena arena;
    arena_init(&arena);
    OK(arena.bytes == 0, "an empty arena has no memory");
    bool aligned = true, zero = true;
    for (size_t size = 0; size < 300; size++) {
        unsigned char *piece = arena_take(&arena, 3, size);
        aligned = aligned && piece && (uintptr_t)piece % alignof(max_align_t) == 0;
        for (size_t i = 0; piece && i < 3 * size; i++) {
            zero = zero && piece[i] == 0;
            piece[i] = 0xff; /* the next piece would not be zero if they overlapped */
        }
    }
    OK(aligned, "pieces are aligned");
    OK(zero, "and zero, and do not overlap");
    unsigned char *large = arena_take(&arena, 1, 1 << 20);
    OK(large && large[0] == 0 && large[(1 << 20) - 1] == 0 && arena.bytes > 1 << 20,
       "a piece may be larger than a block");
    void *lines = arena_take_lines(&arena, 5, 192);
    OK(lines && (uintptr_t)lines % 64 == 0, "lines begin with lines");
    OK(!arena_take(&arena, SIZE_MAX / 2, 3) && !arena_take_lines(&arena, SIZE_MAX / 2, 3),
       "what no memory has is refused");
    struct bytes copy = arena_copy(&arena, bytes_of("text"));
    OK(copy.size == 4 && strcmp(copy.data, "text") == 0, "a copy ends with a zero");
    copy = arena_copy(&arena, (struct bytes){NULL, 0});
    OK(copy.size == 0 && copy.data && copy.data[0] == '\0', "one of nothing, too");
    arena_close(&arena);
    OK(arena.bytes == 0 && !arena.blocks, "closed, it is empty again");
    return tap_done();
}
