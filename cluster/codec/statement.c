/*
 * statement writes and reads the bytes of statements: labels with their size in front, and numbers of eight bytes, the
 * highest first. They are read before their signature is checked, so every size is checked against the bytes that are
 * there.
 */
#include "cluster/codec/statement.h"

#include "cluster/codec/signed_text.h"

#include <string.h>

#define MEANING "headgate statement 1"

enum {
    REFUSES = 1,
    GRANTS = 2,
    HEEDS_UNCHARGED = 4,
    UNCHARGED = 8,
    FLAGS_END = 16,
    U64_BYTES = 8,
    HEAD_BYTES = sizeof MEANING + NODE_NAME_BYTES + 2 * U64_BYTES + 1,
    MEMBER_BYTES = NODE_NAME_BYTES + 1,
    ORIGIN_BYTES = 1 + 2 * U64_BYTES,
    BATCH_BYTES = TEXT_HASH_BYTES + U64_BYTES,
};
_Static_assert(HEAD_BYTES + 1 + NODE_PEERS_MAX * MEMBER_BYTES + 1 + ORIGINS_MAX * ORIGIN_BYTES + 1 +
                           STATEMENT_BATCHES_MAX * BATCH_BYTES + NODE_PROOF_BYTES <=
                       STATEMENT_MAX_BYTES &&
                   NODE_PEERS_MAX <= UINT8_MAX && ORIGINS_MAX <= UINT8_MAX && NODE_NAME_BYTES <= UINT8_MAX,
               "room for the longest statement");

static void put_byte(struct signed_text *writing, uint32_t byte)
{
    const uint8_t one = (uint8_t)byte;
    signed_text_put(writing, &one, 1);
}

static void put_origins(struct signed_text *writing, const struct message *header, const struct digest_row *row)
{
    uint32_t count = 0;
    for (uint32_t o = 0; o < header->origin_count; o++)
        count += row->applied[o] > 0;
    put_byte(writing, count);
    for (uint32_t o = 0; o < header->origin_count; o++) {
        if (row->applied[o] == 0)
            continue;
        put_byte(writing, header->origins[o].member);
        signed_text_number(writing, header->origins[o].incarnation);
        signed_text_number(writing, row->applied[o]);
    }
}

struct bytes statement_write(const struct message *header, const struct digest_row *row,
                             const struct statement_batch *batches, uint32_t batch_count,
                             char text[STATEMENT_MAX_BYTES])
{
    struct signed_text writing;
    const struct member_record *me = &header->members[header->sender];
    signed_text_begin(&writing, text, STATEMENT_MAX_BYTES, MEANING);
    signed_text_label(&writing, me->name);
    signed_text_number(&writing, me->incarnation);
    signed_text_number(&writing, row->number);
    put_byte(&writing, (me->refuses ? REFUSES : 0u) | (me->grants ? GRANTS : 0u) |
                           (me->heeds_uncharged ? HEEDS_UNCHARGED : 0u) | (me->uncharged ? UNCHARGED : 0u));
    put_byte(&writing, header->member_count);
    for (uint32_t i = 0; i < header->member_count; i++) {
        signed_text_label(&writing, header->members[i].name);
        put_byte(&writing, row->hears >> i & 1);
    }
    put_origins(&writing, header, row);
    put_byte(&writing, batch_count);
    for (uint32_t b = 0; b < batch_count; b++) {
        signed_text_put(&writing, batches[b].hash, TEXT_HASH_BYTES);
        signed_text_number(&writing, batches[b].age_ns);
    }
    return (struct bytes){text, writing.size};
}

struct reading {
    const char *at;
    size_t left;
};

static bool take(struct reading *reading, size_t size, const char **data)
{
    if (size > reading->left)
        return false;
    *data = reading->at;
    reading->at += size;
    reading->left -= size;
    return true;
}

static bool take_below(struct reading *reading, uint32_t bound, uint32_t *value)
{
    const char *data;
    if (!take(reading, 1, &data))
        return false;
    *value = (uint8_t)*data;
    return *value < bound;
}

static bool take_number(struct reading *reading, uint64_t *number)
{
    const char *data;
    if (!take(reading, U64_BYTES, &data))
        return false;
    *number = 0;
    for (size_t i = 0; i < U64_BYTES; i++)
        *number = *number << 8 | (uint8_t)data[i];
    return true;
}

static bool take_label(struct reading *reading, struct bytes *label)
{
    uint32_t size;
    if (!take_below(reading, NODE_NAME_BYTES, &size) || size == 0)
        return false;
    label->size = size;
    return take(reading, size, &label->data);
}

static bool take_flags(struct reading *reading, struct statement *statement)
{
    uint32_t flags;
    if (!take_below(reading, FLAGS_END, &flags))
        return false;
    statement->refuses = (flags & REFUSES) != 0;
    statement->grants = (flags & GRANTS) != 0;
    statement->heeds_uncharged = (flags & HEEDS_UNCHARGED) != 0;
    statement->uncharged = (flags & UNCHARGED) != 0;
    return true;
}

static bool take_members(struct reading *reading, struct statement *statement)
{
    uint32_t hears;
    statement->hears = 0;
    if (!take_below(reading, NODE_PEERS_MAX + 1, &statement->member_count))
        return false;
    for (uint32_t i = 0; i < statement->member_count; i++) {
        if (!take_label(reading, &statement->members[i]) || !take_below(reading, 2, &hears))
            return false;
        statement->hears |= (uint64_t)hears << i;
    }
    return true;
}

static bool take_origins(struct reading *reading, struct statement *statement)
{
    if (!take_below(reading, ORIGINS_MAX + 1, &statement->origin_count))
        return false;
    for (uint32_t o = 0; o < statement->origin_count; o++) {
        struct statement_origin *origin = &statement->origins[o];
        if (!take_below(reading, statement->member_count, &origin->member) ||
            !take_number(reading, &origin->incarnation) || !take_number(reading, &origin->applied))
            return false;
    }
    return true;
}

static bool take_batches(struct reading *reading, struct statement *statement)
{
    const char *hash;
    if (!take_below(reading, STATEMENT_BATCHES_MAX + 1, &statement->batch_count))
        return false;
    for (uint32_t b = 0; b < statement->batch_count; b++) {
        if (!take(reading, TEXT_HASH_BYTES, &hash) || !take_number(reading, &statement->batches[b].age_ns))
            return false;
        memcpy(statement->batches[b].hash, hash, TEXT_HASH_BYTES);
    }
    return true;
}

bool statement_read(struct statement *statement, struct bytes bytes)
{
    struct reading reading = {.at = bytes.data, .left = bytes.size};
    const char *meaning, *proof;
    if (!take(&reading, sizeof MEANING, &meaning) || memcmp(meaning, MEANING, sizeof MEANING) != 0 ||
        !take_label(&reading, &statement->name) || !take_number(&reading, &statement->incarnation) ||
        !take_number(&reading, &statement->number) || !take_flags(&reading, statement) ||
        !take_members(&reading, statement) || !take_origins(&reading, statement) ||
        !take_batches(&reading, statement))
        return false;
    statement->text = (struct bytes){bytes.data, bytes.size - reading.left};
    if (!take(&reading, NODE_PROOF_BYTES, &proof) || reading.left != 0)
        return false;
    statement->proof = (const uint8_t *)proof;
    return true;
}
