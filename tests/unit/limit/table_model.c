/* Random use of the table against a naive model: it may know less than is true of a key, never more. */
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

struct model {
    struct key_id id;
    uint16_t limit;
    struct bucket bucket;
    uint64_t unsettled_tokens; /* taken and not settled yet */
    uint64_t taken_ns;
};

struct trial {
    struct table *table;
    struct model *keys;
    const struct budget *budgets;
    uint64_t key_count, now_ns;
    uint64_t late_ns; /* how late others' spends may arrive */
    struct random random;
    uint64_t raised, lowered, wrong;
};

/*
 * What may be spent at `at_ns`; settled tokens only where spends are late. (How much a refill pays off depends
 * on what was known when it was made, so that there a model that forgets nothing is no measure.)
 */
static int64_t spendable(const struct trial *trial, struct bucket bucket, uint16_t limit, uint64_t at_ns)
{
    bucket_refill(&bucket, &limits.limit[limit], &trial->budgets[limit], at_ns);
    return bucket_allowance(&bucket, &trial->budgets[limit]) - (trial->late_ns > 0 ? 0 : bucket.unsettled);
}

/* The table may know less than is true of a key, never more: now and at any later time. */
static void compare(struct trial *trial, const struct model *model, const struct bucket *bucket)
{
    uint64_t later_ns = trial->now_ns + random_below(&trial->random, 3 * SECOND_NS);
    for (int i = 0; i < 2; i++) {
        uint64_t at_ns = i == 0 ? trial->now_ns : later_ns;
        int64_t has = spendable(trial, *bucket, model->limit, at_ns);
        int64_t is = spendable(trial, model->bucket, model->limit, at_ns);
        trial->raised += has > is;
        trial->lowered += has < is;
    }
}

static void spend(struct trial *trial, struct model *model)
{
    const struct limit *limit = &limits.limit[model->limit];
    const struct budget *budget = &trial->budgets[model->limit];
    uint64_t cost = 1 + random_below(&trial->random, 1 + limit->capacity / 8);
    struct entry *entry = table_obtain(trial->table, model->id, model->limit, 0, trial->now_ns);
    trial->wrong += !key_id_equal(entry->id, model->id) || entry->limit != model->limit;
    if (!bucket_take(&entry->bucket, limit, budget, cost, 0, trial->now_ns))
        return;
    if (!bucket_take(&model->bucket, limit, budget, cost, 0, trial->now_ns)) {
        trial->raised += trial->late_ns == 0;
        model->bucket.unsettled += (int64_t)cost * limit->units_per_token;
    }
    model->unsettled_tokens += cost;
    model->taken_ns = trial->now_ns;
}

static void step(struct trial *trial)
{
    struct random *random = &trial->random;
    struct model *model = &trial->keys[random_below(random, trial->key_count)];
    const struct limit *limit = &limits.limit[model->limit];
    const struct budget *budget = &trial->budgets[model->limit];
    uint64_t at_ns = trial->now_ns - (trial->late_ns > 0 ? random_below(random, trial->late_ns) : 0);
    trial->now_ns += random_below(random, random_below(random, 1000) == 0 ? 100 * MS_NS : MS_NS / 20);
    trial->now_ns += random_below(random, 20000) == 0 ? 5 * SECOND_NS : 0;
    table_prefetch(trial->table, model->id);
    const struct entry *entry = table_find(trial->table, model->id);
    struct bucket start;
    if (!entry)
        table_start(trial->table, model->id, model->limit, 0, trial->now_ns, &start);
    compare(trial, model, entry ? &entry->bucket : &start);
    uint64_t drawn = random_below(random, 10);
    if (drawn < 6) {
        spend(trial, model);
    } else if (drawn < 8) { /* somebody else's spend, made a while ago */
        uint64_t tokens = 1 + random_below(random, 1 + limit->capacity / 8);
        struct entry *charged = table_obtain(trial->table, model->id, model->limit, 0, at_ns);
        bucket_apply(&charged->bucket, limit, budget, tokens, 0, at_ns, 0);
        bucket_apply(&model->bucket, limit, budget, tokens, 0, at_ns, 0);
    } else if (model->unsettled_tokens > 0 && !budget->alone) {
        struct entry *settled = table_obtain(trial->table, model->id, model->limit, 0, trial->now_ns);
        bucket_settle(&settled->bucket, limit, budget,
                      &(struct settlement){.tokens = model->unsettled_tokens,
                                           .later = 0,
                                           .at_ns = model->taken_ns});
        bucket_settle(&model->bucket, limit, budget,
                      &(struct settlement){.tokens = model->unsettled_tokens,
                                           .later = 0,
                                           .at_ns = model->taken_ns});
        model->unsettled_tokens = 0;
    }
    entry = table_find(trial->table, model->id);
    if (entry)
        compare(trial, model, &entry->bucket);
}

