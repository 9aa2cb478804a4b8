/*
 * message_read reads the bodies of messages about spends. It checks each count, index and text
 * against its bound before it uses the value, and refuses a message whole if it breaks a bound. It
 * does not judge values: gossip.c decides what to believe.
 */
#include "cluster/codec/life.h"
#include "cluster/codec/message.h"
#include "cluster/codec/message_limits.h"
#include "cluster/codec/message_parts.h"
#include "cluster/codec/message_rights.h"
#include "cluster/codec/message_weights.h"
#include "cluster/codec/pack.h"

#include <string.h>

enum { PAGE_BITS_MAX = 32 };

/*
 * The sender's own record has an empty name and incarnation 0: the envelope has the sender's name
 * and incarnation.
 */
static bool read_name(const msgpack_object_array *fields, const struct envelope *envelope,
                      struct member_record *member, bool *is_sender)
{
    if (!read_label(&fields->ptr[0], 0, NODE_NAME_BYTES, &member->name) ||
        !read_u64(&fields->ptr[4], &member->incarnation))
        return false;
    *is_sender = member->name.size == 0;
    if (!*is_sender)
        return true;
    member->name = envelope->sender;
    member->incarnation = envelope->incarnation;
    return true;
}

/* Fields that only the sender's own record has; 0: they are missing. */
static bool read_clock(const msgpack_object_array *fields, struct member_record *member)
{
    const msgpack_object *clock = record_field(fields, 9), *wall = record_field(fields, 10);
    member->clock_ns = member->wall_ms = 0;
    return (!clock || read_u64(clock, &member->clock_ns)) && (!wall || read_u64(wall, &member->wall_ms));
}

static bool read_member(const msgpack_object *object, const struct envelope *envelope, struct member_record *member,
                        bool *is_sender)
{
    msgpack_object_array a;
    uint32_t state;
    uint64_t flags;
    if (!read_record(object, 9, 15, &a) || !read_name(&a, envelope, member, is_sender) ||
        !read_label(&a.ptr[1], 1, NODE_NAME_BYTES, &member->region) ||
        !read_label(&a.ptr[2], 0, NODE_ADDRESS_BYTES, &member->gossip_address) ||
        !read_label(&a.ptr[3], 0, NODE_ADDRESS_BYTES, &member->snapshot_address) ||
        !read_u64(&a.ptr[5], &member->retired_incarnation) || !read_u32_below(&a.ptr[6], PEER_LEFT + 1, &state) ||
        !read_u64(&a.ptr[7], &flags) || !read_u64(&a.ptr[8], &member->config) || state == PEER_SILENT ||
        !read_clock(&a, member) || !weights_record_read(record_field(&a, 11), &member->weights) ||
        !life_read(record_field(&a, 12), &member->life) ||
        !demand_record_read(record_field(&a, 13), &member->demand) ||
        !limits_record_read(record_field(&a, 14), &member->limits) || member->incarnation > INCARNATION_MAX ||
        member->retired_incarnation > member->incarnation)
        return false;
    member->state = (enum peer_state)state;
    member->reserved = (flags & MEMBER_RESERVED) != 0;
    member->forgotten = (flags & MEMBER_FORGOTTEN) != 0;
    member->stored = (flags & MEMBER_STORED) != 0;
    member->refuses = (flags & MEMBER_REFUSES) != 0;
    member->grants = (flags & MEMBER_GRANTS) != 0;
    member->lists_grants = (flags & MEMBER_LISTS_GRANTS) != 0;
    member->heeds_uncharged = (flags & MEMBER_HEEDS_UNCHARGED) != 0;
    member->uncharged = (flags & MEMBER_UNCHARGED) != 0;
    member->rights = (uint32_t)(flags & MEMBER_RIGHTS);
    return true;
}

static bool read_members(const msgpack_object *object, const struct envelope *envelope, struct message *message)
{
    msgpack_object_array a;
    uint32_t senders = 0;
    bool is_sender;
    if (!read_array(object, 1, NODE_PEERS_MAX, &a))
        return false;
    message->member_count = a.size;
    message->muted = 0;
    for (uint32_t i = 0; i < a.size; i++) {
        if (!read_member(&a.ptr[i], envelope, &message->members[i], &is_sender))
            return false;
        if (is_sender)
            message->sender = i;
        senders += is_sender;
        if (envelope_mutes(envelope, message->members[i].name))
            message->muted |= (uint64_t)1 << i;
    }
    return senders == 1;
}

