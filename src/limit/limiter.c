#include "limit/limiter.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_private.h"
#include "base/number.h"
#include "base/spin.h"
#include "limit/bucket_units.h"
#include "limit/key.h"
#include "limit/named_limit.h"
#include "limit/table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The table is cut into shards by the first bits of the key's id, each with a lock of its own that is held for
 * the few dozen nanoseconds of one decision. Keys are hashed before. A limiter is one peer alone: its share is
 * the whole, and what it spends settles at once.
 */
enum {
    SHARD_BITS_MAX = 6,
    SHARD_KEYS_MIN = 1024, /* below that, shards would fill up unevenly */
    LINE_BYTES = 64,
    DEFAULT_KEYS = 65536,
    TOGETHER = 16, /* requests whose memory is prefetched before the first of them is decided */
};
_Static_assert(HEADGATE_NAME_MAX_BYTES == LIMIT_NAME_BYTES - 1, "public and inner limits agree");
_Static_assert(HEADGATE_DIMENSION_MAX_BYTES == (int)KEY_DIMENSION_MAX_BYTES, "public and inner limits agree");
_Static_assert(HEADGATE_VALUE_MAX_BYTES == (int)KEY_VALUE_MAX_BYTES, "public and inner limits agree");
_Static_assert(HEADGATE_LIMITS_MAX == (int)NAMED_LIMITS_MAX, "public and inner limits agree");

struct shard {
    _Alignas(LINE_BYTES) atomic_bool locked;
    struct table *table;
    uint64_t allowed, refused;
};

struct headgate_limiter {
    struct shard shards[1 << SHARD_BITS_MAX];
    unsigned shard_bits;
    void *tables; /* of all shards: one allocation, so that huge pages fit */
    size_t tables_bytes;
    struct hash_private hash;
    struct named_limits names;
    struct limit_set limits;
    uint16_t index[NAMED_LIMITS_MAX];          /* of each name in `limits` */
    struct key_id user_salt[NAMED_LIMITS_MAX]; /* of each name and the dimension "user" */
    struct budget budgets[NAMED_LIMITS_MAX];
};

static const struct bytes user_dimension = {"user", 4};

/*
 * Ids never leave this process, so a faster hash that hides less will do: see hash_private.h. The limit and the
 * dimension of a value come in as a salt, which is hashed once where possible.
 */
static struct key_id salt_of(const struct headgate_limiter *limiter, int name, struct bytes dimension)
{
    return key_id_of(&limiter->hash.key, limiter->names.limit[name].id, dimension, (struct bytes){NULL, 0});
}

static struct key_id id_of(const struct headgate_limiter *limiter, struct key_id salt, struct bytes value)
{
    return key_join(salt, hash_private(&limiter->hash, value.data, value.size));
}

/* The shard of `id`, whose first bits are then moved out of the way: a table spreads keys by the bits in front. */
static struct shard *shard_of(struct headgate_limiter *limiter, struct key_id *id)
{
    unsigned bits = limiter->shard_bits;
    struct shard *shard = &limiter->shards[id->high >> 1 >> (63 - bits)];
    id->high = id->high << bits | id->high >> 1 >> (63 - bits);
    return shard;
}

static bool add_limit(struct headgate_limiter *limiter, const struct headgate_limit *given, struct error *error)
{
    struct named_limits *names = &limiter->names;
    struct named_limit *limit = &names->limit[names->count];
    struct error inner;
    if (!given->name)
        return error_set(error, 1, "limit %u has no name", names->count + 1u);
    const struct limit_terms terms = {.capacity = given->capacity,
                                      .rate = given->rate_tokens,
                                      .period_ns = given->period_ns};
    if (!named_limit_init(limit, bytes_of(given->name), &terms, &inner))
        return error_set(error, 1, "limit \"%.64s\": %s", given->name, inner.text);
    int same = named_limit_find_id(names, limit->id);
    if (same >= 0)
        return error_set(error, 1, "limit \"%s\": its name is taken, or too much like \"%s\": expected another one",
                         limit->name, names->limit[same].name);
    int index = limit_set_intern(&limiter->limits, &terms, &inner);
    assert(index >= 0);
    limiter->user_salt[names->count] = salt_of(limiter, names->count, user_dimension);
    limiter->index[names->count++] = (uint16_t)index;
    budget_init(&limiter->budgets[index], &limiter->limits.limit[index], SHARE_ONE, true);
    return true;
}

