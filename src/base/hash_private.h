/*
 * hash_private: keyed hashing for ids that nobody outside this process ever sees (XXH3-128 from libxxhash).
 *
 * Three times as fast as hash.h for short data, and no pseudo-random function: whoever saw ids of data of his choice
 * could work out the secret. Without seeing any, he cannot make up data that share an id or crowd together: each 16
 * bytes are multiplied by secret ones. That is so from 17 to 128 bytes only. Shorter data is padded to 32, so that it
 * meets secret factors as well (as it is, it would meet constants that everybody knows); longer data is left to SipHash
 * (the loop for long data multiplies halves of 32 bits). docs/architecture.md argues it.
 */
#ifndef HEADGATE_BASE_HASH_PRIVATE_H
#define HEADGATE_BASE_HASH_PRIVATE_H

#include "base/hash.h"

enum {
    HASH_PRIVATE_FROM_BYTES = 17,
    HASH_PRIVATE_TO_BYTES = 128,
    HASH_PRIVATE_SECRET_BYTES = 192,
};

struct hash_private {
    uint8_t factors[HASH_PRIVATE_SECRET_BYTES];
    struct key_id short_salt; /* keeps padded data apart from data that looks like it */
    struct hash_key key;      /* of SipHash: for long data */
};

/* Derives all of it from a secret of any length, 0 included (BLAKE2b). */
void hash_private_init(struct hash_private *hash, const void *secret, size_t size);

struct key_id hash_private(const struct hash_private *hash, const void *data, size_t size);

#endif