static bool read_origins(const msgpack_object *object, struct message *message)
{
    msgpack_object_array a, fields;
    uint32_t waiting;
    if (!read_array(object, 0, ORIGINS_MAX, &a))
        return false;
    message->origin_count = a.size;
    for (uint32_t i = 0; i < a.size; i++) {
        struct origin_record *origin = &message->origins[i];
        if (!read_record(&a.ptr[i], 3, 3, &fields) ||
            !read_u32_below(&fields.ptr[0], message->member_count, &origin->member) ||
            !read_u64(&fields.ptr[1], &origin->incarnation) || !read_u32_below(&fields.ptr[2], 2, &waiting) ||
            origin->incarnation > message->members[origin->member].incarnation)
            return false; /* an origin cannot be newer than its member */
        origin->waiting = waiting != 0;
    }
    return true;
}

static bool read_rows(const msgpack_object *object, struct message *message)
{
    msgpack_object_array a, row, applied;
    if (!read_array(object, 0, NODE_PEERS_MAX, &a))
        return false;
    message->row_count = a.size;
    for (uint32_t i = 0; i < a.size; i++) {
        struct digest_row *digest = &message->rows[i];
        if (!read_record(&a.ptr[i], 4, 5, &row) ||
            !read_u32_below(&row.ptr[0], message->member_count, &digest->member) ||
            !read_u64(&row.ptr[1], &digest->number) || !read_u64(&row.ptr[2], &digest->hears) ||
            !read_array(&row.ptr[3], message->origin_count, message->origin_count, &applied) ||
            !read_bin(record_field(&row, 4), STATEMENT_MAX_BYTES, &digest->statement))
            return false;
        for (uint32_t o = 0; o < applied.size; o++)
            if (!read_u64(&applied.ptr[o], &digest->applied[o]))
                return false;
    }
    return true;
}

static bool read_owed(const msgpack_object *object, struct table_owed *owed)
{
    msgpack_object_array a;
    return read_record(object, 3, 3, &a) && read_u64(&a.ptr[0], &owed->refill_ns) &&
           read_u64(&a.ptr[1], &owed->window_ns) && read_u64(&a.ptr[2], &owed->window_used) &&
           /* above TABLE_USED_ONE too: unsettled spends weigh more */
           owed->window_used <= UINT32_MAX;
}

/* Most pages have no such field: then no origin has such batches. */
static bool read_beyond(const msgpack_object_array *page, struct message *message)
{
    msgpack_object_array a;
    const msgpack_object *beyond = record_field(page, 5);
    memset(message->page_beyond, 0, sizeof message->page_beyond);
    if (!beyond)
        return true;
    if (!read_array(beyond, message->origin_count, message->origin_count, &a))
        return false;
    for (uint32_t o = 0; o < a.size; o++)
        if (!read_u64(&a.ptr[o], &message->page_beyond[o]))
            return false;
    return true;
}

static bool read_page_head(const msgpack_object *object, struct message *message)
{
    msgpack_object_array a;
    uint32_t split = 0;
    message->has_page = false;
    if (!object)
        return true;
    bool reply = message->kind == MESSAGE_REPLY;
    if (message->kind == MESSAGE_GOSSIP || !read_record(object, reply ? 5 : 2, reply ? 7 : 2, &a) ||
        !read_u64(&a.ptr[0], &message->page_prefix) ||
        !read_u32_below(&a.ptr[1], PAGE_BITS_MAX + 1, &message->page_bits) ||
        message->page_prefix >> message->page_bits != 0)
        return false;
    if (reply) {
        if (!read_u32_below(&a.ptr[2], 2, &split) || !read_owed(&a.ptr[3], &message->page_owed) ||
            !read_beyond(&a, message))
            return false;
        message->page = a.ptr[4];
        if (!parts_read(record_field(&a, 6), &message->page_parts))
            return false;
    }
    message->page_split = split != 0;
    message->has_page = true;
    return true;
}

enum {
    BODY_NUMBER,
    BODY_FLOOR,
    BODY_MEMBERS,
    BODY_ORIGINS,
    BODY_ROWS,
    BODY_BATCHES,
    BODY_PAGE,
    BODY_ASKS,
    BODY_FIELDS
};

