/*
 * pack bounds the later fields that a reader passes over, and checks labels. A label (a name, an
 * address) must have no blanks and no control characters, because labels end up in lists with one
 * line for each entry. It writes small items by way of a chunk.
 */
#include "cluster/codec/pack.h"

#include <assert.h>
#include <string.h>

/*
 * Subtracts the encoded size of the value, or a little more, from `room`. False: `room` is too
 * small.
 */
static bool takes(const msgpack_object *object, uint64_t *room)
{
    const uint64_t head_bytes = 9;
    uint64_t bytes = object->type == MSGPACK_OBJECT_STR   ? object->via.str.size
                     : object->type == MSGPACK_OBJECT_BIN ? object->via.bin.size
                                                          : 0;
    if (*room < head_bytes + bytes)
        return false;
    *room -= head_bytes + bytes;
    if (object->type != MSGPACK_OBJECT_ARRAY)
        return true;
    for (uint32_t i = 0; i < object->via.array.size; i++)
        if (!takes(&object->via.array.ptr[i], room))
            return false;
    return true;
}

bool later_fields_are_bounded(const msgpack_object_array *record, uint32_t known)
{
    for (uint32_t i = known; i < record->size; i++) {
        uint64_t room = LATER_FIELD_MAX_BYTES;
        if (!takes(&record->ptr[i], &room))
            return false;
    }
    return record->size <= known + LATER_FIELDS_MAX;
}

bool label_is_sound(struct bytes label, size_t least, size_t room)
{
    if (label.size < least || label.size >= room)
        return false;
    for (size_t i = 0; i < label.size; i++)
        if ((unsigned char)label.data[i] <= ' ' || (unsigned char)label.data[i] == 0x7f)
            return false;
    return true;
}

bool read_label(const msgpack_object *object, size_t least, size_t room, struct bytes *label)
{
    if (object->type != MSGPACK_OBJECT_STR)
        return false;
    *label = (struct bytes){object->via.str.ptr, object->via.str.size};
    return label_is_sound(*label, least, room);
}

void chunk_flush(struct chunk *chunk)
{
    effects_append(chunk->effects, chunk->bytes, chunk->size);
    chunk->size = 0;
}

void chunk_bytes(struct chunk *chunk, const void *bytes, size_t size)
{
    assert(size <= sizeof chunk->bytes);
    if (sizeof chunk->bytes - chunk->size < size)
        chunk_flush(chunk);
    memcpy(chunk->bytes + chunk->size, bytes, size);
    chunk->size += size;
}

void chunk_number(struct chunk *chunk, uint64_t number)
{
    if (sizeof chunk->bytes - chunk->size < 1 + sizeof number)
        chunk_flush(chunk);
    if (number < 0x80) {
        chunk->bytes[chunk->size++] = (uint8_t)number;
        return;
    }
    unsigned width_bits = number <= UINT8_MAX ? 0 : number <= UINT16_MAX ? 1 : number <= UINT32_MAX ? 2 : 3;
    chunk->bytes[chunk->size++] = (uint8_t)(0xcc + width_bits);
    for (unsigned shift = 8u << width_bits; shift > 0;) {
        shift -= 8;
        chunk->bytes[chunk->size++] = (uint8_t)(number >> shift);
    }
}
