/*
 * queue: all happenings to come, in the order of their time. Happenings of one time keep the order
 * in which they were posted.
 *
 * The one idea: a binary heap of fixed size, so that a flood of messages breaks a law of the
 * simulator and does not make the machine swap. Bytes of a message are counted references, because
 * one publication goes to many subscribers.
 */
#ifndef HEADGATE_TESTS_SIM_QUEUE_H
#define HEADGATE_TESTS_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QUEUE_EVENTS_MAX = 1 << 16 };

enum happening_kind {
    HAPPENS_WAKE,     /* a node asked to be called; `value` 1: because of its spends */
    HAPPENS_MESSAGE,  /* a publication arrives */
    HAPPENS_REQUEST,  /* a snapshot request arrives */
    HAPPENS_RESPONSE, /* the reply to a snapshot request arrives */
    HAPPENS_ARRIVAL,  /* the load generator's next client at a node */
    HAPPENS_CLIENT,   /* a client that waited for a paused node: `key`, `value` = cost */
    HAPPENS_BURST,    /* many clients at every node at once */
    HAPPENS_ASK,      /* a client at a node asks several rules at once */
    /* a client comes back to return, commit, cancel or renew: `key` is what it holds */
    HAPPENS_FOLLOW_UP,
    HAPPENS_TIDE,         /* the next turn of a tide: `node` keeps still, `key` is its step */
    HAPPENS_EDIT,         /* an operator's next change of rules */
    HAPPENS_WEIGHTS,      /* an operator changes weights of regions; `value` 1: for the last time */
    HAPPENS_WEIGHTS_KEPT, /* the node's disk has written the weights with the number `value` */
    HAPPENS_LIMITS,       /* operators change limits of configs: `value` says how, see lists.c */
    HAPPENS_LIMITS_KEPT,  /* the node's disk has written the limits with the number `value` */
    HAPPENS_FAULT,        /* the fault generator's next move */
    HAPPENS_START,        /* a node (re)starts */
    HAPPENS_FORGET,       /* the operator tells `node` that node `from` is gone for good */
    /* the operator looks whether all peers have forgotten a node that is gone for good */
    HAPPENS_LOOK,
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
    /* life of the node that the happening is for: a happening for an earlier life is dropped */
    uint32_t life;
    uint64_t value;
    struct payload *payload; /* owned by the queue while queued */
};

struct queue {
    size_t count;
    uint64_t posted;
    bool overflow; /* a happening found no room and was dropped */
    struct happening heap[QUEUE_EVENTS_MAX];
};

void queue_init(struct queue *queue);
void queue_close(struct queue *queue);
/* Takes over the payload's reference. Returns the order, which is unique. */
uint64_t queue_post(struct queue *queue, struct happening happening);
/* False: the queue is empty. The caller gets the payload's reference. */
bool queue_take(struct queue *queue, struct happening *happening);

struct payload *payload_create(const void *data, size_t size);
void payload_release(struct payload *payload); /* `payload` may be NULL */

#endif
