#include "headgate/limiter.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLOW = TAP_SLOW ? 10 : 1 }; /* how many times fewer operations */
#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
enum { THREADS = 8 };

static const struct headgate_limit example_limits[] = {
    {.name = "requests", .capacity = 10, .rate_tokens = 10, .period_ns = SECOND_NS},
    {.name = "exports", .capacity = 1000, .rate_tokens = 1, .period_ns = SECOND_NS},
};

static struct headgate_limiter *create(const struct headgate_limit *limits, size_t count, uint64_t keys)
{
    struct headgate_options options = {.limits = limits,
                                       .limit_count = count,
                                       .table_keys = keys,
                                       .secret = "s",
                                       .secret_size = 1};
    char error[200] = "";
    struct headgate_limiter *limiter = headgate_limiter_create(&options, error, sizeof error);
    if (!limiter)
        printf("# %s\n", error);
    assert(limiter);
    return limiter;
}

/* ---- one thread ---- */

static void mistakes(void)
{
    static const struct {
        struct headgate_limit limit[2];
        size_t count;
        const char *by_default;
        uint64_t keys;
        const char *said;
    } cases[] = {
        {{{"a", 1, 1, 1}}, 0, NULL, 0, "0 limits are given: expected 1 to 64"},
        {{{"a", 1, 1, 1}}, 65, NULL, 0, "65 limits are given: expected 1 to 64"},
        {{{NULL, 1, 1, 1}}, 1, NULL, 0, "limit 1 has no name"},
        {{{"", 1, 1, 1}}, 1, NULL, 0, "limit \"\": name has 0 bytes: expected 1 to 63"},
        {{{"a", 0, 1, 1}}, 1, NULL, 0, "limit \"a\": capacity is 0: expected 1 to 1000000000000 tokens"},
        {{{"a", 1, 1, 1}, {"a", 2, 2, 2}},
         2,
         NULL,
         0,
         "limit \"a\": its name is taken, or too much like \"a\": expected another one"},
        {{{"a", 1, 1, 1}}, 1, "b", 0, "default_limit is \"b\": expected the name of one of the limits"},
        {{{"a", 1, 1, 1}}, 1, NULL, (uint64_t)1 << 60, "table_keys is 1152921504606846976: not enough memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct headgate_options options = {.limits = cases[i].limit,
                                           .limit_count = cases[i].count,
                                           .default_limit = cases[i].by_default,
                                           .table_keys = cases[i].keys};
        char error[200] = "";
        struct headgate_limiter *limiter = headgate_limiter_create(&options, error, sizeof error);
        OK(!limiter, "a mistake is refused");
        OK_STRING(error, cases[i].said, "... %s", cases[i].said);
    }
    struct headgate_options options = {.limits = NULL, .limit_count = 0};
    OK(!headgate_limiter_create(&options, NULL, 0), "nobody has to listen to the sentence");
    char said[200];
    OK(!headgate_limiter_create(NULL, said, sizeof said), "options that are missing are refused");
    OK_STRING(said, "no options are given", "with a sentence");
    options.limit_count = 2;
    OK(!headgate_limiter_create(&options, said, sizeof said), "limits that are missing are refused");
    OK_STRING(said, "limits is NULL, and limit_count is 2: expected an array of so many limits", "with a sentence");
    options = (struct headgate_options){.limits = cases[2].limit, .limit_count = 1, .secret_size = 16};
    OK(!headgate_limiter_create(&options, said, sizeof said), "a secret that is missing is refused");
    OK_STRING(said, "secret is NULL, and secret_size is 16: expected 0 where there is no secret",
              "with a sentence");
    struct headgate_limiter *none = NULL;
    headgate_limiter_destroy(&none);
    OK(!none, "destroying nothing is harmless");
}

