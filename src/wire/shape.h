/*
 * shape: recognises requests that differ from an earlier one only in the values of their ids.
 *
 * The one idea: programs write the same request again and again with other values. A shape holds
 * the bytes of an earlier request that was parsed: everything before the ids, the dimensions, and
 * everything behind the ids. A request is recognised if those bytes are equal, so it means what
 * parsing would say. Only the values are read. The shape of CAN_ACCESS with a key alone is built
 * in. Pure.
 */
#ifndef HEADGATE_WIRE_SHAPE_H
#define HEADGATE_WIRE_SHAPE_H

#include "base/bytes.h"
#include "wire/command.h"
#include "wire/command_query.h"
#include "wire/resp.h"
#include "wire/resp_short.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    SHAPE_HEAD_MAX_BYTES = 16, /* "*6", the command, and the ends of both words */
    SHAPE_TAIL_MAX_BYTES = 192,
};

/* The text "dimension=". */
struct shape_id {
    uint64_t text, mask; /* its first 8 bytes, and a mask of the bytes that it has */
    size_t size;
    char name[COMMAND_DIMENSION_MAX_BYTES + 1];
};

/* The fixed bytes of a request. */
struct shape {
    uint32_t id_count; /* 0: the shape recognises nothing */
    uint32_t head_size, tail_size;
    uint64_t head[2], head_mask[2];
    struct shape_id id[COMMAND_IDS_MAX];
    char tail[SHAPE_TAIL_MAX_BYTES];
};

/*
 * Makes a shape. `command` must be the parsed `frame`, and `query` the parsed `command`, both
 * without error. On failure returns false, and the shape recognises nothing: the frame is not
 * written as client libraries write it, or has an id without a dimension, or is too long.
 */
bool shape_of(struct bytes frame, const struct resp_command *command, const struct command_query *query,
              struct shape *shape);

/* Returns the size of the first frame of `input` if it has this shape, and fills the values of its
 * ids; else returns 0. */
size_t shape_read(const struct shape *shape, struct bytes input, struct bytes values[COMMAND_IDS_MAX]);
/* The same for CAN_ACCESS with a key of 1 to 99 bytes and no cost. */
static inline size_t shape_read_access(struct bytes input, struct bytes *key)
{
    static const char head[] = "*2\r\n$10\r\nCAN_ACCESS\r\n";
    enum { HEAD_BYTES = sizeof head - 1 };
    const char *text;
    size_t size;
    if (input.size < HEAD_BYTES + RESP_SHORT_LEAST_BYTES || memcmp(input.data, head, HEAD_BYTES) != 0 ||
        !(text = resp_short_text(input.data + HEAD_BYTES, &size)))
        return 0;
    const size_t frame = (size_t)(text - input.data) + size + 2;
    if (input.size < frame || memcmp(text + size, "\r\n", 2) != 0)
        return 0;
    *key = (struct bytes){text, size};
    return frame;
}

#endif
