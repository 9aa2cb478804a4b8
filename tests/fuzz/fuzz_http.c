/*
 * Any bytes, in any pieces, as requests of HTTP: they must be understood the same, and nothing beyond them is read.
 * What the shape of such a request recognises must be what parsing says. The same bytes are read as a query and as a
 * body as well.
 */
#include "http/json_query.h"

#include "http/json_arena.h"
#include "http/message.h"
#include "http/query.h"
#include "http/shape.h"
#include "http/words.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What the requests of an input came to. */
struct http_story {
    uint64_t hash;
    uint32_t requests;
    size_t consumed;
    unsigned fault;
};

static struct http_message message;

static void mix(struct http_story *story, const void *data, size_t size)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < size; i++)
        story->hash = (story->hash ^ byte[i]) * 1099511628211u;
    story->hash = (story->hash ^ size) * 1099511628211u;
}

static void tell_message(struct http_story *story)
{
    mix(story, &message.method, sizeof message.method);
    mix(story, message.target.data, message.target.size);
    for (uint32_t i = 0; i < message.header_count; i++) {
        mix(story, message.header[i].name.data, message.header[i].name.size);
        mix(story, message.header[i].value.data, message.header[i].value.size);
    }
    mix(story, message.body.data, message.body.size);
    assert(message.body.size <= HTTP_BODY_MAX_BYTES && message.target.size <= HTTP_TARGET_MAX_BYTES);
}

/* The bytes come `first` at once and then `step` by `step`, each time in memory of their own size. */
static void tell(struct http_story *story, const char *data, size_t size, size_t first, size_t step)
{
    struct http_framer framer = {0};
    *story = (struct http_story){.hash = 14695981039346656037u};
    for (size_t end = first < size ? first : size; story->fault == 0;) {
        while (story->consumed < end) {
            const size_t there = end - story->consumed;
            char *copy = malloc(there);
            size_t whole = 0;
            struct http_fault fault;
            assert(copy != NULL);
            memcpy(copy, data + story->consumed, there);
            const enum http_framing framing =
                http_frame(&framer, (struct bytes){copy, there}, &message, &whole, &fault);
            if (framing == HTTP_WHOLE)
                tell_message(story);
            story->fault = framing == HTTP_FAULT ? fault.status : 0;
            free(copy);
            if (framing != HTTP_WHOLE)
                break;
            assert(whole > 0 && whole <= there);
            story->requests++;
            story->consumed += whole;
        }
        if (end == size)
            break;
        end = end + step < size ? end + step : size;
    }
}

/* The values of the query of the message, and of its fields that begin with X. */
static uint32_t find_values(struct bytes values[COMMAND_IDS_MAX])
{
    static char decoded_room[4096];
    struct output decoded = output_over(decoded_room, sizeof decoded_room);
    const char *mark = message.target.size > 0 ? memchr(message.target.data, '?', message.target.size) : NULL;
    struct bytes query = {0};
    struct http_pair pair;
    uint32_t count = 0;
    if (mark != NULL)
        query = (struct bytes){mark + 1, message.target.size - (size_t)(mark + 1 - message.target.data)};
    while (count < COMMAND_IDS_MAX && http_query_next(&query, &decoded, &pair))
        if (pair.error == NULL && pair.value.size > 0)
            values[count++] = pair.value;
    for (uint32_t i = 0; i < message.header_count && count < COMMAND_IDS_MAX; i++)
        if (message.header[i].name.data[0] == 'X' && message.header[i].value.size > 0)
            values[count++] = message.header[i].value;
    return count;
}

/* Replaces each value of the shape by another one. */
static size_t write_others(const struct http_shape *shape, char *text)
{
    static const char other[] = "az.09-:@/_~AZ";
    size_t size = 0;
    for (uint32_t i = 0; i <= shape->value_count; i++) {
        memcpy(text + size, shape->text + shape->fixed[i].at, shape->fixed[i].size);
        size += shape->fixed[i].size;
        if (i == shape->value_count)
            break;
        memcpy(text + size, other, sizeof other - 1);
        size += sizeof other - 1;
    }
    return size;
}

