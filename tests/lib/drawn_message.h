/*
 * drawn_message: a message of random content, and the values that it was made of.
 *
 * The one idea: every field is drawn with values of every encoded size, and the message is encoded.
 * A test compares the decoded message with the drawn values.
 */
#ifndef HEADGATE_TESTS_LIB_DRAWN_MESSAGE_H
#define HEADGATE_TESTS_LIB_DRAWN_MESSAGE_H

#include "base/random.h"
#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"

#include <assert.h>

enum { NUMBERS_MAX = 400, BATCHES_MAX = 6, GRANTS_DRAWN_MAX = 4 };

/* The drawn values of a message. */
struct drawn {
    struct message header;
    uint32_t batch_count;
    struct batch *batch[BATCHES_MAX];
    uint32_t batch_origin[BATCHES_MAX];
    uint64_t depends[BATCHES_MAX][ORIGINS_MAX];
    uint32_t holders[BATCHES_MAX][GRANTS_DRAWN_MAX]; /* of grants; some are not named */
    struct ask_record ask[MESSAGE_ASKS_MAX];         /* header.ask_count */
    uint32_t number_count;
    struct spend number[NUMBERS_MAX];
    uint32_t parts_count; /* of all logs among the numbers, or of none */
    struct number_parts parts[NUMBERS_MAX];
};

extern struct limit_set limits;

void draw_message(struct random *random, struct drawn *drawn);

struct bytes encode(struct effects *effects, const struct drawn *drawn);

void forget(struct drawn *drawn);

void init_limits(void);

#endif
