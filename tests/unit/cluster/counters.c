#include "tests/lib/cluster_stores.h"

/* Keys of persistent limits are told to the store, and come back from it. */

static const struct limit_terms bucket_terms = {.flags = LIMIT_PERSISTENT,
                                                .capacity = 160,
                                                .rate = 1,
                                                .period_ns = 3600000 * MS};
static const struct limit_terms plain = {.kind = LIMIT_CELL, .capacity = 160};

static void one_node(void)
{
    stores_begin(1);
    OK(spend(ANN, "alice", &quota, 100) && spend(ANN, "bert", &plain, 100) && spend(ANN, "carl", &bucket_terms, 50),
       "a quota, a window and a bucket");
    world_run(300);
    OK(stores_count[ANN] == 2 && stores_told[ANN] == 2, "the persistent ones are told to the store, once");
    world_crash(ANN);
    restore(ANN);
    world_run(500);
    OK(stores_left(ANN, "alice", &quota) == 60, "the quota is not fresh");
    OK(stores_left(ANN, "carl", &bucket_terms) == 110, "nor is the bucket");
    OK(stores_left(ANN, "bert", &plain) == 160, "the other one is forgotten");
    world_close();
}

static void whole_cluster(void)
{
    stores_begin(2);
    OK(spend(ANN, "alice", &quota, 50) && spend(BOB, "alice", &quota, 40), "two spend of one quota");
    world_run(600);
    OK(stores_count[ANN] == 1 && stores[ANN][0].number == 90 && stores_count[BOB] == 1 &&
           stores[BOB][0].number == 90,
       "each store is told of both spends");
    world_crash(ANN);
    world_crash(BOB);
    restore(ANN);
    restore(BOB);
    world_run(3000);
    OK(stores_left(ANN, "alice", &quota) == 70 && stores_left(BOB, "alice", &quota) == 70,
       "after a restart of all nobody has a fresh quota");
    OK(spend(ANN, "alice", &quota, 15), "it goes on");
    world_crash(BOB);
    restore(BOB);
    world_run(3000);
    OK(stores_left(BOB, "alice", &quota) == 55,
       "what a peer knows counts, what the store knew is not counted twice");
    world_close();
}

/* Ann spends 100 of a log at once, and 40 twenty seconds later; half a minute after that she crashes. */
static const struct limit_terms minute = {.kind = LIMIT_LOG,
                                          .flags = LIMIT_PERSISTENT,
                                          .capacity = 160,
                                          .period_ns = 60000 * MS};

static void spend_twice(void)
{
    stores_begin(1);
    OK(spend(ANN, "alice", &minute, 100), "100 of 160 a minute");
    world_run(20000);
    OK(spend(ANN, "alice", &minute, 40), "and 40 more, 20 seconds later");
    world_run(30000);
    world_crash(ANN);
}

/* The tokens of a log end when they would have ended. */
static void logs(void)
{
    spend_twice();
    restore(ANN);
    world_run(500);
    OK(stores_left(ANN, "alice", &minute) == 20, "a restart half a minute after that knows of all");
    world_run(9000);
    OK(stores_left(ANN, "alice", &minute) == 20, "for as long as the first ones count");
    world_run(6000);
    OK(stores_left(ANN, "alice", &minute) == 120, "then of the others");
    world_run(14000);
    OK(stores_left(ANN, "alice", &minute) == 120, "for as long as these do");
    world_run(6000);
    OK(stores_left(ANN, "alice", &minute) == 160, "and no longer");
    world_close();
}

/* What ends while nobody is up is not there at the next start; what has ended leaves the other parts as they are. */
static void ended_meanwhile(void)
{
    spend_twice();
    world.now_ns += 20000 * MS;
    restore(ANN);
    world_run(500);
    OK(stores_left(ANN, "alice", &minute) == 120, "a restart 70 seconds after the first ones knows of the others");
    world_run(16000);
    OK(stores_left(ANN, "alice", &minute) == 160, "until they end");
    world_close();
}

/* A store of an earlier release does not say when tokens end: they count as the last of them, not as of the start. */
static void logs_without_parts(void)
{
    spend_twice();
    stores[ANN][0].part_count = 0;
    restore(ANN);
    world_run(500);
    OK(stores_left(ANN, "alice", &minute) == 20, "a restart half a minute after that knows of all");
    world_run(29000);
    OK(stores_left(ANN, "alice", &minute) == 20, "for as long as the last of them counts");
    world_run(6000);
    OK(stores_left(ANN, "alice", &minute) == 160, "and no longer");
    world_close();
}

/* A step says when the tokens of so many logs end as it has time for. It tells the figures of all. */
static void many_logs(void)
{
    enum { KEYS = 40, EVENTS = 1000 };
    struct limit_terms log = minute;
    char key[16];
    unsigned with_parts = 0, told = 0;
    log.capacity = EVENTS;
    stores_begin(1);
    for (unsigned e = 0; e < EVENTS; e++, world.now_ns++)
        for (unsigned k = 0; k < KEYS; k++) {
            (void)snprintf(key, sizeof key, "key %u", k);
            (void)spend(ANN, key, &log, 1);
        }
    world_run(300);
    for (size_t c = 0; c < stores_count[ANN]; c++) {
        told += stores[ANN][c].number == EVENTS;
        with_parts += stores[ANN][c].part_count == COUNTER_PARTS_MAX;
    }
    OK(told == KEYS, "%u of 40 logs of 1000 spends are told", told);
    OK(with_parts > 10 && with_parts < 30, "of %u the times", with_parts);
    world_close();
}

