#include "base/random.h"
#include "limit/kind.h"
#include "limit/table.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

#include <stdlib.h>

/*
 * Cells and logs in a table: forgotten when they are over, evicted when it is full, and never with more than they had;
 * and whose keys they are.
 */

enum { SLOW = TAP_SLOW ? 10 : 1 }; /* how many times fewer operations */
#define MS_NS 1000000ull
#define SECOND_NS 1000000000ull

enum { BUCKET_SLOW, BUCKET_FAST, CELL_SMALL, CELL_LARGE, CELL_KEPT, LOG_SMALL, LOG_LARGE, LIMITS };

static struct limit_set limits;
static struct budget alone[LIMITS], shared[LIMITS];
static struct events *events, *model_events;

static void make_limits(void)
{
    static const struct limit_terms terms[LIMITS] = {
        [BUCKET_SLOW] = {.capacity = 100, .rate = 1, .period_ns = SECOND_NS, .overshoot = 1000000},
        [BUCKET_FAST] = {.capacity = 50, .rate = 1000, .period_ns = SECOND_NS, .overshoot = 1000000},
        [CELL_SMALL] = {.kind = LIMIT_CELL, .capacity = 7, .overshoot = 1000000},
        [CELL_LARGE] = {.kind = LIMIT_CELL, .capacity = 999983, .overshoot = 100000000},
        [CELL_KEPT] = {.kind = LIMIT_CELL, .flags = LIMIT_PERSISTENT, .capacity = 30, .overshoot = 1000000},
        [LOG_SMALL] = {.kind = LIMIT_LOG, .capacity = 5, .period_ns = SECOND_NS, .overshoot = 10000},
        [LOG_LARGE] = {.kind = LIMIT_LOG, .capacity = 300, .period_ns = 3 * SECOND_NS, .overshoot = 10000},
    };
    struct error error;
    events = events_create(200000);
    model_events = events_create(2000000);
    bool made = limit_set_init(&limits, LIMITS, events);
    for (int i = 0; i < LIMITS; i++)
        made = made && limit_set_intern(&limits, &terms[i], &error) == i;
    assert(made && events && model_events);
    for (int i = 0; i < LIMITS; i++) {
        const struct limit *limit = &limits.limit[i];
        budget_init(&alone[i], limit, SHARE_ONE, true);
        budget_init(&shared[i], limit, SHARE_ONE / 3, false);
        /* Shares as with an overshoot of a fifth; no debt ever stops: the spends made up here keep no law. */
        shared[i].slack_units = units_times(limit->capacity_units / 5, shared[i].share);
    }
}

static struct key_id id_of(uint64_t i)
{
    const struct hash_key key = {{2}};
    return hash_128(&key, &i, sizeof i);
}

/* All keys are over some time: the events that logs list go back to the pool that all tests share. */
static void forget_all(struct table *table)
{
    (void)table_forget_full(table, 0, table_places(table), UINT64_MAX / 4);
}

static struct table_stats stats_of(const struct table *table)
{
    struct table_stats stats;
    table_stats(table, &stats);
    return stats;
}

static bool take(struct table *table, uint64_t i, uint16_t limit, uint64_t cost, uint64_t expires_ns,
                 uint64_t now_ns)
{
    struct entry *entry = table_obtain(table, id_of(i), limit, expires_ns, now_ns);
    return bucket_take(&entry->bucket, &limits.limit[limit], &alone[limit], cost, 0, now_ns);
}

/* ---- what is over is forgotten ---- */

static void expiry(void)
{
    struct table *table = table_create(100, 2, &limits, alone);
    struct events_stats listed;
    uint64_t now_ns = 10 * SECOND_NS;
    for (uint64_t i = 0; i < 50; i++) {
        (void)take(table, i, CELL_SMALL, 1, now_ns + SECOND_NS, now_ns);
        (void)take(table, 100 + i, LOG_SMALL, 1, 0, now_ns);
    }
    events_stats(events, &listed);
    OK(stats_of(table).used_keys == 100 && listed.used == 50, "50 cells, 50 logs");
    table_check(table);
    for (uint64_t i = 1000; i < 1090; i++)
        (void)take(table, i, CELL_SMALL, 1, now_ns + 2 * SECOND_NS, now_ns + SECOND_NS);
    events_stats(events, &listed);
    OK(stats_of(table).expired_keys + stats_of(table).evicted_harmless_keys >= 50 &&
           stats_of(table).evicted_harmful_keys == 0,
       "those that are over make room for others, harmlessly");
    table_check(table);
    forget_all(table);
    events_stats(events, &listed);
    OK(stats_of(table).used_keys == 0 && listed.used == 0, "keys that are over list no events any more");
    table_check(table);
    table_destroy(&table);
}

