#include "edge/store/key_file.h"

#include "base/hex.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* The form of the file: text of people, the seed, the key that it follows if there is one, and the public half. */
#define FORM                                                                                                       \
    "# With this headgated signs what it says of itself to its peers. Give it to nobody, and to no other "         \
    "daemon.\n"                                                                                                    \
    "seed: %s\n"                                                                                                   \
    "%s"                                                                                                           \
    "# fingerprint %s\n"
#define FOLLOWS                                                                                                    \
    "former: %s\n"                                                                                                 \
    "handover: %s\n"

enum {
    PROOF_TEXT_BYTES = 2 * NODE_PROOF_BYTES + 1,
    KEY_TEXT_BYTES = 2 * NODE_KEY_BYTES + 1,
    FOLLOWS_BYTES = sizeof FOLLOWS + KEY_TEXT_BYTES + PROOF_TEXT_BYTES,
};

static void make_text(const struct member_key *member_key, char text[SECRET_FILE_BYTES])
{
    const struct node_handover *handover = &member_key->handover;
    char seed[2 * MEMBER_SEED_BYTES + 1], key[KEY_TEXT_BYTES], proof[PROOF_TEXT_BYTES], follows[FOLLOWS_BYTES] = "";
    if (handover->is_there) {
        hex_write(handover->former, NODE_KEY_BYTES, key);
        hex_write(handover->proof, NODE_PROOF_BYTES, proof);
        (void)snprintf(follows, sizeof follows, FOLLOWS, key, proof);
    }
    hex_write(member_key->seed, MEMBER_SEED_BYTES, seed);
    hex_write(member_key->key, NODE_KEY_BYTES, key);
    (void)snprintf(text, SECRET_FILE_BYTES, FORM, seed, follows, key);
    sodium_memzero(seed, sizeof seed);
}

/* False: the line is not there, or is of another form. */
static bool take_line(const char *text, const char *name, uint8_t *bytes, size_t size)
{
    const char *at = strstr(text, name);
    return at != NULL && strlen(at) >= strlen(name) + 2 * size &&
           hex_read((struct bytes){at + strlen(name), 2 * size}, bytes, size);
}

/* The one key whose file this text is, to the last byte. */
static bool take(const char *text, struct member_key *member_key)
{
    char whole[SECRET_FILE_BYTES];
    uint8_t seed[MEMBER_SEED_BYTES];
    bool good = take_line(text, "\nseed: ", seed, MEMBER_SEED_BYTES);
    if (good) {
        struct node_handover *handover = &member_key->handover;
        member_key_from_seed(member_key, seed);
        handover->is_there = take_line(text, "\nformer: ", handover->former, NODE_KEY_BYTES) &&
                             take_line(text, "\nhandover: ", handover->proof, NODE_PROOF_BYTES);
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
