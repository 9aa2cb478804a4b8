/*
 * learning: when a request is compared with the few known shapes, and when an unknown one becomes known.
 *
 * The one idea: recognising pays only where requests repeat. While less than half of the requests are recognised, only
 * a few are compared with the known shapes. After each shape that was learned in vain, more unknown requests pass
 * until the next one is learned. Knows neither shapes nor protocols: the owner has the shapes, in places from 0 on.
 */
#ifndef HEADGATE_COMMANDS_LEARNING_H
#define HEADGATE_COMMANDS_LEARNING_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LEARNING_TRUST_MAX = 64,
    LEARNING_TRUST_BEGUN = 16,
    LEARNING_TRY_EVERY = 32, /* without trust, one of so many requests is compared */
};

struct learning {
    uint64_t recognised; /* requests */
    uint32_t next, last; /* the place to be replaced next; the place that was recognised last */
    /* trust 0: few requests are compared; passed: requests that were not compared */
    uint32_t trust, passed;
    /* unknown requests until one is learned; the same count after the next one */
    uint32_t unknown, learn_every;
    bool useful; /* a request was recognised since a shape was learned */
};

/* All places are empty. */
void learning_begin(struct learning *learning);
/* True if the unknown request at hand is the one to be learned. */
bool learning_is_turn(struct learning *learning);

/* True if the request at hand must be compared with the known shapes, beginning with place `last`. */
static inline bool learning_tries(struct learning *learning)
{
    return learning->trust > 0 || ++learning->passed % LEARNING_TRY_EVERY == 0;
}

/* It has the shape at `place`, and so have those behind it: `count` requests in all. */
static inline void learning_note_known(struct learning *learning, uint32_t place, uint32_t count)
{
    const uint32_t trust = (learning->trust > 0 ? learning->trust : LEARNING_TRUST_BEGUN - 1) + count;
    learning->last = place;
    learning->recognised += count;
    learning->useful = true;
    learning->trust = trust < LEARNING_TRUST_MAX ? trust : LEARNING_TRUST_MAX;
}

/* It was compared, and has none of the shapes. */
static inline void learning_note_unknown(struct learning *learning)
{
    learning->trust -= learning->trust > 0;
}

#endif
