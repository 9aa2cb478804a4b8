/*
 * Any bytes, in any pieces: the parser of requests must understand the same, and never read beyond what came.
 */
#include "tests/fuzz/resp_story.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *data = (const char *)bytes;
    struct resp_story whole = {0}, pieces = {0};
    resp_story_of(&whole, data, size, size, 1);
    if (size <= 1024) {
        resp_story_of(&pieces, data, size, 0, 1);
        assert(pieces.hash == whole.hash);
    }
    /* Cuts everywhere while that is cheap; else some, that the content chooses. */
    size_t step = size <= 128 ? 1 : 1 + (size_t)(whole.hash % (size / 16));
    for (size_t cut = 0; cut < size; cut += step) {
        resp_story_of(&pieces, data, size, cut, cut + 1);
        assert(pieces.hash == whole.hash && pieces.ended == whole.ended);
    }
    return 0;
}
