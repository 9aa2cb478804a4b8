/*
 * contest_state: the memory of contest.h: keys that regions contend for.
 *
 * The one idea: fixed places, found by hash, and marks that tell the fast kernel which keys may have one. Where no
 * place is free, nobody is held back. Requests change places under the lock of vouchers; steps run alone.
 */
#ifndef HEADGATE_CLUSTER_STATE_CONTEST_STATE_H
#define HEADGATE_CLUSTER_STATE_CONTEST_STATE_H

#include "base/hash.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    CONTESTS_MAX = 128,
    CONTEST_MARKS = 32, /* words of 64 marks: with all places taken, one key of sixteen is marked in vain */
};

struct contest {
    struct key_id id;
    uint16_t limit;
    uint64_t until_ns;               /* 0: a free place; else free from then on */
    int64_t credit_units;            /* what is left of this node's part of the refill */
    uint64_t credited_ns;            /* up to then */
    uint64_t cost;                   /* of the largest request lately */
    uint64_t seen_ns;                /* when a request was last refused or admitted */
    uint64_t short_ns;               /* when one was last refused though most of the part is left; 0: never */
    uint64_t said_ns, said_short_ns; /* when peers were last told so, and that it was short */
    uint64_t said_tokens;            /* the level that was said then */
    uint64_t more_tokens;            /* beside the level at which this node admits a request: see note_said */
    uint64_t short_until_ns;         /* until then a peer is short of its part */
    uint64_t kept_until_ns;          /* until then who has had its part leaves kept_tokens */
    uint64_t kept_tokens;
};

struct contests {
    _Atomic uint64_t mark[CONTEST_MARKS]; /* the bit of a key is set while it may have a place */
    atomic_bool some;                     /* some mark is set */
    atomic_bool speaks;                   /* some place has something to tell peers */
    struct contest contest[CONTESTS_MAX];
};

#endif