static struct trial run(uint64_t table_keys, uint64_t model_keys, const struct budget *budgets,
                        uint16_t limit_count, uint64_t late_ns, uint64_t steps)
{
    struct trial trial = {.key_count = model_keys,
                          .now_ns = 10 * SECOND_NS,
                          .budgets = budgets,
                          .late_ns = late_ns};
    trial.table = table_create(table_keys, 4, &limits, budgets);
    trial.keys = calloc(model_keys, sizeof *trial.keys);
    random_seed(&trial.random, model_keys + steps + limit_count);
    assert(trial.table && trial.keys);
    table_set_share_min(trial.table, budgets[0].share); /* they are all the same */
    for (uint64_t i = 0; i < model_keys; i++) {
        struct model *model = &trial.keys[i];
        model->id = draw_id(&trial.random);
        model->limit = (uint16_t)(i % limit_count);
        bucket_fill(&model->bucket, &limits.limit[model->limit], 0, 0);
    }
    for (uint64_t i = 0; i < steps; i++) {
        step(&trial);
        if (i % (steps / 10) == 0)
            table_check(trial.table);
    }
    table_check(trial.table);
    struct table_stats stats = stats_of(trial.table);
    printf("# %" PRIu64 " of %" PRIu64 " slots, %" PRIu64 " expired, evicted %" PRIu64 " harmless %" PRIu64
           " harmful, lower than the model %" PRIu64 " times\n",
           stats.used_keys, stats.capacity_keys, stats.expired_keys, stats.evicted_harmless_keys,
           stats.evicted_harmful_keys, trial.lowered);
    free(trial.keys);
    return trial;
}

static void properties(void)
{
    struct trial trial = run(4000, 4000, alone, 4, 0, 1000000 / SLOW);
    struct table_stats stats = stats_of(trial.table);
    OK(trial.raised + trial.lowered + trial.wrong == 0 && stats.evicted_harmful_keys == 0 &&
           stats.expired_keys > 100,
       "with room enough, alone: a table is its model, though it forgets");
    table_destroy(&trial.table);

    trial = run(4000, 4000, shared, 4, 0, 250000 / SLOW);
    OK(trial.raised + trial.wrong == 0, "with shares it never has more than its model");
    table_destroy(&trial.table);

    trial = run(4000, 4000, shared, 4, 300 * MS_NS, 250000 / SLOW);
    OK(trial.raised + trial.wrong == 0, "... nor when spends of others arrive late");
    table_destroy(&trial.table);

    for (uint64_t i = 0; i < 4; i++) {
        uint16_t limit_count = i % 2 ? 5 : 1;
        trial = run(300, 3000, i < 2 ? alone : shared, limit_count, i % 2 ? 300 * MS_NS : 0, 250000 / SLOW);
        stats = stats_of(trial.table);
        OK(stats.evicted_harmful_keys > 1000, "ten times too small, %s, %d limits: many evictions harm",
           i < 2 ? "alone" : "with shares", limit_count);
        OK(trial.raised + trial.wrong == 0, "... and never raise what a key may spend");
        table_destroy(&trial.table);
    }
}

int main(void)
{
    table_world_open();
    properties();
    return tap_done();
}
