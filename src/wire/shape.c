/*
 * Shapes of requests. Fixed bytes are compared eight at a time under masks. SHAPE_HEAD_MAX_BYTES
 * and ID_LEAST_BYTES make sure that all compared bytes lie within the input.
 */
#include "wire/shape.h"

#include "wire/resp_short.h"

#include <assert.h>

/* The head of a shape and each dimension are compared as numbers of this many bytes. */
enum { WORD_BYTES = sizeof(uint64_t) };

static inline uint64_t load(const char *data)
{
    uint64_t word;
    memcpy(&word, data, sizeof word);
    return word;
}

/* Up to 8 bytes as a number for comparison under a mask, in the byte order of the processor. */
static void pack(const char *data, size_t size, uint64_t *word, uint64_t *mask)
{
    unsigned char ones[WORD_BYTES] = {0};
    size = size < WORD_BYTES ? size : WORD_BYTES;
    *word = *mask = 0;
    if (size == 0)
        return;
    memset(ones, 0xff, size);
    memcpy(word, data, size);
    memcpy(mask, ones, sizeof ones);
}

static bool has_head(const struct shape *shape, const char *input)
{
    return (load(input) & shape->head_mask[0]) == shape->head[0] &&
           (load(input + WORD_BYTES) & shape->head_mask[1]) == shape->head[1];
}

/* The bytes that must be readable to look at an id: its header and the first word of its text. */
enum { ID_LEAST_BYTES = 3 + 2 + WORD_BYTES };

/*
 * Reads "$12\r\nuser=" and the value up to the end of the word. Returns the end of the word. NULL:
 * the word is written otherwise, is longer than 99 bytes, or has no value.
 */
static inline const char *read_id(const char *at, const char *end, size_t name_size, uint64_t text, uint64_t mask,
                                  struct bytes *value)
{
    size_t size;
    const char *word = end - at < ID_LEAST_BYTES ? NULL : resp_short_text(at, &size);
    if (!word || (size_t)(end - word) < size + 2 || size <= name_size || (load(word) & mask) != text ||
        memcmp(word + size, "\r\n", 2) != 0)
        return NULL;
    *value = (struct bytes){word + name_size, size - name_size};
    return word + size + 2;
}

size_t shape_read(const struct shape *shape, struct bytes input, struct bytes values[COMMAND_IDS_MAX])
{
    const char *at = input.data, *end = input.data + input.size;
    if (shape->id_count == 0 || input.size < SHAPE_HEAD_MAX_BYTES + shape->tail_size || !has_head(shape, at))
        return 0;
    at += shape->head_size;
    for (uint32_t i = 0; i < shape->id_count; i++) {
        const struct shape_id *id = &shape->id[i];
        at = read_id(at, end, id->size, id->text, id->mask, &values[i]);
        if (!at || (id->size > WORD_BYTES && memcmp(values[i].data - id->size + WORD_BYTES, id->name + WORD_BYTES,
                                                    id->size - WORD_BYTES) != 0))
            return 0;
    }
    if ((size_t)(end - at) < shape->tail_size || memcmp(at, shape->tail, shape->tail_size) != 0)
        return 0;
    return (size_t)(at - input.data) + shape->tail_size;
}

static bool has_names(const struct resp_command *command, const struct command_query *query, struct shape *shape)
{
    for (uint32_t i = 0; i < query->id_count; i++) {
        struct shape_id *id = &shape->id[i];
        const struct bytes word = command->args[1 + i];
        id->size = (size_t)(query->id[i].value.data - word.data);
        if (id->size == 0) /* the id has no dimension */
            return false;
        assert(id->size <= sizeof id->name && id->size < word.size);
        memcpy(id->name, word.data, id->size);
        pack(id->name, id->size, &id->text, &id->mask);
    }
    shape->id_count = query->id_count;
    return true;
}

/* True if the shape recognises the frame that it was made of, with the same values. */
static bool is_itself(const struct shape *shape, struct bytes frame, const struct command_query *query)
{
    struct bytes values[COMMAND_IDS_MAX] = {{NULL, 0}};
    if (shape_read(shape, frame, values) != frame.size)
        return false;
    for (uint32_t i = 0; i < query->id_count; i++)
        if (values[i].data != query->id[i].value.data || values[i].size != query->id[i].value.size)
            return false;
    return true;
}

bool shape_of(struct bytes frame, const struct resp_command *command, const struct command_query *query,
              struct shape *shape)
{
    const struct bytes *name = &command->args[0], *last = &command->args[query->id_count];
    shape->id_count = 0;
    if (frame.size == 0 || frame.data[0] != '*')
        return false;
    const char *tail = last->data + last->size + 2, *end = frame.data + frame.size;
    const size_t head_size = (size_t)(name->data + name->size + 2 - frame.data), tail_size = (size_t)(end - tail);
    if (head_size > SHAPE_HEAD_MAX_BYTES || tail_size > SHAPE_TAIL_MAX_BYTES)
        return false;
    shape->head_size = (uint32_t)head_size;
    shape->tail_size = (uint32_t)tail_size;
    pack(frame.data, head_size, &shape->head[0], &shape->head_mask[0]);
    pack(frame.data + WORD_BYTES, head_size > WORD_BYTES ? head_size - WORD_BYTES : 0, &shape->head[1],
         &shape->head_mask[1]);
    if (tail_size > 0)
        memcpy(shape->tail, tail, tail_size);
    if (has_names(command, query, shape) && is_itself(shape, frame, query))
        return true;
    shape->id_count = 0;
    return false;
}