/* ---- evictions ---- */

static void evictions(void)
{
    struct table *table = table_create(1, 2, &limits, alone);
    uint64_t slots = stats_of(table).capacity_keys, now_ns = 10 * SECOND_NS;
    struct bucket bucket;
    for (uint64_t i = 0; i < slots; i++) /* one cell is over soon, the others are not */
        (void)take(table, i, CELL_LARGE, i == 7 ? 250000 : 500000, now_ns + (i == 7 ? 1 : 60) * SECOND_NS, now_ns);
    (void)take(table, 1000, CELL_KEPT, 30, now_ns + SECOND_NS / 2, now_ns);
    OK(stats_of(table).evicted_harmful_keys == 1 && !table_find(table, id_of(7)),
       "with nobody full, the one that is over first is evicted");
    table_start(table, id_of(7), CELL_LARGE, now_ns + SECOND_NS, now_ns, &bucket);
    const int64_t token = limits.limit[CELL_LARGE].units_per_token;
    OK(bucket.settled <= (999983 - 250000) * token && bucket.settled >= (999983 - 250001) * token,
       "it comes back with what it had");
    table_start(table, id_of(7), CELL_LARGE, now_ns + 2 * SECOND_NS, now_ns + SECOND_NS, &bucket);
    OK(bucket_is_full(&bucket, &limits.limit[CELL_LARGE]), "... until that is over");
    table_start(table, id_of(7), BUCKET_SLOW, 0, now_ns, &bucket);
    OK(bucket_is_full(&bucket, &limits.limit[BUCKET_SLOW]), "buckets do not suffer");
    table_start(table, id_of(7), LOG_LARGE, 0, now_ns, &bucket);
    OK(bucket_is_full(&bucket, &limits.limit[LOG_LARGE]), "nor do keys of another limit");
    (void)take(table, 1001, LOG_SMALL, 1, 0, now_ns);
    OK(table_find(table, id_of(1000)), "what the store keeps is evicted last");
    struct table_owed owed;
    table_owed(table, 0, 0, now_ns, &owed);
    OK(owed.refill_ns == 0 && owed.window_ns == 60 * SECOND_NS && owed.window_used > TABLE_USED_ONE / 2 &&
           owed.window_used < TABLE_USED_ONE / 2 + 200,
       "half a limit for a minute is the worst that was evicted");
    table_check(table);
    forget_all(table);
    table_destroy(&table);
}

static bool nobody(void *context, const struct entry *entry)
{
    (void)context, (void)entry;
    return false;
}

/* What another table had to evict. */
static void lowering(void)
{
    struct table *table = table_create(100, 2, &limits, alone);
    struct bucket bucket;
    const uint64_t now_ns = 10 * SECOND_NS;
    const struct table_owed owed = {.window_ns = 2 * SECOND_NS, .window_used = TABLE_USED_ONE / 2};
    (void)take(table, 1, CELL_SMALL, 1, now_ns + SECOND_NS, now_ns);
    (void)take(table, 2, LOG_LARGE, 1, 0, now_ns);
    (void)take(table, 3, BUCKET_SLOW, 1, 0, now_ns);
    (void)take(table, 4, LOG_LARGE, 200, 0, now_ns);
    table_lower(table, 0, 0, &owed, now_ns, nobody, NULL);
    OK_I64(table_find(table, id_of(1))->bucket.settled, 7 * limits.limit[CELL_SMALL].units_per_token / 2,
           "a cell has half of 7 left");
    OK_I64(table_find(table, id_of(2))->bucket.settled, 150, "a log half of 300");
    OK_I64(table_find(table, id_of(4))->bucket.settled, 100, "... or what it had");
    OK_I64(table_find(table, id_of(3))->bucket.settled, 99 * limits.limit[BUCKET_SLOW].units_per_token,
           "a bucket what it had");
    table_check(table);
    (void)take(table, 5, LOG_LARGE, 0, 0, now_ns);
    OK_I64(table_find(table, id_of(5))->bucket.settled, 150, "a new log starts with half");
    const struct limit *log = &limits.limit[LOG_LARGE];
    bucket_refill(&table_find(table, id_of(5))->bucket, log, &alone[LOG_LARGE],
                  limit_granted_at_ns(log, now_ns) + 2 * SECOND_NS);
    OK(bucket_is_full(&table_find(table, id_of(5))->bucket, log), "... until it would be over elsewhere");
    table_start(table, id_of(6), CELL_LARGE, now_ns + SECOND_NS, now_ns + 2 * SECOND_NS, &bucket);
    OK(bucket_is_full(&bucket, &limits.limit[CELL_LARGE]), "... and nobody suffers any more");
    forget_all(table);
    table_destroy(&table);
}

