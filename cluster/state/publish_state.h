/*
 * publish_state: when this node last sent a message, and the batches that it sends now.
 *
 * The one idea: own messages are numbered, so an echo of a number tells how long news travels. Only
 * publish.c, header.c and node.c change it.
 */
#ifndef HEADGATE_CLUSTER_STATE_PUBLISH_STATE_H
#define HEADGATE_CLUSTER_STATE_PUBLISH_STATE_H

#include "cluster/codec/batch.h"
#include "cluster/codec/message.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PUBLISH_BATCHES_MAX = 4096, /* in one message; further ones follow */
    ECHOES_MAX = 4096,          /* own messages whose time is kept */
};

/* A batch to send now. */
struct due {
    uint32_t slot;
    struct batch *batch;
    bool spare; /* sent before and not overdue */
};

struct publishing {
    uint64_t number;                       /* of this node's last message */
    uint64_t made_ns[ECHOES_MAX];          /* when message n was made, at n % ECHOES_MAX */
    uint64_t made_raw_ns[ECHOES_MAX];      /* the same on this node's raw clock */
    uint64_t published_ns;                 /* when the last message was sent */
    uint64_t gap_ns;                       /* answers wait this long after it: see publish_set_gaps */
    uint64_t hurried_ns; /* when a step first saw DO_HURRY since the last message; 0: none has */
    uint64_t gap_least_ns;                 /* the same where rights are asked for or granted */
    uint64_t tick_ns;                      /* when the next batch is due */
    uint64_t demand_ns;                    /* when demands were last averaged */
    uint64_t demand_tokens, wanted_tokens; /* admitted and wanted here by then */
    /* scratch: too large for the stack */
    struct due due[PUBLISH_BATCHES_MAX];
    struct ask_record asks[MESSAGE_ASKS_MAX];
};

#endif