/* The shape of the first request recognises it, and others, as they are parsed. */
static void read_by_shape(const char *data, size_t size)
{
    static struct http_shape shape;
    static char other[HTTP_SHAPE_BYTES + COMMAND_IDS_MAX * 16];
    struct http_framer framer = {0};
    struct bytes values[COMMAND_IDS_MAX], read[COMMAND_IDS_MAX];
    struct http_fault fault;
    size_t whole = 0, parsed = 0;
    if (size == 0 || http_frame(&framer, (struct bytes){data, size}, &message, &whole, &fault) != HTTP_WHOLE)
        return;
    const struct bytes copy = http_shape_copy(&shape, (struct bytes){data, whole});
    if (copy.size == 0)
        return;
    assert(http_shape_read(&shape, copy, read) == 0);
    assert(http_frame(&framer, copy, &message, &parsed, &fault) == HTTP_WHOLE && parsed == whole);
    const enum http_method method = message.method;
    const uint32_t fields = message.header_count, count = find_values(values);
    const bool keep_alive = message.keep_alive;
    if (count == 0 || !http_shape_mark(&shape, values, count))
        return;
    assert(http_shape_read(&shape, (struct bytes){data, size}, read) == whole);
    for (uint32_t i = 0; i < count; i++)
        assert(bytes_equal(values[i], read[i]));
    for (size_t cut = 0; cut < whole; cut++)
        assert(http_shape_read(&shape, (struct bytes){data, cut}, read) == 0);
    const size_t other_size = write_others(&shape, other);
    assert(http_shape_read(&shape, (struct bytes){other, other_size}, read) == other_size);
    assert(http_frame(&framer, (struct bytes){other, other_size}, &message, &parsed, &fault) == HTTP_WHOLE);
    assert(parsed == other_size && message.method == method && message.header_count == fields);
    assert(message.keep_alive == keep_alive && find_values(values) == count);
    for (uint32_t i = 0; i < count; i++)
        assert(bytes_equal(values[i], read[i]));
}

/* Whatever the bytes are, as a query, and as a body in an arena that has room for some trees only. */
static void read_further(const char *data, size_t size)
{
    static const struct hash_key key = {{1}};
    static char room[16384], decoded_room[4096];
    struct output decoded = output_over(decoded_room, sizeof decoded_room);
    struct json_arena arena;
    struct http_words words;
    struct command_query said;
    struct json_query query;
    json_error_t error;
    http_words_init(&words, &said, &key, PATH_MERGE_SLASHES, &decoded);
    (void)http_words_add_query(&words, (struct bytes){data, size});
    assert(said.id_count <= COMMAND_IDS_MAX);
    json_arena_init(&arena, room, sizeof room);
    json_t *tree = json_arena_parse(&arena, (struct bytes){data, size}, &error);
    assert(arena.used <= arena.size);
    decoded = output_over(decoded_room, sizeof decoded_room);
    if (tree != NULL)
        (void)json_query_read(&query, tree, JSON_TAKES_IDS | JSON_TAKES_COST | JSON_TAKES_VERBOSE, &decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *data = (const char *)bytes;
    struct http_story whole, pieces;
    json_arena_prepare(7);
    tell(&whole, data, size, size, 1);
    const size_t step = size <= 128 ? 1 : 1 + (size_t)(whole.hash % (size / 16));
    for (size_t cut = 1; cut < size; cut += step) {
        tell(&pieces, data, size, cut, step);
        /* A fault may be found earlier in pieces, but never another request. */
        assert(pieces.hash == whole.hash && pieces.requests == whole.requests);
        assert((pieces.fault != 0) == (whole.fault != 0));
    }
    read_by_shape(data, size);
    read_further(data, size);
    return 0;
}
