#include "edge/store/seed_file.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* The form of the file: text of people, the line for a config, and the fingerprint. */
#define FORM                                                                                                       \
    "# What hashes of keys come from, kept by headgated. Whoever has it can choose names whose keys crowd.\n"      \
    "hash_seed: %s\n"                                                                                              \
    "# fingerprint %016" PRIx64 "\n"

static void make_text(const struct hash_key *key, char text[SECRET_FILE_BYTES])
{
    char word[HASH_KEY_TEXT_BYTES];
    hash_key_text(key, word);
    (void)snprintf(text, SECRET_FILE_BYTES, FORM, word, hash_key_fingerprint(key));
    sodium_memzero(word, sizeof word);
}

/* The one key whose file this text is, to the last byte. */
static bool take(const char *text, struct hash_key *key)
{
    static const char name[] = "\nhash_seed: ";
    char whole[SECRET_FILE_BYTES], word[HASH_KEY_TEXT_BYTES] = "";
    const char *at = strstr(text, name);
    if (at != NULL)
        (void)snprintf(word, sizeof word, "%s", at + sizeof name - 1);
    bool good = hash_key_from_text(key, word);
    if (good)
        make_text(key, whole);
    good = good && strcmp(whole, text) == 0;
    sodium_memzero(word, sizeof word);
    sodium_memzero(whole, sizeof whole);
    return good;
}

enum secret_file seed_file_read(const char *directory, struct hash_key *key, char flaw[STATE_FLAW_BYTES])
{
    char text[SECRET_FILE_BYTES];
    const enum secret_file outcome = secret_file_read(directory, SEED_FILE_NAME, text, flaw);
    if (outcome == SECRET_FILE_READ && !take(text, key))
        return secret_file_refuse(text, flaw);
    sodium_memzero(text, sizeof text);
    return outcome;
}

bool seed_file_write(const char *directory, const struct hash_key *key, char flaw[STATE_FLAW_BYTES])
{
    struct hash_key before;
    char text[SECRET_FILE_BYTES];
    if (seed_file_read(directory, &before, flaw) == SECRET_FILE_READ) {
        make_text(&before, text);
        sodium_memzero(&before, sizeof before);
        if (!secret_file_write(directory, SEED_FILE_NAME ".former", text, flaw))
            return false;
    }
    make_text(key, text);
    return secret_file_write(directory, SEED_FILE_NAME, text, flaw);
}
