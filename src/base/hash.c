#include "base/hash.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

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

void hash_text(uint8_t hash[TEXT_HASH_BYTES], const void *data, size_t size)
{
    uint8_t before[TEXT_HASH_BYTES];
    memcpy(before, hash, sizeof before);
    int failed = crypto_generichash(hash, TEXT_HASH_BYTES, data, size, before, sizeof before);
    assert(failed == 0);
}

/* ---- keys that people write ---- */

static const char prefix[] = HASH_KEY_TEXT;

void hash_key_text(const struct hash_key *key, char out[HASH_KEY_TEXT_BYTES])
{
    memcpy(out, prefix, sizeof prefix - 1);
    (void)sodium_bin2hex(out + sizeof prefix - 1, HASH_KEY_TEXT_BYTES - (sizeof prefix - 1), key->bytes,
                         sizeof key->bytes);
}

bool hash_key_from_text(struct hash_key *key, const char *text)
{
    const size_t digits = 2 * sizeof key->bytes;
    size_t size = 0;
    if (strncmp(text, prefix, sizeof prefix - 1) != 0)
        return false;
    text += sizeof prefix - 1;
    return strlen(text) == digits &&
           sodium_hex2bin(key->bytes, sizeof key->bytes, text, digits, NULL, &size, NULL) == 0 &&
           size == sizeof key->bytes;
}

uint64_t hash_key_fingerprint(const struct hash_key *key)
{
    static const char of[] = "\377fingerprint"; /* no name of a client is this text */
    return hash_64(key, of, sizeof of - 1);
}
