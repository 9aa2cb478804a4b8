/*
 * round_state: how far the rounds through the table have come: the round of waiting spends and the
 * round of full keys.
 *
 * The one idea: a round looks at some places in each step, so it keeps its place and the time when
 * it began. deferred_round.c and forget.c go the rounds.
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
    uint64_t visited_ns; /* marks from before the last round are of spends no newer than this */
    uint32_t careful;    /* rounds in which each key is looked at */
};

/* Rounds through the table that look at keys with waiting spends: see deferred_round.c. */
struct waits {
    uint64_t look_ns;  /* when the round goes on; UINT64_MAX: no key waits */
    uint64_t place;    /* of the table, up to which this round has come */
    uint64_t round;    /* the number of this round */
    uint64_t round_ns; /* the length of this round */
    /* the most time for which news was missing, in this round and in the one before */
    uint64_t late_ns[2];
    /* the begin of round r, at r % ROUNDS; no waiting spend is older than all of them */
    uint64_t began_ns[ROUNDS];
    /* the most visits of a waiting key, in this round and in the one before */
    uint32_t visits_most[2];
    uint64_t tick_ns; /* the longest tick of limits whose spends may wait */
    struct wait_part part[WAIT_PARTS];
};

/* Rounds through the table that remove keys which are full again: see forget.c. */
struct forgetting {
    uint64_t place;          /* of the table, up to which rounds have come */
    uint64_t work, requests; /* work without a look at places yet; requests that were counted */
    /* left of a fast round, 0: none runs; keys that it has removed */
    uint64_t hurry_places, freed_keys;
    uint64_t began_ns, began_requests; /* of the last round: when it began; `requests` then */
    uint64_t again_ns;                 /* when the next check for a fast round is due */
    bool watches;                      /* a step must come for that check */
};

#endif
