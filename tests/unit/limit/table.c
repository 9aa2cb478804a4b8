#include "limit/table.h"
#include "base/random.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/table_world.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>

enum { SLOW = TAP_SLOW ? 10 : 1 }; /* how many times fewer operations */
#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define HOUR_NS (3600 * SECOND_NS)

/* Takes `cost` tokens of the key, as a peer does; whether it was allowed. */
static bool take(struct table *table, struct key_id id, uint16_t limit, const struct budget *budgets, uint64_t cost,
                 uint64_t now_ns)
{
    struct entry *entry = table_obtain(table, id, limit, 0, now_ns);
    return bucket_take(&entry->bucket, &limits.limit[limit], &budgets[limit], cost, 0, now_ns);
}

/* ---- the basics ---- */

static void basics(void)
{
    struct table *table = table_create(1, 4, &limits, alone);
    struct key_id id = {1, 2}, other = {UINT64_MAX, UINT64_MAX};
    OK(table && stats_of(table).capacity_keys >= 1, "a table of one key has room for one");
    OK(!table_find(table, id), "a key that nobody spent from is absent");
    table_prefetch(table, id);
    struct entry *entry = table_obtain(table, id, 1, 0, 5 * SECOND_NS);
    OK(entry && key_id_equal(entry->id, id) && entry->limit == 1, "it is inserted");
    OK(bucket_is_full(&entry->bucket, &limits.limit[1]), "... full");
    OK(entry->open_index == 0 && entry->last_spender == 0, "... with nothing known about it");
    OK(take(table, other, 0, alone, 1, 5 * SECOND_NS), "another one, at the end of all ids, is charged");
    OK(table_find(table, other) && table_obtain(table, other, 0, 0, 5 * SECOND_NS) == table_find(table, other),
       "... and found again");
    OK(table_obtain(table, other, 2, 0, 5 * SECOND_NS)->limit == 0, "an id keeps the limit that it came with");
    table_check(table);
    OK(table_forget_full(table, 0, table_places(table), 5 * SECOND_NS + HOUR_NS) == 2 &&
           !table_find(table, other) && stats_of(table).used_keys == 0,
       "both are forgotten when they are full");
    table_check(table);
    table_destroy(&table);
    OK(!table, "destroy takes the pointer away");
    OK(!table_create((uint64_t)1 << 60, 4, &limits, alone), "more than the address space holds is refused");
}

/* ---- memory and load ---- */

static void memory(void)
{
    uint64_t keys = 1000000 / SLOW;
    struct table *table = table_create(keys, 4, &limits, alone);
    struct table_stats stats = stats_of(table);
    double per_key = (double)stats.table_bytes / ((double)stats.capacity_keys * 0.8);
    OK(per_key <= 64, "at a load of 0.8, a key costs %.2f bytes", per_key);
    OK((double)stats.table_bytes / (double)keys <= 64, "... and so it does for the keys that were asked for");
    struct random random;
    random_seed(&random, 1);
    double first = 1;
    for (uint64_t i = 0; i < stats.capacity_keys / 10 * 9; i++) {
        (void)take(table, draw_id(&random), 2, alone, 100, SECOND_NS);
        if (i + 1 == keys)
            OK_U64(stats_of(table).evicted_harmful_keys, 0, "the keys asked for fit, all in debt");
        if (first == 1 && stats_of(table).evicted_harmful_keys > 0)
            first = (double)(i + 1) / (double)stats.capacity_keys;
    }
    OK(first > 0.84, "the first harmful eviction comes at a load of %.3f", first);
    stats = stats_of(table);
    OK(stats.evicted_harmful_keys < stats.capacity_keys / 10000, "%" PRIu64 " of %" PRIu64 " keys at 0.9",
       stats.evicted_harmful_keys, stats.used_keys);
    table_check(table);
    table_destroy(&table);
}

