/* Who joins where nobody hears it is heard when links heal. */
#include "tests/lib/cluster_harness.h"

/* Ann has seen bob leave, and does not listen to him any more. He came back while nobody could tell her. */
static void alone_meanwhile(void)
{
    world_init(2);
    world_name_all();
    world_start_all();
    world_run(1000);
    world_stop(BOB);
    world_run(500);
    world_link_both(ANN, BOB, LINK_CUT);
    world_start(BOB);
    world_run(3000);
    skip_text();
    world_show_peers();
    world_link_both(ANN, BOB, LINK_FINE);
    world_run(300);
    world_show_peers();
    EXPECT("who went on alone is listened to again", "ann sees itself active 50.0%, bob left 0.0%\n"
                                                     "bob sees itself active 50.0%, ann silent 50.0%\n"
                                                     "bob: ann (region ann's) is heard for the first time\n"
                                                     "bob: ann is active\n"
                                                     "bob: ann is heard again\n"
                                                     "ann: bob (region bob's) has started anew\n"
                                                     "ann: bob is active\n"
                                                     "ann sees itself active 50.0%, bob active 50.0%\n"
                                                     "bob sees itself active 50.0%, ann active 50.0%\n");
    uint64_t bob = world.host[BOB].requests;
    world_run(1000);
    OK_U64(world.host[BOB].requests - bob, 0, "and then he need not say hello");
    world_close();
}

/*
 * Bob and cat share a region, and only ann's config names both. Bob leaves: cat takes over his share, since her config
 * does not name him. He comes back while nobody hears cat. Ann has counted his share all the time; cat has not.
 */
static void given_up_elsewhere(void)
{
    world_init(3);
    world_name_peer(ANN, BOB);
    world_name_peer(ANN, CAT);
    world_name_peer(BOB, ANN);
    world_name_peer(CAT, ANN);
    memcpy(world.host[CAT].options.region, world.host[BOB].options.region, NODE_NAME_BYTES);
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.region_count = 2;
    world_start_all();
    world_run(1000);
    world_stop(BOB);
    world_run(500);
    world_links(CAT, LINK_CUT);
    world_start(BOB);
    world_run(3000);
    skip_text();
    world_show_peers();
    EXPECT("a share that who is not heard may use is not used, whatever others say of it",
           "ann sees itself active 50.0%, bob joining 12.5%, cat silent 12.5%\n"
           "bob sees itself joining 0.0%, ann active 50.0%, cat silent 12.5%\n"
           "cat sees itself active 25.0%, ann silent 50.0%, bob left 0.0%\n");
    world_links(CAT, LINK_FINE);
    world_run(300);
    skip_text();
    world_show_peers();
    EXPECT("when she has said that she knows, it is used",
           "ann sees itself active 50.0%, bob active 12.5%, cat active 12.5%\n"
           "bob sees itself active 12.5%, ann active 50.0%, cat active 12.5%\n"
           "cat sees itself active 12.5%, ann active 50.0%, bob active 12.5%\n");
    world_close();
}

/* The same where all configs name each other: nobody has taken over his share, heard or not. */
static void kept_everywhere(void)
{
    world_init(3);
    world_name_all();
    world_start_all();
    world_run(1000);
    world_stop(BOB);
    world_run(500);
    world_links(CAT, LINK_CUT);
    world_start(BOB);
    world_run(3000);
    skip_text();
    world_show_peers();
    EXPECT("who is named by all comes back at once",
           "ann sees itself active 50.0%, bob active 25.0%, cat silent 25.0%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat silent 25.0%\n"
           "cat sees itself active 25.0%, ann silent 50.0%, bob left 0.0%\n");
    world_close();
}

/*
 * Bob and cat share a region. Ann's config names cat already, bob's does not, and bob hears nobody.
 * So cat has no join timeout. Ann counts cat's share; bob has never heard of it.
 */
static void named_by_some(void)
{
    world_init(3);
    world_name_peer(ANN, BOB);
    world_name_peer(ANN, CAT);
    world_name_peer(BOB, ANN);
    world_name_peer(CAT, ANN);
    world_name_peer(CAT, BOB);
    memcpy(world.host[CAT].options.region, world.host[BOB].options.region, NODE_NAME_BYTES);
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.region_count = 2;
    world.host[CAT].options.join_timeout_ns = 0;
    world_links(BOB, LINK_CUT);
    world_start_all();
    world_run(4000);
    skip_text();
    world_show_peers();
    EXPECT("who is not named everywhere believes each peer only itself",
           "ann sees itself active 50.0%, bob silent 12.5%, cat joining 12.5%\n"
           "bob sees itself active 25.0%, ann silent 50.0%\n"
           "cat sees itself joining 0.0%, ann active 50.0%, bob silent 12.5%\n");
    world_links(BOB, LINK_FINE);
    world_run(1000);
    skip_text();
    world_show_peers();
    EXPECT("and has its share when all have confirmed it",
           "ann sees itself active 50.0%, bob active 12.5%, cat active 12.5%\n"
           "bob sees itself active 12.5%, ann active 50.0%, cat active 12.5%\n"
           "cat sees itself active 12.5%, ann active 50.0%, bob active 12.5%\n");
    world_close();
}

