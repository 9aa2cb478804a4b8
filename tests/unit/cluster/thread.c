/* Several threads decide at one node while it gossips: nothing is lost, nothing is counted twice, peers hear of all. */
#include "base/gate.h"
#include "base/random.h"
#include "tests/lib/cluster_harness.h"
#include "tests/lib/commit_tokens.h"

#include <sched.h>
#include <unistd.h>

enum { ROUNDS = TAP_SLOW ? 1500 : 20000 };
enum {
    THREADS = 4, /* the first one steps */
    KEYS = 48,   /* of each kind */
    STRANGERS = 100000,
    TABLE_KEYS = 16384, /* three stripes */
    TOGETHER = 16,
    ROUNDS_PER_STEP = 64,
    KINDS = 3,
};

/* Nothing of these comes back while the test runs. */
static const struct limit_terms terms[KINDS] = {
    {.kind = LIMIT_BUCKET, .capacity = 100000000, .rate = 1, .period_ns = 24 * 3600000 * MS},
    {.kind = LIMIT_LOG, .capacity = 10000, .period_ns = 24 * 3600000 * MS},
    {.kind = LIMIT_CELL, .flags = LIMIT_PERSISTENT, .capacity = 1000000},
};
#define CELL_END_NS (24 * 3600000 * MS)
enum { BUCKET, LOG, CELL };

static struct gate gate;
static atomic_uint_least64_t rounds_done;
static uint16_t limit_index[KINDS]; /* at ann */
static struct key_id ids[KINDS][KEYS], strangers[STRANGERS];

struct worker {
    pthread_t thread;
    uint32_t number;
    struct random random;
    uint64_t tokens[KINDS][KEYS], requests, allowed, nonsense;
};
static struct worker workers[THREADS];
static uint64_t told_to_store[KEYS]; /* of the cells, the newest */

static struct charge charge_of(unsigned kind, unsigned key)
{
    return (struct charge){.id = ids[kind][key],
                           .limit = limit_index[kind],
                           .cost = 1,
                           .expires_ns = kind == CELL ? CELL_END_NS : 0,
                           .window_end_ns = kind == CELL ? CELL_END_NS : 0,
                           .window_ns = kind == CELL ? CELL_END_NS : 0};
}

/* One in four is of the first key. */
static unsigned draw_key(struct random *random)
{
    uint64_t drawn = random_below(random, (uint64_t)KEYS * 4 / 3);
    return drawn < KEYS ? (unsigned)drawn : 0;
}

static void ask_for_many(struct worker *worker, struct node *node)
{
    struct key_id together[TOGETHER];
    unsigned key[TOGETHER];
    const struct charge like = charge_of(BUCKET, 0);
    for (unsigned i = 0; i < TOGETHER; i++) {
        key[i] = draw_key(&worker->random);
        together[i] = ids[BUCKET][key[i]];
        node_prefetch_tags(node, together[i]);
    }
    uint64_t allowed = node_takes_each(node, &like, together, TOGETHER, world.now_ns);
    for (unsigned i = 0; i < TOGETHER; i++)
        worker->tokens[BUCKET][key[i]] += allowed >> i & 1;
    worker->requests += TOGETHER;
    worker->allowed += (uint64_t)__builtin_popcountll(allowed);
}

/* Requests that are alike, one after the other, each with a key of two kinds. */
static void ask_alike(struct worker *worker, struct node *node)
{
    struct charge like[2];
    struct key_id together[2 * TOGETHER];
    struct verdict verdicts[2 * TOGETHER];
    unsigned key[2 * TOGETHER];
    like[0] = charge_of(BUCKET, 0);
    like[1] = charge_of(CELL, 0);
    like[0].cost = like[1].cost = 1;
    for (unsigned i = 0; i < 2 * TOGETHER; i++) {
        key[i] = draw_key(&worker->random);
        together[i] = ids[i % 2 ? CELL : BUCKET][key[i]];
        node_prefetch_tags(node, together[i]);
    }
    uint64_t allowed = node_check_each(node, like, 2, together, TOGETHER, world.now_ns, verdicts);
    for (unsigned i = 0; i < 2 * TOGETHER; i++)
        worker->tokens[i % 2 ? CELL : BUCKET][key[i]] += allowed >> i / 2 & 1;
    worker->requests += TOGETHER;
    worker->allowed += (uint64_t)__builtin_popcountll(allowed);
}

static void ask_of_all_kinds(struct worker *worker, struct node *node, bool take)
{
    struct charge charges[KINDS];
    struct verdict verdicts[KINDS];
    unsigned key[KINDS];
    for (unsigned kind = 0; kind < KINDS; kind++) {
        key[kind] = draw_key(&worker->random);
        charges[kind] = charge_of(kind, key[kind]);
        charges[kind].cost = 1 + random_below(&worker->random, 3);
    }
    bool allowed = node_check(node, charges, KINDS, take, world.now_ns, verdicts);
    for (unsigned kind = 0; kind < KINDS; kind++)
        worker->nonsense += verdicts[kind].available_tokens > terms[kind].capacity;
    for (unsigned kind = 0; kind < KINDS && allowed && take; kind++)
        worker->tokens[kind][key[kind]] += charges[kind].cost;
    worker->requests += take;
    worker->allowed += allowed && take;
}

