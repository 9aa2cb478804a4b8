/*
 * signed_text: the bytes that a member signs (life.h, statement.h).
 *
 * The one idea: every text begins with a name of its meaning, so that it can never pass for anything else that is
 * signed, and no two contents have the same bytes: labels have their size in front, and numbers have eight bytes.
 */
#ifndef HEADGATE_CLUSTER_CODEC_SIGNED_TEXT_H
#define HEADGATE_CLUSTER_CODEC_SIGNED_TEXT_H

#include "base/bytes.h"

#include <stddef.h>
#include <stdint.h>

struct signed_text {
    char *bytes; /* the caller's */
    size_t size, room;
};

/* `meaning` with its terminator comes first. */
void signed_text_begin(struct signed_text *text, char *bytes, size_t room, const char *meaning);
/* There must be room: callers have a bound of all that they write. */
void signed_text_put(struct signed_text *text, const void *data, size_t size);
/* At most 255 bytes. */
void signed_text_label(struct signed_text *text, struct bytes label);
/* The highest byte first. */
void signed_text_number(struct signed_text *text, uint64_t number);

#endif
