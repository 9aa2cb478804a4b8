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

#define HASH_NAMES_FIRST UINT64_C(0xcbf29ce484222325)
/* FNV-1a of one name behind others, the first one behind HASH_NAMES_FIRST: for names that no client chooses. */
static inline uint64_t hash_name(uint64_t hash, struct bytes name)
{
    for (size_t i = 0; i < name.size; i++)
        hash = (hash ^ (unsigned char)name.data[i]) * UINT64_C(0x100000001b3);
    return (hash ^ 0xff) * UINT64_C(0x100000001b3); /* 0xff: no byte of a name */
}

static inline bool key_id_equal(struct key_id a, struct key_id b)
{
    return a.high == b.high && a.low == b.low;
}

#endif
