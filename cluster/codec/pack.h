/*
 * pack: what all codecs of the cluster need of msgpack: to read a number or an array within bounds, and to write into
 * the effects' arena. It knows no message.
 */
#ifndef HEADGATE_CLUSTER_CODEC_PACK_H
#define HEADGATE_CLUSTER_CODEC_PACK_H

#include "base/bytes.h"
#include "cluster/codec/effects.h"

#include <msgpack.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool read_u64(const msgpack_object *object, uint64_t *value)
{
    if (object->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return false;
    *value = object->via.u64;
    return true;
}

/* An array of `least` to `most` elements. */
static inline bool read_array(const msgpack_object *object, uint32_t least, uint32_t most,
                              msgpack_object_array *array)
{
    if (object->type != MSGPACK_OBJECT_ARRAY || object->via.array.size < least || object->via.array.size > most)
        return false;
    *array = object->via.array;
    return true;
}

/* For msgpack_packer_init: `context` is the struct effects. */
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

#endif
