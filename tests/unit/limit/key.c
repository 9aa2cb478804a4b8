#include "limit/key.h"
#include "base/random.h"
#include "tests/lib/tap.h"

static struct hash_key key;

static struct key_id id(uint32_t limit, const char *dimension, const char *value)
{
    return key_id_of(&key, limit, bytes_of(dimension), bytes_of(value));
}

int main(void)
{
    hash_key_from_secret(&key, "secret", 6);
    struct key_id alice = id(1, "user", "alice");
    OK(key_id_equal(alice, id(1, "user", "alice")), "the same name, the same id");
    OK(!key_id_equal(alice, id(2, "user", "alice")), "another limit, another id");
    OK(!key_id_equal(alice, id(1, "ip", "alice")), "another dimension, another id");
    OK(!key_id_equal(alice, id(1, "user", "bob")), "another value, another id");
    OK(!key_id_equal(id(1, "user", "alice"), id(1, "use", "ralice")),
       "no letter moves between dimension and value");
    OK(!key_id_equal(id(1, "", "a"), id(1, "a", "")), "... nor between nothing and something");
    OK(!key_id_equal(id(0x0100, "", "a"), id(1, "", "a")), "every byte of the limit counts");
    struct bytes nothing = {NULL, 0};
    OK(key_id_equal(key_id_of(&key, 1, nothing, nothing), id(1, "", "")), "nothing is the same as an empty text");
    struct hash_key other;
    hash_key_from_secret(&other, "another", 7);
    OK(!key_id_equal(alice, key_id_of(&other, 1, bytes_of("user"), bytes_of("alice"))),
       "another secret, another id");

    char longest[KEY_VALUE_MAX_BYTES];
    memset(longest, 'x', sizeof longest);
    struct bytes dimension = {longest, KEY_DIMENSION_MAX_BYTES}, value = {longest, KEY_VALUE_MAX_BYTES};
    struct bytes shorter = {longest, KEY_VALUE_MAX_BYTES - 1};
    OK(!key_id_equal(key_id_of(&key, 1, dimension, value), key_id_of(&key, 1, dimension, shorter)),
       "the longest names count to the last byte");

    enum { NAMES = 20000, BINS = 64 };
    unsigned bins[BINS] = {0}, uneven = 0;
    for (int i = 0; i < NAMES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "user%d", i);
        bins[id(1, "user", name).high >> 58]++;
    }
    for (int i = 0; i < BINS; i++)
        uneven += bins[i] < NAMES / BINS * 3 / 4 || bins[i] > NAMES / BINS * 5 / 4;
    OK_U64(uneven, 0, "similar names spread evenly over the table");
    return tap_done();
}
