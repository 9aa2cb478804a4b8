/*
 * pack: reads msgpack values within bounds, and writes msgpack into the arena of effects. All
 * codecs of the cluster use it. It knows no message.
 *
 * The one idea: a record is an array whose fields have fixed places. A newer peer appends fields
 * and an older peer lacks fields, so a reader passes over fields that it does not know, and uses a
 * default for fields that are missing. docs/protocol.md says how a field is added. A list is an
 * array of equal elements; nobody appends anything else to it.
 */
#ifndef HEADGATE_CLUSTER_CODEC_PACK_H
#define HEADGATE_CLUSTER_CODEC_PACK_H

#include "base/bytes.h"
#include "cluster/codec/effects.h"

#include <msgpack.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    LATER_FIELDS_MAX = 16, /* the most fields of a record that this daemon does not know */
    /* The most bytes of such a field. Each value counts 9 bytes and its text. */
    LATER_FIELD_MAX_BYTES = 512 * 1024,
};

static inline bool read_u64(const msgpack_object *object, uint64_t *value)
{
    if (object->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return false;
    *value = object->via.u64;
    return true;
}

static inline bool read_u32_below(const msgpack_object *object, uint64_t bound, uint32_t *value)
{
    uint64_t wide;
    if (!read_u64(object, &wide) || wide >= bound)
        return false;
    *value = (uint32_t)wide;
    return true;
}

/* Reads a list of `least` to `most` elements. */
static inline bool read_array(const msgpack_object *object, uint32_t least, uint32_t most,
                              msgpack_object_array *array)
{
    if (object->type != MSGPACK_OBJECT_ARRAY || object->via.array.size < least || object->via.array.size > most)
        return false;
    *array = object->via.array;
    return true;
}

/* Reads at most `most` bytes. `object` may be NULL: there are none. */
static inline bool read_bin(const msgpack_object *object, uint32_t most, struct bytes *bytes)
{
    *bytes = (struct bytes){0};
    if (!object)
        return true;
    if (object->type != MSGPACK_OBJECT_BIN || object->via.bin.size > most)
        return false;
    *bytes = (struct bytes){object->via.bin.ptr, object->via.bin.size};
    return true;
}

/* True: the fields from number `known` on are few and small enough to be passed over. */
bool later_fields_are_bounded(const msgpack_object_array *record, uint32_t known);

/*
 * Reads a record of which this daemon knows `known` fields and which must have the first `least` of
 * them. The caller must read fields from number `least` on with record_field.
 */
static inline bool read_record(const msgpack_object *object, uint32_t least, uint32_t known,
                               msgpack_object_array *record)
{
    return read_array(object, least, known + LATER_FIELDS_MAX, record) &&
           (record->size <= known || later_fields_are_bounded(record, known));
}

/* A field that may be missing. NULL: the field is missing or nil, and its default holds. */
static inline const msgpack_object *record_field(const msgpack_object_array *record, uint32_t index)
{
    return index < record->size && record->ptr[index].type != MSGPACK_OBJECT_NIL ? &record->ptr[index] : NULL;
}

/*
 * A label has `least` to `room` - 1 bytes without blanks and control characters. Labels are names
 * and addresses; they end up in lists with one line for each entry.
 */
bool read_label(const msgpack_object *object, size_t least, size_t room, struct bytes *label);
bool label_is_sound(struct bytes label, size_t least, size_t room);

/* The write function for msgpack_packer_init. `context` must be the struct effects. */
static inline int write_to_arena(void *context, const char *data, size_t size)
{
    effects_append(context, data, size);
    return 0;
}

static inline void pack_text(msgpack_packer *packer, struct bytes text)
{
    msgpack_pack_str(packer, text.size);
    msgpack_pack_str_body(packer, text.data, text.size);
}

/*
 * Collects small items for the arena: a call of effects_append for each would take longer than copying the item. Starts
 * with `effects` alone; what is collected is written by chunk_flush at the latest.
 */
struct chunk {
    struct effects *effects;
    size_t size;
    uint8_t bytes[1024];
};
/* At most as many bytes as a chunk has. */
void chunk_bytes(struct chunk *chunk, const void *bytes, size_t size);
/* A msgpack integer in the fewest bytes that hold it. */
void chunk_number(struct chunk *chunk, uint64_t number);
void chunk_flush(struct chunk *chunk);

#endif
