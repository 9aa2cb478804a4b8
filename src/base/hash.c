#include "base/hash.h"

#include <assert.h>
#include <sodium.h>

_Static_assert(sizeof(struct hash_key) == crypto_shorthash_siphashx24_KEYBYTES, "SipHash's key");
_Static_assert(sizeof(struct key_id) == crypto_shorthash_siphashx24_BYTES, "SipHash's 128-bit output");

void hash_key_from_secret(struct hash_key *key, const void *secret, size_t size)
{
    int failed = crypto_generichash(key->bytes, sizeof key->bytes, secret, size, NULL, 0);
    assert(failed == 0);
}

struct key_id hash_128(const struct hash_key *key, const void *data, size_t size)
{
    struct key_id id;
    (void)crypto_shorthash_siphashx24((unsigned char *)&id, data, size, key->bytes);
    /* Read as two halves, as they were written: one wide read would wait until both writes reach the cache. */
    uint64_t high = id.high, low = id.low;
    __asm__("" : "+r"(high), "+r"(low));
    return (struct key_id){.high = high, .low = low};
}

uint64_t hash_64(const struct hash_key *key, const void *data, size_t size)
{
    return hash_128(key, data, size).high;
}
