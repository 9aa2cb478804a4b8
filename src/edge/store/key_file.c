#include "edge/store/key_file.h"

#include "base/hex.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* The form of the file: text of people, the seed, and the public half. */
#define FORM                                                                                                       \
    "# With this headgated signs what it says of itself to its peers. Give it to nobody, and to no other "         \
    "daemon.\n"                                                                                                    \
    "seed: %s\n"                                                                                                   \
    "# fingerprint %s\n"

static void make_text(const struct member_key *member_key, char text[SECRET_FILE_BYTES])
{
    char seed[2 * MEMBER_SEED_BYTES + 1], key[2 * NODE_KEY_BYTES + 1];
    hex_write(member_key->seed, MEMBER_SEED_BYTES, seed);
    hex_write(member_key->key, NODE_KEY_BYTES, key);
    (void)snprintf(text, SECRET_FILE_BYTES, FORM, seed, key);
    sodium_memzero(seed, sizeof seed);
}

/* The one key whose file this text is, to the last byte. */
static bool take(const char *text, struct member_key *member_key)
{
    static const char name[] = "\nseed: ";
    char whole[SECRET_FILE_BYTES];
    uint8_t seed[MEMBER_SEED_BYTES];
    const char *at = strstr(text, name);
    bool good = at != NULL && strlen(at) >= sizeof name - 1 + 2 * MEMBER_SEED_BYTES &&
                hex_read((struct bytes){at + sizeof name - 1, 2 * MEMBER_SEED_BYTES}, seed, MEMBER_SEED_BYTES);
    if (good) {
        member_key_from_seed(member_key, seed);
        make_text(member_key, whole);
        good = strcmp(whole, text) == 0;
    }
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(whole, sizeof whole);
    return good;
}

enum secret_file key_file_read(const char *directory, struct member_key *member_key, char flaw[STATE_FLAW_BYTES])
{
    char text[SECRET_FILE_BYTES];
    const enum secret_file outcome = secret_file_read(directory, KEY_FILE_NAME, text, flaw);
    if (outcome == SECRET_FILE_READ && !take(text, member_key))
        return secret_file_refuse(text, flaw);
    sodium_memzero(text, sizeof text);
    return outcome;
}

bool key_file_write(const char *directory, const struct member_key *member_key, char flaw[STATE_FLAW_BYTES])
{
    char text[SECRET_FILE_BYTES];
    make_text(member_key, text);
    return secret_file_write(directory, KEY_FILE_NAME, text, flaw);
}