/* ---- tenants ---- */

static void tenants(void)
{
    struct table *table = table_create(1, 3, &limits, alone);
    uint64_t slots = stats_of(table).capacity_keys, now_ns = 10 * SECOND_NS;
    for (uint64_t i = 0; i < 10; i++) {
        struct entry *entry = table_obtain(table, id_of(i), CELL_SMALL, now_ns + SECOND_NS, now_ns);
        (void)bucket_take(&entry->bucket, &limits.limit[CELL_SMALL], &alone[CELL_SMALL], 1, 0, now_ns);
        table_claim(table, entry, (uint16_t)(i % 3));
    }
    OK(table_tenant_keys(table, 0) == 4 && table_tenant_keys(table, 1) == 3 && table_tenant_keys(table, 2) == 3,
       "ten keys of three tenants");
    table_claim(table, table_find(table, id_of(0)), 2);
    OK(table_tenant_keys(table, 0) == 3 && table_tenant_keys(table, 2) == 4, "one changes hands");
    table_check(table);
    now_ns += SECOND_NS;
    for (uint64_t i = 100; i < 100 + 4 * slots; i++)
        (void)take(table, i, CELL_SMALL, 1, now_ns + SECOND_NS, now_ns);
    OK(table_tenant_keys(table, 1) == 0 && table_tenant_keys(table, 2) == 0,
       "keys that were forgotten or evicted are no tenant's");
    OK_U64(table_tenant_keys(table, 0), stats_of(table).used_keys, "... all others are the first one's");
    OK_U64(table_tenant_keys(table, 3), 0, "a tenant that is unknown has none");
    forget_all(table);
    table_destroy(&table);
}

/* What peers tell of is no tenant's, and counts for none until a request here claims it. */
static void nobodys_keys(void)
{
    struct table *table = table_create(1000, 3, &limits, alone);
    const uint64_t now_ns = 10 * SECOND_NS, end_ns = now_ns + SECOND_NS;
    for (uint64_t i = 0; i < 10; i++)
        (void)table_obtain_nobodys(table, id_of(i), CELL_SMALL, end_ns, now_ns);
    OK(stats_of(table).used_keys == 10 && table_most_tenant_keys(table) == 0, "ten keys of nobody");
    struct entry *entry = table_obtain(table, id_of(0), CELL_SMALL, end_ns, now_ns);
    OK(entry->tenant == TABLE_NOBODY && table_tenant_keys(table, 0) == 0, "one that is found stays nobody's");
    table_claim(table, entry, 0);
    OK_U64(table_tenant_keys(table, 0), 1, "... until it is claimed");
    OK(table_obtain_nobodys(table, id_of(0), CELL_SMALL, end_ns, now_ns) == entry && entry->tenant == 0,
       "what peers tell of it then does not change that");
    table_check(table);
    table_destroy(&table);
}

/* How many of so many new keys tenant 0 may have. */
static uint64_t keys_with_room(struct table *table, uint64_t count)
{
    const uint64_t now_ns = 10 * SECOND_NS;
    uint64_t had = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!table_tenant_has_room(table, id_of(i), 0, 1))
            continue;
        (void)take(table, i, CELL_SMALL, 1, now_ns + SECOND_NS, now_ns);
        had++;
    }
    return had;
}