/* Keys that come and go: the table is too small for them. */
static void ask_for_strangers(struct worker *worker, struct node *node)
{
    struct charge charge = {.limit = 1, .cost = 1};
    for (unsigned i = 0; i < TOGETHER; i++) {
        charge.id = strangers[random_below(&worker->random, STRANGERS)];
        worker->allowed += node_takes(node, &charge, world.now_ns);
    }
    worker->requests += TOGETHER;
}

/* Two charges, reserved and then committed, in part or whole, or cancelled. */
static void reserve_some(struct worker *worker, struct node *node)
{
    enum { RESERVED = 4, CHARGES = 2 };
    struct charge charges[CHARGES];
    struct verdict verdicts[CHARGES];
    struct reservation_id id;
    const unsigned kinds[CHARGES] = {BUCKET, CELL};
    unsigned key[CHARGES];
    uint64_t actual = random_below(&worker->random, RESERVED + 1), charged = 0;
    for (unsigned i = 0; i < CHARGES; i++) {
        key[i] = draw_key(&worker->random);
        charges[i] = charge_of(kinds[i], key[i]);
        charges[i].cost = RESERVED;
    }
    worker->requests++;
    if (!node_reserve(node, charges, CHARGES, 3600000 * MS, world.now_ns, verdicts, &id))
        return;
    worker->allowed++;
    worker->nonsense += node_renew(node, id, 7200000 * MS, world.now_ns) != RESERVE_DONE;
    bool cancelled = actual == 0;
    enum reserve_status ended =
        cancelled ? node_cancel(node, id, world.now_ns) : commit_tokens(node, id, actual, world.now_ns, &charged);
    worker->nonsense += ended != RESERVE_DONE || charged != actual;
    worker->nonsense += node_cancel(node, id, world.now_ns) != RESERVE_UNKNOWN;
    for (unsigned i = 0; i < CHARGES; i++)
        worker->tokens[kinds[i]][key[i]] += charged;
}

/* What was taken a moment ago is given back. */
static void refund_some(struct worker *worker, struct node *node)
{
    unsigned key = draw_key(&worker->random);
    struct charge charge = charge_of(CELL, key);
    struct verdict verdict;
    charge.cost = 2;
    bool allowed = node_check(node, &charge, 1, true, world.now_ns, &verdict);
    worker->requests++;
    worker->allowed += allowed;
    if (allowed)
        worker->tokens[CELL][key] += 2 - node_return(node, &charge, 1, 1, world.now_ns);
}

static void *work(void *context)
{
    struct worker *worker = context;
    node_use_thread(worker->number);
    for (unsigned round = 0; round < ROUNDS; round++) {
        gate_enter(&gate, worker->number);
        struct node *node = world.host[ANN].node;
        ask_for_many(worker, node);
        ask_alike(worker, node);
        ask_of_all_kinds(worker, node, round % 4 != 0);
        ask_for_strangers(worker, node);
        reserve_some(worker, node);
        refund_some(worker, node);
        gate_leave(&gate, worker->number);
        (void)atomic_fetch_add(&rounds_done, 1);
    }
    return NULL;
}

static void hear_counters(unsigned host, const struct effects *effects)
{
    for (size_t i = 0; i < effects->counter_count && host == ANN; i++)
        for (unsigned key = 0; key < KEYS; key++)
            if (key_id_equal(effects->counter[i].id, ids[CELL][key]))
                told_to_store[key] = effects->counter[i].number;
}

static void begin(uint32_t untold_max)
{
    struct error error;
    bool opened = gate_init(&gate, THREADS);
    assert(opened);
    world_init(2);
    world_name_all();
    world.host[ANN].options.threads = THREADS;
    world.host[ANN].options.reservations_max = 64;
    world.host[ANN].options.table_keys = TABLE_KEYS;
    world.host[ANN].options.untold_max = untold_max;
    world.watch = hear_counters;
    world_start_all();
    world_run(1000);
    world.quiet = true;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        int index = node_intern_limit(world.host[ANN].node, &terms[kind], &error);
        assert(index >= 0);
        limit_index[kind] = (uint16_t)index;
    }
    for (unsigned i = 0; i < KINDS * KEYS + STRANGERS; i++) {
        struct key_id id = hash_128(&(struct hash_key){{1}}, &i, sizeof i);
        *(i < KINDS * KEYS ? &ids[i / KEYS][i % KEYS] : &strangers[i - KINDS * KEYS]) = id;
    }
}

