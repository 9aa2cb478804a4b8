/*
 * Dan is out of reach while he spends. His right ends, or he is forgotten, and ann retires his incarnation. Bob and cat
 * cannot tell each other that it has ended, so they keep it, and take from dan what he spent when he is heard again.
 * Ann takes no more of it. So dan must tell it anew, and nobody may say meanwhile that she has it.
 */
#include "tests/lib/cluster_harness.h"

#include "cluster/state/node_state.h"

enum { HOSTS = 4, AFTER_MS = 3000, STEP_MS = 10, SPENT = 7 };

static void begin(bool rights_end)
{
    world_init(HOSTS);
    world_name_all();
    for (unsigned i = 0; i < HOSTS; i++)
        world.host[i].options.takeover_after_ns = rights_end ? AFTER_MS * MS : 0;
    world_start_all();
    world_run(3 * AFTER_MS);
}

/* So many incarnations of dan are not retired at that host. */
static unsigned lives_of_dan(unsigned host)
{
    const struct node *node = world.host[host].node;
    unsigned count = 0;
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        count += node->origin[slot].uid && strcmp(node->member[node->origin[slot].member].name, "dan") == 0;
    return count;
}

static uint64_t used_at(unsigned host)
{
    const struct limit *limit = &world.limits.limit[0];
    struct bucket bucket = node_bucket(world.host[host].node, key_of("key", 0), 0, world.now_ns);
    const int64_t used = limit->capacity_units - bucket.settled + bucket.unsettled;
    return (uint64_t)((used + limit->units_per_token / 2) / limit->units_per_token);
}

static void ann_alone_retires_dan(bool rights_end)
{
    world_run(AFTER_MS - 500);
    world_link_both(BOB, CAT, LINK_CUT);
    if (!rights_end)
        world_forget(ANN, DAN);
    for (unsigned ms = 0; ms < 4 * AFTER_MS && lives_of_dan(ANN) > 0; ms += STEP_MS)
        world_run(STEP_MS);
    OK(lives_of_dan(ANN) == 0 && lives_of_dan(BOB) == 1 && lives_of_dan(CAT) == 1,
       "ann retires his incarnation, and the others keep it");
}

static void bob_and_cat_hear_dan(void)
{
    for (unsigned host = BOB; host <= CAT; host++) {
        world_link_both(DAN, host, LINK_FINE);
    }
    world_run(2000);
    OK_U64(used_at(BOB), SPENT, "bob takes what dan spent from him");
    OK_U64(used_at(ANN), 0, "ann does not");
}

static void spent_out_of_reach(bool rights_end)
{
    begin(rights_end);
    world_links(DAN, LINK_CUT);
    OK(world_spend(DAN, "key", SPENT), "dan spends while nobody hears him, and %s",
       rights_end ? "his right ends" : "he is forgotten");
    ann_alone_retires_dan(rights_end);
    bob_and_cat_hear_dan();
    world_links(DAN, LINK_FINE);
    world_run(4000);
    OK_U64(used_at(ANN), SPENT, "she is told anew once he hears her");
    OK(used_at(BOB) >= SPENT, "and nobody forgets it");
    skip_text();
    world_close();
}

int main(void)
{
    spent_out_of_reach(true);
    spent_out_of_reach(false);
    return tap_done();
}
