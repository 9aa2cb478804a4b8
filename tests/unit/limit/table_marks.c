/* Entries that wait are found among all others, wherever making room has moved them. */
#include "base/random.h"
#include "limit/table.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/tap.h"

#include <assert.h>

enum { KEYS = 4096 };

static struct limit_set limits;
static struct budget shared[1];
static uint64_t evicted, moved_count, moved_wrong;

static bool keeps(void *table, const struct entry *entry)
{
    return table_is_marked(table, entry);
}

static void evicts(void *table, struct entry *entry)
{
    evicted += table_is_marked(table, entry);
    table_unmark(table, entry);
}

static void moves(void *table, struct entry *entry)
{
    moved_count++;
    moved_wrong += !table_is_marked(table, entry) || !table_is_marked_long(table, entry);
}

static struct table *table_of(uint64_t keys)
{
    struct table *table = table_create(keys, 1, &limits, shared);
    assert(table);
    table_set_owner(table,
                    &(struct table_owner){.keeps = keeps, .evicts = evicts, .moves = moves, .context = table});
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

/* How many are found in [from, end). */
static uint64_t find(struct table *table, uint64_t from, uint64_t end, bool *ascending)
{
    const struct entry *before = NULL, *entry;
    uint64_t found = 0;
    for (; (entry = table_find_marked(table, &from, end)) != NULL; found++) {
        *ascending &= (!before || entry > before) && table_is_marked(table, entry);
        before = entry;
    }
    *ascending &= from == end;
    return found;
}

static void few(void)
{
    struct random random;
    struct table *table = table_of(KEYS);
    uint64_t places = table_places(table), from = 0;
    bool ascending = true;
    struct entry *entry, *first = NULL;
    random_seed(&random, 1);
    OK(places >= KEYS, "there are places for all keys");
    OK(table_find_marked(table, &from, places) == NULL && from == places, "nothing waits, nothing is found");
    for (unsigned i = 0; i < 3; i++) {
        entry = spend(table, &random);
        table_mark_set(table_mark_of(table, entry));
        first = !first || entry < first ? entry : first;
    }
    OK_U64(find(table, 0, places, &ascending), 3, "three are found");
    from = 0;
    OK(table_find_marked(table, &from, places) == first && from < places, "one at a time, the first first");
    table_unmark(table, first);
    OK(find(table, 0, from, &ascending) == 0 && find(table, from, places, &ascending) == 2,
       "where it was there is none now, the others are behind");
    OK(ascending, "in their order");
    table_destroy(&table);
}

/* How many of them the visitor should have met, and has. */
struct visit {
    struct table *table;
    uint64_t prefix, unmarked, strange;
};

static void unmark(void *context, struct entry *entry)
{
    struct visit *visit = context;
    visit->strange += !table_is_marked(visit->table, entry) || entry->id.high >> 60 != visit->prefix;
    table_unmark(visit->table, entry);
    visit->unmarked++;
}

static void by_prefix(void)
{
    struct random random;
    struct table *table = table_of(KEYS);
    uint64_t of_prefix[16] = {0}, wrong = 0;
    bool ascending = true;
    random_seed(&random, 2);
    for (unsigned i = 0; i < KEYS / 2; i++) {
        struct entry *entry = spend(table, &random);
        of_prefix[entry->id.high >> 60] += i % 3 == 0 && !table_is_marked(table, entry);
        if (i % 3 == 0)
            table_mark_set(table_mark_of(table, entry));
    }
    struct visit visit = {.table = table, .prefix = 1};
    for (; visit.prefix < 16; visit.prefix++, visit.unmarked = 0) {
        table_visit_marked(table, visit.prefix, 4, unmark, &visit);
        wrong += visit.unmarked != of_prefix[visit.prefix] || visit.unmarked == 0;
    }
    OK(wrong == 0 && visit.strange == 0, "of a prefix those are visited that are marked, also by who unmarks them");
    OK_U64(find(table, 0, table_places(table), &ascending), of_prefix[0], "the others stay");
    visit.prefix = 0;
    table_visit_marked(table, 0, 0, unmark, &visit);
    OK(visit.unmarked == of_prefix[0] && visit.strange == 0, "no prefix is that of all");
    table_destroy(&table);
}

enum { SOME = 200 };

static uint64_t times_marked(struct table *table, struct entry *const *entries, bool longer)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < SOME; i++)
        count += longer ? table_is_marked_long(table, entries[i]) : table_is_marked(table, entries[i]);
    return count;
}

