/* Where keys are required: nobody is believed about a member without a key, and who signs nothing is not heard. */
#include "tests/lib/cluster_forger.h"
#include "tests/lib/signing_world.h"

static void strict_world(unsigned count)
{
    signing_world_init(count, KEYS_REQUIRED);
    for (unsigned i = 0; i < count; i++)
        world.host[i].options.forget = FORGET_BY_MAJORITY;
}

static void unsigned_ones(void)
{
    strict_world(3);
    world.host[CAT].options.signing = (struct node_signing){0};
    world_start(ANN);
    world_start(BOB);
    world_run(3000);
    skip_text();
    world_start(CAT);
    world_run(500);
    EXPECT("who signs nothing is not heard, and that is said",
           "ann: cat signs nothing, and is not heard (signatures: required): it lacks a state_dir, is of a release "
           "before "
           "0.4, or has signatures: off\n"
           "bob: cat signs nothing, and is not heard (signatures: required): it lacks a state_dir, is of a release "
           "before "
           "0.4, or has signatures: off\n"
           "cat: ann (region ann's) is heard for the first time\n"
           "cat: ann is active\n"
           "cat: bob (region bob's) is heard for the first time\n"
           "cat: bob is active\n"
           "cat: took a snapshot from ann\n");
    OK(signing_report(ANN, "cat").key_state == KEY_MISSING && signing_report(ANN, "cat").incarnation == 0,
       "nor known");
    OK(world_stats(ANN).messages_unsigned > 0 && world_stats(ANN).members_refused == 1, "and counted");
    forge(ANN, &(struct forged){"cat", "cat's", 5, 1, PEER_LEFT}, 1);
    OK_U64(signing_report(ANN, "eve").share, 0, "whoever has the secret and no key is not even listed");
    world_crash(CAT);
    fake_signing(&world.host[CAT].options.signing, 3, signing_key[CAT]);
    world_start(CAT);
    world_run(1500);
    OK(signing_report(ANN, "cat").key_state == KEY_NEW && signing_report(ANN, "cat").state == PEER_ACTIVE &&
           world_stats(ANN).members_refused == 0,
       "with a key it is heard");
    world_close();
}

/* ann has no key of cat, who has left before ann came. */
static void start_after_cat(bool dan_is_heard)
{
    strict_world(4);
    world_start(BOB);
    world_start(CAT);
    world_start(DAN);
    world_run(5000);
    world_stop(CAT);
    world_run(1000);
    if (!dan_is_heard)
        world_link(DAN, ANN, LINK_CUT);
    world_start(ANN);
    world_run(5000);
    skip_text();
}

static void who_has_left(void)
{
    start_after_cat(true);
    OK(signing_report(ANN, "cat").state == PEER_LEFT, "that a stranger has left counts if all say so");
    OK(signing_report(ANN, "cat").key_state == KEY_NONE, "whose key is not learnt of others");
    OK(signing_report(ANN, "ann").state == PEER_ACTIVE, "and who came after it is active");
    world_start(CAT);
    world_run(3000);
    OK(signing_report(ANN, "cat").state == PEER_ACTIVE && signing_report(ANN, "cat").key_state == KEY_NEW,
       "it is dialled when it comes again, and says itself who it is");
    world_close();
    start_after_cat(false);
    OK(signing_report(ANN, "cat").state != PEER_LEFT && signing_report(ANN, "cat").incarnation == 0,
       "one word of two is not enough");
    step(ANN, (struct event){.kind = EVENT_KEY, .name = "cat", .key = signing_key[CAT]}, ANN);
    world_run(1000);
    OK(signing_report(ANN, "cat").state == PEER_LEFT,
       "with the key that an operator knows, cat's own signature is");
    world_close();
}

/* Of three, bob is the only one who can say that cat has left. */
static void one_word_of_one(bool is_named)
{
    strict_world(3);
    if (!is_named)
        world.host[ANN].options.peer_count--; /* cat is the last one */
    world_start(BOB);
    world_start(CAT);
    world_run(5000);
    world_stop(CAT);
    world_run(1000);
    world_start(ANN);
    world_run(10000);
    skip_text();
    OK(signing_report(ANN, "ann").state == PEER_ACTIVE,
       "who starts without the key of one that has left is active");
    if (!is_named) {
        OK(signing_report(ANN, "cat").state == PEER_LEFT,
           "one word that it has left counts if the config does not name it");
        world_close();
        return;
    }
    OK(signing_report(ANN, "cat").state != PEER_LEFT,
       "one word that it has left is not enough for one of the config");
    step(ANN, (struct event){.kind = EVENT_KEY, .name = "cat", .key = signing_key[CAT]}, ANN);
    world_run(1000);
    OK(signing_report(ANN, "cat").state == PEER_LEFT, "its own signature is");
    world_close();
}

static void behind_a_cut_link(void)
{
    strict_world(3);
    world_link(CAT, ANN, LINK_CUT);
    world_start_all();
    world_run(3000);
    OK_U64(signing_report(ANN, "cat").incarnation, 0, "what others say of a stranger does not count");
    OK(signing_report(BOB, "ann").state == PEER_ACTIVE, "nor does it keep anybody from starting");
    world_link(CAT, ANN, LINK_FINE);
    world_run(2000);
    OK(signing_report(ANN, "cat").state == PEER_ACTIVE, "until it is heard itself");
    world_link(CAT, ANN, LINK_CUT);
    world_run(3000);
    OK(signing_report(ANN, "cat").state == PEER_ACTIVE, "from then on others pass on what it signs");
    world_close();
}

int main(void)
{
    unsigned_ones();
    who_has_left();
    one_word_of_one(true);
    one_word_of_one(false);
    behind_a_cut_link();
    return tap_done();
}
