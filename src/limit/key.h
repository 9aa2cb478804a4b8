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

/*
 * Keys of rules are put together from parts, so that a request under many rules is hashed once. A part is the keyed
 * hash of one identifier; a key is its rule's salt, also a keyed hash, and its parts, joined in any order (a
 * dimension occurs once). All are secret and random to a stranger, so what is joined collides no sooner than hashes.
 */

/* The hash key of a dimension's values; dimension.size <= KEY_DIMENSION_MAX_BYTES. */
void key_of_dimension(struct hash_key *key, const struct hash_key *hash_key, struct bytes dimension);

/* The part of an identifier; value.size <= KEY_VALUE_MAX_BYTES. */
static inline struct key_id key_part(const struct hash_key *dimension_key, struct bytes value)
{
    return hash_128(dimension_key, value.data, value.size);
}

static inline struct key_id key_join(struct key_id a, struct key_id b)
{
    return (struct key_id){.high = a.high ^ b.high, .low = a.low ^ b.low};
}

#endif
