/* snapshot_stage.c: of keys that a part does not list, who gives it was full, with what that donor knew. */
#include "tests/lib/cluster_impostor.h"

/* Bob has heard of nothing that ann spent, and lists what he has of bert alone; refill pays off ann's spends. */
static void full_there(uint64_t owed_ms, int64_t left)
{
    impostor_world();
    const struct limit *fast = &world.limits.limit[1];
    const struct key_id alice = key_of("alice", 1);
    const struct spend used = {.id = key_of("bert", 1), .tokens = 10 * MS, .limit = 1};
    (void)world_ask(ANN, "alice", 1, 40);
    world_run(200);
    impostor_begin(MESSAGE_GOSSIP, 9, 0);
    impostor_say(impostor_batch(5, 9, key_of("carl", 0), 0, 1)); /* ann lacks what is before it */
    world_run(300);
    const struct bucket before = node_bucket(world.host[ANN].node, alice, 1, world.now_ns);
    OK(before.settled == fast->capacity_units && before.unsettled < 40 * fast->units_per_token,
       "refill pays off what ann has spent");
    impostor_begin(MESSAGE_REPLY, 9, 0);
    impostor.page_owed.refill_ns = owed_ms * MS;
    impostor_reply(0, 0, false, &used, 1);
    const struct bucket after = node_bucket(world.host[ANN].node, alice, 1, world.now_ns);
    OK_U64(world_stats(ANN).snapshots_taken, 1, "bob gives a snapshot without that key");
    const int64_t tokens = (after.settled - after.unsettled) / fast->units_per_token;
    OK(tokens == left, "his refill was for other spends, so %d tokens are left: %d", (int)left, (int)tokens);
    world_close();
}

int main(void)
{
    full_there(0, 120);
    full_there(100, 104);
    return tap_done();
}
