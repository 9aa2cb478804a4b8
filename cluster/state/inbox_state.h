/*
 * inbox_state: what the folder apply/ remembers: the inbox, and which of its batches is being applied.
 *
 * The one idea: at most one batch is applied in part, and none of it counts until it is whole. Only
 * apply/ changes it.
 */
#ifndef HEADGATE_CLUSTER_STATE_INBOX_STATE_H
#define HEADGATE_CLUSTER_STATE_INBOX_STATE_H

#include "base/list.h"
#include "cluster/codec/message.h"

#include <stdint.h>

enum {
    INBOX_BATCHES_MAX = 512,         /* batches that wait for others, */
    INBOX_PARTS_MAX = 2 * PARTS_MAX, /* and parts */
};

/* A batch in the inbox of which some is applied, and which is next: it takes several steps. */
struct begun {
    struct batch *batch; /* NULL: none is */
    uint32_t slot;       /* of its origin */
    uint32_t applied_count;
};

/* Batches that wait for what they depend on: inbox.c. */
struct inbox {
    struct list list;
    uint32_t count, parts; /* parts are counted in both */
    uint64_t keys;
    struct begun begun; /* apply.c */
};

#endif
