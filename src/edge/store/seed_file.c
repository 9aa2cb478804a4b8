#include "edge/store/seed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = STATE_DIR_BYTES + 32, TEXT_BYTES = 512, SEED_MODE = 0600 };

/* The form of the file: text of people, the line for a config, and the fingerprint. */
#define FORM                                                                                                       \
    "# What hashes of keys come from, kept by headgated. Whoever has it can choose names whose keys crowd.\n"      \
    "hash_seed: %s\n"                                                                                              \
    "# fingerprint %016" PRIx64 "\n"

static void make_text(const struct hash_key *key, char text[TEXT_BYTES])
{
    char word[HASH_KEY_TEXT_BYTES];
    hash_key_text(key, word);
    (void)snprintf(text, TEXT_BYTES, FORM, word, hash_key_fingerprint(key));
    sodium_memzero(word, sizeof word);
}

static const char *path_of(const char *directory, const char *suffix, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/" SEED_FILE_NAME "%s", directory, suffix);
    return path;
}

static void fail(char flaw[STATE_FLAW_BYTES], const char *what)
{
    (void)snprintf(flaw, STATE_FLAW_BYTES, "%s: %s", what, strerror(errno));
}

/* The one key whose file this text is, to the last byte. */
static bool take(char *text, struct hash_key *key)
{
    static const char name[] = "\nhash_seed: ";
    char whole[TEXT_BYTES], word[HASH_KEY_TEXT_BYTES] = "";
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

enum seed_file seed_file_read(const char *directory, struct hash_key *key, char flaw[STATE_FLAW_BYTES])
{
    char path[PATH_BYTES], text[TEXT_BYTES] = "";
    bool closed;
    if (!state_file_prepare(path_of(directory, "", path), flaw, &closed))
        return SEED_FILE_WRONG;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && errno == ENOENT)
        return SEED_FILE_NONE;
    ssize_t size = file >= 0 ? pread(file, text, sizeof text - 1, 0) : -1;
    if (size < 0)
        fail(flaw, "it cannot be read");
    if (file >= 0)
        (void)close(file);
    if (size < 0)
        return SEED_FILE_WRONG;
    text[size] = '\0';
    const bool good = take(text, key);
    sodium_memzero(text, sizeof text);
    if (!good)
        (void)snprintf(flaw, STATE_FLAW_BYTES, "it is not as headgated wrote it");
    return good ? SEED_FILE_READ : SEED_FILE_WRONG;
}

/* A crash leaves the file that was there or the new one, each whole. */
static bool put(const char *directory, const char *suffix, const struct hash_key *key, char flaw[STATE_FLAW_BYTES])
{
    char fresh[PATH_BYTES], path[PATH_BYTES], text[TEXT_BYTES];
    make_text(key, text);
    const size_t size = strlen(text);
    (void)unlink(path_of(directory, ".new", fresh));
    int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, SEED_MODE);
    const bool good = file >= 0 && write(file, text, size) == (ssize_t)size && fsync(file) == 0 &&
                      rename(fresh, path_of(directory, suffix, path)) == 0;
    if (!good)
        fail(flaw, "it cannot be written");
    if (file >= 0)
        (void)close(file);
    sodium_memzero(text, sizeof text);
    return good;
}

bool seed_file_write(const char *directory, const struct hash_key *key, char flaw[STATE_FLAW_BYTES])
{
    struct hash_key before;
    if (seed_file_read(directory, &before, flaw) == SEED_FILE_READ && !put(directory, ".former", &before, flaw))
        return false;
    sodium_memzero(&before, sizeof before);
    if (!put(directory, "", key, flaw))
        return false;
    int place = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place >= 0) {
        (void)fsync(place); /* the name */
        (void)close(place);
    }
    return true;
}
