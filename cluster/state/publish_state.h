/*
 * publish_state: what publish.c works on while it makes a message: the batches that are said.
 *
 * The one idea: it is scratch of a step, too large for the stack.
 */
#ifndef HEADGATE_CLUSTER_STATE_PUBLISH_STATE_H
#define HEADGATE_CLUSTER_STATE_PUBLISH_STATE_H

#include "cluster/codec/batch.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PUBLISH_BATCHES_MAX = 4096, /* in one go; the rest follows */
    ECHOES_MAX = 4096,          /* own messages of which it is known when they were made */
};

/* A batch to be said now. */
struct due {
    uint32_t slot;
    struct batch *batch;
    bool spare; /* said already, and not overdue */
};

#endif
