/* Arrays that grow, and the order of bytes. */
#include "base/array.h"

#include "base/bytes.h"
#include "tests/lib/tap.h"

#include <stdint.h>
#include <stdlib.h>

enum { ELEMENTS = 1000 };

static void grows(void)
{
    uint64_t *number = NULL;
    size_t room = 0, moves = 0, last = 0;
    bool kept = true;
    for (size_t i = 0; i < ELEMENTS; i++) {
        ARRAY_REQUIRE(number, room, i + 1);
        moves += room != last;
        last = room;
        number[i] = i;
    }
    for (size_t i = 0; i < ELEMENTS; i++)
        kept = kept && number[i] == i;
    OK(kept && room >= ELEMENTS && moves < 10, "elements stay as they are, and room grows %zu times", moves);
    const uint64_t *before = number;
    OK(ARRAY_RESERVE(number, room, 3) && number == before && room == last, "what fits changes nothing");
    OK(!ARRAY_RESERVE(number, room, SIZE_MAX) && !ARRAY_RESERVE(number, room, SIZE_MAX / 4) && number == before &&
           room == last && number[ELEMENTS - 1] == ELEMENTS - 1,
       "what no memory has is refused, and the array is as before");
    OK(ARRAY_RESERVE(number, room, 100 * ELEMENTS) && room >= 100 * ELEMENTS && number[1] == 1,
       "room for many may be made at once");
    free(number);
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static void orders(void)
{
    static const char *const texts[] = {"", "a", "a\x01", "aa", "ab", "b", "\xc3\xa9"}; /* in order */
    enum { COUNT = sizeof texts / sizeof texts[0] };
    bool right = true;
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < COUNT; k++)
            right = right && sign(bytes_compare(bytes_of(texts[i]), bytes_of(texts[k]))) == sign(i - k);
    OK(right, "bytes are compared without a sign, and the shorter of two that begin alike is first");
    OK(bytes_compare((struct bytes){NULL, 0}, bytes_of("")) == 0 &&
           bytes_compare((struct bytes){NULL, 0}, bytes_of("a")) < 0,
       "no bytes are first");
}

int main(void)
{
    grows();
    orders();
    return tap_done();
}
