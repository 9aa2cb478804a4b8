/*
 * life packs and reads what a member says of itself with its signature, and writes the bytes that it signs. Sizes are
 * those of messages, so the longest record has room.
 */
#include "cluster/codec/life.h"

#include "cluster/codec/message.h"
#include "cluster/codec/pack.h"
#include "cluster/codec/signed_text.h"

#include <string.h>

/* What an older release leaves out. */
static bool read_handover(const msgpack_object_array *fields, struct life_record *life)
{
    const msgpack_object *former = record_field(fields, 5), *proof = record_field(fields, 6);
    if (!former)
        return true;
    if (!proof || former->type != MSGPACK_OBJECT_BIN || former->via.bin.size != NODE_KEY_BYTES ||
        proof->type != MSGPACK_OBJECT_BIN || proof->via.bin.size != NODE_PROOF_BYTES)
        return false;
    life->former = (const uint8_t *)former->via.bin.ptr;
    life->handover = (const uint8_t *)proof->via.bin.ptr;
    return true;
}

bool life_read(const msgpack_object *object, struct life_record *life)
{
    msgpack_object_array a;
    uint32_t state;
    memset(life, 0, sizeof *life);
    if (!object)
        return true;
    if (!read_record(object, 5, 7, &a) || a.ptr[0].type != MSGPACK_OBJECT_BIN ||
        a.ptr[0].via.bin.size != NODE_KEY_BYTES || !read_u64(&a.ptr[1], &life->incarnation) ||
        !read_u32_below(&a.ptr[2], PEER_LEFT + 1, &state) || state == PEER_SILENT ||
        !read_u64(&a.ptr[3], &life->config) || a.ptr[4].type != MSGPACK_OBJECT_BIN ||
        a.ptr[4].via.bin.size != NODE_PROOF_BYTES)
        return false;
    life->state = (enum peer_state)state;
    life->key = (const uint8_t *)a.ptr[0].via.bin.ptr;
    life->proof = (const uint8_t *)a.ptr[4].via.bin.ptr;
    return read_handover(&a, life);
}

void life_pack(msgpack_packer *packer, const struct life_record *life)
{
    msgpack_pack_array(packer, life->former ? 7 : 5);
    msgpack_pack_bin(packer, NODE_KEY_BYTES);
    msgpack_pack_bin_body(packer, life->key, NODE_KEY_BYTES);
    msgpack_pack_uint64(packer, life->incarnation);
    msgpack_pack_uint64(packer, (uint64_t)life->state);
    msgpack_pack_uint64(packer, life->config);
    msgpack_pack_bin(packer, NODE_PROOF_BYTES);
    msgpack_pack_bin_body(packer, life->proof, NODE_PROOF_BYTES);
    if (!life->former)
        return;
    msgpack_pack_bin(packer, NODE_KEY_BYTES);
    msgpack_pack_bin_body(packer, life->former, NODE_KEY_BYTES);
    msgpack_pack_bin(packer, NODE_PROOF_BYTES);
    msgpack_pack_bin_body(packer, life->handover, NODE_PROOF_BYTES);
}

#define MEANING "headgate life 1"
/* A label takes as many bytes as its text with a terminator. So no record that was read can be too long. */
_Static_assert(sizeof MEANING + 2 * NODE_NAME_BYTES + 2 * NODE_ADDRESS_BYTES + NODE_KEY_BYTES +
                           3 * sizeof(uint64_t) <=
                       LIFE_TEXT_MAX_BYTES &&
                   NODE_ADDRESS_BYTES <= UINT8_MAX,
               "room for the longest record");

struct bytes life_text(const struct member_record *record, char text[LIFE_TEXT_MAX_BYTES])
{
    struct signed_text writing;
    signed_text_begin(&writing, text, LIFE_TEXT_MAX_BYTES, MEANING);
    signed_text_label(&writing, record->name);
    signed_text_label(&writing, record->region);
    signed_text_label(&writing, record->gossip_address);
    signed_text_label(&writing, record->snapshot_address);
    signed_text_put(&writing, record->life.key, NODE_KEY_BYTES);
    signed_text_number(&writing, record->life.incarnation);
    signed_text_number(&writing, record->life.state);
    signed_text_number(&writing, record->life.config);
    return (struct bytes){text, writing.size};
}

struct bytes handover_text(struct bytes name, const uint8_t *former, const uint8_t *key,
                           char text[LIFE_TEXT_MAX_BYTES])
{
    struct signed_text writing;
    signed_text_begin(&writing, text, LIFE_TEXT_MAX_BYTES, "headgate key 1");
    signed_text_label(&writing, name);
    signed_text_put(&writing, former, NODE_KEY_BYTES);
    signed_text_put(&writing, key, NODE_KEY_BYTES);
    return (struct bytes){text, writing.size};
}
