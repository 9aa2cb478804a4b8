#include "base/hash_private.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(((struct hash_private *)0)->factors) >= XXH3_SECRET_SIZE_MIN, "XXH3's secret");

void hash_private_init(struct hash_private *hash, const void *secret, size_t size)
{
    enum { PIECE_BYTES = crypto_generichash_BYTES_MAX, PIECES = HASH_PRIVATE_SECRET_BYTES / PIECE_BYTES };
    _Static_assert(HASH_PRIVATE_SECRET_BYTES % PIECE_BYTES == 0, "whole pieces");
    for (int i = 0; i < PIECES; i++) {
        unsigned char label[crypto_generichash_KEYBYTES] = "private ids";
        label[sizeof label - 1] = (unsigned char)i;
        int failed = crypto_generichash(hash->factors + (size_t)i * PIECE_BYTES, PIECE_BYTES, secret, size, label,
                                        sizeof label);
        assert(failed == 0);
    }
    hash_key_from_secret(&hash->key, secret, size);
    hash->short_salt = hash_128(&hash->key, "padded", 6);
}

static inline struct key_id mix(const struct hash_private *hash, const void *data, size_t size)
{
    XXH128_hash_t id = XXH3_128bits_withSecret(data, size, hash->factors, sizeof hash->factors);
    return (struct key_id){.high = id.high64, .low = id.low64};
}

/*
 * Up to 16 bytes as two words, different for any two inputs of the same size. The words are read in parts that may
 * overlap: bytes copied one by one would have to reach memory before they could be read as words.
 */
static inline void read_short(const uint8_t *data, size_t size, uint64_t words[2])
{
    uint32_t first, last;
    if (size >= sizeof *words) {
        memcpy(&words[0], data, sizeof *words);
        memcpy(&words[1], data + size - sizeof *words, sizeof *words);
    } else if (size >= sizeof first) {
        memcpy(&first, data, sizeof first);
        memcpy(&last, data + size - sizeof last, sizeof last);
        words[0] = first;
        words[1] = last;
    } else {
        words[0] = size > 0 ? (uint64_t)data[0] << 16 | (uint64_t)data[size / 2] << 8 | data[size - 1] : 0;
        words[1] = 0;
    }
}

static struct key_id mix_short(const struct hash_private *hash, const void *data, size_t size)
{
    uint64_t padded[4];
    read_short(data, size, padded);
    padded[2] = padded[0]; /* both products of the hash depend on the data then */
    padded[3] = size;
    struct key_id id = mix(hash, padded, sizeof padded);
    return (struct key_id){.high = id.high ^ hash->short_salt.high, .low = id.low ^ hash->short_salt.low};
}

struct key_id hash_private(const struct hash_private *hash, const void *data, size_t size)
{
    if (size < HASH_PRIVATE_FROM_BYTES)
        return mix_short(hash, data, size);
    return size <= HASH_PRIVATE_TO_BYTES ? mix(hash, data, size) : hash_128(&hash->key, data, size);
}
