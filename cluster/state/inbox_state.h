/*
 * inbox_state: the memory of the folder apply/: the inbox, and which of its batches is being
 * applied.
 *
 * The one idea: at most one batch is applied in part, and none of it counts until it is complete.
 * Only apply/ changes the inbox.
 */
#ifndef HEADGATE_CLUSTER_STATE_INBOX_STATE_H
#define HEADGATE_CLUSTER_STATE_INBOX_STATE_H

#include "base/list.h"
#include "cluster/codec/message.h"

#include <stdint.h>

enum {
    INBOX_BATCHES_MAX = 512,         /* whole batches that wait for others */
    INBOX_PARTS_MAX = 2 * PARTS_MAX, /* parts that wait */
};

/* The batch in the inbox that is applied in part: it takes several steps. */
struct begun {
    struct batch *batch; /* NULL: none */
    uint32_t slot;       /* of its origin */
    uint32_t applied_count;
};

/* Batches that wait for the batches that they depend on: inbox.c. */
struct inbox {
    struct list list;
    uint32_t count, parts; /* `count` has the parts as well */
    uint64_t keys;
    struct begun begun; /* see apply.c */
};

#endif
