/* Entries that wait are found among all others, wherever making room has moved them. */
#include "base/random.h"
#include "limit/table.h"
#include "tests/tap.h"

#include <assert.h>

enum { KEYS = 4096, SIDE = 7 };

static struct limit_set limits;
static struct budget shared[1];
static uint64_t evicted;

static bool keeps(void *context, const struct entry *entry)
{
    (void)context;
    return entry->waits;
}

static void evicts(void *context, struct entry *entry)
{
    (void)context;
    evicted += entry->waits;
    entry->waits = 0;
}

static struct table *table_of(uint64_t keys)
{
    struct table *table = table_create(keys, 1, &limits, shared);
    assert(table);
    table_set_owner(table, &(struct table_owner){keeps, evicts, NULL});
    evicted = 0;
    return table;
}

/* A key that owes something, so that nobody else's insertion forgets it. */
static struct entry *spend(struct table *table, struct random *random)
{
    uint64_t high = random_u64(random), low = random_u64(random);
    struct entry *entry = table_obtain(table, (struct key_id){high, low}, 0, 0, 1);
    bool taken = bucket_take(&entry->bucket, &limits.limit[0], &shared[0], 1, 0, 1);
    assert(taken);
    return entry;
}

static void begin_to_wait(struct table *table, struct entry *entry)
{
    entry->waits = 1;
    table_mark(table, entry);
}

/* How many are found in [from, end), some at a time; those that do not wait are found no more. */
static uint64_t find(struct table *table, uint64_t from, uint64_t end, bool *ascending)
{
    struct entry *entries[SIDE], *before = NULL;
    uint64_t waiting = 0;
    for (size_t count; (count = table_find_marked(table, &from, end, entries, SIDE)) > 0;)
        for (size_t i = 0; i < count; i++) {
            *ascending &= !before || entries[i] > before;
            before = entries[i];
            waiting += entries[i]->waits;
            if (!entries[i]->waits)
                table_unmark(table, entries[i]);
        }
    *ascending &= from == end;
    return waiting;
}

static void few(void)
{
    struct random random;
    struct table *table = table_of(KEYS);
    uint64_t places = table_places(table), from = 0;
    bool ascending = true;
    struct entry *entry, *first = NULL, *found;
    random_seed(&random, 1);
    OK(places >= KEYS, "there are places for all keys");
    OK(table_find_marked(table, &from, places, &found, 1) == 0 && from == places,
       "nothing waits, nothing is found");
    for (unsigned i = 0; i < 3; i++) {
        entry = spend(table, &random);
        begin_to_wait(table, entry);
        first = !first || entry < first ? entry : first;
    }
    OK_U64(find(table, 0, places, &ascending), 3, "three are found");
    from = 0;
    OK(table_find_marked(table, &from, places, &found, 1) == 1 && found == first && from < places,
       "one at a time, the first first");
    first->waits = 0;
    OK(find(table, 0, from, &ascending) == 0 && find(table, from, places, &ascending) == 2,
       "where it was there is none now, the others are behind");
    OK(ascending, "in their order");
    table_clear(table);
    from = 0;
    OK_U64(table_find_marked(table, &from, places, &found, 1), 0, "who clears a table forgets what waits");
    table_destroy(&table);
}

/* Two of three wait, in a table that is filled beyond what it has room for. */
static void moved(void)
{
    struct random random;
    struct table *table = table_of(KEYS);
    uint64_t waiting = 0, right = 0, rounds = 40;
    bool ascending = true;
    random_seed(&random, 2);
    for (uint64_t round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < KEYS / 20; i++) {
            struct entry *entry = spend(table, &random);
            if (i % 3 == 0)
                continue;
            begin_to_wait(table, entry);
            waiting++;
        }
        uint64_t half = table_places(table) / 2 + round;
        right += find(table, 0, half, &ascending) + find(table, half, table_places(table), &ascending) ==
                 waiting - evicted;
        table_check(table);
    }
    OK(evicted > KEYS / 10, "%" PRIu64 " are evicted", evicted);
    OK_U64(right, rounds, "all others that wait are found, each once, wherever they moved");
    OK(ascending, "in their order");
    table_destroy(&table);
}

int main(void)
{
    struct error error;
    const struct limit_terms terms = {.capacity = 100, .rate = 1, .period_ns = 1000000000};
    bool has_room = limit_set_init(&limits, 4, NULL);
    assert(has_room && limit_set_intern(&limits, &terms, &error) == 0);
    budget_init(&shared[0], &limits.limit[0], SHARE_ONE / 3, false);
    few();
    moved();
    limit_set_close(&limits);
    return tap_done();
}
