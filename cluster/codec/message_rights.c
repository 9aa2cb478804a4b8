/*
 * message_rights reads what messages say of rights: the asks of a message, and the grants of its batches. It judges
 * no values: grant.c and receive.c decide what to believe.
 */
#include "cluster/codec/message_rights.h"

#include "cluster/codec/pack.h"
#include "limit/bucket.h"
#include "limit/kind.h"

#include <string.h>

static bool read_id(const msgpack_object *object, struct key_id *id)
{
    if (object->type != MSGPACK_OBJECT_BIN || object->via.bin.size != sizeof *id)
        return false;
    memcpy(id, object->via.bin.ptr, sizeof *id);
    return true;
}

enum { GRANT_HOLDER, GRANT_ID, GRANT_ASK, GRANT_TOKENS, GRANT_SPARE, GRANT_FIELDS };

static bool read_grant(const msgpack_object *object, uint32_t origin_count, struct grant_record *grant)
{
    msgpack_object_array a;
    return read_record(object, GRANT_FIELDS, GRANT_FIELDS, &a) &&
           read_u32_below(&a.ptr[GRANT_HOLDER], origin_count, &grant->holder) &&
           read_id(&a.ptr[GRANT_ID], &grant->id) && read_u64(&a.ptr[GRANT_ASK], &grant->ask) &&
           read_u64(&a.ptr[GRANT_TOKENS], &grant->tokens) && grant->tokens >= 1 &&
           read_u32_below(&a.ptr[GRANT_SPARE], (uint64_t)1 << SPARE_BITS, &grant->spare);
}

bool message_check_grants(const msgpack_object *object, uint32_t origin_count, struct batch_record *record)
{
    msgpack_object_array a;
    struct grant_record grant;
    if (!object)
        return true;
    if (!read_array(object, 0, BATCH_GRANTS_MAX, &a))
        return false;
    for (uint32_t i = 0; i < a.size; i++)
        if (!read_grant(&a.ptr[i], origin_count, &grant))
            return false;
    record->grants = *object;
    record->grant_count = a.size;
    return true;
}

struct grant_record message_grant(const struct batch_record *record, uint32_t index)
{
    struct grant_record grant = {0};
    (void)read_grant(&record->grants.via.array.ptr[index], ORIGINS_MAX, &grant);
    return grant;
}

enum {
    ASK_ID,
    ASK_TERMS,
    ASK_NUMBER,
    ASK_TOKENS,
    ASK_PARTS,
    ASK_AMONG,
    ASK_LIVES,
    ASK_WINDOW,
    ASK_WHOLE,
    ASK_FIELDS
};
enum { WINDOW_PREVIOUS, WINDOW_LENGTH, WINDOW_LEFT, WINDOW_FIELDS };

/* `object` may be NULL: the ask is of no sliding window. */
static bool read_window(const msgpack_object *object, struct ask_record *ask)
{
    msgpack_object_array a;
    ask->previous = (struct key_id){0};
    ask->window_ns = ask->left_ns = 0;
    if (!object)
        return true;
    return read_record(object, WINDOW_FIELDS, WINDOW_FIELDS, &a) &&
           read_id(&a.ptr[WINDOW_PREVIOUS], &ask->previous) && read_u64(&a.ptr[WINDOW_LENGTH], &ask->window_ns) &&
           read_u64(&a.ptr[WINDOW_LEFT], &ask->left_ns) && kind_expires((enum limit_kind)ask->terms.kind) &&
           ask->window_ns > 0 && ask->left_ns <= ask->window_ns;
}

/* `object` may be NULL: the asker may use parts of tokens. */
static bool read_whole(const msgpack_object *object, struct ask_record *ask)
{
    ask->whole = object && object->type == MSGPACK_OBJECT_BOOLEAN && object->via.boolean;
    return !object || (object->type == MSGPACK_OBJECT_BOOLEAN && kind_refills((enum limit_kind)ask->terms.kind));
}

bool message_ask(const struct message *message, uint32_t index, struct ask_record *ask)
{
    msgpack_object_array a;
    uint64_t steps;
    if (!read_record(&message->asks.via.array.ptr[index], ASK_WINDOW, ASK_FIELDS, &a) ||
        !read_id(&a.ptr[ASK_ID], &ask->id) || !message_terms(&a.ptr[ASK_TERMS], &ask->terms) ||
        !read_u64(&a.ptr[ASK_NUMBER], &ask->number) || !read_u64(&a.ptr[ASK_TOKENS], &ask->tokens) ||
        !read_u32_below(&a.ptr[ASK_PARTS], (uint64_t)1 << SPARE_BITS, &ask->parts) ||
        !read_u64(&a.ptr[ASK_AMONG], &ask->among) || !read_u64(&a.ptr[ASK_LIVES], &steps) || ask->among == 0 ||
        ask->among > SHARE_ONE || steps > CELL_STEPS_MAX || !read_window(record_field(&a, ASK_WINDOW), ask) ||
        !read_whole(record_field(&a, ASK_WHOLE), ask))
        return false;
    ask->live_ns = steps * CELL_STEP_NS;
    return true;
}

bool message_read_asks(const msgpack_object *object, struct message *message)
{
    msgpack_object_array a;
    message->ask_count = 0;
    if (!object)
        return true;
    if (message->kind != MESSAGE_GOSSIP || !read_array(object, 0, MESSAGE_ASKS_MAX, &a))
        return false;
    message->asks = *object;
    message->ask_count = a.size;
    return true;
}
