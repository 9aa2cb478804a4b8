/*
 * version: what versions of weights and versions of limits have in common: their order, their maker, and the pieces of
 * their texts.
 *
 * The one idea: a text has a line for each thing and a blank between words, and numbers are decimal, so that an older
 * release can pass over lines that it does not know. What stands in the lines is written in weights_text.c and
 * limit_list_text.c.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_VERSION_H
#define HEADGATE_CLUSTER_MEMBERS_VERSION_H

#include "base/bytes.h"
#include "cluster/node_version.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;

/* Below 0: `a` is the older one; above 0: the newer one; 0: they are the same. */
int version_compare(const struct version_stamp *a, const struct version_stamp *b);
/* This node as the maker of a version, in this life. */
uint64_t version_maker(const struct node *node);

struct version_text {
    char *text; /* the caller's */
    size_t room, size;
};

/* Of a text that is compared with others of this node alone, so it needs no secret. */
uint64_t version_text_hash(const char *text, size_t size);
/* There must be room: callers have a bound of all that they write. */
void version_put(struct version_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes the bytes up to `end` off the text, and `end` as well. */
struct bytes version_take(struct bytes *text, char end);
/* False: the word is no decimal number of 64 bits. */
bool version_read_number(struct bytes word, uint64_t *number);
/* Takes a stamp and a time off the line; false: they are no numbers, or the stamp's is above `most`, or 0. */
bool version_read_stamp(struct bytes *line, uint64_t most, struct version_stamp *stamp, uint64_t *wall_ms);

#endif
