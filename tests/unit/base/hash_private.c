#include "base/hash_private.h"
#include "base/random.h"
#include "tests/lib/tap.h"

#include <stdlib.h>

enum { LONGEST = 300 };

/* Every size that goes another way than the one before it, and every byte of it. */
static void every_byte_counts(void)
{
    struct hash_private hash;
    unsigned char data[LONGEST + 1];
    uint64_t same = 0, unstable = 0;
    hash_private_init(&hash, "secret", 6);
    for (int i = 0; i <= LONGEST; i++)
        data[i] = (unsigned char)(i * 7);
    for (size_t size = 0; size <= LONGEST; size++) {
        struct key_id id = hash_private(&hash, data, size);
        unstable += !key_id_equal(id, hash_private(&hash, data, size));
        for (size_t at = 0; at < size; at++) {
            data[at] ^= 0x80;
            same += key_id_equal(id, hash_private(&hash, data, size));
            data[at] ^= 0x80;
        }
    }
    OK(same == 0 && unstable == 0, "each byte of 0 to %d matters", LONGEST);
}

static int by_id(const void *a, const void *b)
{
    const struct key_id *x = a, *y = b;
    return x->high != y->high ? (x->high < y->high ? -1 : 1) : (x->low > y->low) - (x->low < y->low);
}

/* Zeros of all sizes, and data that looks like shorter data with its padding. */
static void sizes_are_apart(void)
{
    static const unsigned char zeros[LONGEST];
    struct hash_private hash;
    struct key_id ids[LONGEST + 1];
    hash_private_init(&hash, NULL, 0);
    for (size_t size = 0; size <= LONGEST; size++)
        ids[size] = hash_private(&hash, zeros, size);
    qsort(ids, LONGEST + 1, sizeof ids[0], by_id);
    uint64_t same = 0;
    for (int i = 0; i < LONGEST; i++)
        same += key_id_equal(ids[i], ids[i + 1]);
    OK_U64(same, 0, "zeros of different sizes have different ids");
    same = 0;
    /* Its first and last eight bytes, the first again, and its size. */
    for (size_t size = 8; size < HASH_PRIVATE_FROM_BYTES; size++) {
        const uint64_t x = 0x7878787878787878, padded[4] = {x, x, x, size};
        struct key_id id = hash_private(&hash, padded, size);
        same += key_id_equal(id, hash_private(&hash, padded, sizeof padded));
    }
    OK_U64(same, 0, "what is padded is not what looks like it");
}

/* Each of their bytes is read, and so is how many there are. */
static void short_ones_are_apart(void)
{
    enum { SHORT = 1 + 256 + 65536 };
    static struct key_id ids[SHORT];
    struct hash_private hash;
    int count = 0;
    hash_private_init(&hash, "secret", 6);
    for (size_t size = 0; size <= 2; size++)
        for (unsigned number = 0; number < 1u << 8 * size; number++) {
            unsigned char data[] = {(unsigned char)number, (unsigned char)(number >> 8)};
            ids[count++] = hash_private(&hash, data, size);
        }
    qsort(ids, SHORT, sizeof ids[0], by_id);
    uint64_t same = 0;
    for (int i = 0; i + 1 < count; i++)
        same += key_id_equal(ids[i], ids[i + 1]);
    OK_U64(same, 0, "all %d of up to two bytes have different ids", count);
}

static void secrets(void)
{
    struct hash_private a, b, again;
    hash_private_init(&a, "secret", 6);
    hash_private_init(&b, "secreT", 6);
    hash_private_init(&again, "secret", 6);
    OK(memcmp(&a, &again, sizeof a) == 0, "the same secret, the same factors");
    uint64_t same = 0;
    for (size_t i = 0; i + 8 <= sizeof a.factors; i += 8)
        same += memcmp(a.factors + i, b.factors + i, 8) == 0 || memcmp(a.factors + i, a.factors, 8) == 0;
    OK_U64(same, 1, "another secret, others throughout; and no factor is another's copy");
    static const size_t sizes[] = {5, 16, 17, 128, 129};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char data[LONGEST] = "alice";
        struct key_id x = hash_private(&a, data, sizes[i]), y = hash_private(&b, data, sizes[i]);
        OK(!key_id_equal(x, y), "another secret, another id of %zu bytes", sizes[i]);
    }
}

/*
 * What somebody would try who wants keys to crowd together and does not know the secret: names that differ in few
 * bits, and counting. Under many secrets, pairs that share the first bits are as many as chance gives.
 */
enum { CROWD = 1024, SECRETS = 400, BITS = 16 };

static double crowding(size_t size, bool few_bits)
{
    static struct key_id ids[CROWD];
    double pairs = 0;
    for (uint64_t secret = 0; secret < SECRETS; secret++) {
        struct hash_private hash;
        hash_private_init(&hash, &secret, sizeof secret);
        for (unsigned i = 0; i < CROWD; i++) {
            unsigned char data[LONGEST];
            memset(data, '0', sizeof data);
            for (unsigned bit = 0; bit < 10; bit++) {
                size_t at = few_bits ? bit * (size - 1) / 9 : size - 1 - bit / 4;
                data[at] = (unsigned char)(data[at] ^ (i >> bit & 1) << (few_bits ? 7 : bit % 4));
            }
            ids[i] = hash_private(&hash, data, size);
        }
        qsort(ids, CROWD, sizeof ids[0], by_id);
        for (int i = 0; i + 1 < CROWD; i++)
            pairs += ids[i].high >> (64 - BITS) == ids[i + 1].high >> (64 - BITS);
    }
    return pairs / SECRETS;
}

static void no_crowds(void)
{
    const double expected = (double)CROWD * (CROWD - 1) / 2 / (1 << BITS); /* 8, give or take 0.15 */
    static const size_t sizes[] = {3, 5, 8, 9, 10, 12, 16, 17, 20, 32, 36, 64, 128};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int few = 0; few <= (sizes[i] >= 10); few++) { /* ten bits of as many bytes */
            double is = crowding(sizes[i], few);
            OK(is > expected - 0.8 && is < expected + 0.8, "%zu bytes, %s: %.2f neighbours share %d bits", sizes[i],
               few ? "top bits flipped" : "counted", is, BITS);
        }
}

int main(void)
{
    every_byte_counts();
    sizes_are_apart();
    short_ones_are_apart();
    secrets();
    no_crowds();
    return tap_done();
}
