/* A word about a member whose key is known counts only with that member's signature. */
#include "tests/lib/cluster_forger.h"
#include "tests/lib/signing_world.h"

static void learning(void)
{
    signing_world_init(3, KEYS_LEARNT);
    world_start(ANN);
    world_start(BOB);
    world_run(300);
    EXPECT("a key is learnt from who has it",
           "bob: ann (region ann's) is heard for the first time\n"
           "bob: ann has the key 0101010101010101010101010101010101010101010101010101010101010101\n"
           "ann: bob (region bob's) is heard for the first time\n"
           "ann: bob has the key 0202020202020202020202020202020202020202020202020202020202020202\n");
    OK(signing_report(ANN, "bob").key_state == KEY_NEW && signing_report(ANN, "cat").key_state == KEY_NONE,
       "and shown");
    OK_U64(world_stats(ANN).members_unsigned, 1, "cat was not heard: her key is unknown");
    const uint64_t checked = world_stats(ANN).proofs_checked;
    world_run(3000);
    OK(world_stats(ANN).proofs_checked <= checked + 2, "what was checked is not checked again");
    world_close();
}

/* The state_dir of bob was copied for cat. */
static void a_copied_key(void)
{
    signing_world_init(3, KEYS_LEARNT);
    fake_signing(&world.host[CAT].options.signing, BOB + 1, signing_key[CAT]);
    world.host[CAT].options.signing.keys = KEYS_LEARNT;
    world_start_all();
    world_run(1000);
    OK(strstr(world.text, "ann: cat has the key of bob: a state_dir was copied; ") ||
           strstr(world.text, "ann: bob has the key of cat: a state_dir was copied; "),
       "others say whose key came twice");
    OK(strstr(world.text, "bob: cat has the key of bob: a state_dir was copied; "), "so does whose key it is");
    world_close();
}

static void false_words(void)
{
    signing_world_start(3, KEYS_LEARNT);
    forge(ANN, &(struct forged){"cat", "cat's", 1000, 1, PEER_ACTIVE}, 1);
    forge(ANN, &(struct forged){"cat", "cat's", 1, 1, PEER_LEFT}, 1);
    forge(CAT, &(struct forged){"cat", "cat's", 1000, 1, PEER_ACTIVE}, 1);
    forge(CAT, &(struct forged){"cat", "cat's", 1, 1, PEER_LEFT}, 1);
    skip_text();
    world_run(1500);
    skip_text();
    world_show_peers();
    world_spend(CAT, "alice", 1);
    EXPECT("nobody is ended by the word of another",
           "ann sees itself active 50.0%, bob active 25.0%, cat active 12.5%, eve silent 12.5%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat active 12.5%, eve silent 12.5%\n"
           "cat sees itself active 12.5%, ann active 50.0%, bob active 25.0%, eve silent 12.5%\n"
           "cat: 1 of alice? yes\n");
    OK_U64(world_stats(ANN).words_unproven, 2, "and that is counted");
    world_close();
}

static void leaving_and_starting(void)
{
    signing_world_start(3, KEYS_PINNED);
    world_link(CAT, ANN, LINK_CUT);
    world_stop(CAT);
    world_run(500);
    EXPECT("a goodbye is passed on with the signature of who left", "cat is asked to leave\n"
                                                                    "bob: cat has left\n"
                                                                    "ann: cat has left\n"
                                                                    "cat is gone\n");
    world_start(CAT);
    world_run(5000);
    skip_text();
    OK_U64(signing_report(ANN, "cat").incarnation, signing_report(BOB, "cat").incarnation, "and so is a start");
    world_close();
}

static void another_key(enum node_keys how, const char *what, const char *expected)
{
    signing_world_start(2, how);
    world_crash(BOB);
    world_run(100);
    fake_signing(&world.host[BOB].options.signing, 9, signing_key[BOB]);
    skip_text();
    world_start(BOB);
    world_run(500);
    EXPECT(what, expected);
    if (how == KEYS_PINNED) {
        OK(signing_report(ANN, "bob").key_state == KEY_DIFFERS && signing_report(ANN, "bob").offered_key[0] == 9,
           "ann shows what bob offers");
        step(ANN, (struct event){.kind = EVENT_KEY, .name = "bob", .key = signing_key[BOB]}, ANN);
        world_run(1000);
        OK(signing_report(ANN, "bob").key_state == KEY_PINNED && signing_report(ANN, "bob").state == PEER_ACTIVE,
           "an operator accepts it, and bob is heard");
    }
    world_close();
}

static void pins(void)
{
    static char text[4096];
    size_t size = 0;
    uint64_t number = 0;
    signing_world_start(2, KEYS_PINNED);
    step(ANN, (struct event){.kind = EVENT_RETELL}, ANN);
    size = world.effects.keys_text.size;
    number = world.effects.keys_number;
    OK(size > 0 && size < sizeof text && number == 2, "the caller is given the keys to keep");
    memcpy(text, world.effects.keys_text.data, size);
    world_close();
    world_init(2);
    world_name_all();
    signing_all(KEYS_PINNED);
    fake_signing(&world.host[BOB].options.signing, 9, signing_key[BOB]);
    struct error error;
    world.host[ANN].options.incarnation = 5;
    struct node *node = node_create(&world.host[ANN].options, &error);
    struct effects effects;
    effects_init(&effects);
    node_step(node, &(struct event){.kind = EVENT_RESTORE, .keys_text = {text, size}, .keys_number = number},
              &effects);
    node_step(node, &(struct event){.kind = EVENT_START, .now_ns = world.now_ns}, &effects);
    struct peer_report reports[NODE_PEERS_MAX];
    OK(node_peers(node, world.now_ns, reports) == 2 && reports[1].key_state == KEY_PINNED && reports[1].key[0] == 2,
       "and has them again after a restart");
    node_destroy(&node);
    effects_close(&effects);
    world_close();
}

int main(void)
{
    learning();
    a_copied_key();
    false_words();
    leaving_and_starting();
    another_key(KEYS_LEARNT, "another key of a later start counts, with a warning",
                "ann: bob (region bob's) has started anew\n"
                "ann: bob has started anew with another key, which counts from now on: "
                "0909090909090909090909090909090909090909090909090909090909090909\n"
                "bob: ann (region ann's) is heard for the first time\n"
                "bob: ann is active\n"
                "bob: ann has the key 0101010101010101010101010101010101010101010101010101010101010101\n"
                "bob: took a snapshot from ann\n"
                "bob: bob is active: its state comes from a peer\n"
                "ann: bob is active\n");
    another_key(
        KEYS_PINNED, "where keys are pinned, it is not heard",
        "ann: bob has another key than the one that is pinned here, and is not heard: if that is right, say "
        "headgate key accept bob 0909090909090909090909090909090909090909090909090909090909090909\n"
        "bob: ann (region ann's) is heard for the first time\n"
        "bob: ann is active\n"
        "bob: ann has the key 0101010101010101010101010101010101010101010101010101010101010101\n"
        "bob: took a snapshot from ann\n");
    pins();
    return tap_done();
}
