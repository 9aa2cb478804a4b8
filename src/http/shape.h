/*
 * shape: recognises requests that differ from an earlier one only in the values of their identifiers, as wire/shape.h
 * does in RESP.
 *
 * The one idea: a gateway writes the same request again and again with other values. A shape holds the bytes of an
 * earlier request that was parsed, and where its values stood. A request is recognised if all other bytes are equal
 * and its values have only bytes that stand for themselves everywhere: so it means what parsing would say. Pure.
 */
#ifndef HEADGATE_HTTP_SHAPE_H
#define HEADGATE_HTTP_SHAPE_H

#include "base/bytes.h"
#include "wire/command_query.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_SHAPE_BYTES = 2048 }; /* of the earlier request */

struct http_shape {
    uint32_t value_count; /* 0: the shape recognises nothing */
    /* Fixed bytes, of `text`, before each value in their order; the last ones stand behind the last value. */
    struct {
        uint16_t at, size;
        uint8_t value; /* the number of the value that follows */
    } fixed[COMMAND_IDS_MAX + 1];
    uint32_t size;
    char text[HTTP_SHAPE_BYTES];
};

/*
 * Copies a request, of which a shape is to be made, and returns the copy, which must be parsed. size 0: it is too long.
 * The shape recognises nothing until http_shape_mark.
 */
struct bytes http_shape_copy(struct http_shape *shape, struct bytes request);
/*
 * Makes a shape of the copy. `values`: of its identifiers. False, and the shape recognises nothing: a value is no view
 * of the copy (it was decoded), two of them overlap, or one has a byte that does not stand for itself.
 */
bool http_shape_mark(struct http_shape *shape, const struct bytes *values, uint32_t count);

/*
 * Returns the size of the request at the front of `input` if all of it is there and it has this shape, and fills its
 * values, in the order in which they were given; else returns 0.
 */
size_t http_shape_read(const struct http_shape *shape, struct bytes input, struct bytes values[COMMAND_IDS_MAX]);

#endif