static void verdicts(void)
{
    struct headgate_limiter *limiter = create(example_limits, 2, 0);
    struct headgate_request request = {.value = "alice", .value_size = 5, .cost = 4};
    struct headgate_verdict verdict;
    OK(headgate_check(limiter, &request, SECOND_NS, &verdict) && verdict.reason == HEADGATE_ALLOWED, "4 of 10");
    OK(verdict.limit == 10 && verdict.remaining == 6 && verdict.retry_after_ns == 0, "... 6 are left");
    OK_U64(verdict.reset_after_ns, 400 * MS_NS, "... full again in 400 ms");
    request.peek = true;
    request.cost = 7;
    OK(!headgate_check(limiter, &request, SECOND_NS, &verdict) && verdict.reason == HEADGATE_NO_TOKENS,
       "a peek at 7 says no");
    OK(verdict.remaining == 6 && verdict.retry_after_ns == 100 * MS_NS, "... but in 100 ms, and takes nothing");
    OK(headgate_check(limiter, &request, SECOND_NS + 100 * MS_NS, &verdict) && verdict.remaining == 7,
       "... which is true");
    request.peek = false;
    request.cost = 11;
    OK(!headgate_check(limiter, &request, SECOND_NS, &verdict) && verdict.reason == HEADGATE_TOO_LARGE &&
           verdict.retry_after_ns == HEADGATE_NEVER,
       "more than the capacity is never allowed");
    request.cost = 0;
    OK(headgate_check(limiter, &request, SECOND_NS, &verdict) && verdict.remaining == 5, "a cost of 0 counts as 1");
    int taken = 0;
    while (headgate_can_access(limiter, "alice", SECOND_NS))
        taken++;
    OK(taken == 5, "can_access takes from the same bucket");
    OK(!headgate_check(limiter, &request, 0, &verdict) && verdict.retry_after_ns == SECOND_NS + 100 * MS_NS,
       "an earlier clock waits for the later one");
    request.dimension = "ip";
    OK(headgate_check(limiter, &request, SECOND_NS, &verdict) && verdict.remaining == 9,
       "other dimension, other key");
    request.limit = "exports";
    OK(headgate_check(limiter, &request, SECOND_NS, &verdict) && verdict.remaining == 999,
       "other limit, other key");
    request.limit = "imports";
    OK(!headgate_check(limiter, &request, SECOND_NS, &verdict) && verdict.reason == HEADGATE_UNKNOWN_LIMIT,
       "an unknown limit refuses");
    headgate_limiter_destroy(&limiter);
    OK(!limiter, "destroy takes the pointer away");
}

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert(file);
    int found = fscanf(file, "%*u %llu", &pages);
    assert(found == 1);
    (void)fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void populated(void)
{
    struct headgate_limiter *limiter = create(example_limits, 2, 4 << 20);
    struct headgate_limiter_stats stats;
    headgate_limiter_stats(limiter, &stats);
    for (int i = 0; i < 10; i++)
        (void)headgate_can_access(limiter, "alice", 0);
    uint64_t before = resident_bytes();
    int status = headgate_limiter_populate(limiter);
    uint64_t after = resident_bytes();
    bool was_there = before > stats.bytes; /* some allocators of sanitizers zero themselves */
    OK(status == EINVAL || (status == 0 && (was_there || after > before + stats.bytes / 4)),
       "populated: %" PRIu64 " bytes were resident, %" PRIu64 " are, of %" PRIu64, before, after, stats.bytes);
    OK(!headgate_can_access(limiter, "alice", 0) && headgate_can_access(limiter, "bob", 0),
       "and nothing else changed");
    headgate_limiter_destroy(&limiter);
}

static void keys(void)
{
    struct headgate_limiter *limiter = create(example_limits, 2, 0);
    struct headgate_verdict verdict;
    char longest[300];
    memset(longest, 'x', sizeof longest);
    longest[256] = 0;
    OK(headgate_can_access(limiter, longest, 0), "a key of 256 bytes is one");
    longest[256] = 'x';
    longest[257] = 0;
    OK(!headgate_can_access(limiter, longest, 0), "a key of 257 bytes is refused");
    struct headgate_request request = {.value = longest, .value_size = 257};
    OK(!headgate_check(limiter, &request, 0, &verdict) && verdict.reason == HEADGATE_INVALID_KEY,
       "... with the reason");
    longest[33] = 0;
    request = (struct headgate_request){.dimension = longest, .value = "a", .value_size = 1};
    OK(!headgate_check(limiter, &request, 0, &verdict) && verdict.reason == HEADGATE_INVALID_KEY,
       "so is a dimension of 33 bytes");
    request = (struct headgate_request){0};
    OK(headgate_check(limiter, &request, 0, &verdict), "no bytes at all are a key");
    request = (struct headgate_request){.value = "a\0b", .value_size = 3, .cost = 10};
    OK(headgate_check(limiter, &request, 0, &verdict) && headgate_can_access(limiter, "a", 0),
       "a zero byte in a key counts");
    struct headgate_limiter_stats stats;
    headgate_limiter_stats(limiter, &stats);
    OK(stats.allowed == 4 && stats.refused == 0 && stats.used_keys == 4, "4 allowed, invalid ones not counted");
    OK(stats.bytes > 65536 * 48 && stats.bytes < 65536 * 68 && stats.capacity_keys >= 65536,
       "memory: %" PRIu64 " bytes for 65,536 keys", stats.bytes);
    headgate_limiter_destroy(&limiter);
}

