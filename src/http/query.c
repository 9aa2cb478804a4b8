#include "http/query.h"

#include <sodium.h>
#include <string.h>

void http_query_split(struct bytes target, struct bytes *path, struct bytes *query)
{
    const char *mark = target.size > 0 ? memchr(target.data, '?', target.size) : NULL;
    *path = target;
    if (mark == NULL)
        return;
    path->size = (size_t)(mark - target.data);
    *query = (struct bytes){mark + 1, target.size - path->size - 1};
}

static bool is_encoded(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '%' || text.data[i] == '+')
            return true;
    return false;
}

/*
 * "%41" is "A", and "+" a blank, as forms of web pages are encoded; most texts have neither, and are not copied. False:
 * half an escape, or no room.
 */
static bool decode(struct bytes text, struct output *decoded, struct bytes *out)
{
    const size_t begun = decoded->size;
    *out = text;
    if (!is_encoded(text))
        return true;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '%') {
            unsigned char byte;
            if (text.size - i < 3 || sodium_hex2bin(&byte, 1, &text.data[i + 1], 2, NULL, NULL, NULL) != 0)
                return false;
            c = (char)byte;
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        output_append(decoded, &c, 1);
    }
    *out = (struct bytes){decoded->data + begun, decoded->size - begun};
    return !decoded->overflowed;
}

static const char *read_pair(struct bytes text, struct output *decoded, struct http_pair *pair)
{
    const char *equals = memchr(text.data, '=', text.size);
    *pair = (struct http_pair){.name = {text.data, equals != NULL ? (size_t)(equals - text.data) : text.size}};
    if (equals == NULL)
        return "a name of the query without '=': expected name=value";
    const struct bytes raw = {equals + 1, text.size - pair->name.size - 1};
    if (!decode(pair->name, decoded, &pair->name) || !decode(raw, decoded, &pair->value))
        return "'%' in the query: expected two hexadecimal digits behind it";
    return NULL;
}

bool http_query_next(struct bytes *query, struct output *decoded, struct http_pair *pair)
{
    while (query->size > 0) {
        const char *end = memchr(query->data, '&', query->size);
        const struct bytes text = {query->data, end != NULL ? (size_t)(end - query->data) : query->size};
        const size_t skipped = text.size < query->size ? text.size + 1 : text.size;
        *query = (struct bytes){query->data + skipped, query->size - skipped};
        if (text.size == 0)
            continue;
        const char *wrong = read_pair(text, decoded, pair);
        pair->error = wrong;
        return true;
    }
    return false;
}
