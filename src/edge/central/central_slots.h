/*
 * central_slots: the calls of one thread, and their way through it. Internal to central*.c.
 *
 * The one idea: each call has a slot. It is free again when its owner has ended it and the store has answered it, so
 * that a late grant is known for what it is, and a grant that nobody uses goes back in the slot of its call.
 */
#ifndef HEADGATE_EDGE_CENTRAL_CENTRAL_SLOTS_H
#define HEADGATE_EDGE_CENTRAL_CENTRAL_SLOTS_H

#include "edge/central/central.h"

enum purpose { FOR_REQUEST, FOR_RETURN, FOR_PROBE };

/* The last slot, which probes always have. */
enum { PROBE = CENTRAL_ASKS_MAX + 1 };

struct slot {
    uint8_t state;   /* enum central_state */
    uint8_t purpose; /* enum purpose */
    uint8_t way;     /* enum central_way */
    bool owned;      /* somebody has its ticket */
    bool in_flight;  /* the store has not answered it */
    bool granted;    /* the answer said so, and nothing was given back */
    bool used;       /* by the owner, who has ended it */
    bool calls;      /* it takes in advance, and others wait for that */
    uint16_t next;   /* in the order of deadlines, or the next free slot; 0: none */
    uint32_t count;
    uint64_t sent_ns;
    uint64_t rest; /* tokens that were granted in advance and are in nobody's hand */
    struct central_charge charge[CHARGES_MAX];
    struct central_answer answer;
};

struct central {
    struct central_wire wire;
    uint64_t timeout_ns;
    bool connected, up, was_up, stopped, retired;
    uint32_t failures; /* in a row */
    uint16_t free_slot, slots_end;
    uint16_t first, last; /* of those whose deadline is not over */
    struct central_stats stats;
    char error[CENTRAL_ERROR_BYTES];
    struct leases leases;
    struct slot slot[CENTRAL_ASKS_MAX + 2];
};

struct slot *slots_at(struct central *central, uint32_t ticket);
/* A slot for a request. 0: there is none. */
uint16_t slots_take(struct central *central);
void slots_free(struct central *central, uint16_t at);
/* The slot is in the order of deadlines, and leaves it. */
void slots_leave_deadlines(struct central *central, uint16_t at);

/* False: the call was not sent. */
bool slots_send(struct central *central, uint16_t at);
/* The same; the call has a deadline. */
bool slots_send_by_deadline(struct central *central, uint16_t at, uint64_t now_ns);
/* Of the slot's grant something is not used. The slot carries it back; it is free when that is answered. */
void slots_give_back(struct central *central, uint16_t at);
/* The slot is free if nobody needs it any more; or its grant goes back. */
void slots_settle(struct central *central, uint16_t at);

/* The others of a call that takes in advance need not wait for it any more. */
void slots_end_call(struct central *central, struct slot *slot);
/* Something that somebody may wait for has changed. */
void slots_tell(const struct central *central);

#endif