static void secrets(void)
{
    struct headgate_options options = {.limits = example_limits, .limit_count = 2, .default_limit = "exports"};
    struct headgate_limiter *limiter = headgate_limiter_create(&options, NULL, 0);
    int allowed = 0;
    for (int i = 0; i < 2000; i++)
        allowed += headgate_can_access(limiter, "a", 0);
    OK(allowed == 1000, "without a secret it works as well, and the default limit is the one named");
    headgate_limiter_destroy(&limiter);
}

/* Requests of every kind, right and wrong, in batches of every size: as one by one. */
enum { DRAWN_MAX = 50 };

static void draw_request(struct random *random, struct headgate_request *request,
                         char text[HEADGATE_VALUE_MAX_BYTES])
{
    static const char *const limits[] = {NULL, NULL, "requests", "exports", "imports"};
    static const char *const dimensions[] = {NULL, NULL, "user", "ip", "a dimension of more than 32 bytes"};
    int size = snprintf(text, HEADGATE_VALUE_MAX_BYTES, "key-%u", (unsigned)random_below(random, 40));
    *request = (struct headgate_request){
        .limit = limits[random_below(random, 5)],
        .dimension = dimensions[random_below(random, 5)],
        .value = text,
        .value_size = random_below(random, 20) == 0 ? HEADGATE_VALUE_MAX_BYTES + 1 : (size_t)size,
        .cost = random_below(random, 4),
        .peek = random_below(random, 5) == 0,
    };
}

static void many_at_a_time(void)
{
    struct headgate_limiter *one = create(example_limits, 2, 10), *many = create(example_limits, 2, 10);
    struct random random;
    uint64_t now_ns = SECOND_NS, wrong = 0, sum = 0;
    random_seed(&random, 7);
    for (int i = 0; i < 20000 / SLOW; i++) {
        struct headgate_request requests[DRAWN_MAX];
        char texts[DRAWN_MAX][HEADGATE_VALUE_MAX_BYTES];
        bool allowed[DRAWN_MAX + 1] = {false};
        size_t count = (size_t)random_below(&random, DRAWN_MAX + 1), expected = 0;
        for (size_t k = 0; k < count; k++)
            draw_request(&random, &requests[k], texts[k]);
        now_ns += random_below(&random, 100 * MS_NS);
        allowed[count] = true; /* nobody's */
        size_t got = headgate_check_many(many, requests, count, now_ns, allowed);
        for (size_t k = 0; k < count; k++) {
            struct headgate_verdict verdict;
            bool is = headgate_check(one, &requests[k], now_ns, &verdict);
            wrong += is != allowed[k];
            expected += is;
        }
        wrong += got != expected || !allowed[count];
        sum += got;
    }
    struct headgate_limiter_stats a, b;
    headgate_limiter_stats(one, &a);
    headgate_limiter_stats(many, &b);
    OK(wrong == 0 && sum > 0, "%" PRIu64 " requests are allowed in batches, and the same ones one by one", sum);
    OK(memcmp(&a, &b, sizeof a) == 0 && a.refused > 0 && a.evicted_harmful_keys > 0,
       "... and counted so, in a table that is too small");
    headgate_limiter_destroy(&one);
    headgate_limiter_destroy(&many);
}

/* Keys of every size that is hashed in another way. */
static void sizes(void)
{
    struct headgate_limiter *limiter = create(example_limits, 2, 0);
    char text[HEADGATE_VALUE_MAX_BYTES];
    uint64_t wrong = 0;
    memset(text, 'x', sizeof text);
    for (size_t size = 0; size <= sizeof text; size++) {
        struct headgate_request requests[3] = {
            {.value = text, .value_size = size, .cost = 10},
            {.value = text, .value_size = size},
            {.value = text, .value_size = size, .dimension = "ip"},
        };
        bool allowed[3];
        wrong += headgate_check_many(limiter, requests, 3, 0, allowed) != 2 || allowed[1];
    }
    OK_U64(wrong, 0, "keys of 0 to %d bytes have buckets of their own", HEADGATE_VALUE_MAX_BYTES);
    headgate_limiter_destroy(&limiter);
}

/* ---- many threads ---- */

struct job {
    struct headgate_limiter *limiter;
    atomic_uint *admitted; /* per key */
    atomic_ullong *clock_ns;
    unsigned key_count, thread, attempts;
};

