/* A part of the table is asked for. It is cut by what there is to look at, which the table alone does not tell. */
#include "tests/lib/cluster_steps.h"

enum { STEP_KEYS = 5, KEYS = 60, IDLE_REQUESTS = 4000, MANY_KEYS = 400 };

static uint64_t kept_keys(void)
{
    struct table_stats table;
    node_table_stats(world.host[ANN].node, &table);
    return table.used_keys;
}

/*
 * Ann has spent of sixty keys, which bob does not acknowledge: her log keeps them. All are full again, and her table
 * has forgotten them. Whoever asks for all of it is told to ask for less, by a step that looks up none of them.
 */
static void forgotten_keys(void)
{
    char key[32];
    unsigned given = 0;
    world_init_steps(8, STEP_KEYS);
    steps_begin();
    for (unsigned i = 0; i < KEYS; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        given += world_ask(ANN, key, 1, 20).allowed;
        tell_now();
    }
    OK_U64(given, KEYS, "ann has spent of sixty keys");
    for (unsigned i = 0; i < IDLE_REQUESTS; i++) {
        (void)world_ask(ANN, "zed", 1, 200);
        if (i % 100 == 0)
            tell_now();
    }
    OK(kept_keys() <= STEP_KEYS, "her table keeps %" PRIu64 " of them", kept_keys());
    OK_U64(world_stats(ANN).log_keys, KEYS, "her log keeps all");
    uint64_t worked = world_stats(ANN).step_keys_max;
    impostor_begin(MESSAGE_REQUEST, 0, 0);
    impostor_request(0, 0);
    OK(world_stats(ANN).step_keys_max <= (worked > 4 * STEP_KEYS ? worked : 4 * STEP_KEYS),
       "bob asks for all of it: no step worked on more than %" PRIu64 " keys, or %u", worked, 4 * STEP_KEYS);
    world_close();
}

/*
 * While bob is cut off, ann hears of what cat spends of a key, spends of it herself, and evicts it. Her log has no room
 * for cat's spends, and cat is gone when bob is back: bob knows them by ann's table alone, which has the key no more.
 */
static void evicted_key(void)
{
    char key[32];
    world_init(3);
    world_name_all();
    world.host[ANN].options.table_keys = 8;
    world.host[ANN].options.log_keys_max = 8;
    world_start_all();
    world_run(1000);
    bool spent = world_ask(BOB, "it", 0, 1).allowed;
    world_run(1000);
    world_links(BOB, LINK_CUT);
    spent &= world_ask(CAT, "it", 0, 5).allowed;
    world_run(500);
    spent &= world_ask(ANN, "it", 0, 2).allowed;
    for (unsigned i = 0; i < MANY_KEYS; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        (void)world_ask(CAT, key, 0, 30);
        world_run(5);
    }
    struct table_stats table;
    node_table_stats(world.host[ANN].node, &table);
    OK(spent && table.evicted_harmful_keys > 0 && world_stats(ANN).limit_drops > 0,
       "ann evicts %" PRIu64 " keys, and has no room for what cat spends", table.evicted_harmful_keys);
    host_down(CAT);
    world_link_both(ANN, BOB, LINK_FINE);
    world_run(5000);
    const struct limit *limit = &world.limits.limit[0];
    struct bucket bucket = node_bucket(world.host[BOB].node, key_of("it", 0), 0, world.now_ns);
    OK(world_stats(BOB).snapshots_taken > 0 && bucket.settled <= limit->capacity_units - 7 * limit->units_per_token,
       "bob, who has the key, hears that more of it is gone: %.3f tokens",
       (double)(limit->capacity_units - bucket.settled) / (double)limit->units_per_token);
    world_close();
}

int main(void)
{
    evicted_key();
    forgotten_keys();
    return tap_done();
}
