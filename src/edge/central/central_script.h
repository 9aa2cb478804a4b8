/*
 * central_script: what the central store is told to do, as a script of Redis, its arguments and its answer.
 *
 * The one idea: one call decides over all keys of a request, all or nothing, by the store's own clock, so that no
 * daemon's clock counts and no two daemons see half of each other's calls. Buckets and windows count as src/limit does
 * (the tests compare them at the same times). Text in, text out: no I/O.
 */
#ifndef HEADGATE_EDGE_CENTRAL_CENTRAL_SCRIPT_H
#define HEADGATE_EDGE_CENTRAL_CENTRAL_SCRIPT_H

#include "base/hash.h"
#include "limit/charge.h"
#include "limit/coarse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a request asks of one key, or what is given back to it. */
struct central_charge {
    struct key_id id;
    uint64_t cost, floor_tokens, capacity; /* tokens */
    struct coarse coarse;                  /* of a bucket */
    uint64_t window_us;                    /* of a fixed window; 0: it is a bucket */
    bool from_first;                       /* the window begins with the first request that takes something */
    uint64_t stamp;                        /* of what is given back: what the answer said, else 0 */
    /* Tokens that are taken in advance, as far as they are there: see central_lease.h. Of what is given back, above 0
     * if its call had some. */
    uint64_t extra;
};

enum central_way {
    CENTRAL_PEEK, /* decides, and charges nothing */
    CENTRAL_TAKE,
    CENTRAL_RETURN, /* gives back what was taken, as far as that is certain to admit nothing beyond the limit */
};

struct central_figures {
    bool allowed;
    uint64_t remaining_tokens; /* above the floor */
    uint64_t retry_after_us;   /* UINT64_MAX: never */
    uint64_t reset_after_us;
    uint64_t stamp;
    uint64_t extra; /* tokens that were taken in advance */
};

struct central_answer {
    bool allowed;
    uint32_t count;
    struct central_figures figures[CHARGES_MAX]; /* of each charge */
};

enum {
    CENTRAL_CHARGE_WORDS = 9,
    CENTRAL_FIGURES = 6,
    CENTRAL_WORDS_MAX = 3 + CHARGES_MAX + 3 + CHARGES_MAX * CENTRAL_CHARGE_WORDS,
    CENTRAL_KEY_BYTES = 64, /* of the name of a key, terminated */
    CENTRAL_PREFIX_BYTES = 32,
};

/* The words of one call, for redisAsyncCommandArgv. They point into the structure, and at what they were made of. */
struct central_words {
    int count;
    const char *word[CENTRAL_WORDS_MAX];
    size_t size[CENTRAL_WORDS_MAX];
    size_t used;
    char room[CHARGES_MAX * (CENTRAL_KEY_BYTES + CENTRAL_CHARGE_WORDS * 24) + 64];
};

extern const char central_script[];

/*
 * The call of the script, by `sha` (EVALSHA) or, if that is NULL, by its text (EVAL). `span_us`: for how long what is
 * taken in advance may be in hand. `now_us` 0: the store's clock counts.
 */
void central_script_call(struct central_words *words, const char *sha, const char *prefix, enum central_way way,
                         const struct central_charge *charges, uint32_t count, uint64_t span_us, uint64_t now_us);

/* Reads the numbers of the script's answer. False: they are no answer to so many charges. */
bool central_script_read(struct central_answer *answer, const int64_t *numbers, size_t number_count,
                         uint32_t count);

#endif
