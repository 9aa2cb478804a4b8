/*
 * Secrets against slow hashes: what is right, what waits, and that guesses cost nothing once the right one is known.
 */
#include "edge/process/secret_checks.h"

#include "tests/lib/tap.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

enum { WAIT_MS = 1, WAITS_MAX = 60000 };

static char hash[SECRET_HASH_BYTES], other[SECRET_HASH_BYTES];

/* The least that argon2id can cost, so that many fit into a test. */
static void make(char text[SECRET_HASH_BYTES], const char *secret)
{
    int failed =
        crypto_pwhash_str(text, secret, strlen(secret), crypto_pwhash_OPSLIMIT_MIN, crypto_pwhash_MEMLIMIT_MIN);
    assert(failed == 0);
}

static enum secret_outcome wait_for(struct secret_checks *checks, const char *of, const char *secret)
{
    enum secret_outcome outcome = SECRET_WAITS;
    for (unsigned i = 0; i < WAITS_MAX && outcome == SECRET_WAITS; i++) {
        outcome = secret_check(checks, of, bytes_of(secret));
        if (outcome == SECRET_WAITS)
            uv_sleep(WAIT_MS);
    }
    return outcome;
}

static void test_outcomes(void)
{
    static char large[SECRET_BYTES_MAX + 2];
    struct secret_checks *checks = secret_checks_create();
    memset(large, 'x', SECRET_BYTES_MAX + 1);
    OK(secret_check(checks, hash, bytes_of("guess")) == SECRET_WAITS, "a first secret waits");
    OK(wait_for(checks, hash, "guess") == SECRET_WRONG, "and is wrong");
    OK(secret_check(checks, hash, bytes_of("guess")) == SECRET_WRONG, "which is remembered");
    OK(wait_for(checks, hash, "right") == SECRET_RIGHT, "the right one is right");
    OK(secret_check(checks, hash, bytes_of("right")) == SECRET_RIGHT, "at once from now on");
    OK(secret_check(checks, hash, bytes_of("another guess")) == SECRET_WRONG, "and any other one is wrong at once");
    OK(secret_check(checks, hash, bytes_of("righ")) == SECRET_WRONG &&
           secret_check(checks, hash, bytes_of("rightt")) == SECRET_WRONG,
       "what is nearly right, too");
    OK(secret_check(checks, other, bytes_of("right")) == SECRET_WAITS, "it says nothing of another hash");
    OK(wait_for(checks, other, "right") == SECRET_WRONG && wait_for(checks, other, "other") == SECRET_RIGHT,
       "which has another secret");
    OK(secret_check(checks, hash, (struct bytes){"", 0}) == SECRET_WRONG &&
           secret_check(checks, hash, bytes_of(large)) == SECRET_WRONG,
       "no secret, and one that is too long, are wrong");
    secret_checks_destroy(&checks);
    OK(checks == NULL, "it is over");
}

/* As many wait as may; the others ask again, and all are told in the end. */
static void test_many(void)
{
    struct secret_checks *checks = secret_checks_create();
    unsigned wrong = 0;
    char text[32];
    for (unsigned i = 0; i < 3 * SECRET_CHECKS_MAX; i++) {
        (void)snprintf(text, sizeof text, "guess %u", i);
        (void)secret_check(checks, other, bytes_of(text));
    }
    for (unsigned i = 0; i < SECRET_CHECKS_MAX + 8; i++) {
        (void)snprintf(text, sizeof text, "guess %u", i);
        wrong += wait_for(checks, hash, text) == SECRET_WRONG;
    }
    OK(wrong == SECRET_CHECKS_MAX + 8, "more guesses than there are places are wrong");
    OK(wait_for(checks, hash, "right") == SECRET_RIGHT, "the right one is found behind them");
    for (unsigned i = 0; i < 2 * SECRET_CHECKS_MAX; i++) {
        (void)snprintf(text, sizeof text, "guess %u", i);
        (void)wait_for(checks, other, text);
    }
    OK(secret_check(checks, hash, bytes_of("right")) == SECRET_RIGHT, "and is not forgotten for guesses");
    (void)secret_check(checks, hash, bytes_of("guess"));
    secret_checks_destroy(&checks);
    OK(checks == NULL, "it ends while some wait");
}

/* The limit of this process's memory that leaves room for so much more; the limit of before. */
static struct rlimit leave(size_t more_bytes)
{
    struct rlimit before = {0}, less;
    char pages[32] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    bool good = file != NULL && fgets(pages, sizeof pages, file) != NULL && getrlimit(RLIMIT_AS, &before) == 0;
    if (file != NULL)
        (void)fclose(file);
    less = before;
    less.rlim_cur = strtoul(pages, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + more_bytes;
    good = good && setrlimit(RLIMIT_AS, &less) == 0;
    assert(good);
    return before;
}

/* As the reference program of argon2 makes it, with a salt of 8 bytes. */
static void test_foreign(void)
{
    static const char foreign[] =
        "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
    struct secret_checks *checks = secret_checks_create();
    OK(secret_hash_is_good(foreign), "another program's hash is one");
    OK(wait_for(checks, foreign, "passwort") == SECRET_WRONG, "a wrong secret is wrong");
    OK(wait_for(checks, foreign, "password") == SECRET_RIGHT, "and the right one is right");
    secret_checks_destroy(&checks);
}

static void test_no_memory(void)
{
    enum { TRIES = 50 };
    static char large[SECRET_HASH_BYTES];
    struct secret_checks *checks = secret_checks_create();
    bool made = secret_hash_make(bytes_of("right"), large); /* of 64 MiB */
    assert(made);
    (void)wait_for(checks, hash, "guess"); /* the thread has its memory from then on */
    const struct rlimit before = leave((size_t)32 << 20);
    bool waits = true;
    for (unsigned i = 0; i < TRIES; i++) {
        waits &= secret_check(checks, large, bytes_of("right")) == SECRET_WAITS;
        uv_sleep(WAIT_MS);
    }
    OK(waits, "without memory for a hash no secret is wrong");
    (void)setrlimit(RLIMIT_AS, &before);
    OK(wait_for(checks, large, "right") == SECRET_RIGHT, "and the right one is right when there is some again");
    secret_checks_destroy(&checks);
}

static void test_hashes(void)
{
    static const char *const wrong[] = {
        "",
        "secret",
        "$argon2id$v=19$m=65536,t=2,p=1$",
        "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "$argon2id$v=19$m=9999999,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "$argon2id$v=19$m=65536,t=99,p=1$c29tZXNhbHRzb21lc2FsdA$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
    };
    char made[SECRET_HASH_BYTES];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        OK(!secret_hash_is_good(wrong[i]), "no hash: %s", wrong[i]);
    OK(secret_hash_is_good(hash), "a small one is one");
    OK(secret_hash_make(bytes_of("s"), made) && secret_hash_is_good(made), "and one that is made: %s", made);
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    make(hash, "right");
    make(other, "other");
    test_outcomes();
    test_many();
    test_foreign();
    test_no_memory();
    test_hashes();
    return tap_done();
}