bool message_read(struct message *message, const struct envelope *envelope)
{
    msgpack_object_array a, batches;
    message->kind = envelope->kind;
    if (!read_record(&envelope->body, BODY_PAGE, BODY_FIELDS, &a) ||
        !read_u64(&a.ptr[BODY_NUMBER], &message->number) || !read_u64(&a.ptr[BODY_FLOOR], &message->floor) ||
        !read_members(&a.ptr[BODY_MEMBERS], envelope, message) || !read_origins(&a.ptr[BODY_ORIGINS], message) ||
        !read_rows(&a.ptr[BODY_ROWS], message) ||
        !read_array(&a.ptr[BODY_BATCHES], 0, MESSAGE_BATCHES_MAX, &batches))
        return false;
    message->batches = a.ptr[BODY_BATCHES];
    message->batch_count = batches.size;
    return message_read_asks(record_field(&a, BODY_ASKS), message) &&
           read_page_head(record_field(&a, BODY_PAGE), message);
}

/* The places of the elements of a group. */
enum { GROUP_TERMS, GROUP_IDS, GROUP_NUMBERS, GROUP_RETURNED, GROUP_LIVES, GROUP_FIELDS };

enum { TERM_KIND, TERM_FLAGS, TERM_CAPACITY, TERM_RATE, TERM_PERIOD, TERM_OVERSHOOT, TERM_FIELDS };

static bool check_terms(const msgpack_object *object)
{
    msgpack_object_array a;
    uint32_t kind;
    uint64_t number;
    struct limit_terms terms;
    if (!read_record(object, TERM_FIELDS, TERM_FIELDS, &a) ||
        !read_u32_below(&a.ptr[TERM_KIND], LIMIT_KINDS, &kind) || !read_u64(&a.ptr[TERM_FLAGS], &number) ||
        !limit_terms_set_word(&terms, number))
        return false;
    for (uint32_t i = TERM_CAPACITY; i < TERM_FIELDS; i++)
        if (!read_u64(&a.ptr[i], &number))
            return false;
    return true;
}

/* The array must have `count` numbers, or none. `object` may be NULL: none. */
static bool check_numbers(const msgpack_object *object, uint32_t count, uint64_t bound)
{
    msgpack_object_array numbers;
    uint64_t number;
    if (!object)
        return true;
    if (!read_array(object, 0, count, &numbers) || (numbers.size != 0 && numbers.size != count))
        return false;
    for (uint32_t i = 0; i < numbers.size; i++)
        if (!read_u64(&numbers.ptr[i], &number) || number > bound)
            return false;
    return true;
}

/*
 * Checks [[terms, ids, [number ...], [returned ...], [lives ...]] ...] whole, so that number_next
 * needs no checks.
 */
static bool check_groups(const msgpack_object *object, uint32_t *count)
{
    msgpack_object_array groups, group;
    *count = 0;
    if (!read_array(object, 0, UINT32_MAX, &groups))
        return false;
    for (uint32_t g = 0; g < groups.size; g++) {
        if (!read_record(&groups.ptr[g], GROUP_RETURNED, GROUP_FIELDS, &group) ||
            !check_terms(&group.ptr[GROUP_TERMS]) || group.ptr[GROUP_IDS].type != MSGPACK_OBJECT_BIN)
            return false;
        uint64_t bytes = group.ptr[GROUP_IDS].via.bin.size, ids = bytes / sizeof(struct key_id);
        const msgpack_object *numbers = &group.ptr[GROUP_NUMBERS];
        if (ids == 0 || bytes % sizeof(struct key_id) != 0 || numbers->type != MSGPACK_OBJECT_ARRAY ||
            numbers->via.array.size != ids || !check_numbers(numbers, (uint32_t)ids, UINT64_MAX) ||
            !check_numbers(record_field(&group, GROUP_RETURNED), (uint32_t)ids, UINT64_MAX) ||
            !check_numbers(record_field(&group, GROUP_LIVES), (uint32_t)ids, CELL_STEPS_MAX))
            return false;
        *count += (uint32_t)ids;
    }
    return true;
}

/* `object` is NULL for a whole batch; most batches are whole. */
static bool read_part(const msgpack_object *object, struct batch_record *record)
{
    msgpack_object_array a;
    if (!object)
        return true;
    return read_record(object, 3, 3, &a) && read_u64(&a.ptr[0], &record->merge) &&
           read_u32_below(&a.ptr[2], PARTS_MAX + 1, &record->parts) &&
           read_u32_below(&a.ptr[1], record->parts, &record->part) && record->merge > 0;
}

