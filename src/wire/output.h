/*
 * output: bytes on their way out, in a buffer that somebody else owns and that never grows.
 *
 * The one idea: whoever appends first looks whether there is room for the longest thing that may come
 * (OUTPUT_REPLY_MAX_BYTES for one reply); what does not fit nevertheless is not written, and remembered.
 */
#ifndef HEADGATE_WIRE_OUTPUT_H
#define HEADGATE_WIRE_OUTPUT_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    OUTPUT_REPLY_MAX_BYTES = 64 * 1024, /* the longest reply to one command */
};

struct output {
    char *data;
    size_t size, room; /* size <= room */
    bool overflowed;   /* something did not fit; nothing was written since */
};

static inline struct output output_over(char *data, size_t room)
{
    return (struct output){.data = data, .room = room};
}

/* For who writes so many bytes behind the others itself, and adds them to the size. */
static inline bool output_has_room(const struct output *output, size_t size)
{
    return !output->overflowed && size <= output->room - output->size;
}

/* All of `size` bytes or none. */
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

#endif
