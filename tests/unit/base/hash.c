#include "base/hash.h"
#include "tests/lib/tap.h"

/* SipHash-2-4-128 of 00 01 .. n-1 under the key 00 01 .. 0f: the reference vectors, as two little-endian words. */
static void reference_vectors(void)
{
    static const struct {
        size_t size;
        uint8_t digest[16];
    } vectors[] = {
        {0, {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93}},
        {1, {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45}},
        {2, {0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6, 0x0a, 0xff, 0xe4}},
    };
    struct hash_key key;
    uint8_t data[16];
    for (uint8_t i = 0; i < 16; i++)
        key.bytes[i] = data[i] = i;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct key_id expected = {0, 0}, id = hash_128(&key, data, vectors[i].size);
        for (unsigned byte = 0; byte < 8; byte++) {
            expected.high |= (uint64_t)vectors[i].digest[byte] << 8 * byte;
            expected.low |= (uint64_t)vectors[i].digest[8 + byte] << 8 * byte;
        }
        OK(key_id_equal(id, expected), "the reference's hash of %zu bytes", vectors[i].size);
        OK_U64(hash_64(&key, data, vectors[i].size), id.high, "... whose first half is the short hash");
    }
}

static void secrets(void)
{
    struct hash_key a, b, none;
    hash_key_from_secret(&a, "secret", 6);
    hash_key_from_secret(&b, "secreT", 6);
    hash_key_from_secret(&none, NULL, 0);
    OK(memcmp(&a, &b, sizeof a) != 0, "another secret, another key");
    OK(memcmp(&a, &none, sizeof a) != 0, "no secret is a secret as well");
    struct hash_key again;
    hash_key_from_secret(&again, "secret", 6);
    OK(memcmp(&a, &again, sizeof a) == 0, "the same secret, the same key");
    static const uint8_t empty[16] = {0xca, 0xe6, 0x69, 0x41, 0xd9, 0xef, 0xbd, 0x40,
                                      0x4e, 0x4d, 0x88, 0x75, 0x8e, 0xa6, 0x76, 0x70};
    OK(memcmp(&none, empty, sizeof empty) == 0, "the key of no secret is BLAKE2b-128 of nothing, at every peer");
    struct key_id x = hash_128(&a, "alice", 5), y = hash_128(&b, "alice", 5);
    OK(!key_id_equal(x, y), "another key, another id");
}

/* What an operator copies from one config into another. */
static void texts(void)
{
    struct hash_key key, read = {{0}};
    char text[HASH_KEY_TEXT_BYTES];
    hash_key_from_secret(&key, "secret", 6);
    hash_key_text(&key, text);
    OK(strlen(text) == 36 && strncmp(text, "key:", 4) == 0, "a key as a text");
    OK(hash_key_from_text(&read, text) && memcmp(&read, &key, sizeof key) == 0, "is read again");
    OK_U64(hash_key_fingerprint(&read), hash_key_fingerprint(&key), "with its fingerprint");
    hash_key_from_secret(&read, "another", 7);
    OK(hash_key_fingerprint(&read) != hash_key_fingerprint(&key), "which another key has not");
    static const char *const wrong[] = {"",
                                        "key:",
                                        "key:0123456789abcdef0123456789abcde",
                                        "key:0123456789abcdef0123456789abcdef0",
                                        "key:0123456789abcdef0123456789abcdeg",
                                        "Key:0123456789abcdef0123456789abcdef",
                                        " key:0123456789abcdef0123456789abcdef"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        OK(!hash_key_from_text(&read, wrong[i]), "no key: '%s'", wrong[i]);
}

int main(void)
{
    reference_vectors();
    secrets();
    texts();
    return tap_done();
}
