#include "edge/process/secret_checks.h"

#include "edge/process/background.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

_Static_assert((int)SECRET_HASH_BYTES == (int)crypto_pwhash_STRBYTES, "of libsodium's texts");

enum {
    DIGEST_BYTES = 32,
    MEMORY_MAX_KIB = 256 << 10,
    PASSES_MAX = 16,
};

enum check_state { CHECK_FREE, CHECK_WAITING, CHECK_RIGHT, CHECK_WRONG };

struct check {
    enum check_state state;
    uint64_t asked;                     /* when, by the count of all questions */
    unsigned char digest[DIGEST_BYTES]; /* of hash and secret */
    char hash[SECRET_HASH_BYTES];
    char secret[SECRET_BYTES_MAX]; /* while it waits */
    size_t secret_size;
};

struct secret_checks {
    unsigned char key[crypto_generichash_KEYBYTES];
    uv_mutex_t mutex; /* covers the rest */
    uv_cond_t wanted;
    uv_thread_t thread;
    bool has_thread, ends;
    uint64_t asked;
    struct check check[SECRET_CHECKS_MAX];
};

/* What stands before each number of a hash, and behind the last one. */
#define MEMORY_BEFORE "$argon2id$v=19$m="
#define PASSES_BEFORE ",t="
#define LANES_BEFORE ",p=1$"

/* Takes `before` and a number behind it from the front of *text. */
static bool take_number(const char **text, const char *before, unsigned long max, unsigned long *number)
{
    char *end;
    if (strncmp(*text, before, strlen(before)) != 0)
        return false;
    *number = strtoul(*text + strlen(before), &end, 10);
    *text = end;
    return *number > 0 && *number <= max;
}

/* ---- the thread ---- */

/* The check that waits for longest. */
static struct check *next_check(struct secret_checks *checks)
{
    struct check *next = NULL;
    for (size_t i = 0; i < SECRET_CHECKS_MAX; i++) {
        struct check *check = &checks->check[i];
        if (check->state == CHECK_WAITING && (next == NULL || check->asked < next->asked))
            next = check;
    }
    return next;
}

