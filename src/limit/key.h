/*
 * key: how a limited thing is named, and how its name becomes a 128-bit id.
 *
 * A name is (limit, dimension, value), e.g. ("default", "user", "alice"). The id is a keyed hash of all
 * three, so that equal values under different limits or dimensions never share a bucket.
 */
#ifndef HEADGATE_LIMIT_KEY_H
#define HEADGATE_LIMIT_KEY_H

#include "base/bytes.h"
#include "base/hash.h"

#include <stdint.h>

enum {
    KEY_DIMENSION_MAX_BYTES = 32,
    KEY_VALUE_MAX_BYTES = 256,
};

/* dimension.size <= KEY_DIMENSION_MAX_BYTES, value.size <= KEY_VALUE_MAX_BYTES. */
struct key_id key_id_of(const struct hash_key *hash_key, uint32_t limit_id, struct bytes dimension,
                        struct bytes value);

#endif
