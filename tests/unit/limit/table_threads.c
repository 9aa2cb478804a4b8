#include "base/random.h"
#include "limit/table.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

/*
 * One table, several threads: under the locks of a few keys each does all that is done for keys, in a table that is far
 * too small, in one that is large, and where all keys have their homes on both sides of the border of two stripes.
 * What was admitted is counted outside the table: it never exceeds what buckets allow.
 */

enum { SLOW = TAP_SLOW ? 10 : 1 }; /* how many times fewer operations */
#define SECOND_NS 1000000000ull

enum { BUCKET_FAST, CELL, LOG, BUCKET_HELD, LIMITS };
enum {
    THREADS = 4,
    STEPS = 400000,
    KEYS_MAX = 60000,
    TOGETHER_MAX = 4, /* keys that are locked at once */
    TENANTS = 4,
    HOT =
        16, /* keys of BUCKET_HELD, which hardly refills: whoever evicts none of them admits its capacity, exactly */
    HOT_CAPACITY = 1000,
    EVENTS = 5000,
};

static struct limit_set limits;
static struct budget budgets[LIMITS];
static struct events *events;

static void make_limits(void)
{
    static const struct limit_terms terms[LIMITS] = {
        [BUCKET_FAST] = {.capacity = 50, .rate = 1000, .period_ns = SECOND_NS},
        [CELL] = {.kind = LIMIT_CELL, .capacity = 7},
        [LOG] = {.kind = LIMIT_LOG, .capacity = 20, .period_ns = SECOND_NS},
        [BUCKET_HELD] = {.capacity = HOT_CAPACITY, .rate = 1, .period_ns = LIMIT_PERIOD_MAX_NS},
    };
    struct error error;
    events = events_create(EVENTS);
    bool made = events && limit_set_init(&limits, LIMITS, events);
    for (int i = 0; i < LIMITS; i++) {
        made = made && limit_set_intern(&limits, &terms[i], &error) == i;
        budget_init(&budgets[i], &limits.limit[i], SHARE_ONE, true);
    }
    assert(made);
}

/* ---- what each thread does ---- */

struct trial {
    struct table *table;
    const struct key_id *ids; /* the first HOT of them are BUCKET_HELD's */
    uint64_t id_count;
};

struct worker {
    pthread_t thread;
    const struct trial *trial;
    struct random random;
    uint64_t now_ns;
    uint64_t admitted[HOT];
    uint64_t moved; /* pointers to entries that did not stay as table_changes promised */
};

static uint16_t limit_of(uint64_t key)
{
    return key < HOT ? BUCKET_HELD : (uint16_t)(key % BUCKET_HELD);
}

/* `hint`: where it stood before it was locked, or 0. */
static void spend(struct worker *worker, uint64_t key, uint64_t slot_hint)
{
    struct table *table = worker->trial->table;
    uint16_t limit = limit_of(key);
    uint64_t now_ns = worker->now_ns, expires_ns = limit == CELL ? now_ns / SECOND_NS * SECOND_NS + SECOND_NS : 0;
    const struct key_id id = worker->trial->ids[key];
    struct entry *entry = table_find_at(table, slot_hint, id);
    if (!entry)
        entry = table_obtain(table, id, limit, expires_ns, now_ns);
    if (entry->tenant != key % TENANTS)
        table_claim(table, entry, (uint16_t)(key % TENANTS));
    bool taken = bucket_take(&entry->bucket, &limits.limit[limit], &budgets[limit], 1, 0, now_ns);
    if (taken && key < HOT)
        worker->admitted[key]++;
    if (random_below(&worker->random, 8) == 0 && key >= HOT)
        bucket_apply(&entry->bucket, &limits.limit[limit], &budgets[limit], 2, 0, now_ns - SECOND_NS / 10, 0);
}

static void look(const struct worker *worker, uint64_t key)
{
    struct table *table = worker->trial->table;
    struct key_id id = worker->trial->ids[key];
    struct bucket bucket;
    if (!table_find(table, id))
        table_start(table, id, limit_of(key), worker->now_ns, worker->now_ns, &bucket);
    assert(table_tenant_keys(table, 1) < (uint64_t)1 << 40);
}

static void step(struct worker *worker)
{
    const struct trial *trial = worker->trial;
    uint64_t keys[TOGETHER_MAX], slot_hints[TOGETHER_MAX];
    struct key_id ids[TOGETHER_MAX];
    struct table_held held;
    uint32_t count = 1 + (uint32_t)random_below(&worker->random, TOGETHER_MAX);
    for (uint32_t i = 0; i < count; i++) {
        bool hot = random_below(&worker->random, 4) == 0;
        keys[i] = random_below(&worker->random, hot ? HOT : trial->id_count);
        ids[i] = trial->ids[keys[i]];
        table_prefetch_tags(trial->table, ids[i]);
        slot_hints[i] = table_prefetch(trial->table, ids[i]);
        uint32_t open_index;
        (void)table_peek_open(trial->table, slot_hints[i], &open_index);
    }
    worker->now_ns += random_below(&worker->random, 20000);
    table_lock(trial->table, ids, count, &held);
    const struct entry *first = table_find(trial->table, ids[0]);
    uint64_t changes = table_changes(trial->table, ids[0]);
    for (uint32_t i = 0; i < count; i++)
        random_below(&worker->random, 4) == 0 ? look(worker, keys[i]) : spend(worker, keys[i], slot_hints[i]);
    if (changes == table_changes(trial->table, ids[0]) && first != table_find(trial->table, ids[0]))
        worker->moved++;
    table_unlock(trial->table, &held);
    if (random_below(&worker->random, 1000) == 0) {
        struct table_stats stats;
        table_stats(trial->table, &stats);
        assert(stats.used_keys <= stats.capacity_keys + TOGETHER_MAX * THREADS);
    }
}

