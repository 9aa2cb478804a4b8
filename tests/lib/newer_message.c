#include "tests/lib/newer_message.h"

#include "cluster/codec/message.h"

static struct newer_record newer_group(uint32_t depth, uint32_t index)
{
    if (depth == 0)
        return (struct newer_record){3, 5};
    return depth == 1 && index == 0 ? (struct newer_record){6, 6} : (struct newer_record){0, 0};
}

/* What stands in the body's fields, of messages about spends. */
static struct newer_record newer_spends(const struct newer_path *path)
{
    static const struct newer_record fields[] = {[2] = {9, 15}, [3] = {3, 3}, [4] = {4, 5}};
    const uint32_t *at = path->at + 1;
    unsigned depth = path->depth - 1;
    const struct newer_record list = {0, 0}, three = {3, 3};
    if (at[0] == 6) { /* a page */
        if (depth == 1)
            return path->kind == MESSAGE_REPLY ? (struct newer_record){5, 7} : (struct newer_record){2, 2};
        if (at[1] == 3)
            return three;
        return at[1] == 4 && depth > 2 ? newer_group(depth - 3, at[3]) : list;
    }
    if (depth < 2)
        return list;
    if (at[0] == 7) { /* asks, each with the terms of its key */
        const struct newer_record ask = {7, 9}, terms = {6, 6};
        return depth == 2 ? ask : depth == 3 && at[2] == 1 ? terms : depth == 3 && at[2] == 7 ? three : list;
    }
    if (at[0] == 2 && depth == 3 && at[2] == 11) /* what a member says of weights */
        return (struct newer_record){7, 7};
    if (at[0] == 2 && depth == 3 && at[2] == 12) /* what it has signed */
        return (struct newer_record){5, 7};
    if (at[0] == 2 && depth == 3 && at[2] == 13) /* what it was asked for */
        return (struct newer_record){3, 3};
    if (at[0] == 2 && depth == 3 && at[2] == 14) /* what it knows of limits */
        return (struct newer_record){4, 4};
    if (at[0] < 5)
        return depth == 2 ? fields[at[0]] : list;
    if (depth == 2)
        return (struct newer_record){BATCH_PART, BATCH_FIELDS}; /* a batch */
    if (at[2] == 7)
        return three;
    if (at[2] == 8)
        return depth == 4 ? (struct newer_record){5, 5} : list; /* grants */
    return at[2] == 6 && depth > 3 ? newer_group(depth - 4, at[4]) : list;
}

/* The same of messages about rules. */
static struct newer_record newer_rules(const struct newer_path *path)
{
    const uint32_t *at = path->at + 1;
    unsigned depth = path->depth - 1;
    const struct newer_record list = {0, 0}, cursor = {3, 3};
    switch (path->kind) {
    case MESSAGE_RULES_ADVERT:
        return depth == 2 ? (struct newer_record){2, 2} : list;
    case MESSAGE_RULES_ASK:
        return cursor;
    case MESSAGE_RULES_PAGE:
        if (at[0] != 7)
            return cursor;
        return depth == 2 ? (struct newer_record){13, 13} : list;
    case MESSAGE_GOSSIP:
    case MESSAGE_REQUEST:
    case MESSAGE_REPLY:
    case MESSAGE_KINDS:
        break;
    }
    return list;
}

struct newer_record newer_record_at(const struct newer_path *path)
{
    static const struct newer_record bodies[MESSAGE_KINDS] = {{6, 8}, {6, 8}, {6, 8}, {4, 4}, {2, 2}, {8, 8}};
    if (path->depth == 0)
        return (struct newer_record){7, 7};
    if (path->at[0] != 6)
        return (struct newer_record){0, 0};
    if (path->depth == 1)
        return bodies[path->kind];
    return path->kind <= MESSAGE_REPLY ? newer_spends(path) : newer_rules(path);
}

/* What a later release may put into its fields: values of every type that messages may be made of. */
static void newer_pack_field(msgpack_packer *packer, struct random *random)
{
    static const char text[] = "of a later release";
    uint64_t size = random_below(random, sizeof text);
    switch (random_below(random, 6)) {
    case 0:
        msgpack_pack_uint64(packer, random_u64(random) >> random_below(random, 64));
        return;
    case 1:
        msgpack_pack_int64(packer, -(int64_t)random_below(random, 1000));
        return;
    case 2:
        pack_text(packer, (struct bytes){text, size});
        return;
    case 3:
        msgpack_pack_bin(packer, size);
        msgpack_pack_bin_body(packer, text, size);
        return;
    case 4:
        msgpack_pack_true(packer);
        return;
    default:
        msgpack_pack_array(packer, 2);
        msgpack_pack_nil(packer);
        msgpack_pack_array(packer, 1);
        msgpack_pack_uint64(packer, size);
        return;
    }
}

static void newer_rewrite(msgpack_packer *packer, const msgpack_object *object, struct newer_path *path,
                          struct random *random, uint32_t more)
{
    if (object->type != MSGPACK_OBJECT_ARRAY) {
        msgpack_pack_object(packer, *object);
        return;
    }
    const struct newer_record record = newer_record_at(path);
    uint32_t size = object->via.array.size, known = record.known > size ? record.known : size;
    uint32_t wanted = record.known > 0 ? known + more : size;
    assert(path->depth < NEWER_DEPTH_MAX);
    msgpack_pack_array(packer, wanted);
    for (uint32_t i = 0; i < size; i++) {
        path->at[path->depth++] = i;
        newer_rewrite(packer, &object->via.array.ptr[i], path, random, more);
        path->depth--;
    }
    for (uint32_t i = size; i < wanted; i++)
        if (i < known)
            msgpack_pack_nil(packer);
        else
            newer_pack_field(packer, random);
}

void newer_append(struct effects *effects, struct bytes bytes, struct random *random, uint32_t more)
{
    struct envelope envelope;
    msgpack_packer packer;
    enum envelope_status status = envelope_open(&envelope, bytes);
    assert(status == ENVELOPE_OPEN);
    msgpack_packer_init(&packer, effects, write_to_arena);
    newer_rewrite(&packer, &envelope.unpacked.data, &(struct newer_path){.kind = envelope.kind}, random, more);
    envelope_close(&envelope);
}

void newer_append_kind(struct effects *effects, struct bytes sender)
{
    msgpack_packer packer;
    size_t start = envelope_begin(&packer, effects, &(struct envelope_head){.sender = sender, .incarnation = 1});
    effects->arena[start + 3] = NEWER_KIND; /* behind the array's head and two versions */
    msgpack_pack_map(&packer, 1);
    msgpack_pack_double(&packer, 0.5);
    msgpack_pack_nil(&packer);
}