/* What the marks of the whole table come to, a piece of it at a time. */
static struct table_aged age(struct table *table, enum table_aging aging, struct entry **found)
{
    struct table_aged all = {.count = 0}, aged;
    uint64_t from = 0, places = table_places(table);
    for (uint64_t end = 0; from < places;) {
        if (from == end)
            end = end + 4 * TABLE_MARKS < places ? end + 4 * TABLE_MARKS : places;
        table_age_marks(table, &from, end, aging, &aged);
        for (uint32_t i = 0; i < aged.count; i++)
            found[all.count + i] = aged.entry[i];
        all.count += aged.count;
        all.forgotten += aged.forgotten;
        all.young += aged.young;
    }
    return all;
}

/* Marks of some, of which half are marked again. */
static void aged(enum table_aging aging)
{
    const bool forget = aging == AGING_FORGET;
    struct random random;
    struct table *table = table_of(KEYS);
    struct entry *entries[SOME], *found[SOME];
    random_seed(&random, 3);
    for (unsigned i = 0; i < SOME; i++)
        table_mark_set(table_mark_of(table, entries[i] = spend(table, &random)));
    OK_U64(times_marked(table, entries, true), 0, "what is marked is marked anew at first");
    struct table_aged first = age(table, aging, found);
    OK(first.count == 0 && first.forgotten == 0 && first.young == SOME,
       "the first time all that is marked anew is left");
    OK(times_marked(table, entries, false) == SOME && times_marked(table, entries, true) == SOME,
       "... and is not new");
    for (unsigned i = 0; i < SOME; i += 2)
        table_mark_set(table_mark_of(table, entries[i]));
    struct table_aged second = age(table, aging, found);
    OK_U64(second.count, forget ? SOME / 2 : SOME, "the second time %s is found",
           forget ? "what is new again" : "all");
    OK(second.forgotten == (forget ? SOME / 2 : 0) && second.young == 0, "... and %s forgotten",
       forget ? "the rest is" : "nothing is");
    bool right = true;
    for (unsigned i = 0; i < SOME; i++)
        right &= table_is_marked(table, entries[i]) == (!forget || i % 2 == 0);
    OK(right, "... which is not marked any more");
    struct table_aged third = age(table, AGING_FORGET, found);
    OK(third.count == 0 && third.forgotten == second.count && times_marked(table, entries, false) == 0,
       "the third time all of it is forgotten");
    table_destroy(&table);
}

static void all(void)
{
    struct random random;
    struct table *table = table_of(KEYS);
    struct entry *found[SOME];
    random_seed(&random, 4);
    for (unsigned i = 0; i < SOME; i++)
        table_mark_set(table_mark_of(table, spend(table, &random)));
    struct table_aged aged = age(table, AGING_ALL, found);
    OK(aged.count == SOME && aged.young == SOME, "or all is found at once");
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
            table_mark_set(table_mark_of(table, entry));
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
    OK(moved_count > KEYS / 100 && moved_wrong == 0,
       "whoever moves (%" PRIu64 ") is marked as if a round had come by, and anew: another may", moved_count);
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
    by_prefix();
    aged(AGING_OLD);
    aged(AGING_FORGET);
    all();
    moved();
    limit_set_close(&limits);
    return tap_done();
}
