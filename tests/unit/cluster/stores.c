/* A start takes what the store of any reachable peer has, whatever the order in which they start. */
#include "tests/lib/cluster_stores.h"

enum { QUOTA = 160, ORDERS = 6 };

/* Tokens of the key that are handed out until nobody gives any more. */
static unsigned drain(unsigned hosts, const char *key)
{
    unsigned taken = 0;
    for (unsigned idle = 0; idle < 20; idle++) {
        for (unsigned i = 0; i < hosts; i++)
            while (spend(i, key, &quota, 1))
                taken++, idle = 0;
        world_run(50);
    }
    return taken;
}

/* Ann's and bob's stores know that the quota is used up, but for a rest too small for any share; cat's is lost. */
static int64_t use_up(void)
{
    stores_begin(3);
    unsigned taken = drain(3, "acme");
    world_run(600);
    OK(taken >= QUOTA - 4 && stores[ANN][0].number == taken && stores[BOB][0].number == taken,
       "three use up a quota: %u of %u", taken, QUOTA);
    for (unsigned i = 0; i < 3; i++)
        world_crash(i);
    stores_count[CAT] = 0;
    return QUOTA - (int64_t)taken;
}

static bool all_active(unsigned hosts)
{
    for (unsigned i = 0; i < hosts; i++) {
        struct node_status status;
        node_status(world.host[i].node, &status);
        if (status.state != PEER_ACTIVE)
            return false;
    }
    return true;
}

static void all_at_once(void)
{
    static const unsigned order[ORDERS][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (unsigned o = 0; o < ORDERS; o++) {
        int64_t rest = use_up();
        for (unsigned i = 0; i < 3; i++) {
            restore(order[o][i]);
            world_run(o * 3);
        }
        unsigned fresh = drain(3, "acme");
        world_run(1000);
        OK_U64(fresh, 0, "all start at once, cat without its store: nobody gets a fresh quota, order %u", o);
        OK(all_active(3) && stores_left(ANN, "acme", &quota) == rest && stores_left(BOB, "acme", &quota) == rest &&
               stores_left(CAT, "acme", &quota) == rest,
           "and all see the same");
        world_close();
    }
}

/* Cat is alone for longer than join_timeout, and begins. What it spends meanwhile comes on top, and no more. */
static void late_ones(void)
{
    (void)use_up();
    restore(CAT);
    world_run(3000);
    unsigned alone = 0;
    while (spend(CAT, "acme", &quota, 1))
        alone++;
    OK(alone > 0 && alone < QUOTA / 2, "who starts alone without its store has its share: %u of %u", alone, QUOTA);
    restore(ANN);
    restore(BOB);
    world_run(3000);
    OK(all_active(3), "the others start");
    OK_U64(drain(3, "acme"), 0, "and nobody has any more");
    OK(stores_left(ANN, "acme", &quota) == stores_left(CAT, "acme", &quota) &&
           stores_left(BOB, "acme", &quota) == stores_left(CAT, "acme", &quota),
       "all see the same");
    OK_U64(world_stats(CAT).stores_taken, 2, "as it asked what their stores had");
    world_close();
}

/* What the last interval before a crash brought to the store alone comes back with it. */
static void crashed(void)
{
    stores_begin(3);
    OK(spend(ANN, "acme", &quota, 20), "ann spends");
    world_run(600);
    world_links(ANN, LINK_CUT);
    OK(spend(ANN, "acme", &quota, 10), "and spends what nobody hears of");
    world_run(300);
    world_crash(ANN);
    world_links(ANN, LINK_FINE);
    restore(ANN);
    world_run(3000);
    OK(stores_left(ANN, "acme", &quota) == QUOTA - 30 && stores_left(BOB, "acme", &quota) == QUOTA - 30 &&
           stores_left(CAT, "acme", &quota) == QUOTA - 30,
       "it crashed, and starts with its store: all know what was on it");
    OK(world_stats(BOB).stores_taken == 1 && world_stats(CAT).stores_taken == 1, "each asked once");
    world_close();
}

/* Nothing is asked for twice, nor where a node left in good order: it had told all. */
static void rolling(void)
{
    stores_begin(3);
    OK(spend(ANN, "acme", &quota, 20), "ann spends");
    world_run(600);
    for (unsigned i = 0; i < 3; i++) {
        world_stop(i);
        world_run(1000);
        restore(i);
        world_run(3000);
    }
    OK(all_active(3), "all restart, one after the other, in good order");
    for (unsigned i = 0; i < 3; i++)
        OK(world_stats(i).stores_taken == 0 && stores_left(i, "acme", &quota) == QUOTA - 20,
           "nobody asks what stores had, as all was told");
    world_close();
}

int main(void)
{
    all_at_once();
    late_ones();
    crashed();
    rolling();
    return tap_done();
}
