/*
 * newer_message: messages as a later release would write them.
 *
 * The one idea: this file has the layout of all messages once more, as a table of the arrays that
 * are records. So any message of this release can be written with more fields behind the known
 * ones. No node may behave differently because of these fields.
 */
#ifndef HEADGATE_TESTS_LIB_NEWER_MESSAGE_H
#define HEADGATE_TESTS_LIB_NEWER_MESSAGE_H

#include "base/random.h"
#include "cluster/codec/envelope.h"
#include "cluster/codec/pack.h"

#include <assert.h>

enum { NEWER_DEPTH_MAX = 16, NEWER_KIND = MESSAGE_KINDS + 7 };

/* The place of a value: the indices from the root on. */
struct newer_path {
    enum message_kind kind;
    unsigned depth;
    uint32_t at[NEWER_DEPTH_MAX];
};

/* The counts of a record; both 0: the array is a list. */
struct newer_record {
    uint32_t least, known;
};

struct newer_record newer_record_at(const struct newer_path *path);

/* Appends to the arena an unsealed message with `more` fields behind every record of `bytes`. */
void newer_append(struct effects *effects, struct bytes bytes, struct random *random, uint32_t more);

/*
 * Appends an unsealed message of a kind that this release does not know, with a map and a number
 * with a fraction.
 */
void newer_append_kind(struct effects *effects, struct bytes sender);

#endif
