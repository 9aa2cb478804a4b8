/*
 * round_state: how far the rounds through the table have come: that of waiting spends, and that of
 * full keys.
 *
 * The one idea: a round looks at some places in each step, so it remembers its place and when it
 * began. pay.c and forget.c go the rounds.
 */
#ifndef HEADGATE_CLUSTER_STATE_ROUND_STATE_H
#define HEADGATE_CLUSTER_STATE_ROUND_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ROUNDS = 16,
    WAIT_PARTS = 64,
};

/* A part of the table. */
struct wait_part {
    uint64_t visited_ns; /* what was marked before the last round came by was spent then at the latest */
    uint32_t careful;    /* for so many rounds each key is looked at */
};

/* Keys with spends that wait to be paid off are looked at in rounds through the table: see pay.c. */
struct waits {
    uint64_t look_ns;          /* when it goes on; UINT64_MAX: nothing waits */
    uint64_t place;            /* in the table, up to which this round has come */
    uint64_t round;            /* its number */
    uint64_t round_ns;         /* how long it takes */
    uint64_t late_ns[2];       /* for how long news of others was missing in it, at most; and in the one before */
    uint64_t began_ns[ROUNDS]; /* when round r began, at r % ROUNDS; what waits began to after the last of them */
    uint32_t visits_most[2];   /* that anything which waits has had, in this round and the one before */
    uint64_t tick_ns;          /* the longest one of limits under which spends may wait */
    struct wait_part part[WAIT_PARTS];
};

/* Keys that are full again are forgotten in rounds through the table: see forget.c. */
struct forgetting {
    uint64_t place;                    /* in the table, up to which rounds have come */
    uint64_t work, requests;           /* for which no place was looked at yet; requests that were counted */
    uint64_t hurry_places, freed_keys; /* left of a fast round, 0: there is none; what it has forgotten */
    uint64_t began_ns, began_requests; /* when the last one began; `requests` then */
    uint64_t again_ns;                 /* when it is looked whether there has to be one, */
    bool watches;                      /* in a step that is made for that, if need be */
};

#endif