static void *work(void *context)
{
    struct job *job = context;
    unsigned random = job->thread * 2654435761u + 1;
    for (unsigned i = 0; i < job->attempts; i++) {
        char key[24];
        random = random * 1664525u + 1013904223u;
        unsigned number = (random >> 8) % job->key_count;
        (void)snprintf(key, sizeof key, "key-%u", number);
        uint64_t now_ns =
            atomic_fetch_add_explicit(job->clock_ns, job->key_count == 1 ? 1000 : 0, memory_order_relaxed);
        bool allowed;
        if (i % 4 == 0) {
            struct headgate_request request = {.value = key, .value_size = strlen(key)};
            struct headgate_verdict verdict;
            allowed = headgate_check(job->limiter, &request, now_ns, &verdict);
        } else if (i % 4 == 1) {
            struct headgate_request requests[2] = {{.value = key, .value_size = strlen(key)},
                                                   {.value = key, .value_size = strlen(key), .peek = true}};
            bool both[2];
            (void)headgate_check_many(job->limiter, requests, 2, now_ns, both);
            allowed = both[0];
        } else {
            allowed = headgate_can_access(job->limiter, key, now_ns);
        }
        if (allowed)
            atomic_fetch_add_explicit(&job->admitted[number], 1, memory_order_relaxed);
        if (i % 1024 == 0) {
            struct headgate_limiter_stats stats;
            headgate_limiter_stats(job->limiter, &stats);
        }
    }
    return NULL;
}

static void run_threads(struct headgate_limiter *limiter, atomic_uint *admitted, unsigned key_count,
                        unsigned attempts, atomic_ullong *clock_ns)
{
    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){limiter, admitted, clock_ns, key_count, i, attempts};
        int failed = pthread_create(&threads[i], NULL, work, &jobs[i]);
        assert(failed == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
}

/* Time passes, out of order between threads; the bucket is never full again, so that nothing is lost. */
static void one_hot_key(void)
{
    const struct headgate_limit limit = {"hot", 1000, 100000, SECOND_NS};
    struct headgate_limiter *limiter = create(&limit, 1, 4096);
    atomic_uint admitted = 0;
    atomic_ullong clock_ns = SECOND_NS;
    unsigned attempts = 200000 / SLOW;
    while (headgate_can_access(limiter, "key-0", SECOND_NS))
        admitted++;
    run_threads(limiter, &admitted, 1, attempts, &clock_ns);
    uint64_t end_ns = clock_ns, refill = (end_ns - SECOND_NS) / 10000;
    while (headgate_can_access(limiter, "key-0", end_ns))
        admitted++;
    OK_U64(admitted, 1000 + refill, "one hot key, %d threads: admitted exactly capacity + refill (%" PRIu64 ")",
           THREADS, 1000 + refill);
    struct headgate_limiter_stats stats;
    headgate_limiter_stats(limiter, &stats);
    OK_U64(stats.allowed, admitted, "... and counted so");
    headgate_limiter_destroy(&limiter);
}

static void random_keys(unsigned key_count, uint64_t capacity)
{
    const struct headgate_limit limit = {"random", capacity, 1, 86400 * SECOND_NS};
    struct headgate_limiter *limiter = create(&limit, 1, 100000);
    atomic_uint *admitted = calloc(key_count, sizeof *admitted);
    atomic_ullong clock_ns = SECOND_NS;
    assert(admitted);
    run_threads(limiter, admitted, key_count, 400000 / SLOW, &clock_ns);
    uint64_t above = 0, exact = 0, sum = 0;
    for (unsigned i = 0; i < key_count; i++) {
        char key[24];
        (void)snprintf(key, sizeof key, "key-%u", i);
        while (headgate_can_access(limiter, key, SECOND_NS))
            admitted[i]++;
        above += admitted[i] > capacity;
        exact += admitted[i] == capacity;
        sum += admitted[i];
    }
    struct headgate_limiter_stats stats;
    headgate_limiter_stats(limiter, &stats);
    OK(above == 0 && exact == key_count, "%u keys, %d threads: each admitted exactly its capacity", key_count,
       THREADS);
    OK(stats.allowed == sum && stats.used_keys == key_count && stats.evicted_harmful_keys == 0,
       "... and counted so");
    headgate_limiter_destroy(&limiter);
    free(admitted);
}

int main(void)
{
    mistakes();
    verdicts();
    keys();
    populated();
    secrets();
    many_at_a_time();
    sizes();
    one_hot_key();
    random_keys(16, 2000);
    random_keys(50000, 20);
    return tap_done();
}
