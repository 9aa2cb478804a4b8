/*
 * queue: what will happen, in order of time; what is due at the same time keeps the order of its posting.
 *
 * A binary heap of fixed size, so that a flood of messages is found as a broken law and not as swapping.
 * Message bytes are counted references, because one publication goes to many listeners.
 */
#ifndef HEADGATE_TESTS_SIM_QUEUE_H
#define HEADGATE_TESTS_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QUEUE_EVENTS_MAX = 1 << 16 };

enum happening_kind {
    HAPPENS_WAKE,       /* a node asked to be called; `value` 1: because of its spends */
    HAPPENS_MESSAGE,    /* a publication arrives */
    HAPPENS_REQUEST,    /* a snapshot request arrives */
    HAPPENS_RESPONSE,   /* its answer arrives */
    HAPPENS_ARRIVAL,    /* the load generator's next client at a node */
    HAPPENS_CLIENT,     /* a client that waited for a paused node: `key`, `value` = cost */
    HAPPENS_BURST,      /* many clients at every node at once */
    HAPPENS_ASK,        /* a client at a node asks several rules at once */
    HAPPENS_FOLLOW_UP,  /* and comes back to return, commit, cancel or renew: `key` is what it holds */
    HAPPENS_TIDE,       /* the next turn of a tide: `node` keeps still, `key` is its step */
    HAPPENS_EDIT,       /* an operator's next change of rules */
    HAPPENS_FAULT,      /* the fault generator's next move */
    HAPPENS_START,      /* a node (re)starts */
    HAPPENS_FORGET,     /* the operator tells `node` that node `from` is gone for good */
    HAPPENS_LOOK,       /* the operator looks whether all have forgotten who is gone for good */
    HAPPENS_CLOCK_GOES, /* a clock that stood still goes on, `value` ns ahead */
    HAPPENS_SAMPLE,     /* expensive laws; a line of the transcript */
    HAPPENS_PHASE,      /* heal, pause, measure */
};

struct payload {
    uint32_t references;
    size_t size;
    uint8_t data[];
};

struct happening {
    uint64_t at_ns, order;
    enum happening_kind kind;
    uint8_t node, from;
    uint16_t key;
    uint32_t life; /* of the node it is for: what was meant for an earlier life is dropped */
    uint64_t value;
    struct payload *payload; /* owned by the queue while queued */
};

struct queue {
    size_t count;
    uint64_t posted;
    bool overflow; /* something did not fit and was dropped */
    struct happening heap[QUEUE_EVENTS_MAX];
};

void queue_init(struct queue *queue);
void queue_close(struct queue *queue);
/* Takes over the payload's reference. Returns the order, which is unique. */
uint64_t queue_post(struct queue *queue, struct happening happening);
/* False when nothing is left. The payload's reference passes to the caller. */
bool queue_take(struct queue *queue, struct happening *happening);

struct payload *payload_create(const void *data, size_t size);
void payload_release(struct payload *payload); /* NULL is fine */

#endif
