#include "base/hash_side.h"

#include <assert.h>
#include <string.h>

void hash_side_set(struct hash_side *keys, size_t index, const struct hash_key *key)
{
    assert(index < HASH_SIDE_MAX);
    memcpy(&keys->half[0][index], key->bytes, sizeof(uint64_t));
    memcpy(&keys->half[1][index], key->bytes + sizeof(uint64_t), sizeof(uint64_t));
}

static void one_by_one(const struct hash_side *keys, const struct bytes *const *data, size_t count,
                       struct key_id *ids)
{
    for (size_t i = 0; i < count; i++) {
        struct hash_key key;
        memcpy(key.bytes, &keys->half[0][i], sizeof(uint64_t));
        memcpy(key.bytes + sizeof(uint64_t), &keys->half[1][i], sizeof(uint64_t));
        ids[i] = hash_128(&key, data[i]->data, data[i]->size);
    }
}

#ifdef __x86_64__

#include <immintrin.h>

#define IN_REGISTERS __attribute__((target("avx512f,avx512vl")))

/* One number of each; operators work on all of them. */
typedef uint64_t numbers __attribute__((vector_size(sizeof(uint64_t) * HASH_SIDE_MAX)));

struct sip {
    numbers v0, v1, v2, v3;
};

static inline uint64_t load(const char *data)
{
    uint64_t word;
    memcpy(&word, data, sizeof word);
    return word;
}

/* 1 to 7 bytes. */
static inline uint64_t load_few(const char *data, size_t size)
{
    uint32_t first, last;
    if (size < sizeof first)
        return (uint64_t)(uint8_t)data[0] | (uint64_t)(uint8_t)data[size / 2] << 8 * (size / 2) |
               (uint64_t)(uint8_t)data[size - 1] << 8 * (size - 1);
    memcpy(&first, data, sizeof first);
    memcpy(&last, data + size - sizeof last, sizeof last);
    return first | (uint64_t)last << 8 * (size - sizeof last);
}

/* What is behind the last whole word, and the size. */
static inline uint64_t last_word(const struct bytes *data)
{
    const size_t rest = data->size % sizeof(uint64_t);
    uint64_t word = (uint64_t)data->size << 56;
    if (rest > 0)
        word |= data->size > rest ? load(data->data + data->size - sizeof word) >> (64 - 8 * rest)
                                  : load_few(data->data, rest);
    return word;
}

IN_REGISTERS static inline numbers turned(numbers x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

IN_REGISTERS static inline void round_of(struct sip *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = turned(s->v1, 13) ^ s->v0;
    s->v3 = turned(s->v3, 16) ^ s->v2;
    s->v0 = turned(s->v0, 32) + s->v3;
    s->v2 += s->v1;
    s->v3 = turned(s->v3, 21) ^ s->v0;
    s->v1 = turned(s->v1, 17) ^ s->v2;
    s->v2 = turned(s->v2, 32);
}

IN_REGISTERS static inline void add(struct sip *s, numbers word)
{
    s->v3 ^= word;
    round_of(s);
    round_of(s);
    s->v0 ^= word;
}

IN_REGISTERS static inline numbers end(struct sip *s)
{
    for (int i = 0; i < 4; i++)
        round_of(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* Those of which nothing is left are as they were. */
IN_REGISTERS static inline void add_where(struct sip *s, numbers word, numbers more)
{
    struct sip then = *s;
    add(&then, word);
    s->v0 ^= (s->v0 ^ then.v0) & more;
    s->v1 ^= (s->v1 ^ then.v1) & more;
    s->v2 ^= (s->v2 ^ then.v2) & more;
    s->v3 ^= (s->v3 ^ then.v3) & more;
}

IN_REGISTERS static inline numbers numbers_of(const uint64_t half[HASH_SIDE_MAX])
{
    return (numbers)_mm256_loadu_si256((const void *)half);
}

/* The whole words of all, as many as each has. */
IN_REGISTERS static void add_words_of_each(struct sip *s, const struct bytes *const *data)
{
    size_t most = 0;
    for (int i = 0; i < HASH_SIDE_MAX; i++)
        most = data[i]->size > most ? data[i]->size : most;
    for (size_t at = 0; at + 8 <= most; at += 8) {
        numbers word = {0}, more = {0};
        for (int i = 0; i < HASH_SIDE_MAX; i++) {
            if (at + 8 > data[i]->size)
                continue;
            word[i] = load(data[i]->data + at);
            more[i] = UINT64_MAX;
        }
        add_where(s, word, more);
    }
}

IN_REGISTERS static inline void add_words(struct sip *s, const struct bytes *const *data)
{
    const size_t size = data[0]->size;
    if (((size ^ data[1]->size) | (size ^ data[2]->size) | (size ^ data[3]->size)) / 8 != 0) {
        add_words_of_each(s, data);
        return;
    }
    for (size_t at = 0; at + 8 <= size; at += 8)
        add(s, (numbers){load(data[0]->data + at), load(data[1]->data + at), load(data[2]->data + at),
                         load(data[3]->data + at)});
}

IN_REGISTERS static void side_by_side(const struct hash_side *keys, const struct bytes *const *data,
                                      struct key_id *ids)
{
    const numbers first = numbers_of(keys->half[0]), second = numbers_of(keys->half[1]);
    struct sip s = {.v0 = first ^ 0x736f6d6570736575u,
                    .v1 = second ^ 0x646f72616e646f6du ^ 0xee,
                    .v2 = first ^ 0x6c7967656e657261u,
                    .v3 = second ^ 0x7465646279746573u};
    add_words(&s, data);
    add(&s, (numbers){last_word(data[0]), last_word(data[1]), last_word(data[2]), last_word(data[3])});
    s.v2 ^= 0xee;
    const __m256i high = (__m256i)end(&s);
    s.v1 ^= 0xdd;
    const __m256i low = (__m256i)end(&s);
    const __m256i even = _mm256_unpacklo_epi64(high, low), odd = _mm256_unpackhi_epi64(high, low);
    _mm_storeu_si128((void *)&ids[0], _mm256_castsi256_si128(even));
    _mm_storeu_si128((void *)&ids[1], _mm256_castsi256_si128(odd));
    _mm_storeu_si128((void *)&ids[2], _mm256_extracti128_si256(even, 1));
    _mm_storeu_si128((void *)&ids[3], _mm256_extracti128_si256(odd, 1));
}

static bool has_registers(void)
{
    return __builtin_cpu_supports("avx512vl");
}

#else

static void side_by_side(const struct hash_side *keys, const struct bytes *const *data, struct key_id *ids)
{
    one_by_one(keys, data, HASH_SIDE_MAX, ids);
}

static bool has_registers(void)
{
    return false;
}

#endif

void hash_side(const struct hash_side *keys, const struct bytes *const data[HASH_SIDE_MAX], size_t count,
               struct key_id ids[HASH_SIDE_MAX])
{
    assert(count >= 1 && count <= HASH_SIDE_MAX);
    if (count > 1 && has_registers())
        side_by_side(keys, data, ids);
    else
        one_by_one(keys, data, count, ids);
}