static void room_of_tenants(void)
{
    enum { MOST = 30000 };
    for (int parts = 0; parts < 2; parts++) {
        struct table *table = table_create(40000, 3, &limits, alone);
        table_set_tenant_keys_max(table, 5, MOST);
        if (parts)
            table_share(table);
        OK(table_tenant_has_room(table, id_of(0), 1, 5) && !table_tenant_has_room(table, id_of(0), 1, 6),
           "%s: a tenant may have five keys", parts ? "in stripes" : "in one piece");
        uint64_t had = keys_with_room(table, 40000);
        if (parts)
            OK(had >= MOST / 100 * 98 && had <= MOST / 100 * 115, "... tenant 0 about its number: %" PRIu64, had);
        else
            OK_U64(had, MOST, "... tenant 0 its own number");
        table_set_tenant_keys_max(table, 5, 0);
        OK_U64(keys_with_room(table, 1000), 1000, "... without a bound all that there are");
        table_destroy(&table);
    }
}

/* ---- against a model that forgets nothing ---- */

struct model {
    uint64_t number; /* of the key, and of its window */
    uint16_t limit;
    uint64_t expires_ns;
    struct bucket bucket;
    uint64_t unsettled_tokens, taken_ns;
};

struct trial {
    struct table *table;
    struct model *keys;
    const struct budget *budgets;
    struct limit model_limit[LIMITS];
    uint64_t key_count, now_ns;
    struct random random;
    uint64_t raised, lowered, wrong;
};

static struct key_id model_id(const struct model *model)
{
    const struct hash_key key = {{1}};
    return hash_128(&key, &model->number, sizeof model->number);
}

/* Cells change with their windows: a new number is a new key. */
static void renew(struct trial *trial, struct model *model)
{
    if (limits.limit[model->limit].kind != LIMIT_CELL || trial->now_ns < model->expires_ns)
        return;
    model->number += trial->key_count;
    model->expires_ns = trial->now_ns + 1 + random_below(&trial->random, 4 * SECOND_NS);
    model->unsettled_tokens = 0;
    bucket_fill(&model->bucket, &trial->model_limit[model->limit], trial->now_ns, model->expires_ns);
}

/* The table may know less than is true of a key, never more. */
static void compare(struct trial *trial, struct model *model)
{
    const struct limit *limit = &limits.limit[model->limit];
    const struct budget *budget = &trial->budgets[model->limit];
    struct entry *entry = table_find(trial->table, model_id(model));
    struct bucket seen;
    bucket_refill(&model->bucket, &trial->model_limit[model->limit], budget, trial->now_ns);
    if (entry)
        bucket_refill(&entry->bucket, limit, budget, trial->now_ns);
    if (entry)
        seen = entry->bucket;
    else
        table_start(trial->table, model_id(model), model->limit, model->expires_ns, trial->now_ns, &seen);
    int64_t has = bucket_allowance(&seen, budget) - seen.unsettled;
    int64_t is = bucket_allowance(&model->bucket, budget) - model->bucket.unsettled;
    trial->raised += has > is;
    trial->lowered += has < is;
}

static void spend(struct trial *trial, struct model *model, struct entry *entry)
{
    const struct limit *limit = &limits.limit[model->limit], *model_limit = &trial->model_limit[model->limit];
    const struct budget *budget = &trial->budgets[model->limit];
    uint64_t cost = 1 + random_below(&trial->random, 1 + limit->capacity / 8);
    if (!bucket_take(&entry->bucket, limit, budget, cost, 0, trial->now_ns))
        return;
    trial->raised += !bucket_take(&model->bucket, model_limit, budget, cost, 0, trial->now_ns);
    model->unsettled_tokens += cost;
    model->taken_ns = trial->now_ns;
}

