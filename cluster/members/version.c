/*
 * version orders versions, and writes and reads the pieces of their texts. A lack of room is a mistake of the program;
 * a text that cannot be read is one of a peer, or of the store.
 */
#include "cluster/members/version.h"

#include "base/hash.h"
#include "cluster/state/node_state.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int version_compare(const struct version_stamp *a, const struct version_stamp *b)
{
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->maker > b->maker) - (a->maker < b->maker);
}

uint64_t version_maker(const struct node *node)
{
    char text[NODE_NAME_BYTES + 24];
    const int size = snprintf(text, sizeof text, "%s %" PRIu64, node->options.name, node->life.incarnation);
    return hash_64(&node->options.hash_key, text, (size_t)size) >> 1;
}

uint64_t version_text_hash(const char *text, size_t size)
{
    static const struct hash_key key = {{0}};
    return hash_64(&key, text, size);
}

void version_put(struct version_text *text, const char *format, ...)
{
    const size_t room = text->room - text->size;
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(text->text + text->size, room, format, arguments);
    va_end(arguments);
    assert(size >= 0 && (size_t)size < room);
    text->size += (size_t)size;
}

struct bytes version_take(struct bytes *text, char end)
{
    const char *at = text->size > 0 ? memchr(text->data, end, text->size) : NULL;
    const struct bytes taken = {text->data, at ? (size_t)(at - text->data) : text->size};
    const size_t used = taken.size + (at != NULL);
    *text = (struct bytes){text->data + used, text->size - used};
    return taken;
}

bool version_read_number(struct bytes word, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < word.size; i++) {
        const unsigned digit = (unsigned)(word.data[i] - '0');
        if (digit > 9 || *number > (UINT64_MAX - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    return word.size > 0;
}

bool version_read_stamp(struct bytes *line, uint64_t most, struct version_stamp *stamp, uint64_t *wall_ms)
{
    return version_read_number(version_take(line, ' '), &stamp->number) &&
           version_read_number(version_take(line, ' '), &stamp->maker) &&
           version_read_number(version_take(line, ' '), wall_ms) && stamp->number > 0 && stamp->number <= most;
}
