/*
 * hash: keyed hashing (SipHash-2-4 from libsodium).
 *
 * Whoever sends requests chooses their keys, so an unkeyed hash would let a stranger pick two names
 * that share one limit or that crowd one corner of the table. All peers of a cluster derive the same
 * hash key from the cluster's secret and therefore the same id for the same name.
 */
#ifndef HEADGATE_BASE_HASH_H
#define HEADGATE_BASE_HASH_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_key {
    uint8_t bytes[16];
};

/* Identifies one limited thing (a limit's name, a dimension and a value) in every peer alike. */
struct key_id {
    uint64_t high, low;
};

/* Derives a key from a secret of any length, 0 included (BLAKE2b). */
void hash_key_from_secret(struct hash_key *key, const void *secret, size_t size);

/*
 * A hash key as people write it: "key:" and 32 hexadecimal digits. hash_key_from_text returns false if the text is
 * none. Two keys of one fingerprint are the same; a fingerprint tells nothing else of its key.
 */
enum { HASH_KEY_TEXT_BYTES = 4 + 32 + 1 };
#define HASH_KEY_TEXT "key:"
void hash_key_text(const struct hash_key *key, char out[HASH_KEY_TEXT_BYTES]);
bool hash_key_from_text(struct hash_key *key, const char *text);
uint64_t hash_key_fingerprint(const struct hash_key *key);

struct key_id hash_128(const struct hash_key *key, const void *data, size_t size);
uint64_t hash_64(const struct hash_key *key, const void *data, size_t size);

/*
 * A hash of texts that nobody can find another text for (BLAKE2b), whatever is known of them. Each text is hashed under
 * the hash of those before it; the first one under zeros.
 */
enum { TEXT_HASH_BYTES = 32 };
void hash_text(uint8_t hash[TEXT_HASH_BYTES], const void *data, size_t size);

/* FNV-1a of bytes behind others, the first ones behind HASH_FNV_FIRST: for texts that no client chooses. */
#define HASH_FNV_FIRST UINT64_C(0xcbf29ce484222325)
static inline uint64_t hash_fnv_byte(uint64_t hash, uint8_t byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static inline uint64_t hash_fnv(uint64_t hash, struct bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        hash = hash_fnv_byte(hash, (uint8_t)bytes.data[i]);
    return hash;
}

/* The same of a name, and of 0xff behind it, which is no byte of a name. */
static inline uint64_t hash_fnv_name(uint64_t hash, struct bytes name)
{
    return hash_fnv_byte(hash_fnv(hash, name), 0xff);
}

static inline bool key_id_equal(struct key_id a, struct key_id b)
{
    return a.high == b.high && a.low == b.low;
}

/* Below 0, 0 or above 0, as for qsort. */
static inline int key_id_compare(struct key_id a, struct key_id b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return (a.low > b.low) - (a.low < b.low);
}

#endif
