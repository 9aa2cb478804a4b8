/*
 * random: a small deterministic generator (xoshiro256**).
 *
 * The seed is an input: the same seed draws the same numbers on every machine. Not for secrets.
 */
#ifndef HEADGATE_BASE_RANDOM_H
#define HEADGATE_BASE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state[4];
};

void random_seed(struct random *random, uint64_t seed);
uint64_t random_u64(struct random *random);
/* Uniform in [0, bound); bound > 0. */
uint64_t random_below(struct random *random, uint64_t bound);
/* Uniform in [0, 1). */
double random_unit(struct random *random);

#endif
