#include "edge/store/key_file.h"

#include "base/hex.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = STATE_DIR_BYTES + 32, TEXT_BYTES = 512, KEY_MODE = 0600 };

/* The form of the file: text of people, the seed, and the public half. */
#define FORM                                                                                                       \
    "# With this headgated signs what it says of itself to its peers. Give it to nobody, and to no other "         \
    "daemon.\n"                                                                                                    \
    "seed: %s\n"                                                                                                   \
    "# fingerprint %s\n"

static void make_text(const struct member_key *member_key, char text[TEXT_BYTES])
{
    char seed[2 * MEMBER_SEED_BYTES + 1], key[2 * NODE_KEY_BYTES + 1];
    hex_write(member_key->seed, MEMBER_SEED_BYTES, seed);
    hex_write(member_key->key, NODE_KEY_BYTES, key);
    (void)snprintf(text, TEXT_BYTES, FORM, seed, key);
    sodium_memzero(seed, sizeof seed);
}

static const char *path_of(const char *directory, const char *suffix, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/" KEY_FILE_NAME "%s", directory, suffix);
    return path;
}

static void fail(char flaw[STATE_FLAW_BYTES], const char *what)
{
    (void)snprintf(flaw, STATE_FLAW_BYTES, "%s: %s", what, strerror(errno));
}

/* The one key whose file this text is, to the last byte. */
static bool take(const char *text, struct member_key *member_key)
{
    static const char name[] = "\nseed: ";
    char whole[TEXT_BYTES];
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

enum key_file key_file_read(const char *directory, struct member_key *member_key, char flaw[STATE_FLAW_BYTES])
{
    char path[PATH_BYTES], text[TEXT_BYTES] = "";
    bool closed;
    if (!state_file_prepare(path_of(directory, "", path), flaw, &closed))
        return KEY_FILE_WRONG;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && errno == ENOENT)
        return KEY_FILE_NONE;
    ssize_t size = file >= 0 ? pread(file, text, sizeof text - 1, 0) : -1;
    if (size < 0)
        fail(flaw, "it cannot be read");
    if (file >= 0)
        (void)close(file);
    if (size < 0)
        return KEY_FILE_WRONG;
    text[size] = '\0';
    const bool good = take(text, member_key);
    sodium_memzero(text, sizeof text);
    if (!good)
        (void)snprintf(flaw, STATE_FLAW_BYTES, "it is not as headgated wrote it");
    return good ? KEY_FILE_READ : KEY_FILE_WRONG;
}

bool key_file_write(const char *directory, const struct member_key *member_key, char flaw[STATE_FLAW_BYTES])
{
    char fresh[PATH_BYTES], path[PATH_BYTES], text[TEXT_BYTES];
    make_text(member_key, text);
    const size_t size = strlen(text);
    (void)unlink(path_of(directory, ".new", fresh));
    int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, KEY_MODE);
    const bool good = file >= 0 && write(file, text, size) == (ssize_t)size && fsync(file) == 0 &&
                      rename(fresh, path_of(directory, "", path)) == 0;
    if (!good)
        fail(flaw, "it cannot be written");
    if (file >= 0)
        (void)close(file);
    sodium_memzero(text, sizeof text);
    int place = good ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (place >= 0) {
        (void)fsync(place); /* the name */
        (void)close(place);
    }
    return good;
}