static void step(struct trial *trial)
{
    struct random *random = &trial->random;
    struct model *model = &trial->keys[random_below(random, trial->key_count)];
    const struct limit *limit = &limits.limit[model->limit], *model_limit = &trial->model_limit[model->limit];
    const struct budget *budget = &trial->budgets[model->limit];
    trial->now_ns += random_below(random, random_below(random, 1000) == 0 ? 100 * MS_NS : MS_NS / 20);
    trial->now_ns += random_below(random, 20000) == 0 ? 5 * SECOND_NS : 0;
    renew(trial, model);
    compare(trial, model);
    struct entry *entry =
        table_obtain(trial->table, model_id(model), model->limit, model->expires_ns, trial->now_ns);
    trial->wrong += entry->limit != model->limit;
    uint64_t drawn = random_below(random, 10), tokens = 1 + random_below(random, 1 + limit->capacity / 8);
    if (drawn < 6) {
        spend(trial, model, entry);
    } else if (drawn < 8) {
        uint64_t at_ns = trial->now_ns - random_below(random, 100 * MS_NS);
        at_ns = limit->kind == LIMIT_BUCKET ? trial->now_ns : at_ns;
        bucket_apply(&entry->bucket, limit, budget, tokens, 0, at_ns, 0);
        bucket_apply(&model->bucket, model_limit, budget, tokens, 0, at_ns, 0);
    } else if (model->unsettled_tokens > 0 && !budget->alone) {
        const struct settlement all = {.tokens = model->unsettled_tokens, .at_ns = model->taken_ns};
        bucket_settle(&entry->bucket, limit, budget, &all);
        bucket_settle(&model->bucket, model_limit, budget, &all);
        model->unsettled_tokens = 0;
    }
    compare(trial, model);
}

static struct trial run(uint64_t table_keys, uint64_t model_keys, const struct budget *budgets, uint64_t steps)
{
    struct trial trial = {.key_count = model_keys, .now_ns = 10 * SECOND_NS, .budgets = budgets};
    trial.table = table_create(table_keys, 1, &limits, budgets);
    trial.keys = calloc(model_keys, sizeof *trial.keys);
    random_seed(&trial.random, model_keys + steps);
    assert(trial.table && trial.keys);
    table_set_share_min(trial.table, budgets[0].share);
    for (int i = 0; i < LIMITS; i++) {
        trial.model_limit[i] = limits.limit[i];
        trial.model_limit[i].events = model_events;
    }
    for (uint64_t i = 0; i < model_keys; i++) {
        trial.keys[i].number = i;
        trial.keys[i].limit = (uint16_t)(i % LIMITS);
        bucket_fill(&trial.keys[i].bucket, &trial.model_limit[i % LIMITS], 0, 0);
    }
    for (uint64_t i = 0; i < steps; i++) {
        step(&trial);
        if (i % (steps / 10) == 0)
            table_check(trial.table);
    }
    table_check(trial.table);
    const struct table_stats stats = stats_of(trial.table);
    printf("# %" PRIu64 " of %" PRIu64 " slots, %" PRIu64 " expired, evicted %" PRIu64 " harmless %" PRIu64
           " harmful, lower than the model %" PRIu64 " times\n",
           stats.used_keys, stats.capacity_keys, stats.expired_keys, stats.evicted_harmless_keys,
           stats.evicted_harmful_keys, trial.lowered);
    for (uint64_t i = 0; i < model_keys; i++)
        bucket_close(&trial.keys[i].bucket, &trial.model_limit[i % LIMITS]);
    free(trial.keys);
    forget_all(trial.table);
    return trial;
}

static void properties(void)
{
    struct trial trial = run(4000, 4000, alone, 1000000 / SLOW);
    struct table_stats stats = stats_of(trial.table);
    OK(trial.raised + trial.lowered + trial.wrong == 0 && stats.evicted_harmful_keys == 0 &&
           stats.expired_keys > 100,
       "with room enough, alone: a table is its model, though it forgets");
    table_destroy(&trial.table);
    trial = run(4000, 4000, shared, 500000 / SLOW);
    OK(trial.raised + trial.wrong == 0, "with shares it never has more than its model");
    table_destroy(&trial.table);
    for (int i = 0; i < 2; i++) {
        trial = run(300, 3000, i == 0 ? alone : shared, 500000 / SLOW);
        stats = stats_of(trial.table);
        OK(stats.evicted_harmful_keys > 1000, "ten times too small, %s: many evictions harm",
           i == 0 ? "alone" : "with shares");
        OK(trial.raised + trial.wrong == 0, "... and never raise what a key may spend");
        table_destroy(&trial.table);
    }
}

int main(void)
{
    make_limits();
    expiry();
    evictions();
    lowering();
    tenants();
    nobodys_keys();
    room_of_tenants();
    properties();
    struct events_stats listed;
    events_stats(events, &listed);
    OK(listed.used == 0 && listed.refused == 0 && listed.lost == 0, "no event is left behind");
    limit_set_close(&limits);
    events_destroy(&events);
    events_destroy(&model_events);
    return tap_done();
}
