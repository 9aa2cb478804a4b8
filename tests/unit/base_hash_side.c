/* Side by side comes to what comes out one after the other, whatever sizes come together. */
#include "base/hash_side.h"
#include "base/random.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE_MOST = 40, LONG_BYTES = 300, TRIES = 20000 };

static struct random source;

/* Of `size` bytes that end where memory ends: who reads on is seen by sanitizers. */
static struct bytes draw(size_t size)
{
    char *data = malloc(size > 0 ? size : 1);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)random_below(&source, 256);
    return (struct bytes){data, size};
}

/* How many of `count` data of these sizes are hashed otherwise. */
static unsigned differ(const size_t *sizes, size_t count)
{
    struct hash_side keys = {{{0}}};
    struct hash_key key[HASH_SIDE_MAX];
    struct bytes data[HASH_SIDE_MAX] = {{NULL, 0}};
    const struct bytes *const all[HASH_SIDE_MAX] = {&data[0], &data[1], &data[2], &data[3]};
    struct key_id ids[HASH_SIDE_MAX];
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t byte = 0; byte < sizeof key[i].bytes; byte++)
            key[i].bytes[byte] = (uint8_t)random_below(&source, 256);
        hash_side_set(&keys, i, &key[i]);
        data[i] = draw(sizes[i]);
    }
    hash_side(&keys, all, count, ids);
    for (size_t i = 0; i < count; i++) {
        wrong += !key_id_equal(ids[i], hash_128(&key[i], data[i].data, data[i].size));
        free((void *)(uintptr_t)data[i].data);
    }
    return wrong;
}

int main(void)
{
    unsigned alike = 0, mixed = 0, longer = 0;
    random_seed(&source, 1);
    for (size_t size = 0; size <= SIZE_MOST; size++)
        for (size_t count = 1; count <= HASH_SIDE_MAX; count++)
            alike += differ((const size_t[HASH_SIDE_MAX]){size, size, size, size}, count);
    OK_U64(alike, 0, "data of the same size, up to %d bytes", SIZE_MOST);
    for (unsigned i = 0; i < TRIES; i++) {
        size_t sizes[HASH_SIDE_MAX];
        for (unsigned k = 0; k < HASH_SIDE_MAX; k++)
            sizes[k] = random_below(&source, i % 8 == 0 ? LONG_BYTES : SIZE_MOST);
        *(i % 8 == 0 ? &longer : &mixed) += differ(sizes, 1 + random_below(&source, HASH_SIDE_MAX));
    }
    OK_U64(mixed, 0, "of sizes of their own");
    OK_U64(longer, 0, "up to %d bytes", LONG_BYTES);
    return tap_done();
}
