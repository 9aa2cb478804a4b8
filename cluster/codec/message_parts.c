/*
 * message_parts writes and reads when the spends of a page's logs end. The times that are left are rounded up, so that
 * no spend ends earlier at the reader than at the writer.
 */
#include "cluster/codec/message_parts.h"

#include "base/number.h"
#include "limit/kind.h"

uint64_t parts_numbers(const struct number_parts *parts, uint32_t count)
{
    uint64_t numbers = 0;
    for (uint32_t i = 0; i < count; i++)
        numbers += 1 + 2 * (uint64_t)parts[i].count;
    return numbers;
}

void parts_halve(struct number_parts *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct number_part *part = parts[i].part;
        for (uint32_t p = 0; p < parts[i].count; p++) {
            if (p % 2 == 0)
                part[p / 2] = part[p];
            else
                part[p / 2].tokens = number_sum(part[p / 2].tokens, part[p].tokens);
        }
        parts[i].count = (parts[i].count + 1) / 2;
    }
}

void parts_pack(msgpack_packer *packer, const struct number_parts *parts, uint32_t count)
{
    struct chunk chunk = {.effects = packer->data, .size = 0};
    msgpack_pack_array(packer, parts_numbers(parts, count));
    for (uint32_t i = 0; i < count; i++) {
        chunk_number(&chunk, parts[i].count);
        for (uint32_t p = 0; p < parts[i].count; p++) {
            const uint64_t left_ns = parts[i].part[p].left_ns;
            const uint64_t steps = left_ns / LEFT_STEP_NS + (left_ns % LEFT_STEP_NS != 0);
            chunk_number(&chunk, number_least(steps, LEFT_STEPS_MAX));
            chunk_number(&chunk, parts[i].part[p].tokens);
        }
    }
    chunk_flush(&chunk);
}

bool parts_read(const msgpack_object *object, const msgpack_object_array **parts)
{
    msgpack_object_array a;
    uint64_t number;
    *parts = NULL;
    if (!object)
        return true;
    if (!read_array(object, 0, UINT32_MAX, &a))
        return false;
    for (uint32_t i = 0; i < a.size; i++)
        if (!read_u64(&a.ptr[i], &number))
            return false;
    *parts = &object->via.array;
    return true;
}

bool parts_fit(const msgpack_object_array *parts, struct number_reader reader)
{
    struct number_record record = {0};
    uint64_t at = 0;
    while (parts && number_next(&reader, &record)) {
        if (!kind_lists(record.terms.kind))
            continue;
        if (at >= parts->size || parts->ptr[at].via.u64 > LOG_PARTS_MAX)
            return false;
        at += 1 + 2 * parts->ptr[at].via.u64;
    }
    return !parts || at == parts->size;
}

void parts_next(struct number_reader *reader, struct number_record *record)
{
    if (!kind_lists(record->terms.kind))
        return;
    record->part_count = (uint32_t)reader->parts->ptr[reader->part].via.u64;
    record->first_part = &reader->parts->ptr[reader->part + 1];
    reader->part += 1 + 2 * record->part_count;
}

struct number_part number_part(const struct number_record *record, uint32_t index)
{
    const msgpack_object *part = &record->first_part[2 * (size_t)index];
    return (struct number_part){.left_ns = number_least(part[0].via.u64, LEFT_STEPS_MAX) * LEFT_STEP_NS,
                                .tokens = part[1].via.u64};
}
