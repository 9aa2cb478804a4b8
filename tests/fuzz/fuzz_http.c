/*
 * Any bytes, in any pieces, as requests of HTTP: they must be understood the same, and nothing beyond them is read. The
 * same bytes are read as a query and as a body as well.
 */
#include "http/json_query.h"

#include "http/json_arena.h"
#include "http/message.h"
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

/* Whatever the bytes are, as a query, and as a body in an arena that has room for some trees only. */
static void read_further(const char *data, size_t size)
{
    static char room[16384], decoded_room[4096];
    struct output decoded = output_over(decoded_room, sizeof decoded_room);
    struct json_arena arena;
    struct http_words words;
    struct command_query said;
    struct json_query query;
    json_error_t error;
    http_words_init(&words, &said);
    (void)http_words_add_query(&words, (struct bytes){data, size}, &decoded);
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
    read_further(data, size);
    return 0;
}
