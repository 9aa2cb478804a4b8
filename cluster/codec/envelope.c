/*
 * envelope seals, opens and begins messages. The first fields decide whether this daemon can read a
 * message; they are read from the bytes before anything is unpacked, because a message of another
 * version or of an unknown kind may have any form after them.
 */
#include "cluster/codec/envelope.h"

#include "cluster/codec/message.h"
#include "cluster/codec/pack.h"
#include "cluster/codec/scan.h"

enum { FIELD_VERSION, FIELD_READS, FIELD_KIND, FIELD_SENDER, FIELD_INCARNATION, FIELD_MUTED, FIELD_BODY, FIELDS };

bool message_unseal(struct bytes *bytes, const struct hash_key *key)
{
    struct key_id seal;
    if (bytes->size < MESSAGE_SEAL_BYTES)
        return false;
    size_t size = bytes->size - MESSAGE_SEAL_BYTES;
    memcpy(&seal, bytes->data + size, sizeof seal);
    if (!key_id_equal(seal, hash_128(key, bytes->data, size)))
        return false;
    bytes->size = size;
    return true;
}

void message_seal(struct effects *effects, size_t start, const struct hash_key *key)
{
    struct key_id seal = hash_128(key, effects->arena + start, effects->arena_size - start);
    _Static_assert(sizeof seal == MESSAGE_SEAL_BYTES, "a seal is a 128-bit hash");
    effects_append(effects, &seal, sizeof seal);
}

/*
 * Reads the fields in front of the body from the bytes themselves: a message of another version or
 * of an unknown kind is never unpacked.
 */
static enum envelope_status read_head(struct envelope *envelope, struct bytes bytes)
{
    struct scan_head head;
    scan_head(bytes, &head);
    *envelope = (struct envelope){.version = head.number[FIELD_VERSION], .reads = head.number[FIELD_READS]};
    if (label_is_sound(head.text, 1, NODE_NAME_BYTES))
        envelope->sender = head.text;
    if (head.count > FIELD_VERSION &&
        (envelope->version < MESSAGE_VERSION_LEAST || envelope->version > MESSAGE_VERSION))
        return ENVELOPE_OTHER_VERSION;
    if (head.count <= FIELD_KIND || envelope->reads > envelope->version)
        return ENVELOPE_NONSENSE;
    if (head.number[FIELD_KIND] >= MESSAGE_KINDS)
        return ENVELOPE_UNKNOWN_KIND;
    envelope->kind = (enum message_kind)head.number[FIELD_KIND];
    return ENVELOPE_OPEN;
}

static bool read_fields(struct envelope *envelope)
{
    msgpack_object_array a;
    struct bytes name;
    if (!read_record(&envelope->unpacked.data, FIELDS, FIELDS, &a) ||
        !read_label(&a.ptr[FIELD_SENDER], 1, NODE_NAME_BYTES, &envelope->sender) ||
        !read_u64(&a.ptr[FIELD_INCARNATION], &envelope->incarnation) ||
        !read_array(&a.ptr[FIELD_MUTED], 0, NODE_PEERS_MAX, &envelope->muted))
        return false;
    for (uint32_t i = 0; i < envelope->muted.size; i++)
        if (!read_label(&envelope->muted.ptr[i], 1, NODE_NAME_BYTES, &name))
            return false;
    envelope->body = a.ptr[FIELD_BODY];
    return true;
}

enum envelope_status envelope_open(struct envelope *envelope, struct bytes bytes)
{
    enum envelope_status status = read_head(envelope, bytes);
    if (status != ENVELOPE_OPEN)
        return status;
    if (!scan_is_sound(bytes, envelope->kind == MESSAGE_RULES_PAGE ? UINT64_MAX : MESSAGE_BATCHES_MAX))
        return ENVELOPE_NONSENSE;
    size_t offset = 0;
    msgpack_unpacked_init(&envelope->unpacked);
    if (msgpack_unpack_next(&envelope->unpacked, bytes.data, bytes.size, &offset) == MSGPACK_UNPACK_SUCCESS &&
        read_fields(envelope))
        return ENVELOPE_OPEN;
    msgpack_unpacked_destroy(&envelope->unpacked);
    return ENVELOPE_NONSENSE;
}

void envelope_close(struct envelope *envelope)
{
    msgpack_unpacked_destroy(&envelope->unpacked);
}

bool envelope_mutes(const struct envelope *envelope, struct bytes name)
{
    for (uint32_t i = 0; i < envelope->muted.size; i++) {
        const msgpack_object_str *muted = &envelope->muted.ptr[i].via.str;
        if (bytes_equal((struct bytes){muted->ptr, muted->size}, name))
            return true;
    }
    return false;
}

size_t envelope_begin(msgpack_packer *packer, struct effects *effects, const struct envelope_head *head)
{
    size_t start = effects->arena_size;
    msgpack_packer_init(packer, effects, write_to_arena);
    msgpack_pack_array(packer, FIELDS);
    msgpack_pack_uint64(packer, MESSAGE_VERSION);
    msgpack_pack_uint64(packer, MESSAGE_VERSION_LEAST);
    msgpack_pack_uint64(packer, (uint64_t)head->kind);
    pack_text(packer, head->sender);
    msgpack_pack_uint64(packer, head->incarnation);
    msgpack_pack_array(packer, head->muted_count);
    for (uint32_t i = 0; i < head->muted_count; i++)
        pack_text(packer, head->muted[i]);
    return start;
}