/* Base64 up to a dollar or the end; the number of bytes, 0: it is none, or too long. */
static size_t decode(const char **at, unsigned char *bytes, size_t room)
{
    size_t size = 0;
    const size_t text_size = strcspn(*at, "$");
    if (sodium_base642bin(bytes, room, *at, text_size, NULL, &size, NULL,
                          sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0)
        size = 0;
    *at += text_size;
    return size;
}

/*
 * libsodium's own function says the same of a wrong secret as of too little memory. So what the hash is made of is
 * taken apart, and made anew. A hash whose salt is of another size than libsodium's is left to that function.
 */
static enum check_state verify(const struct check *check)
{
    unsigned char salt[crypto_pwhash_SALTBYTES], known[SECRET_HASH_BYTES], made[SECRET_HASH_BYTES];
    unsigned long memory_kib, passes;
    const char *at = check->hash;
    const bool has_numbers = take_number(&at, MEMORY_BEFORE, MEMORY_MAX_KIB, &memory_kib) &&
                             take_number(&at, PASSES_BEFORE, PASSES_MAX, &passes);
    assert(has_numbers &&
           strncmp(at, LANES_BEFORE, strlen(LANES_BEFORE)) == 0); /* as secret_hash_is_good has seen */
    at += strlen(LANES_BEFORE);
    const size_t salt_size = decode(&at, salt, sizeof salt);
    at += *at == '$';
    const size_t size = decode(&at, known, sizeof known);
    if (salt_size != sizeof salt || size < crypto_pwhash_BYTES_MIN)
        return crypto_pwhash_str_verify(check->hash, check->secret, check->secret_size) == 0 ? CHECK_RIGHT
                                                                                             : CHECK_WRONG;
    if (crypto_pwhash(made, size, check->secret, check->secret_size, salt, passes, (size_t)memory_kib << 10,
                      crypto_pwhash_ALG_ARGON2ID13) != 0)
        return CHECK_FREE; /* whoever asks again has it tried again */
    return sodium_memcmp(made, known, size) == 0 ? CHECK_RIGHT : CHECK_WRONG;
}

/* A check that waits is nobody else's to change, so that it is read without the mutex. */
static void work(void *context)
{
    struct secret_checks *checks = context;
    uv_mutex_lock(&checks->mutex);
    while (!checks->ends) {
        struct check *check = next_check(checks);
        if (check == NULL) {
            uv_cond_wait(&checks->wanted, &checks->mutex);
            continue;
        }
        uv_mutex_unlock(&checks->mutex);
        const enum check_state state = verify(check);
        uv_mutex_lock(&checks->mutex);
        sodium_memzero(check->secret, sizeof check->secret);
        check->state = state;
    }
    uv_mutex_unlock(&checks->mutex);
}

static bool start(struct secret_checks *checks)
{
    if (checks->has_thread)
        return true;
    const bool is_background = background_begin();
    checks->has_thread = uv_thread_create(&checks->thread, work, checks) == 0;
    if (is_background)
        background_end();
    return checks->has_thread;
}

struct secret_checks *secret_checks_create(void)
{
    struct secret_checks *checks = calloc(1, sizeof *checks);
    if (checks == NULL)
        return NULL;
    if (uv_mutex_init(&checks->mutex) != 0 || uv_cond_init(&checks->wanted) != 0)
        abort(); /* fails only for want of memory, and these need none */
    randombytes_buf(checks->key, sizeof checks->key);
    return checks;
}

void secret_checks_destroy(struct secret_checks **checks)
{
    if (*checks == NULL)
        return;
    uv_mutex_lock(&(*checks)->mutex);
    (*checks)->ends = true;
    uv_cond_signal(&(*checks)->wanted);
    uv_mutex_unlock(&(*checks)->mutex);
    if ((*checks)->has_thread)
        (void)uv_thread_join(&(*checks)->thread);
    uv_cond_destroy(&(*checks)->wanted);
    uv_mutex_destroy(&(*checks)->mutex);
    sodium_memzero(*checks, sizeof **checks);
    free(*checks);
    *checks = NULL;
}

/* ---- questions ---- */

static void digest_of(const struct secret_checks *checks, const char *hash, struct bytes secret,
                      unsigned char digest[DIGEST_BYTES])
{
    crypto_generichash_state state;
    (void)crypto_generichash_init(&state, checks->key, sizeof checks->key, DIGEST_BYTES);
    (void)crypto_generichash_update(&state, (const unsigned char *)hash, strlen(hash) + 1);
    (void)crypto_generichash_update(&state, (const unsigned char *)secret.data, secret.size);
    (void)crypto_generichash_final(&state, digest, DIGEST_BYTES);
}

/*
 * A place for another check: a free one, or that of the outcome which nobody asked for longest, wrong ones first.
 * NULL: as many wait as may.
 */
static struct check *place(struct secret_checks *checks)
{
    struct check *best = NULL;
    uint32_t waiting = 0;
    for (size_t i = 0; i < SECRET_CHECKS_MAX; i++) {
        struct check *check = &checks->check[i];
        if (check->state == CHECK_WAITING) {
            waiting++;
            continue;
        }
        const bool is_less = best == NULL || (check->state != CHECK_RIGHT) > (best->state != CHECK_RIGHT);
        if (is_less ||
            ((check->state != CHECK_RIGHT) == (best->state != CHECK_RIGHT) && check->asked < best->asked))
            best = check;
    }
    return waiting < SECRET_CHECKS_WAITING_MAX ? best : NULL;
}

static enum secret_outcome begin(struct secret_checks *checks, const char *hash, struct bytes secret,
                                 const unsigned char digest[DIGEST_BYTES])
{
    struct check *check = place(checks);
    if (check == NULL || !start(checks))
        return SECRET_WAITS;
    check->state = CHECK_WAITING;
    check->asked = checks->asked;
    memcpy(check->digest, digest, DIGEST_BYTES);
    (void)snprintf(check->hash, sizeof check->hash, "%s", hash);
    memcpy(check->secret, secret.data, secret.size);
    check->secret_size = secret.size;
    uv_cond_signal(&checks->wanted);
    return SECRET_WAITS;
}

static enum secret_outcome find(struct secret_checks *checks, const char *hash, struct bytes secret,
                                const unsigned char digest[DIGEST_BYTES])
{
    bool is_known = false; /* another secret is the right one */
    for (size_t i = 0; i < SECRET_CHECKS_MAX; i++) {
        struct check *check = &checks->check[i];
        if (check->state == CHECK_FREE || strcmp(check->hash, hash) != 0)
            continue;
        is_known |= check->state == CHECK_RIGHT;
        if (sodium_memcmp(check->digest, digest, DIGEST_BYTES) != 0)
            continue;
        if (check->state == CHECK_WAITING)
            return SECRET_WAITS;
        check->asked = checks->asked;
        return check->state == CHECK_RIGHT ? SECRET_RIGHT : SECRET_WRONG;
    }
    return is_known ? SECRET_WRONG : begin(checks, hash, secret, digest);
}

enum secret_outcome secret_check(struct secret_checks *checks, const char *hash, struct bytes secret)
{
    unsigned char digest[DIGEST_BYTES];
    if (secret.size == 0 || secret.size > SECRET_BYTES_MAX)
        return SECRET_WRONG;
    digest_of(checks, hash, secret, digest);
    uv_mutex_lock(&checks->mutex);
    checks->asked++;
    const enum secret_outcome outcome = find(checks, hash, secret, digest);
    uv_mutex_unlock(&checks->mutex);
    return outcome;
}

/* ---- hashes ---- */

bool secret_hash_is_good(const char *hash)
{
    unsigned long number;
    const char *at = hash;
    return strlen(hash) < SECRET_HASH_BYTES && take_number(&at, MEMORY_BEFORE, MEMORY_MAX_KIB, &number) &&
           take_number(&at, PASSES_BEFORE, PASSES_MAX, &number) &&
           strncmp(at, LANES_BEFORE, strlen(LANES_BEFORE)) == 0 &&
           crypto_pwhash_str_needs_rehash(hash, crypto_pwhash_OPSLIMIT_INTERACTIVE,
                                          crypto_pwhash_MEMLIMIT_INTERACTIVE) >= 0;
}

bool secret_hash_make(struct bytes secret, char hash[SECRET_HASH_BYTES])
{
    return crypto_pwhash_str(hash, secret.data, secret.size, crypto_pwhash_OPSLIMIT_INTERACTIVE,
                             crypto_pwhash_MEMLIMIT_INTERACTIVE) == 0;
}