/*
 * Cat takes a snapshot from bob while ann, who has never heard of cat, is cut off. Then bob leaves
 * and is forgotten. Ann is alone: she spends what she has, and has nobody to tell.
 */
static void donor_is_gone(void)
{
    world_init(3);
    world_name_peer(ANN, BOB);
    world_name_peer(BOB, ANN);
    world_name_peer(CAT, ANN);
    world_name_peer(CAT, BOB);
    world.host[CAT].options.join_timeout_ns = 0;
    world_start(ANN);
    world_start(BOB);
    world_run(1000);
    world_links(ANN, LINK_CUT);
    world_start(CAT);
    world_run(1000);
    world_stop(BOB);
    world_run(3000);
    world_forget(ANN, BOB);
    world_forget(CAT, BOB);
    skip_text();
    OK_U64(world_drain(ANN, "alice"), 160, "who is alone spends all that there is");
    skip_text();
    world_show_peers();
    world_show("alice");
    EXPECT("one who joins has a snapshot that is older",
           "ann sees itself active 100.0%, bob left 0.0%\n"
           "cat sees itself joining 0.0%, ann silent 50.0%, bob left 0.0%\n"
           "ann: alice 0.0 - 0.0, may take 0, keeps 0\n"
           "cat: alice 160.0 - 0.0, may take 0, keeps 0\n");
    world_links(ANN, LINK_FINE);
    world_run(1000);
    skip_text();
    world_show_peers();
    world_show("alice");
    EXPECT("and takes another one before it spends",
           "ann sees itself active 50.0%, bob left 0.0%, cat active 25.0%\n"
           "cat sees itself active 25.0%, ann active 50.0%, bob left 0.0%\n"
           "ann: alice 0.0 - 0.0, may take 0, keeps 0\n"
           "cat: alice 0.0 - 0.0, may take 0, keeps 0\n");
    world_close();
}

/* After so long cat's hello comes to bob before his next message is due. */
enum { STEP_KEYS = 2048, FEW = 10, HELLO_FIRST_MS = 80 };

static bool is_active(unsigned i)
{
    struct node_status status;
    node_status(world.host[i].node, &status);
    return status.share > 0;
}

/*
 * Bob and cat share a region, and no config names cat. Bob cannot be heard when cat begins to join,
 * and spends by a share that is not divided yet.
 */
static void cut_off_from_a_newcomer(uint32_t step_keys)
{
    world_init(3);
    world_name_peer(ANN, BOB);
    world_name_peer(BOB, ANN);
    world_name_peer(CAT, ANN);
    world_name_peer(CAT, BOB);
    memcpy(world.host[CAT].options.region, world.host[BOB].options.region, NODE_NAME_BYTES);
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.region_count = 2;
    world.host[CAT].options.join_timeout_ns = 0;
    world.host[BOB].options.step_keys = step_keys;
    world_start(ANN);
    world_start(BOB);
    world_run(1000);
    world_links(BOB, LINK_CUT);
    world_start(CAT);
    world_run(1000);
    world_run(HELLO_FIRST_MS);
    OK(!is_active(CAT), "cat waits for bob");
}

static struct {
    unsigned keys, known;
    bool active;
} newcomer;

/* Counts the keys of which cat knows that bob has spent, in the step in which she becomes active. */
static void note_what_she_knows(unsigned host, const struct effects *effects)
{
    (void)effects;
    if (host != CAT || newcomer.active || !is_active(CAT))
        return;
    newcomer.active = true;
    newcomer.known = world_count_left(CAT, "user", newcomer.keys, 159);
}

/* Bob spends; then he hears of cat and answers her at once. */
static void heal_after_spends(unsigned keys)
{
    newcomer.keys = keys;
    newcomer.active = false;
    OK_U64(world_spend_many(BOB, "user", keys), keys, "bob spends by his undivided share");
    world.watch = note_what_she_knows;
    world_links(BOB, LINK_FINE);
    world_run(1000);
    OK(newcomer.active, "cat is active after bob has answered");
    OK_U64(newcomer.known, keys, "when cat has her share, she knows all of that");
    OK(world_stats(BOB).step_keys_max < keys || world.host[BOB].options.step_keys > keys,
       "no step of bob's told more than a step may");
}

static void former_spends(uint32_t step_keys, unsigned keys)
{
    cut_off_from_a_newcomer(step_keys);
    heal_after_spends(keys);
    world_close();
}

/* Cat has left, so bob has an undivided share again, and then she comes back. */
static void former_spends_before_a_return(void)
{
    cut_off_from_a_newcomer(STEP_KEYS);
    world_links(BOB, LINK_FINE);
    world_run(1000);
    world_stop(CAT);
    world_run(5000);
    world_links(BOB, LINK_CUT);
    world_start(CAT);
    world_run(1000);
    world_run(HELLO_FIRST_MS);
    OK(!is_active(CAT), "cat waits for bob when she comes back");
    heal_after_spends(FEW);
    world_close();
}

int main(void)
{
    alone_meanwhile();
    given_up_elsewhere();
    kept_everywhere();
    named_by_some();
    donor_is_gone();
    former_spends(STEP_KEYS, FEW);
    former_spends(64, 1000);
    former_spends_before_a_return();
    return tap_done();
}
