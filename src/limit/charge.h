/*
 * charge: what one rule asks of one request.
 *
 * The one idea: matching rules and counting tokens need not know each other. Rules (match.h) turn a request into
 * charges; a node decides over all charges at once, all or nothing. Numbers only: no names, no pointers.
 *
 * Times are nanoseconds of the caller's monotonic clock.
 */
#ifndef HEADGATE_LIMIT_CHARGE_H
#define HEADGATE_LIMIT_CHARGE_H

#include "base/hash.h"
#include "limit/bucket.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    CHARGES_MAX = 16,       /* of one request */
    PATIENCE_MAX_MS = 5000, /* of one charge */
};

/* What to do while some peer is silent. */
enum isolation {
    ISOLATION_BUDGET, /* this peer goes on spending its share, as always */
    ISOLATION_OPEN,   /* never deny */
    ISOLATION_CLOSED, /* always deny */
};

/* Whether a central store decides a charge, and what does where the store does not answer. */
enum central_or {
    CENTRAL_NOT,       /* this peer decides */
    CENTRAL_OR_BUDGET, /* this peer's share */
    CENTRAL_OR_OPEN,   /* nothing is denied */
    CENTRAL_OR_CLOSED, /* everything is */
};

struct charge {
    struct key_id id; /* of the key; of cells: of the key in this window */
    struct key_id
        previous; /* sliding windows: of the key in the window before; central: of the key in any; else 0 */
    uint64_t cost;
    uint64_t floor_tokens; /* left to requests of higher priority: denied where taking would go below */
    /* cells: forgotten then; sliding windows: the end of the next one; where it begins with a spend: its end; else 0 */
    uint64_t expires_ns;
    uint64_t window_end_ns; /* cells: of this window; 0 where it begins with the first spend; else 0 */
    /* when the tokens of a reservation were spent: of a LOG see bucket_hold; of a bucket; else 0 */
    uint64_t spent_ns;
    uint64_t window_ns;     /* cells: how long this window is; else 0 */
    uint64_t granted;       /* of a reservation: the tokens of its cost that other peers granted; see return.c */
    uint16_t limit;         /* an index into the limit set */
    uint16_t tenant;        /* the owner of the key, for caps on keys: a service, or 0, the config */
    uint8_t inherit;        /* enum bucket_inherit: for an entry that has another limit */
    uint8_t on_isolation;   /* enum isolation */
    uint8_t central;        /* enum central_or; those who decide by the node alone need not heed it */
    bool sliding;           /* two cells, weighted: see `previous` */
    bool lease;  /* of a reservation: the tokens are held until it ends, and a commit gives all of them back */
    bool shadow; /* never denies; where it would deny, it charges nothing */
    /* how long a request may wait that this charge refuses for want of a share alone; 0: it is refused at once */
    uint16_t patience_ms;
    uint32_t counts; /* of a reservation: a number for the name of what is counted; 0: requests */
};

/*
 * True: a cell whose window begins with the first spend from a key that is full. So the window is not a part of the
 * key, and the bucket knows its end. Only for limits that are told to nobody (LIMIT_SPLIT): peers cannot agree on such
 * a begin.
 */
static inline bool charge_begins_with_spend(const struct charge *charge)
{
    return charge->window_ns > 0 && charge->window_end_ns == 0;
}

/* When the window of a cell ends. */
static inline uint64_t charge_window_end_ns(const struct charge *charge, const struct bucket *bucket)
{
    return charge_begins_with_spend(charge) ? bucket->expires_ns : charge->window_end_ns;
}

#endif