static void expiry(void)
{
    struct table *table = table_create(5000, 4, &limits, alone);
    struct random random;
    random_seed(&random, 2);
    uint64_t now_ns = SECOND_NS, keys = 1000000 / SLOW;
    for (uint64_t i = 0; i < keys; i++) /* each is full again after 1000 others */
        (void)take(table, draw_id(&random), 0, alone, 10, now_ns += 100 * MS_NS / 1000);
    struct table_stats stats = stats_of(table);
    OK_U64(stats.evicted_harmful_keys, 0, "keys that are full again never crowd out others");
    OK(stats.used_keys < stats.capacity_keys * 8 / 10,
       "insertions pay for expiry: %" PRIu64 " keys in %" PRIu64 " slots, for 1000 that owe something",
       stats.used_keys, stats.capacity_keys);
    OK_U64(stats.expired_keys + stats.evicted_harmless_keys + stats.used_keys, keys, "every key is accounted for");
    table_check(table);

    table_destroy(&table);
    table = table_create(5000, 4, &limits, alone);
    struct key_id hot[200];
    for (int i = 0; i < 3000; i++) {
        struct key_id id = hot[i % 200] = draw_id(&random);
        (void)take(table, id, 0, alone, 10, now_ns);
    }
    for (int i = 0; i < 100000; i++)
        (void)take(table, hot[i % 200], 0, alone, 1, now_ns += MS_NS);
    stats = stats_of(table);
    OK(stats.used_keys < 2850, "lookups of known keys pay as well: %" PRIu64 " of 3000 left", stats.used_keys);
    table_check(table);
    table_destroy(&table);
}

/* ---- evictions ---- */

/* All these ids share the home of `group` in a table with `homes` homes. */
static struct key_id id_in(uint64_t group, uint64_t homes, uint64_t number)
{
    uint64_t high = UINT64_MAX / homes * group + UINT64_MAX / homes / 2 + number;
    return (struct key_id){high, number * 0x9e3779b97f4a7c15u};
}

static void harmless_first(void)
{
    struct table *table = table_create(1, 4, &limits, alone);
    uint64_t slots = stats_of(table).capacity_keys;
    for (uint64_t i = 0; i < slots; i++)
        (void)take(table, id_in(0, 1, i), 0, alone, i == slots / 2 ? 1 : 50, SECOND_NS);
    OK_U64(stats_of(table).used_keys, slots, "a table can be filled to the last slot");
    (void)take(table, id_in(0, 1, slots), 0, alone, 50, SECOND_NS + 10 * MS_NS);
    struct table_stats stats = stats_of(table);
    OK(stats.evicted_harmless_keys == 1 && stats.evicted_harmful_keys == 0 &&
           !table_find(table, id_in(0, 1, slots / 2)),
       "the key that is full again makes room");
    uint64_t found = 0;
    for (uint64_t i = 0; i <= slots; i++)
        found += table_find(table, id_in(0, 1, i)) != NULL;
    OK_U64(found, slots, "... and nobody else");
    table_check(table);
    table_destroy(&table);
}

static void floors(void)
{
    struct table *table = table_create(1, 4, &limits, alone);
    uint64_t slots = stats_of(table).capacity_keys, now_ns = SECOND_NS;
    struct key_id victim = id_in(0, 1, 7), late = id_in(0, 1, 999), foreign = id_in(0, 1, 1000);
    struct bucket bucket;
    for (uint64_t i = 0; i < slots; i++)
        (void)take(table, id_in(0, 1, i), 0, alone, i == 7 ? 20 : 50, now_ns);
    (void)take(table, late, 0, alone, 50, now_ns);
    OK(stats_of(table).evicted_harmful_keys == 1 && !table_find(table, victim),
       "with nobody full, the key that owes least is evicted");
    struct entry *entry = table_find(table, late);
    OK_I64(entry->bucket.settled, 30 * limits.limit[0].units_per_token, "... and a new one starts where it was");
    table_start(table, victim, 0, 0, now_ns + 100 * MS_NS, &bucket);
    OK_I64(bucket.settled, 90 * limits.limit[0].units_per_token, "the evicted one would start with what it had");
    table_start(table, victim, 0, 0, now_ns + 200 * MS_NS, &bucket);
    OK(bucket_is_full(&bucket, &limits.limit[0]), "... and full when it would be full again");
    table_start(table, foreign, 1, 0, now_ns, &bucket);
    OK(bucket_is_full(&bucket, &limits.limit[1]), "keys of another limit do not suffer");
    table_check(table);
    table_destroy(&table);
}

