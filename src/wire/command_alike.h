/*
 * command_alike: recognises requests about ids that are written as one before, but for the values of the ids.
 *
 * The one idea: programs write the same request again and again, with other values. Whatever stands in front of the
 * ids, their dimensions, and all that stands behind them is compared byte by byte with what was parsed before; only
 * what is between is read. So a request that is recognised means what parsing it would say. Pure.
 */
#ifndef HEADGATE_WIRE_COMMAND_ALIKE_H
#define HEADGATE_WIRE_COMMAND_ALIKE_H

#include "base/bytes.h"
#include "wire/command.h"
#include "wire/command_query.h"
#include "wire/resp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ALIKE_HEAD_MAX_BYTES = 16, /* "*6", the command, and their ends */
    ALIKE_TAIL_MAX_BYTES = 192,
};

/* "dimension=" */
struct command_shape_id {
    uint64_t text, mask; /* its first 8 bytes, and where there are any */
    size_t size;
    char name[COMMAND_DIMENSION_MAX_BYTES + 1];
};

/* How one was written. */
struct command_shape {
    uint32_t id_count; /* 0: nothing is like it */
    uint32_t head_size, tail_size;
    uint64_t head[2], head_mask[2];
    struct command_shape_id id[COMMAND_IDS_MAX];
    char tail[ALIKE_TAIL_MAX_BYTES];
};

/*
 * `command` is what `frame` was parsed to, and `query` what that was parsed to, without complaint. False, and then
 * nothing is like it: it is not written as client libraries do, or has an id without a dimension, or is long.
 */
bool command_shape_of(struct bytes frame, const struct resp_command *command, const struct command_query *query,
                      struct command_shape *shape);

/* The size of the frame that `input` begins with if it is like that, and the values of its ids; else 0. */
size_t command_alike(const struct command_shape *shape, struct bytes input, struct bytes values[COMMAND_IDS_MAX]);

#endif
