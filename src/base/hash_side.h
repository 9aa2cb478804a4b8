/*
 * hash_side: several of what hash.h hashes, side by side.
 *
 * The one idea: SipHash is one long chain, and a processor has little else to do meanwhile. Where it can rotate numbers
 * in registers of several (AVX-512), four chains take as long as one. What comes out is hash_128, bit for bit.
 */
#ifndef HEADGATE_BASE_HASH_SIDE_H
#define HEADGATE_BASE_HASH_SIDE_H

#include "base/bytes.h"
#include "base/hash.h"

enum { HASH_SIDE_MAX = 4 };

/* The keys of as many; what is not used is zero. */
struct hash_side {
    uint64_t half[2][HASH_SIDE_MAX];
};

void hash_side_set(struct hash_side *keys, size_t index, const struct hash_key *key);

/*
 * ids[i] is what data[i] points to, hashed under key i, for the first `count` (1..HASH_SIDE_MAX) of them; those behind
 * point to anything, and their ids are undefined.
 */
void hash_side(const struct hash_side *keys, const struct bytes *const data[HASH_SIDE_MAX], size_t count,
               struct key_id ids[HASH_SIDE_MAX]);

#endif