static void forgotten_keys_and_late_spends(void)
{
    struct table *table = table_create(1, 4, &limits, shared);
    struct key_id id = id_in(0, 1, 7);
    (void)table_obtain(table, id, 0, 0, 0);
    bucket_apply(&table_find(table, id)->bucket, &limits.limit[0], &shared[0], 50, 0, 0, 0);
    for (uint64_t i = 100; table_find(table, id); i++)
        (void)table_obtain(table, id_in(0, 1, i), 0, 0, 500 * MS_NS);
    struct entry *entry = table_obtain(table, id, 0, 0, 100 * MS_NS);
    bucket_apply(&entry->bucket, &limits.limit[0], &shared[0], 50, 0, 100 * MS_NS, 0);
    bucket_refill(&entry->bucket, &limits.limit[0], &shared[0], 600 * MS_NS);
    OK_I64(entry->bucket.settled, 60 * limits.limit[0].units_per_token,
           "a spend made before its key was forgotten as full counts as if it had been remembered");
    table_destroy(&table);
}

/* ---- visits ---- */

struct visits {
    const struct table *table;
    uint64_t count, sum, wrong, prefix;
    unsigned bits;
};

static void visit(void *context, const struct entry *entry)
{
    struct visits *visits = context;
    visits->count++;
    visits->sum += entry->id.low;
    visits->wrong += visits->bits > 0 && entry->id.high >> (64 - visits->bits) != visits->prefix;
}

static void visits(void)
{
    struct table *table = table_create(1000, 4, &limits, alone);
    struct random random;
    random_seed(&random, 3);
    uint64_t sum = 0, count = 1000;
    for (uint64_t i = 0; i < count; i++) {
        struct key_id id = draw_id(&random);
        id.high = i % 10 == 0 ? i << 54 : id.high; /* some at the edges of prefixes */
        sum += id.low;
        (void)take(table, id, 2, alone, 100, SECOND_NS);
    }
    static const unsigned bits[] = {0, 1, 3, 8, 13};
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        struct visits all = {.bits = bits[i]};
        for (uint64_t prefix = 0; prefix < (uint64_t)1 << bits[i]; prefix++) {
            all.prefix = prefix;
            table_visit(table, prefix, bits[i], visit, &all);
        }
        OK(all.count == count && all.sum == sum && all.wrong == 0,
           "all prefixes of %u bits together see every key exactly once", bits[i]);
    }
    struct visits last = {.bits = 32, .prefix = UINT32_MAX};
    (void)take(table, (struct key_id){UINT64_MAX, 1}, 2, alone, 100, SECOND_NS);
    table_visit(table, UINT32_MAX, 32, visit, &last);
    OK(last.count == 1 && last.wrong == 0, "the last prefix of 32 bits sees the last key");
    table_destroy(&table);
}

static bool keeps_tenant(void *context, const struct entry *entry)
{
    (void)context;
    return entry->tenant == 2;
}

/* An owner goes through the table himself: hits forget nobody, and he only those who are full and not kept. */
static void forgetting(void)
{
    struct table *table = table_create(1000, 4, &limits, alone);
    struct random random;
    struct key_id hot;
    uint64_t now_ns = SECOND_NS, forgotten = 0, places = table_places(table), owe = 0;
    random_seed(&random, 5);
    table_set_owner(table, &(struct table_owner){.keeps = keeps_tenant, .forgets = true});
    for (uint16_t i = 0; i < 600; i++) {
        hot = draw_id(&random);
        owe += i % 3 == 0;
        (void)take(table, hot, 0, alone, i % 3 == 0 ? 10 : 0, now_ns);
        table_claim(table, table_find(table, hot), i % 3);
    }
    OK_U64(table_most_tenant_keys(table), 200, "three tenants have 200 keys each");
    for (int i = 0; i < 10000; i++)
        (void)take(table, hot, 0, alone, 0, now_ns);
    OK_U64(stats_of(table).used_keys, 600, "10,000 hits forget none of them");
    for (uint64_t from = 0; from < places; from += 7)
        forgotten += table_forget_full(table, from, places - from < 7 ? places - from : 7, now_ns);
    struct table_stats stats = stats_of(table);
    OK(forgotten == 200 && stats.used_keys == 400 && stats.expired_keys == 200 && owe == 200,
       "those that are full go, but for what is kept, and what owes something: %" PRIu64, stats.used_keys);
    OK(table_tenant_keys(table, 1) == 0 && table_tenant_keys(table, 2) == 200, "they are no tenant's any more");
    table_check(table);
    table_destroy(&table);
}

int main(void)
{
    table_world_open();
    basics();
    memory();
    expiry();
    harmless_first();
    floors();
    forgotten_keys_and_late_spends();
    visits();
    forgetting();
    return tap_done();
}
