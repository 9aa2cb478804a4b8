/*
 * output: bytes to send, in a buffer of fixed size that another module owns.
 *
 * The one idea: before a reply begins, the caller checks that the buffer has room for the longest
 * reply (OUTPUT_REPLY_MAX_BYTES). A write that does not fit nevertheless is left out, and
 * `overflowed` remembers it.
 */
#ifndef HEADGATE_WIRE_OUTPUT_H
#define HEADGATE_WIRE_OUTPUT_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    OUTPUT_REPLY_MAX_BYTES = 64 * 1024, /* the longest reply to one command */
};

struct output {
    char *data;
    size_t size, room; /* size <= room */
    bool overflowed;   /* a write did not fit; nothing was written since */
};

static inline struct output output_over(char *data, size_t room)
{
    return (struct output){.data = data, .room = room};
}

/* For callers that write `size` bytes behind the data themselves and then add to `size`. */
static inline bool output_has_room(const struct output *output, size_t size)
{
    return !output->overflowed && size <= output->room - output->size;
}

/* Appends all of `size` bytes or none. */
static inline void output_append(struct output *output, const void *data, size_t size)
{
    if (output->overflowed || size > output->room - output->size) {
        output->overflowed = true;
        return;
    }
    if (size > 0)
        memcpy(output->data + output->size, data, size);
    output->size += size;
}

/* Appends a text after its size, so that two texts in a row cannot be taken for two others. */
static inline void output_append_sized(struct output *output, struct bytes text)
{
    const uint32_t size = (uint32_t)text.size;
    output_append(output, &size, sizeof size);
    output_append(output, text.data, text.size);
}

#endif