static bool add_limits(struct headgate_limiter *limiter, const struct headgate_options *options,
                       struct error *error)
{
    if (options->limit_count < 1 || options->limit_count > NAMED_LIMITS_MAX)
        return error_set(error, 1, "%zu limits are given: expected 1 to %d", options->limit_count,
                         NAMED_LIMITS_MAX);
    if (!limit_set_init(&limiter->limits, NAMED_LIMITS_MAX, NULL))
        return error_set(error, 1, "not enough memory");
    for (size_t i = 0; i < options->limit_count; i++)
        if (!add_limit(limiter, &options->limits[i], error))
            return false;
    if (!options->default_limit)
        return true;
    int by_default = named_limit_find(&limiter->names, bytes_of(options->default_limit));
    if (by_default < 0)
        return error_set(error, 1, "default_limit is \"%.64s\": expected the name of one of the limits",
                         options->default_limit);
    limiter->names.by_default = (uint16_t)by_default;
    return true;
}

static bool add_shards(struct headgate_limiter *limiter, uint64_t keys, void (*prepare)(void *memory, size_t bytes),
                       struct error *error)
{
    while (limiter->shard_bits < SHARD_BITS_MAX && keys >> limiter->shard_bits >= 2 * SHARD_KEYS_MIN)
        limiter->shard_bits++;
    uint64_t shards = (uint64_t)1 << limiter->shard_bits, keys_each = (keys - 1) / shards + 1, bytes;
    uint64_t bytes_each = table_bytes(keys_each, 1, &limiter->limits);
    if (bytes_each == 0 || __builtin_mul_overflow(bytes_each, shards, &bytes) ||
        !(limiter->tables = calloc(1, bytes)))
        return error_set(error, 1, "table_keys is %llu: not enough memory", (unsigned long long)keys);
    limiter->tables_bytes = bytes;
    prepare(limiter->tables, bytes);
    for (uint64_t i = 0; i < shards; i++) {
        atomic_init(&limiter->shards[i].locked, false);
        limiter->shards[i].table =
            table_init((char *)limiter->tables + i * bytes_each, keys_each, 1, &limiter->limits, limiter->budgets);
    }
    return true;
}

/* What a program may have left out by mistake. */
static bool check_pointers(const struct headgate_options *options, struct error *error)
{
    if (!options)
        return error_set(error, 1, "no options are given");
    if (!options->limits && options->limit_count > 0)
        return error_set(error, 1, "limits is NULL, and limit_count is %zu: expected an array of so many limits",
                         options->limit_count);
    return options->secret || options->secret_size == 0 ||
           error_set(error, 1, "secret is NULL, and secret_size is %zu: expected 0 where there is no secret",
                     options->secret_size);
}

struct headgate_limiter *limiter_create(const struct headgate_options *options,
                                        void (*prepare)(void *memory, size_t bytes), char *error_text,
                                        size_t error_room)
{
    struct error error = {.text = "not enough memory"};
    const bool given = check_pointers(options, &error);
    struct headgate_limiter *limiter = given ? aligned_alloc(LINE_BYTES, sizeof *limiter) : NULL;
    if (limiter) {
        memset(limiter, 0, sizeof *limiter);
        hash_private_init(&limiter->hash, options->secret, options->secret_size);
        if (!add_limits(limiter, options, &error) ||
            !add_shards(limiter, options->table_keys > 0 ? options->table_keys : DEFAULT_KEYS, prepare, &error))
            headgate_limiter_destroy(&limiter);
    }
    if (!limiter && error_room > 0)
        (void)snprintf(error_text, error_room, "%s", error.text);
    return limiter;
}

void *limiter_memory(struct headgate_limiter *limiter, size_t *bytes)
{
    *bytes = limiter->tables_bytes;
    return limiter->tables;
}