static void expired_ones(void)
{
    stores_begin(1);
    const struct counter counters[] = {
        {.terms = quota, .id = key_of("old", 0), .number = 100, .expires_ns = world.now_ns},
        {.terms = quota, .id = key_of("new", 0), .number = 100, .expires_ns = 3600000 * MS},
        {.terms = {.kind = 9}, .id = key_of("odd", 0), .number = 100, .expires_ns = 3600000 * MS},
        {.terms = quota, .id = key_of("all", 0), .number = UINT64_MAX, .expires_ns = 3600000 * MS},
    };
    memcpy(stores[ANN], counters, sizeof counters);
    stores_count[ANN] = sizeof counters / sizeof counters[0];
    world_crash(ANN);
    restore(ANN);
    world_run(500);
    OK(stores_left(ANN, "old", &quota) == 160 && stores_left(ANN, "new", &quota) == 60,
       "a window that is over is not restored");
    OK(stores_left(ANN, "all", &quota) == 0, "more than all is all");
    OK(world_stats(ANN).limit_drops == 1, "a limit that there cannot be is dropped");
    world_close();
}

/* The store has lost what it was told: all come out again, whatever a step may work on. */
static void told_again(void)
{
    enum { KEYS = 600, STEP_KEYS = 32, TABLE_KEYS = 4096 };
    memset(stores_count, 0, sizeof stores_count);
    memset(stores_told, 0, sizeof stores_told);
    world_init(1);
    world.host[ANN].options.step_keys = STEP_KEYS;
    world.host[ANN].options.table_keys = TABLE_KEYS;
    world_name_all();
    world_start_all();
    world_run(1000);
    skip_text();
    world.watch = keep_all;
    char key[16];
    for (unsigned i = 0; i < KEYS; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        (void)spend(ANN, key, &quota, 1);
    }
    world_run(300);
    OK(stores_count[ANN] == KEYS && stores_told[ANN] == KEYS, "the store is told of each key");
    memset(stores_count, 0, sizeof stores_count);
    memset(stores_told, 0, sizeof stores_told);
    step(ANN, (struct event){.kind = EVENT_RETELL}, ANN);
    unsigned steps = 0;
    for (; world.effects.next_wake_ns == world.now_ns && steps < 10000; steps++)
        step(ANN, (struct event){.kind = EVENT_WAKE}, ANN);
    OK(steps >= TABLE_KEYS / STEP_KEYS - 1, "the table is looked through a part at a time: %u steps", steps);
    world_run(300);
    OK_U64(stores_count[ANN], KEYS, "and all of them are told again");
    OK_U64(stores_told[ANN], KEYS, "once");
    world_close();
}

/*
 * What is full again is forgotten, and soon where a tenant has all the keys that it may: but first the store hears of
 * it, at whatever time between two tellings it was given back, and at a peer, so that nothing else keeps it.
 */
static void given_back(void)
{
    enum { TENANT = 7, TENANT_KEYS = 8, TIMES = 50, SPENT = 50 };
    char key[16];
    stores_begin(2);
    struct node *node = world.host[ANN].node;
    node_set_tenant_keys_max(node, TENANT_KEYS);
    unsigned taken = 0, told_of_both = 0, forgotten = 0;
    for (unsigned i = 0; i < TENANT_KEYS - 1 + TIMES; i++) {
        struct verdict verdict;
        (void)snprintf(key, sizeof key, "key %u", i);
        struct charge charge = charge_at(ANN, key, &quota, SPENT);
        charge.tenant = TENANT;
        taken += node_check(node, &charge, 1, true, world.now_ns, &verdict);
        world_run(300 + i);
        if (i < TENANT_KEYS - 1)
            continue;
        uint64_t before = stores[ANN][i].number;
        (void)node_return(node, &charge, 1, SPENT, world.now_ns);
        for (unsigned ms = 0; ms < 1000; ms++) { /* rounds are rare while nobody asks for anything */
            struct charge tick = charge_at(ANN, "key 0", &quota, 0);
            tick.tenant = TENANT;
            (void)node_check(node, &tick, 1, true, world.now_ns, &verdict);
            world_run(1);
        }
        struct table_stats table;
        node_table_stats(node, &table);
        forgotten += table.used_keys == TENANT_KEYS - 1;
        told_of_both += before == SPENT && stores[ANN][i].number == 0;
    }
    OK_U64(taken, TENANT_KEYS - 1 + TIMES, "a tenant has all the keys that it may, again and again,");
    OK_U64(forgotten, TIMES, "as the last one is given back each time, and forgotten:");
    OK_U64(told_of_both, TIMES, "the store is told of what was taken, and of what was given back");
    world_close();
}

int main(void)
{
    one_node();
    logs();
    ended_meanwhile();
    logs_without_parts();
    many_logs();
    whole_cluster();
    expired_ones();
    told_again();
    given_back();
    return tap_done();
}
