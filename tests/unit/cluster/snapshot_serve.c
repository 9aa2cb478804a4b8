/* A part of the table is asked for. It is cut by what there is to look at, which the table alone does not tell. */
#include "tests/lib/cluster_steps.h"

enum { STEP_KEYS = 5, KEYS = 60, IDLE_REQUESTS = 4000 };

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

int main(void)
{
    forgotten_keys();
    return tap_done();
}
