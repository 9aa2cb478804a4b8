/*
 * message_limits reads and writes what members say of limits that change: a stamp, a sum and a text. It judges no
 * value: members/limit_list.c does.
 */
#include "cluster/codec/message_limits.h"

#include "cluster/codec/pack.h"

#include <string.h>

bool limits_record_read(const msgpack_object *object, struct limits_record *limits)
{
    msgpack_object_array a;
    memset(limits, 0, sizeof *limits);
    if (!object)
        return true;
    if (!read_record(object, 4, 4, &a) || !read_u64(&a.ptr[0], &limits->seen.number) ||
        !read_u64(&a.ptr[1], &limits->seen.maker) || !read_u64(&a.ptr[2], &limits->sum) ||
        a.ptr[3].type != MSGPACK_OBJECT_STR || a.ptr[3].via.str.size > LIMITS_TEXT_MAX_BYTES)
        return false;
    limits->said = true;
    limits->text = (struct bytes){a.ptr[3].via.str.ptr, a.ptr[3].via.str.size};
    return true;
}

void limits_record_pack(msgpack_packer *packer, const struct limits_record *limits)
{
    msgpack_pack_array(packer, 4);
    msgpack_pack_uint64(packer, limits->seen.number);
    msgpack_pack_uint64(packer, limits->seen.maker);
    msgpack_pack_uint64(packer, limits->sum);
    pack_text(packer, limits->text);
}
