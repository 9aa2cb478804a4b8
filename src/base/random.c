#include "base/random.h"

#include <assert.h>

static uint64_t rotate_left(uint64_t value, int bits)
{
    return (value << bits) | (value >> (64 - bits));
}

/* splitmix64 spreads a small seed over the whole state, which must not be all zero. */
void random_seed(struct random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15u;
        uint64_t mixed = seed;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        random->state[i] = mixed ^ (mixed >> 31);
    }
}

uint64_t random_u64(struct random *random)
{
    uint64_t *s = random->state;
    uint64_t drawn = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return drawn;
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    assert(bound > 0);
    uint64_t unfair = (0 - bound) % bound; /* 2^64 mod bound: values below it would be drawn once too often */
    uint64_t drawn;
    do {
        drawn = random_u64(random);
    } while (drawn < unfair);
    return drawn % bound;
}

double random_unit(struct random *random)
{
    return (double)(random_u64(random) >> 11) * 0x1.0p-53;
}
