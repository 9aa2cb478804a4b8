/*
 * resp: the framing of client requests: RESP arrays of bulk strings, and inline commands.
 *
 * The one idea: a frame is parsed whole or not at all. The parser keeps no state: for a part of a
 * frame it asks for more bytes and then starts over, so that chunking cannot change the meaning.
 * Arguments are views into the input; only quoted inline words are copied. Pure; every length has a
 * limit.
 */
#ifndef HEADGATE_WIRE_RESP_H
#define HEADGATE_WIRE_RESP_H

#include "base/bytes.h"

#include <stdint.h>

enum {
    RESP_ARGS_MAX = 64,
    RESP_BULK_MAX_BYTES = 60 * 1024,
    RESP_INLINE_MAX_BYTES = 4096, /* a line, without its end */
    RESP_FRAME_MAX_BYTES = 64 * 1024,
};

struct resp_command {
    uint32_t count; /* 0: an empty line or array, or an array of negative count; the caller must skip it */
    struct bytes args[RESP_ARGS_MAX];
    char unquoted[RESP_INLINE_MAX_BYTES]; /* the text of quoted words of an inline command */
};

enum resp_status {
    RESP_MORE,    /* the input ends within a frame */
    RESP_COMMAND, /* one frame of *consumed bytes */
    RESP_ERROR,   /* *error names the mistake; nothing behind it can be parsed */
};

/* `command` points into `input` and into itself; it is valid until either changes. `*error` is
 * constant text without "ERR". */
enum resp_status resp_parse(struct bytes input, struct resp_command *command, size_t *consumed, const char **error);

#endif
