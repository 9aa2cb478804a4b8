/*
 * The file that keeps what hashes of keys come from: written, read, torn at each byte, and in the way of others.
 */
#include "edge/store/seed_file.h"

#include "tests/lib/tap.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/headgate-seed-XXXXXX";
static char flaw[STATE_FLAW_BYTES];

static const char *at(const char *suffix)
{
    static char path[2][128];
    static unsigned turn;
    char *out = path[turn++ % 2];
    (void)snprintf(out, sizeof path[0], "%s/" SEED_FILE_NAME "%s", directory, suffix);
    return out;
}

static size_t read_text(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(text, 1, room, file) : 0;
    if (file)
        (void)fclose(file);
    return size;
}

static void write_text(const char *text, size_t size)
{
    FILE *file = fopen(at(""), "wb");
    assert(file);
    size_t written = fwrite(text, 1, size, file);
    assert(written == size);
    (void)fclose(file);
}

static bool reads(const struct hash_key *expected)
{
    struct hash_key key;
    return seed_file_read(directory, &key, flaw) == SECRET_FILE_READ && memcmp(&key, expected, sizeof key) == 0;
}

static void damage(const struct hash_key *key)
{
    char text[600], changed[600];
    struct hash_key ignored;
    size_t size = read_text(at(""), text, sizeof text), wrong = 0;
    for (size_t i = 0; i < size; i++) {
        write_text(text, i);
        wrong += seed_file_read(directory, &ignored, flaw) == SECRET_FILE_WRONG;
        memcpy(changed, text, size);
        changed[i] ^= 1;
        write_text(changed, size);
        wrong += seed_file_read(directory, &ignored, flaw) == SECRET_FILE_WRONG;
    }
    OK(size > 100 && wrong == 2 * size, "a file that ends early or has a wrong byte is none: %zu of %zu", wrong,
       2 * size);
    memset(changed, 'x', sizeof changed);
    write_text(changed, sizeof changed);
    OK(seed_file_read(directory, &ignored, flaw) == SECRET_FILE_WRONG, "nor is another file");
    write_text(text, size);
    OK(reads(key), "the whole one is");
}

int main(void)
{
    struct hash_key one, two, key;
    struct stat status;
    char *made = mkdtemp(directory);
    assert(made);
    hash_key_from_secret(&one, "one", 3);
    hash_key_from_secret(&two, "two", 3);
    OK(seed_file_read(directory, &key, flaw) == SECRET_FILE_NONE, "there is none");
    OK(seed_file_write(directory, &one, flaw) && reads(&one), "what is written is read");
    OK(stat(at(""), &status) == 0 && (status.st_mode & 07777) == 0600, "by its owner alone");
    OK(access(at(".former"), F_OK) != 0 && access(at(".new"), F_OK) != 0, "and no other file is left");
    OK(seed_file_write(directory, &two, flaw) && reads(&two), "another one");
    int moved = rename(at(".former"), at(""));
    OK(moved == 0 && reads(&one), "keeps what was there before it");
    damage(&one);
    int linked = symlink("elsewhere", at(".link"));
    moved = rename(at(".link"), at(""));
    OK(linked == 0 && moved == 0 && seed_file_read(directory, &key, flaw) == SECRET_FILE_WRONG,
       "a link is not followed");
    OK_STRING(flaw, "headgate.seed is a symbolic link", "which is said");
    (void)unlink(at(""));
    (void)unlink(at(".former"));
    (void)rmdir(directory);
    OK(!seed_file_write(directory, &one, flaw) && strncmp(flaw, "it cannot be written: ", 22) == 0,
       "no directory: %s", flaw);
    return tap_done();
}
