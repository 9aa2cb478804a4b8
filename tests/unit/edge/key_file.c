/*
 * The key of a daemon: the file that keeps it, written, read and damaged, and what is signed with it, next to a vector
 * of RFC 8032.
 */
#include "edge/store/key_file.h"

#include "base/hex.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/headgate-key-XXXXXX";
static char path[128], flaw[STATE_FLAW_BYTES];

static bool is_hex(const uint8_t *bytes, size_t size, const char *expected)
{
    char text[2 * NODE_PROOF_BYTES + 1];
    hex_write(bytes, size, text);
    return strcmp(text, expected) == 0;
}

/* Section 7.1, test 1: the text is empty. */
static void known_vector(void)
{
    static const char seed[] = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                      key[] = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
                      expected[] =
                          "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
                          "c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
    uint8_t bytes[MEMBER_SEED_BYTES], proof[NODE_PROOF_BYTES];
    struct member_key member_key;
    struct node_signing signing = {0};
    bool read = hex_read(bytes_of(seed), bytes, sizeof bytes);
    assert(read);
    member_key_from_seed(&member_key, bytes);
    OK(is_hex(member_key.key, sizeof member_key.key, key), "the public half");
    member_key_signs(&member_key, &signing);
    signing.sign(signing.context, bytes_of(""), proof);
    OK(is_hex(proof, sizeof proof, expected), "a signature");
    OK(signing.check(member_key.key, bytes_of(""), proof), "it is right");
}

static void wrong_ones(const struct member_key *one, const struct member_key *other)
{
    const struct bytes text = bytes_of("what is said");
    uint8_t proof[NODE_PROOF_BYTES];
    struct node_signing signing = {0};
    unsigned wrong = 0;
    member_key_signs(one, &signing);
    signing.sign(signing.context, text, proof);
    OK(signing.check(signing.key, text, proof), "what was signed is right");
    OK(!signing.check(signing.key, bytes_of("what is sold"), proof), "another text is not");
    OK(!signing.check(other->key, text, proof), "nor is another key");
    for (unsigned bit = 0; bit < 8 * NODE_PROOF_BYTES; bit++) {
        proof[bit / 8] ^= (uint8_t)(1U << bit % 8);
        wrong += !signing.check(signing.key, text, proof);
        proof[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    OK(wrong == 8 * NODE_PROOF_BYTES, "nor a signature with one bit changed: %u", wrong);
}

static void put(const char *text, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert(file);
    size_t written = fwrite(text, 1, size, file);
    assert(written == size);
    (void)fclose(file);
}

/* A wrong signature of the former key is for who knows the text: persist_key.c. */
static bool is_noticed(const struct member_key *whole)
{
    struct member_key read;
    return key_file_read(directory, &read, flaw) == SECRET_FILE_WRONG ||
           memcmp(&read.handover, &whole->handover, sizeof read.handover) != 0;
}

static void damage(const struct member_key *whole)
{
    char text[SECRET_FILE_BYTES];
    struct member_key ignored;
    FILE *file = fopen(path, "rb");
    assert(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    size_t wrong = 0;
    (void)fclose(file);
    for (size_t i = 0; i < size; i++) {
        put(text, i);
        wrong += is_noticed(whole);
        text[i] ^= 1;
        put(text, size);
        wrong += is_noticed(whole);
        text[i] ^= 1;
    }
    OK(size > 100 && wrong == 2 * size, "a file that ends early or has a wrong byte is none: %zu of %zu", wrong,
       2 * size);
    text[size] = '\0';
    put(text, size + 1);
    OK(key_file_read(directory, &ignored, flaw) == SECRET_FILE_WRONG, "nor is one with a byte too many");
    OK_STRING(flaw, "it is not as headgated wrote it", "which is said");
}

/* The key that follows takes the place of the one before. */
static void follow(const struct member_key *former)
{
    const struct bytes text = bytes_of("it follows");
    struct member_key next, read;
    struct node_signing signing = {0};
    member_key_draw(&next);
    member_key_follow(&next, former, text);
    member_key_signs(&next, &signing);
    OK(signing.handover.is_there && memcmp(signing.handover.former, former->key, NODE_KEY_BYTES) == 0 &&
           signing.check(former->key, text, signing.handover.proof),
       "the key before has signed which one follows");
    OK(key_file_write(directory, &next, flaw) && key_file_read(directory, &read, flaw) == SECRET_FILE_READ &&
           memcmp(&read, &next, sizeof next) == 0,
       "the file has that, too");
    damage(&next);
}

int main(void)
{
    struct member_key one, other, read;
    struct stat status;
    char *made = mkdtemp(directory);
    const int ready = sodium_init();
    assert(made && ready >= 0);
    (void)snprintf(path, sizeof path, "%s/" KEY_FILE_NAME, directory);
    known_vector();
    member_key_draw(&one);
    member_key_draw(&other);
    OK(memcmp(one.key, other.key, sizeof one.key) != 0, "each key is drawn");
    wrong_ones(&one, &other);
    OK(key_file_read(directory, &read, flaw) == SECRET_FILE_NONE, "there is no file");
    OK(key_file_write(directory, &one, flaw), "it is written");
    OK(stat(path, &status) == 0 && (status.st_mode & 07777) == 0600, "for its owner alone");
    OK(key_file_read(directory, &read, flaw) == SECRET_FILE_READ && memcmp(&read, &one, sizeof one) == 0,
       "and read again");
    damage(&one);
    follow(&one);
    (void)unlink(path);
    (void)rmdir(directory);
    OK(!key_file_write(directory, &one, flaw) && strncmp(flaw, "it cannot be written: ", 22) == 0,
       "no directory: %s", flaw);
    return tap_done();
}
