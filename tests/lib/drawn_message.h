/*
 * drawn_message: a message of random contents, and what it was made of.
 *
 * The one idea: whatever can be said is drawn with values of every encoded size, then encoded; what comes out at
 * the other end can be compared with what was drawn.
 */
#ifndef HEADGATE_TESTS_LIB_DRAWN_MESSAGE_H
#define HEADGATE_TESTS_LIB_DRAWN_MESSAGE_H

#include "base/random.h"
#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"

#include <assert.h>

enum { NUMBERS_MAX = 400, BATCHES_MAX = 6 };

/* A message as it was drawn, to be compared with what comes out at the other end. */
struct drawn {
    struct message header;
    uint32_t batch_count;
    struct batch *batch[BATCHES_MAX];
    uint32_t batch_origin[BATCHES_MAX];
    uint64_t depends[BATCHES_MAX][ORIGINS_MAX];
    uint32_t number_count;
    struct spend number[NUMBERS_MAX];
};

extern struct limit_set limits;

void draw_message(struct random *random, struct drawn *drawn);

struct bytes encode(struct effects *effects, const struct drawn *drawn);

void forget(struct drawn *drawn);

void init_limits(void);

#endif
