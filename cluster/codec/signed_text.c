/*
 * signed_text appends to bytes of the caller, who has a bound of all that is written. So a lack of room is a mistake
 * of the program, and never of a peer.
 */
#include "cluster/codec/signed_text.h"

#include <assert.h>
#include <string.h>

void signed_text_begin(struct signed_text *text, char *bytes, size_t room, const char *meaning)
{
    text->bytes = bytes;
    text->size = 0;
    text->room = room;
    signed_text_put(text, meaning, strlen(meaning) + 1);
}

void signed_text_put(struct signed_text *text, const void *data, size_t size)
{
    assert(size <= text->room - text->size);
    if (size > 0)
        memcpy(text->bytes + text->size, data, size);
    text->size += size;
}

void signed_text_label(struct signed_text *text, struct bytes label)
{
    const uint8_t size = (uint8_t)label.size;
    assert(label.size <= UINT8_MAX);
    signed_text_put(text, &size, 1);
    signed_text_put(text, label.data, label.size);
}

void signed_text_number(struct signed_text *text, uint64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> (56 - 8 * i));
    signed_text_put(text, bytes, sizeof bytes);
}
