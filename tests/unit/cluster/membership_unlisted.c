/* Members that no config names: as many as the settings say, and a region's weight is divided among no more. */
#include "tests/lib/cluster_forger.h"

enum { MADE_UP = 60 };

static void made_up(void)
{
    static char names[MADE_UP][NODE_NAME_BYTES];
    static struct forged members[MADE_UP];
    world_init(3);
    world_name_all();
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.unlisted_max = 4;
    world_start_all();
    world_run(1000);
    for (unsigned i = 0; i < MADE_UP; i++) {
        (void)snprintf(names[i], sizeof names[i], "made-up-%u", i);
        members[i] = (struct forged){names[i], "cat's", 7, 1, PEER_ACTIVE};
    }
    skip_text();
    forge(ANN, members, MADE_UP);
    world_run(500);
    EXPECT("of 61 made-up members four are taken in, and the log says once that others are not",
           "ann: eve (region cat's) is heard for the first time\n"
           "ann: eve is active\n"
           "ann: made-up-0 (region cat's) is heard for the first time\n"
           "ann: made-up-0 is active\n"
           "ann: made-up-1 (region cat's) is heard for the first time\n"
           "ann: made-up-1 is active\n"
           "ann: made-up-2 (region cat's) is heard for the first time\n"
           "ann: made-up-2 is active\n"
           "ann: made-up-3 is not taken in: the config does not name it, and of such peers at most 4 are "
           "(unlisted_peers)\n"
           "bob: eve (region cat's) is heard for the first time\n"
           "bob: eve is active\n"
           "bob: made-up-0 (region cat's) is heard for the first time\n"
           "bob: made-up-0 is active\n"
           "bob: made-up-1 (region cat's) is heard for the first time\n"
           "bob: made-up-1 is active\n"
           "bob: made-up-2 (region cat's) is heard for the first time\n"
           "bob: made-up-2 is active\n"
           "cat: eve (region cat's) is heard for the first time\n"
           "cat: eve is active\n"
           "cat: made-up-0 (region cat's) is heard for the first time\n"
           "cat: made-up-0 is active\n"
           "cat: made-up-1 (region cat's) is heard for the first time\n"
           "cat: made-up-1 is active\n"
           "cat: made-up-2 (region cat's) is heard for the first time\n"
           "cat: made-up-2 is active\n");
    OK_U64(world_stats(ANN).unlisted_refused, MADE_UP + 1 - 4, "the others are counted");
    struct node_status status;
    node_status(world.host[CAT].node, &status);
    OK_U64(status.share, SHARE_ONE / 4 / 5, "cat keeps a fifth of her region's weight");

    for (unsigned i = 0; i < MADE_UP; i++)
        members[i] = (struct forged){names[i], "cat's", 8, 1, PEER_LEFT};
    forge(ANN, members, MADE_UP);
    for (unsigned i = 0; i < MADE_UP; i++)
        members[i] = (struct forged){names[i], "cat's", 9, 1, PEER_JOINING};
    forge(ANN, members, MADE_UP);
    world_run(2000);
    node_status(world.host[CAT].node, &status);
    OK(status.share >= SHARE_ONE / 4 / 9, "and at least a ninth, whoever goes and comes: %.4f",
       (double)status.share / (double)SHARE_ONE);
    skip_text();
    world_close();
}

/* Dan is real and nobody's config names him: at first there is no place for him. */
static void place_again(void)
{
    world_init(4);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < 3; j++)
            if (i != j)
                world_name_peer(i, j);
    world_name_peer(DAN, ANN);
    for (unsigned i = 0; i < 4; i++) {
        world.host[i].options.unlisted_max = 1;
        world.host[i].options.region_count = 3;
    }
    world.host[DAN].options.unlisted_max = 4;
    world.host[DAN].options.join_timeout_ns = 0;
    memcpy(world.host[DAN].options.region, world.host[CAT].options.region, NODE_NAME_BYTES);
    for (unsigned i = 0; i < 3; i++)
        world_start(i);
    world_run(1000);
    forge(ANN, &(struct forged){"made-up", "cat's", 7, 0, PEER_LEFT}, 1);
    world_run(500);
    world_start(DAN);
    world_run(3000);
    skip_text();
    world_spend(DAN, "alice", 1);
    step(ANN, (struct event){.kind = EVENT_FORGET, .name = "eve"}, ANN);
    world_run(2000);
    world_spend(DAN, "alice", 1);
    world.text[world.text_size] = '\0';
    OK(strncmp(world.text, "dan: 1 of alice? no, joining\n", 29) == 0,
       "no place: dan stays outside, and spends nothing");
    OK(strstr(world.text, "ann: dan (region cat's) is heard for the first time\n") &&
           strstr(world.text, "dan: 1 of alice? yes\n"),
       "forgetting who never was makes room for him");
    skip_text();
    world_close();
}

int main(void)
{
    made_up();
    place_again();
    return tap_done();
}