static uint64_t number_at(const msgpack_object *array, uint32_t index)
{
    return index < array->via.array.size ? array->via.array.ptr[index].via.u64 : 0;
}

static struct limit_terms terms_of(const msgpack_object *object)
{
    struct limit_terms terms = {
        .kind = (uint8_t)number_at(object, TERM_KIND),
        .capacity = number_at(object, TERM_CAPACITY),
        .rate = number_at(object, TERM_RATE),
        .period_ns = number_at(object, TERM_PERIOD),
        .overshoot = number_at(object, TERM_OVERSHOOT),
    };
    (void)limit_terms_set_word(&terms, number_at(object, TERM_FLAGS)); /* check_terms has looked */
    return terms;
}

bool message_terms(const msgpack_object *object, struct limit_terms *terms)
{
    if (!check_terms(object))
        return false;
    *terms = terms_of(object);
    return true;
}

bool message_batch(const struct message *message, uint32_t index, struct batch_record *record)
{
    msgpack_object_array a, depends;
    record->merge = record->part = record->parts = record->grant_count = 0;
    if (!read_record(&message->batches.via.array.ptr[index], BATCH_PART, BATCH_FIELDS, &a) ||
        !read_u32_below(&a.ptr[BATCH_ORIGIN], message->origin_count, &record->origin) ||
        !read_u64(&a.ptr[BATCH_FIRST], &record->first) || !read_u64(&a.ptr[BATCH_LAST], &record->last) ||
        !read_u64(&a.ptr[BATCH_AGE], &record->age_ns) || !read_u64(&a.ptr[BATCH_OPEN], &record->open_ns) ||
        !read_array(&a.ptr[BATCH_DEPENDS], message->origin_count, message->origin_count, &depends) ||
        !check_groups(&a.ptr[BATCH_GROUPS], &record->spend_count) ||
        !read_part(record_field(&a, BATCH_PART), record) ||
        !message_check_grants(record_field(&a, BATCH_GRANTS), message->origin_count, record))
        return false;
    for (uint32_t i = 0; i < depends.size; i++)
        if (!read_u64(&depends.ptr[i], &record->depends[i]))
            return false;
    record->groups = a.ptr[BATCH_GROUPS];
    return record->first >= 1 && record->first <= record->last && record->last < UINT64_MAX / 2;
}

bool message_page(const struct message *message, struct number_reader *reader)
{
    uint32_t count;
    if (message->kind != MESSAGE_REPLY || !message->has_page || !check_groups(&message->page, &count))
        return false;
    *reader = (struct number_reader){.groups = message->page};
    if (!parts_fit(message->page_parts, *reader))
        return false;
    reader->parts = message->page_parts;
    return true;
}

/* The number at `index` of a field that may be missing; 0 if the field is missing. */
static uint64_t number_of_field(const msgpack_object_array *record, uint32_t field, uint32_t index)
{
    const msgpack_object *numbers = record_field(record, field);
    return numbers ? number_at(numbers, index) : 0;
}

bool number_next(struct number_reader *reader, struct number_record *record)
{
    const msgpack_object_array *groups = &reader->groups.via.array;
    while (reader->group < groups->size) {
        const msgpack_object_array *group = &groups->ptr[reader->group].via.array;
        uint32_t index = reader->index;
        if (index < group->ptr[GROUP_NUMBERS].via.array.size) {
            if (index == 0 || record->group != reader->group)
                record->terms = terms_of(&group->ptr[GROUP_TERMS]);
            memcpy(&record->id, group->ptr[GROUP_IDS].via.bin.ptr + (size_t)index * sizeof record->id,
                   sizeof record->id);
            record->group = reader->group;
            record->number = number_at(&group->ptr[GROUP_NUMBERS], index);
            record->returned = number_of_field(group, GROUP_RETURNED, index);
            record->live_ns = number_of_field(group, GROUP_LIVES, index) * CELL_STEP_NS;
            record->part_count = 0;
            if (reader->parts)
                parts_next(reader, record);
            reader->index++;
            return true;
        }
        reader->group++;
        reader->index = 0;
    }
    return false;
}
