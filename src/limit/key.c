#include "limit/key.h"

#include <assert.h>
#include <string.h>

/* Lengths go first, so that no two different names give the same bytes. */
struct key_id key_id_of(const struct hash_key *hash_key, uint32_t limit_id, struct bytes dimension,
                        struct bytes value)
{
    assert(dimension.size <= KEY_DIMENSION_MAX_BYTES && value.size <= KEY_VALUE_MAX_BYTES);
    uint8_t name[4 + 1 + KEY_DIMENSION_MAX_BYTES + KEY_VALUE_MAX_BYTES];
    size_t size = 0;
    for (int shift = 0; shift < 32; shift += 8)
        name[size++] = (uint8_t)(limit_id >> shift);
    name[size++] = (uint8_t)dimension.size;
    if (dimension.size > 0)
        memcpy(name + size, dimension.data, dimension.size);
    size += dimension.size;
    if (value.size > 0)
        memcpy(name + size, value.data, value.size);
    size += value.size;
    return hash_128(hash_key, name, size);
}

void key_of_dimension(struct hash_key *key, const struct hash_key *hash_key, struct bytes dimension)
{
    assert(dimension.size <= KEY_DIMENSION_MAX_BYTES);
    char name[1 + KEY_DIMENSION_MAX_BYTES] = {(char)0xfe}; /* no other input of this hash key begins so */
    if (dimension.size > 0)
        memcpy(name + 1, dimension.data, dimension.size);
    struct key_id hash = hash_128(hash_key, name, 1 + dimension.size);
    _Static_assert(sizeof hash == sizeof key->bytes, "128 bits");
    memcpy(key->bytes, &hash, sizeof hash);
}
