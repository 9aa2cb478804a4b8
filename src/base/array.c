#include "base/array.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 16 };

bool array_reserve(void *first, size_t *room, size_t count, size_t element_bytes)
{
    size_t wanted = *room > 0 ? *room : ROOM_MIN;
    void *before, *larger;
    if (count <= *room)
        return true;
    while (wanted < count && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    if (wanted < count || wanted > SIZE_MAX / element_bytes)
        return false;
    memcpy(&before, first, sizeof before);
    larger = realloc(before, wanted * element_bytes);
    if (!larger)
        return false;
    memcpy(first, &larger, sizeof larger);
    *room = wanted;
    return true;
}

void array_require(void *first, size_t *room, size_t count, size_t element_bytes)
{
    const bool reserved = array_reserve(first, room, count, element_bytes);
    assert(reserved && "out of memory");
}
