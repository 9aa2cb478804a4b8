/*
 * message_weights reads and writes what members say of weights and demand, each as a record of its own. It judges no
 * value.
 */
#include "cluster/codec/message_weights.h"

#include "cluster/codec/pack.h"

#include <string.h>

bool weights_record_read(const msgpack_object *object, struct weights_record *weights)
{
    msgpack_object_array a;
    uint32_t keeps, heard;
    memset(weights, 0, sizeof *weights);
    if (!object)
        return true;
    if (!read_record(object, 7, 7, &a) || !read_u32_below(&a.ptr[0], 2, &keeps) ||
        !read_u64(&a.ptr[1], &weights->base.number) || !read_u64(&a.ptr[2], &weights->base.maker) ||
        !read_u64(&a.ptr[3], &weights->newest.number) || !read_u64(&a.ptr[4], &weights->newest.maker) ||
        !read_u32_below(&a.ptr[5], 2, &heard) || a.ptr[6].type != MSGPACK_OBJECT_STR ||
        a.ptr[6].via.str.size > WEIGHTS_TEXT_MAX_BYTES)
        return false;
    weights->said = true;
    weights->keeps = keeps != 0;
    weights->heard = heard != 0;
    weights->text = (struct bytes){a.ptr[6].via.str.ptr, a.ptr[6].via.str.size};
    return true;
}

void weights_record_pack(msgpack_packer *packer, const struct weights_record *weights)
{
    msgpack_pack_array(packer, 7);
    msgpack_pack_uint64(packer, weights->keeps);
    msgpack_pack_uint64(packer, weights->base.number);
    msgpack_pack_uint64(packer, weights->base.maker);
    msgpack_pack_uint64(packer, weights->newest.number);
    msgpack_pack_uint64(packer, weights->newest.maker);
    msgpack_pack_uint64(packer, weights->heard);
    pack_text(packer, weights->text);
}

bool demand_record_read(const msgpack_object *object, struct demand_record *demand)
{
    msgpack_object_array a;
    uint32_t proposes = 0;
    *demand = (struct demand_record){.said = object != NULL};
    if (object && (!read_record(object, 3, 3, &a) || !read_u64(&a.ptr[0], &demand->given) ||
                   !read_u64(&a.ptr[1], &demand->wanted) || !read_u32_below(&a.ptr[2], 2, &proposes)))
        return false;
    demand->proposes = proposes != 0;
    return true;
}

void demand_record_pack(msgpack_packer *packer, const struct demand_record *demand)
{
    msgpack_pack_array(packer, 3);
    msgpack_pack_uint64(packer, demand->given);
    msgpack_pack_uint64(packer, demand->wanted);
    msgpack_pack_uint64(packer, demand->proposes);
}