/* Simulated time passes, step by step, while others decide in between. */
static void run_all(void)
{
    uint64_t seen = 0;
    for (uint32_t thread = 1; thread < THREADS; thread++) {
        workers[thread].number = thread;
        random_seed(&workers[thread].random, thread);
        int failed = pthread_create(&workers[thread].thread, NULL, work, &workers[thread]);
        assert(failed == 0);
    }
    while (seen < (THREADS - 1) * ROUNDS) {
        uint64_t done = atomic_load(&rounds_done);
        if (done < seen + ROUNDS_PER_STEP && done < (THREADS - 1) * ROUNDS) {
            (void)sched_yield();
            continue;
        }
        seen = done;
        gate_close(&gate, 0);
        world_run(20);
        world_push(ANN);
        gate_open(&gate, 0, false);
    }
    for (uint32_t thread = 1; thread < THREADS; thread++)
        (void)pthread_join(workers[thread].thread, NULL);
}

static uint64_t used_tokens(unsigned host, unsigned kind, unsigned key)
{
    struct error error;
    struct node *node = world.host[host].node;
    int index = node_intern_limit(node, &terms[kind], &error);
    assert(index >= 0);
    const struct limit *limit = node_limit(node, (uint16_t)index);
    struct bucket bucket = node_bucket(node, ids[kind][key], (uint16_t)index, world.now_ns);
    int64_t used = limit->capacity_units - bucket.settled + bucket.unsettled;
    /* To the nearest: a little has refilled, and of what was given back a little may be lost for that. */
    return (uint64_t)((used + limit->units_per_token / 2) / limit->units_per_token);
}

static uint64_t given_tokens(unsigned kind, unsigned key)
{
    uint64_t given = 0;
    for (uint32_t thread = 1; thread < THREADS; thread++)
        given += workers[thread].tokens[kind][key];
    return given;
}

static void compare(unsigned kind, const char *name)
{
    uint64_t wrong[2] = {0, 0}, unstored = 0, given = 0;
    for (unsigned key = 0; key < KEYS; key++) {
        uint64_t tokens = given_tokens(kind, key);
        given += tokens;
        wrong[ANN] += used_tokens(ANN, kind, key) != tokens;
        wrong[BOB] += used_tokens(BOB, kind, key) != tokens;
        unstored += kind == CELL && told_to_store[key] != tokens;
    }
    OK(given > 0 && wrong[ANN] == 0, "%s: what was given is what is used", name);
    OK_U64(wrong[BOB], 0, "%s: and what the peer knows", name);
    OK_U64(unstored, 0, "%s: and what the store was told", name);
}

/*
 * So many spends of a thread are untold that they are far from the caches, and their memory is asked for as well.
 * Asking must not lock an entry: the thread that asks may hold the lock already, and would wait for ever.
 */
static void many_at_once(void)
{
    enum { UNTOLD = 6000 };
    begin(8 * UNTOLD);
    unsigned allowed = 0;
    struct charge charge = charge_of(BUCKET, 0);
    struct key_id together[NODE_EACH_MAX];
    node_use_thread(1);
    for (unsigned i = 0; i < UNTOLD; i++) {
        charge.id = strangers[i];
        allowed += node_takes(world.host[ANN].node, &charge, world.now_ns);
    }
    for (unsigned i = 0; i < NODE_EACH_MAX; i++)
        together[i] = ids[BUCKET][i % KEYS];
    struct node *node = world.host[ANN].node;
    const struct charge log = charge_of(LOG, 0);
    struct verdict verdicts[NODE_EACH_MAX];
    (void)alarm(60);
    uint64_t taken = node_takes_each(node, &charge, together, NODE_EACH_MAX, world.now_ns);
    uint64_t checked = node_check_each(node, &charge, 1, together, NODE_EACH_MAX, world.now_ns, verdicts);
    for (unsigned i = 0; i < NODE_EACH_MAX; i++)
        together[i] = ids[LOG][i % KEYS];
    uint64_t logged = node_takes_each(node, &log, together, NODE_EACH_MAX, world.now_ns);
    (void)alarm(0);
    OK(allowed == UNTOLD && (taken & checked & logged) == UINT64_MAX,
       "%u keys at once, in three ways, while thousands are untold", (unsigned)NODE_EACH_MAX);
    node_use_thread(0);
    world_close();
    gate_destroy(&gate);
}

int main(void)
{
    many_at_once();
    begin(0);
    run_all();
    world_run(20000);
    uint64_t requests = 0, allowed = 0, nonsense = 0;
    for (uint32_t thread = 1; thread < THREADS; thread++) {
        requests += workers[thread].requests;
        allowed += workers[thread].allowed;
        nonsense += workers[thread].nonsense;
    }
    struct node_stats stats = world_stats(ANN);
    OK_U64(stats.admitted_requests, allowed, "what was allowed is counted, once");
    OK_U64(stats.refused_requests, requests - allowed, "and what was refused");
    OK_U64(nonsense, 0, "figures make sense");
    OK_U64(stats.open_keys, 0, "all is told in the end");
    compare(BUCKET, "buckets");
    compare(LOG, "logs");
    compare(CELL, "cells");
    struct table_stats table;
    node_table_stats(world.host[ANN].node, &table);
    OK(table.used_keys <= table.capacity_keys &&
           table.expired_keys + table.evicted_harmless_keys + table.evicted_harmful_keys > 0,
       "keys came and went: %" PRIu64 " of %" PRIu64 " allowed", allowed, requests);
    world_close();
    gate_destroy(&gate);
    return tap_done();
}
