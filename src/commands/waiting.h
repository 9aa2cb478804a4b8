/*
 * waiting: the waiting room: requests of one thread that only this node's share refuses, and that are tried again
 * until their patience is over.
 *
 * The one idea: the room keeps a place in the queue of a key, a number of tokens and a deadline, and nothing else. The
 * request stays where it is, in the input of its client, whose turn it is again when the room says that the request is
 * due: the first of a key, when something may have changed for it, and any other at its deadline. So rules may change
 * meanwhile and a client may go, and no answer is owed by anybody but the client's own connection. Time is an input.
 * The room decides nothing.
 */
#ifndef HEADGATE_COMMANDS_WAITING_H
#define HEADGATE_COMMANDS_WAITING_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    WAITING_MAX = 1024,      /* requests that wait in one thread */
    WAITING_BUCKETS = 1024,  /* of keys; a power of 2 */
    WAITING_TRIES_MAX = 128, /* requests that are tried again in one round: bounds the work of a round */
};

/* A place in the room; the number of a place, from 1 on, is a ticket. */
struct waiting_place {
    uint64_t tokens, deadline_ns;
    uint64_t try_ns;  /* nothing changes by time alone before then */
    uint64_t seen_ns; /* the last step of the node when the request was tried */
    uint16_t queue;
    uint16_t before, after; /* tickets in the queue, or of free places; 0: none */
};

/* The requests that wait for one key, in the order in which they came. */
struct waiting_queue {
    struct key_id key;
    uint64_t tokens; /* of all of them */
    uint16_t first, last;
    uint16_t after; /* the next queue of the bucket, or the next free one; from 1 on, 0: none */
};

struct waiting_room {
    uint32_t count;
    uint32_t tries; /* left in this round */
    bool ends;      /* all are due, and nobody waits any more */
    uint16_t free_place, free_queue, places_end, queues_end;
    uint16_t bucket[WAITING_BUCKETS]; /* the first queue of each, from 1 on; 0: none */
    struct waiting_place place[WAITING_MAX + 1];
    struct waiting_queue queue[WAITING_MAX + 1];
};

/* A room that is all zero is empty. */
static inline bool waiting_has_room(const struct waiting_room *room)
{
    return room->count < WAITING_MAX && !room->ends;
}

/* Returns a ticket, above 0. The room must have room. */
uint32_t waiting_enter(struct waiting_room *room, struct key_id key, uint64_t tokens, uint64_t deadline_ns);
void waiting_leave(struct waiting_room *room, uint32_t ticket);

/* The tokens that requests want which wait for the key, 0: none wait. */
uint64_t waiting_tokens(const struct waiting_room *room, struct key_id key);
/* The key that a request waits for. */
struct key_id waiting_key(const struct waiting_room *room, uint32_t ticket);
/* The tokens that requests want which wait for the same key and came before. */
uint64_t waiting_ahead(const struct waiting_room *room, uint32_t ticket, uint64_t now_ns);

/* A request was tried and is still refused: refill alone does not change that within `wait_ns`. */
void waiting_note_tried(struct waiting_room *room, uint32_t ticket, uint64_t now_ns, uint64_t stepped_ns,
                        uint64_t wait_ns);
/* Begins a round, in which each request is asked about once. */
void waiting_begin_round(struct waiting_room *room);
/* True: the request must be tried. `stepped_ns`: the node's last step. */
bool waiting_is_due(struct waiting_room *room, uint32_t ticket, uint64_t now_ns, uint64_t stepped_ns);
/* True: the next try is the last one. */
bool waiting_is_over(const struct waiting_room *room, uint32_t ticket, uint64_t now_ns);

#endif
