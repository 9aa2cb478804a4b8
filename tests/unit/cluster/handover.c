/* A key that follows another one, which has signed that: who knows the former one takes it, and nothing else. */
#include "cluster/codec/life.h"
#include "tests/lib/signing_world.h"

static uint8_t next_key[NODE_KEY_BYTES];

/* What is in bob's file from then on. */
static void write_next_key(bool is_sound)
{
    struct node_signing *signing = &world.host[BOB].options.signing;
    struct node_handover *handover = &signing->handover;
    char text[LIFE_TEXT_MAX_BYTES];
    const enum node_keys how = signing->keys;
    memcpy(handover->former, signing_key[BOB], NODE_KEY_BYTES);
    fake_signing(signing, 9, next_key);
    signing->keys = how;
    fake_proof(is_sound ? signing_key[BOB] : next_key,
               handover_text(bytes_of("bob"), handover->former, next_key, text), handover->proof);
    handover->is_there = true;
}

static void rotate(bool is_sound)
{
    write_next_key(is_sound);
    step(BOB, (struct event){.kind = EVENT_ROTATE, .signing = &world.host[BOB].options.signing}, BOB);
}

static uint64_t wrong_ones(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < world.count; i++)
        sum += world_stats(i).proofs_wrong;
    return sum;
}

static void told(enum node_keys how)
{
    signing_world_start(3, how);
    rotate(true);
    world_run(500);
    EXPECT("who knows the former key takes the one that follows",
           "bob: bob signs with another key from now on: "
           "0909090909090909090909090909090909090909090909090909090909090909\n"
           "ann: bob has another key, as its former one has signed: "
           "0909090909090909090909090909090909090909090909090909090909090909\n"
           "cat: bob has another key, as its former one has signed: "
           "0909090909090909090909090909090909090909090909090909090909090909\n");
    OK(signing_report(ANN, "bob").key[0] == 9 && signing_report(CAT, "bob").key[0] == 9, "and shows it");
    OK(!signing_report(BOB, "ann").lacks_our_key && !signing_report(BOB, "cat").lacks_our_key,
       "and bob knows that they do");
    OK_U64(wrong_ones(), 0, "nothing is wrong with that");
    world_close();
}

static void on_their_way(void)
{
    signing_world_start(3, KEYS_PINNED);
    world_link(BOB, ANN, LINK_CUT);
    world_run(2000);
    world_link(BOB, ANN, LINK_HELD);
    world_run(300);
    rotate(true);
    world_run(500);
    skip_text();
    OK(signing_report(ANN, "bob").key[0] == 9, "others pass it on");
    world_link(BOB, ANN, LINK_FINE);
    world_release(BOB, ANN, false);
    world_run(1000);
    EXPECT("what the former key has signed comes late, and nobody is blamed", "");
    OK(signing_report(ANN, "bob").key[0] == 9 && signing_report(ANN, "bob").key_state != KEY_DIFFERS &&
           wrong_ones() == 0,
       "nor does it change anything");
    world_close();
}

static void with_the_next_start(enum node_keys how)
{
    signing_world_start(3, how);
    world_crash(CAT);
    world_crash(BOB);
    world_run(1500);
    write_next_key(true);
    world_start(BOB);
    world_run(4000);
    OK(signing_report(ANN, "bob").key[0] == 9 && signing_report(ANN, "bob").state == PEER_ACTIVE,
       "a crash between the file and the first word loses nothing");
    OK(!signing_report(BOB, "ann").lacks_our_key, "ann has it");
    world_start(CAT);
    world_run(1000);
    OK(signing_report(CAT, "bob").key[0] == 9 && !signing_report(BOB, "cat").lacks_our_key,
       "and who starts later as well");
    world_crash(BOB);
    world.host[BOB].options.signing.handover.is_there = false;
    fake_signing(&world.host[BOB].options.signing, 2, signing_key[BOB]);
    world_start(BOB);
    world_run(1000);
    OK(signing_report(ANN, "bob").key_state == KEY_DIFFERS && signing_report(ANN, "bob").key[0] == 9,
       "whoever has the former key has nothing any more");
    world_close();
}