void headgate_limiter_destroy(struct headgate_limiter **limiter)
{
    if (!*limiter)
        return;
    free((*limiter)->tables);
    limit_set_close(&(*limiter)->limits);
    free(*limiter);
    *limiter = NULL;
}

/* ---- one request at a time ---- */

/* A request with its names looked up. */
struct question {
    struct key_id id; /* in its shard: see shard_of */
    struct shard *shard;
    uint64_t cost;
    uint16_t index; /* of the limit */
    bool peek;
};

/* Refills a BUCKET that no peer shares, and spends the cost if it is left. */
static inline bool take(struct bucket *bucket, const struct limit *limit, uint64_t cost, uint64_t now_ns)
{
    (void)bucket_refill_settled(bucket, limit, now_ns);
    if (cost > limit->capacity || bucket->settled < (int64_t)cost * limit->units_per_token)
        return false;
    bucket->settled -= (int64_t)cost * limit->units_per_token;
    return true;
}

/* Both decide under the shard's lock; the bucket as it is afterwards goes to `after`, unless that is NULL. */
static inline bool decide(struct headgate_limiter *limiter, const struct question *question, uint64_t now_ns,
                          struct bucket *after)
{
    const struct limit *limit = &limiter->limits.limit[question->index];
    struct shard *shard = question->shard;
    spin_lock(&shard->locked);
    struct entry *entry = table_obtain(shard->table, question->id, question->index, 0, now_ns);
    bool allowed = take(&entry->bucket, limit, question->cost, now_ns);
    if (after)
        *after = entry->bucket;
    shard->allowed += allowed;
    shard->refused += !allowed;
    spin_unlock(&shard->locked);
    return allowed;
}

static bool decide_peek(struct headgate_limiter *limiter, const struct question *question, uint64_t now_ns,
                        struct bucket *after)
{
    const struct limit *limit = &limiter->limits.limit[question->index];
    struct shard *shard = question->shard;
    struct bucket tried;
    spin_lock(&shard->locked);
    const struct entry *entry = table_find(shard->table, question->id);
    if (entry)
        tried = entry->bucket;
    else
        table_start(shard->table, question->id, question->index, 0, now_ns, &tried);
    spin_unlock(&shard->locked);
    (void)bucket_refill_settled(&tried, limit, now_ns);
    if (after)
        *after = tried;
    return take(&tried, limit, question->cost, now_ns);
}

static bool is_too_long(struct bytes dimension, struct bytes value)
{
    return dimension.size > KEY_DIMENSION_MAX_BYTES || value.size > KEY_VALUE_MAX_BYTES;
}

bool headgate_can_access(struct headgate_limiter *limiter, const char *key, uint64_t now_ns)
{
    struct bytes value = bytes_of(key);
    if (value.size > KEY_VALUE_MAX_BYTES)
        return false;
    uint16_t name = limiter->names.by_default;
    struct question question = {.index = limiter->index[name], .cost = 1};
    question.id = id_of(limiter, limiter->user_salt[name], value);
    question.shard = shard_of(limiter, &question.id);
    return decide(limiter, &question, now_ns, NULL);
}

/* False: the request is wrong, for that reason. */
static bool understand(struct headgate_limiter *limiter, const struct headgate_request *request,
                       struct question *question, enum headgate_reason *reason)
{
    const struct named_limits *names = &limiter->names;
    struct bytes dimension = request->dimension ? bytes_of(request->dimension) : user_dimension;
    struct bytes value = {.data = request->value, .size = request->value_size};
    int name = request->limit ? named_limit_find(names, bytes_of(request->limit)) : names->by_default;
    if (name < 0 || is_too_long(dimension, value)) {
        *reason = name < 0 ? HEADGATE_UNKNOWN_LIMIT : HEADGATE_INVALID_KEY;
        return false;
    }
    question->index = limiter->index[name];
    question->cost = request->cost > 0 ? request->cost : 1;
    question->peek = request->peek;
    struct key_id salt = request->dimension ? salt_of(limiter, name, dimension) : limiter->user_salt[name];
    question->id = id_of(limiter, salt, value);
    question->shard = shard_of(limiter, &question->id);
    return true;
}

