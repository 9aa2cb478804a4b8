#include "http/shape.h"

#include "wire/command.h"

#include <string.h>

/* Stands for itself in a query and in a field of the head, and ends neither: letters, digits, and -./:@_~ */
static bool is_plain(char c)
{
    const unsigned byte = (unsigned char)c;
    return byte - 'a' < 26 || byte - '@' < 27 || byte - '-' < 14 || byte == '_' || byte == '~';
}

static size_t plain_size(const char *at, const char *end)
{
    const char *begun = at;
    while (at < end && is_plain(*at))
        at++;
    return (size_t)(at - begun);
}

struct bytes http_shape_copy(struct http_shape *shape, struct bytes request)
{
    shape->value_count = 0;
    if (request.size > sizeof shape->text)
        return (struct bytes){0};
    memcpy(shape->text, request.data, request.size);
    shape->size = (uint32_t)request.size;
    return (struct bytes){shape->text, request.size};
}

/* Where the value begins in the text; the text's size: elsewhere. */
static size_t place_of(const struct http_shape *shape, struct bytes value)
{
    const uintptr_t text = (uintptr_t)shape->text, data = (uintptr_t)value.data;
    return data >= text && data - text < shape->size ? (size_t)(data - text) : shape->size;
}

/* The value that is the first at or behind `at`; `count`: none is. */
static uint32_t first_behind(const struct http_shape *shape, const struct bytes *values, uint32_t count, size_t at)
{
    uint32_t first = count;
    size_t nearest = shape->size;
    for (uint32_t i = 0; i < count; i++) {
        const size_t place = place_of(shape, values[i]);
        if (place < at || place >= nearest)
            continue;
        nearest = place;
        first = i;
    }
    return first;
}

bool http_shape_mark(struct http_shape *shape, const struct bytes *values, uint32_t count)
{
    const char *end = shape->text + shape->size;
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t next = first_behind(shape, values, count, at);
        if (next == count || values[next].size == 0)
            return false;
        const size_t place = place_of(shape, values[next]);
        if (plain_size(shape->text + place, end) != values[next].size)
            return false;
        shape->fixed[i].at = (uint16_t)at;
        shape->fixed[i].size = (uint16_t)(place - at);
        shape->fixed[i].value = (uint8_t)next;
        at = place + values[next].size;
    }
    shape->fixed[count].at = (uint16_t)at;
    shape->fixed[count].size = (uint16_t)(shape->size - at);
    shape->value_count = count;
    return true;
}

size_t http_shape_read(const struct http_shape *shape, struct bytes input, struct bytes values[COMMAND_IDS_MAX])
{
    const char *at = input.data, *end = at + input.size;
    for (uint32_t i = 0; i <= shape->value_count && shape->value_count > 0; i++) {
        const size_t fixed = shape->fixed[i].size;
        if ((size_t)(end - at) < fixed || memcmp(at, shape->text + shape->fixed[i].at, fixed) != 0)
            return 0;
        at += fixed;
        if (i == shape->value_count)
            return (size_t)(at - input.data);
        const size_t size = plain_size(at, end);
        if (size == 0 || size > COMMAND_VALUE_MAX_BYTES)
            return 0;
        values[shape->fixed[i].value] = (struct bytes){at, size};
        at += size;
    }
    return 0;
}
