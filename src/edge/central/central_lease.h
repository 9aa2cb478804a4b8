/*
 * central_lease: what a thread has in hand of hot keys of the central store, so that not every request needs a call.
 *
 * The one idea: a call for a hot key takes what is likely to be asked of it within a tenth of a second, and requests
 * are decided by that. A store that refuses is believed for a moment as well. The script takes in advance only from
 * what a bucket would have if it held a tenth of a second's refill less (central_script.c), and what is not used by
 * then is given back: so whatever is in hand anywhere, no more is admitted than the limit at any time. Time is an
 * input.
 */
#ifndef HEADGATE_EDGE_CENTRAL_CENTRAL_LEASE_H
#define HEADGATE_EDGE_CENTRAL_CENTRAL_LEASE_H

#include "edge/central/central_script.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LEASES = 256,  /* hot keys of a thread; a power of 2 */
    LEASE_HOT = 8, /* requests within two spans make a key hot */
    LEASE_SERIALS = 1 << 16,
    LEASE_SPAN_US = 100000, /* how long tokens are in hand; what the script is told */
};

struct lease {
    struct central_charge charge;   /* of the key */
    bool taken;                     /* the place is some key's */
    bool calling;                   /* a call that takes in advance is on its way */
    bool failed;                    /* the last one has failed */
    uint32_t serial;                /* of the calls that have ended */
    uint64_t span_ns;               /* when the present span began */
    uint32_t asked, asked_before;   /* requests of this span, and of the one before */
    uint64_t wanted, wanted_before; /* their tokens */
    uint64_t tokens, until_ns;      /* in hand */
    struct central_figures seen;    /* what the store said last, at `seen_ns` */
    uint64_t seen_ns;
    uint64_t refused_until_ns, refused_cost; /* refusals are repeated until then */
};

struct leases {
    struct lease lease[LEASES];
};

enum lease_outcome {
    LEASE_ASK,     /* the store must be asked, for charge->extra more than the cost */
    LEASE_ALLOWED, /* tokens in hand were taken */
    LEASE_REFUSED,
    LEASE_WAIT, /* a call is on its way: to be decided again when that is answered: lease_look */
};

/*
 * Decides a request that takes, of one charge without a floor. `again`: it has waited for the call of others. Fills
 * `figures` if it is decided, and *place for LEASE_WAIT. *rest: tokens that are in hand no more.
 */
enum lease_outcome lease_decide(struct leases *leases, struct central_charge *charge, bool again, uint64_t now_ns,
                                struct central_figures *figures, uint32_t *place, struct central_charge *rest);
/* Another rule refused what was taken from the hand. */
void lease_put_back(struct leases *leases, const struct central_charge *charge);
enum lease_call { LEASE_CALLS, LEASE_CALL_ANSWERED, LEASE_CALL_FAILED };
/* What has become of the call that a request waits for. */
enum lease_call lease_look(const struct leases *leases, uint32_t place);

/* A call that takes charge->extra in advance is on its way. */
void lease_called(struct leases *leases, const struct central_charge *charge);
/*
 * The store has answered a call about a charge that takes, which was sent at `sent_ns`. True: the tokens that it gave
 * in advance are in hand.
 */
bool lease_answered(struct leases *leases, const struct central_charge *charge,
                    const struct central_figures *figures, uint64_t sent_ns, uint64_t now_ns);
/* A call that takes in advance will not be answered in time. */
void lease_failed(struct leases *leases, const struct central_charge *charge);
/* When tokens are in hand no more; UINT64_MAX: none are. */
uint64_t lease_due_ns(const struct leases *leases);
/* The next place whose tokens are in hand no more, from *place on, which is moved on. False: there is none. */
bool lease_sweep(struct leases *leases, uint32_t *place, uint64_t now_ns, struct central_charge *rest);

#endif