static uint64_t later(uint64_t wait_ns, uint64_t by_ns)
{
    return wait_ns == 0 ? 0 : number_sum(wait_ns, by_ns);
}

bool headgate_check(struct headgate_limiter *limiter, const struct headgate_request *request, uint64_t now_ns,
                    struct headgate_verdict *verdict)
{
    struct question question;
    struct bucket bucket;
    memset(verdict, 0, sizeof *verdict);
    if (!understand(limiter, request, &question, &verdict->reason))
        return false;
    const struct limit *limit = &limiter->limits.limit[question.index];
    const struct budget *budget = &limiter->budgets[question.index];
    uint64_t cost = question.cost;
    verdict->allowed = question.peek ? decide_peek(limiter, &question, now_ns, &bucket)
                                     : decide(limiter, &question, now_ns, &bucket);
    verdict->limit = limit->capacity;
    verdict->remaining = bucket_remaining(&bucket, limit, 0);
    /* Threads' clocks may disagree: a bucket is refilled from the latest time that any caller gave. */
    uint64_t ahead_ns = bucket.last_refill_ns > now_ns ? bucket.last_refill_ns - now_ns : 0;
    verdict->reset_after_ns = later(bucket_reset_after_ns(&bucket, limit, now_ns, 0), ahead_ns);
    if (!verdict->allowed) {
        verdict->reason = cost > limit->capacity ? HEADGATE_TOO_LARGE : HEADGATE_NO_TOKENS;
        const struct bucket_wait wait = {.cost = cost, .now_ns = now_ns, .settle_ns = UINT64_MAX};
        verdict->retry_after_ns = later(bucket_retry_after_ns(&bucket, limit, budget, &wait), ahead_ns);
    }
    return verdict->allowed;
}

/* ---- many at a time ---- */

/* Decides at most TOGETHER requests. A request that changes the table may make prefetched lines useless. */
static size_t check_together(struct headgate_limiter *limiter, const struct headgate_request *requests,
                             size_t count, uint64_t now_ns, bool *allowed)
{
    struct question questions[TOGETHER];
    enum headgate_reason reason;
    size_t allowed_count = 0;
    for (size_t i = 0; i < count; i++) {
        allowed[i] = understand(limiter, &requests[i], &questions[i], &reason);
        if (allowed[i])
            table_prefetch_tags(questions[i].shard->table, questions[i].id);
    }
    for (size_t i = 0; i < count; i++)
        if (allowed[i])
            table_prefetch(questions[i].shard->table, questions[i].id);
    for (size_t i = 0; i < count; i++) {
        if (allowed[i])
            allowed[i] = questions[i].peek ? decide_peek(limiter, &questions[i], now_ns, NULL)
                                           : decide(limiter, &questions[i], now_ns, NULL);
        allowed_count += allowed[i];
    }
    return allowed_count;
}

size_t headgate_check_many(struct headgate_limiter *limiter, const struct headgate_request *requests, size_t count,
                           uint64_t now_ns, bool *allowed)
{
    size_t allowed_count = 0;
    for (size_t done = 0; done < count; done += TOGETHER) {
        size_t left = count - done;
        allowed_count +=
            check_together(limiter, requests + done, left < TOGETHER ? left : TOGETHER, now_ns, allowed + done);
    }
    return allowed_count;
}

void headgate_limiter_stats(struct headgate_limiter *limiter, struct headgate_limiter_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    stats->bytes = sizeof *limiter;
    for (size_t i = 0; i < (size_t)1 << limiter->shard_bits; i++) {
        struct shard *shard = &limiter->shards[i];
        struct table_stats of_table;
        spin_lock(&shard->locked);
        table_stats(shard->table, &of_table);
        stats->allowed += shard->allowed;
        stats->refused += shard->refused;
        spin_unlock(&shard->locked);
        stats->capacity_keys += of_table.capacity_keys;
        stats->used_keys += of_table.used_keys;
        stats->bytes += of_table.table_bytes;
        stats->expired_keys += of_table.expired_keys;
        stats->evicted_harmless_keys += of_table.evicted_harmless_keys;
        stats->evicted_harmful_keys += of_table.evicted_harmful_keys;
    }
}