static void false_ones(void)
{
    signing_world_start(3, KEYS_PINNED);
    rotate(false);
    world_run(500);
    OK(signing_report(ANN, "bob").key[0] == 2 && signing_report(CAT, "bob").key[0] == 2,
       "what the former key has not signed is none");
    OK(wrong_ones() > 0, "and is counted");
    OK(signing_report(BOB, "ann").lacks_our_key, "bob sees that nobody has it");
    world_close();
}

/* What ann keeps over a restart, and the last message of bob's before `taping` ended. */
static char kept[4096], tape[65536];
static size_t kept_size, tape_size;
static bool taping;

static void watch(unsigned host, const struct effects *effects)
{
    if (host == ANN && effects->keys_text.size > 0) {
        assert(effects->keys_text.size <= sizeof kept);
        kept_size = effects->keys_text.size;
        memcpy(kept, effects->keys_text.data, kept_size);
    }
    for (size_t e = 0; e < effects->effect_count && host == BOB && taping; e++) {
        const struct bytes bytes = effect_bytes(effects, &effects->effect[e]);
        if (effects->effect[e].kind != EFFECT_PUBLISH)
            continue;
        assert(bytes.size <= sizeof tape);
        tape_size = bytes.size;
        memcpy(tape, bytes.data, tape_size);
    }
}

/* Bob has another key, and ann starts anew with what she has kept; she hears nothing of him yet. */
static void start_after_a_rotation(void)
{
    signing_world_init(2, KEYS_LEARNT);
    world.watch = watch;
    taping = true;
    world_start_all();
    world_run(1000);
    taping = false;
    rotate(true);
    world_run(500);
    world_crash(ANN);
    world_links(BOB, LINK_CUT);
    world_run(100);
    struct world_host *host = &world.host[ANN];
    struct error error;
    host->options.incarnation = host->incarnation++;
    host->node = node_create(&host->options, &error);
    assert(host->node && kept_size > 0 && tape_size > 0);
    const struct event event = {.kind = EVENT_RESTORE,
                                .now_ns = world.now_ns,
                                .keys_text = {kept, kept_size},
                                .keys_number = 1};
    node_step(host->node, &event, &world.effects);
    step(ANN, (struct event){.kind = EVENT_START}, ANN);
    world_run(100);
    skip_text();
}

static void said_again_after_a_start(void)
{
    start_after_a_rotation();
    step(ANN, (struct event){.kind = EVENT_MESSAGE, .bytes = {tape, tape_size}}, BOB);
    EXPECT("what was recorded before the rotation is said again, and nobody is blamed", "");
    const struct peer_report report = signing_report(ANN, "bob");
    OK(report.key[0] == 9 && report.key_state == KEY_PINNED && world_stats(ANN).messages_unproven == 1,
       "nor does it bring the former key back");
    world_links(BOB, LINK_FINE);
    world_run(3000);
    OK(signing_report(ANN, "bob").key[0] == 9 && signing_report(ANN, "bob").state == PEER_ACTIVE,
       "and bob is heard as ever");
    world_close();
}

static void a_thief_after_a_start(void)
{
    start_after_a_rotation();
    world_crash(BOB);
    world.host[BOB].options.signing.handover.is_there = false;
    fake_signing(&world.host[BOB].options.signing, 2, signing_key[BOB]);
    world_links(BOB, LINK_FINE);
    world_start(BOB);
    world_run(1000);
    OK(signing_report(ANN, "bob").key_state == KEY_DIFFERS && signing_report(ANN, "bob").key[0] == 9,
       "after a start as well whoever has the former key has nothing any more");
    world_close();
}

int main(void)
{
    said_again_after_a_start();
    a_thief_after_a_start();
    told(KEYS_LEARNT);
    told(KEYS_REQUIRED);
    on_their_way();
    with_the_next_start(KEYS_PINNED);
    with_the_next_start(KEYS_LEARNT);
    false_ones();
    return tap_done();
}
