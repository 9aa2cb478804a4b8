/*
 * rights_state: the memory of voucher.h and grant.h: vouchers that this node holds, grants that it has
 * made, and which keys had grants lately.
 *
 * The one idea: fixed places, found by hash. Where none is free, nothing is asked for, granted, or
 * given back: the safe side. Vouchers that want tokens stand in a queue, so that a step visits no others. Requests
 * change vouchers and the queue, under the lock; only steps change the rest.
 */
#ifndef HEADGATE_CLUSTER_STATE_RIGHTS_STATE_H
#define HEADGATE_CLUSTER_STATE_RIGHTS_STATE_H

#include "base/hash.h"
#include "cluster/state/places.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    VOUCHERS_MAX = PLACES_MAX, /* keys of which this node holds vouchers, or asks for them */
    VOUCHER_ASKS = 4,          /* asks of one key that may still be answered */
    HELD_MARKS = 16384,        /* with all places taken, one key of five is marked in vain */
    GRANTS_MAX = PLACES_MAX,   /* own grants that have not settled; the log has more of them */
    GRANTED_GROUPS = 4096,     /* of keys with grants of anybody, by hash */
    GRANTED_GROUP_KEYS = 8,
    RIGHTS_HABITS = 256, /* limits whose clients are watched: see voucher_habit.h */
    HABIT_ONE = 1024,
};

/* What an ask of this node has brought, and what is left of an older one that made room for it. */
struct voucher_ask {
    uint64_t number;             /* 0: none */
    uint64_t asked_ns;           /* the tokens decay from here on; of one that only watches, when it began */
    uint64_t asked_sleepless_ns; /* the same by options.sleepless_ns; 0: there is no such clock */
    uint64_t born_ns;            /* when the oldest of its tokens were asked for: they end first */
    uint64_t granted_by;         /* bit i: member i */
    int64_t received, used;      /* units that came, and of these, those that clients used */
    int64_t units;               /* of those that came, those that were neither used nor given back */
    int64_t awaited;             /* that others were asked for and have not granted: nobody may grant more */
    bool whole;                  /* for whole tokens: see voucher_whole.h */
    int64_t rest;                /* of what came: the part of a token, which is never used */
    int64_t lost;                /* of all that came or comes yet, since the ask: see voucher_lack.h */
    uint64_t late_ns;            /* who comes from then on does not come for them */
    int64_t expected, came;      /* units that clients were expected to come back for, and did: voucher_habit.h */
};

/* The first of the asks that made room for newer ones: they may still be answered. */
struct earlier_asks {
    uint64_t number, asked_ns, asked_sleepless_ns; /* as in struct voucher_ask */
    int64_t awaited;                               /* of all of them */
};

/* The window of a key that counts in a sliding window, by this node's clock. window_ns 0: it does not. */
struct key_window {
    struct key_id previous; /* the key in the window before */
    uint64_t window_ns, end_ns;
};

/* What a bucket that is full but for this node's spends lacks: see voucher_lack.h. */
struct own_lack {
    int64_t units;    /* when `refilled` was computed */
    int64_t refilled; /* since then: */
    uint64_t since_ns, since_sleepless_ns;
    int64_t seen;          /* the key's unsettled tokens, when they were last seen */
    int64_t untold;        /* what its untold spend had then: see voucher_lack.c */
    uint64_t changes;      /* table_changes then */
    uint64_t converted_ns; /* node->converted_ns then */
};

/* What the asks of a key have brought that have ended, in units: see voucher_loss.h. */
struct ask_outcome {
    uint64_t received;
    uint64_t used; /* by clients */
    uint64_t lost; /* neither used nor given back */
};

struct voucher {
    struct key_id id;
    uint16_t limit;
    uint64_t touched_ns;        /* 0: a free place */
    uint64_t wanted;            /* tokens refused for this node's share alone since the last ask */
    uint64_t waiting;           /* of these, tokens of requests that wait for them */
    uint64_t wanted_at_once;    /* of these, the most of one request */
    uint64_t wanted_since_ns;   /* when the first of them was refused */
    uint64_t went_on;           /* of these, tokens that were refused some time after the first */
    uint64_t unwatched;         /* of these, tokens that no ask expects to be wanted again */
    uint64_t asked_ns, much_ns; /* when others were last asked, and when while much was left */
    uint64_t expires_ns;        /* of a cell: see bucket.h */
    struct key_window window;
    uint64_t yields_until_ns; /* asks for nothing before: see voucher_yield */
    uint64_t busy_ns;         /* when tokens were last wanted, received or used */
    struct own_lack lack;
    struct ask_outcome outcome;
    int64_t asked_cost; /* units of the largest request that the newest ask was made for */
    struct earlier_asks earlier;
    struct voucher_ask ask[VOUCHER_ASKS]; /* the newest is the last */
};

/* Tokens of this node that are spent on behalf of a holder. */
struct grant {
    struct key_id id;
    uint32_t holder_uid, spare; /* see struct batch_grant */
    uint64_t ask, tokens;       /* tokens 0: a free place */
    uint32_t maker_uid;         /* this node's origin; 0: no batch tells the grant yet */
    uint64_t sequence;          /* of the batch that tells it */
    bool settled;
};

/* Tokens of the key that may be in vouchers, as this node heard. */
struct granted_key {
    struct key_id id;
    uint64_t tokens, since_ns, until_ns; /* by awake_ns() */
};

/* The keys of one hash. */
struct granted_group {
    struct granted_key key[GRANTED_GROUP_KEYS];
    uint64_t blind_until_ns; /* until then, by awake_ns(), any key of the group may have had grants */
};

/* See voucher_habit.h. */
struct habit {
    bool known;
    uint16_t present; /* the part that came back, of HABIT_ONE */
};

/* Places of vouchers that want tokens, in the order in which they are to be looked at; each of them once. */
struct wanting {
    uint32_t first, count;
    uint16_t place[VOUCHERS_MAX];
    bool has[VOUCHERS_MAX];
};

struct rights {
    bool shared;       /* all peers answer asks, and so does this node */
    bool listed;       /* all peers list grants of any log as later spends */
    uint64_t heard;    /* the part of all others' shares whose members are heard, in 1/SHARE_ONE */
    atomic_bool wants; /* some voucher has wanted tokens */
    /* since the last asks: not only for clients of whom nothing is known */
    atomic_bool wants_surely;
    atomic_bool locked;
    uint64_t asks_count; /* the number of the last ask */
    uint64_t asked_ns;   /* when peers were last asked; 0: never */
    uint32_t grants_untold;
    uint64_t dropped_ns;             /* grants that were told by then may have no place; 0: all have one */
    uint64_t blind_until_ns;         /* until then, by awake_ns(), any key may have had grants */
    uint32_t way_at;                 /* the place that is looked at next for one that makes way */
    uint32_t vouchers_at, grants_at; /* places from which sweeps go on */
    struct places voucher_places, grant_places;
    struct wanting wanting;
    /* of each mark, how many vouchers there are of keys whose hash has it */
    _Atomic uint16_t held[HELD_MARKS];
    struct voucher voucher[VOUCHERS_MAX];
    struct grant grant[GRANTS_MAX];
    struct granted_group granted[GRANTED_GROUPS];
    struct habit habit[RIGHTS_HABITS];
    struct habit of_all; /* with which limits begin */
};

#endif