static void *work(void *context)
{
    struct worker *worker = context;
    for (int i = 0; i < STEPS / SLOW / THREADS; i++)
        step(worker);
    return NULL;
}

/* ---- trials ---- */

static struct key_id *draw_ids(uint64_t count, uint64_t from_high, uint64_t high_range)
{
    struct random random;
    struct key_id *ids = calloc(count, sizeof *ids);
    assert(ids);
    random_seed(&random, count);
    for (uint64_t i = 0; i < count; i++) {
        ids[i].high = from_high + random_below(&random, high_range);
        ids[i].low = random_u64(&random);
    }
    return ids;
}

/* Whether keys are evicted at the expense of others is for the caller to know. */
static void hammer(const char *name, uint64_t table_keys, const struct key_id *ids, uint64_t id_count, bool evicts)
{
    static struct worker workers[THREADS];
    struct trial trial = {.ids = ids, .id_count = id_count};
    trial.table = table_create(table_keys, TENANTS, &limits, budgets);
    assert(trial.table);
    table_share(trial.table);
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.trial = &trial, .now_ns = 10 * SECOND_NS};
        random_seed(&workers[i].random, i);
        int failed = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
        assert(!failed);
    }
    uint64_t most = 0, least = UINT64_MAX, moved = 0;
    for (int i = 0; i < THREADS; i++) {
        int failed = pthread_join(workers[i].thread, NULL);
        assert(!failed);
        moved += workers[i].moved;
    }
    for (int key = 0; key < HOT; key++) {
        uint64_t admitted = 0;
        for (int i = 0; i < THREADS; i++)
            admitted += workers[i].admitted[key];
        most = admitted > most ? admitted : most;
        least = admitted < least ? admitted : least;
    }
    struct table_stats stats;
    struct events_stats listed;
    table_check(trial.table);
    table_stats(trial.table, &stats);
    events_stats(events, &listed);
    printf("# %s: %" PRIu64 " keys, %" PRIu64 " expired, evicted %" PRIu64 " and %" PRIu64 ", %" PRIu64
           " of %d events, %" PRIu64 " refused, %" PRIu64 " merged\n",
           name, stats.used_keys, stats.expired_keys, stats.evicted_harmless_keys, stats.evicted_harmful_keys,
           listed.used, EVENTS, listed.refused, listed.merged);
    OK((stats.evicted_harmful_keys > 100) == evicts, "%s: keys are%s evicted", name, evicts ? "" : " not");
    OK(most <= HOT_CAPACITY, "... none was admitted more than its capacity: %" PRIu64, most);
    OK(SLOW > 1 || evicts || least == HOT_CAPACITY, "... nor less, where none is evicted");
    OK(moved == 0, "... entries stay while the table says that nothing changes");
    (void)table_forget_full(trial.table, 0, table_places(trial.table), UINT64_MAX / 4);
    table_check(trial.table);
    events_stats(events, &listed);
    OK_U64(listed.used, 0, "... and no event is left behind");
    table_destroy(&trial.table);
}

/* The locks themselves: who asks for a key that is held, waits. */
struct waiter {
    struct table *table;
    struct key_id id;
    uint64_t *guarded;
};

static void *count_under_lock(void *context)
{
    const struct waiter *waiter = context;
    for (int i = 0; i < STEPS / SLOW / THREADS; i++) {
        struct table_held held;
        table_lock(waiter->table, &waiter->id, 1, &held);
        ++*waiter->guarded;
        table_unlock(waiter->table, &held);
    }
    return NULL;
}

static void locks(void)
{
    struct table *table = table_create(100000, TENANTS, &limits, budgets);
    struct table_held held;
    const struct key_id id = {UINT64_MAX, 0};
    uint64_t guarded = 0;
    assert(table);
    table_lock(table, &id, 1, &held);
    table_lock(table, &id, 1, &held);
    OK(held.count == 0, "a table that is not shared has no locks");
    table_unlock(table, &held);
    (void)table_obtain(table, id, 0, 0, SECOND_NS);
    table_claim(table, table_obtain(table, (struct key_id){1, 1}, 0, 0, SECOND_NS), 2);
    table_share(table);
    table_check(table);
    OK(table_find(table, id) && table_tenant_keys(table, 0) == 1 && table_tenant_keys(table, 2) == 1,
       "it may be shared when there are keys in it");
    struct waiter waiter = {.table = table, .id = id, .guarded = &guarded};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        int failed = pthread_create(&threads[i], NULL, count_under_lock, &waiter);
        assert(!failed);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    OK_U64(guarded, (uint64_t)STEPS / SLOW / THREADS * THREADS, "one at a time holds a key");
    table_check(table);
    table_destroy(&table);
}

int main(void)
{
    make_limits();
    locks();
    struct key_id *ids = draw_ids(KEYS_MAX, 0, UINT64_MAX);
    hammer("a large table", 1000000, ids, KEYS_MAX, false);
    hammer("a table that is too small", 10000 / SLOW, ids, KEYS_MAX / SLOW, true);
    free(ids);
    /* 1000 homes, of which 256 are the first stripe; 24 homes at the border have slots for 400 keys. */
    const uint64_t home = UINT64_MAX / 1000;
    ids = draw_ids(KEYS_MAX / SLOW, 244 * home, 24 * home);
    hammer("the border of two stripes", 12800, ids, KEYS_MAX / SLOW, true);
    free(ids);
    limit_set_close(&limits);
    events_destroy(&events);
    return tap_done();
}
