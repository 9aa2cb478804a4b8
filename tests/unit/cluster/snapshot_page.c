/* What a donor has retired is in its figures, if nobody else that is heard says otherwise. */
#include "tests/lib/cluster_impostor.h"

/* As impostor_begin, of a bob who knows cat in that life of hers; in her first one she has made one batch: origin 0. */
static void impostor_begin_with_cat(enum message_kind kind, uint64_t bob_made, uint64_t lives)
{
    const struct node_options *options = &world.host[CAT].options;
    impostor_begin(kind, bob_made, 0);
    impostor.members[2] = (struct member_record){.name = bytes_of(options->name),
                                                 .region = bytes_of(options->region),
                                                 .gossip_address = bytes_of(options->gossip_address),
                                                 .snapshot_address = bytes_of(options->snapshot_address),
                                                 .incarnation = lives,
                                                 .retired_incarnation = lives - 1,
                                                 .state = PEER_ACTIVE,
                                                 .reserved = true};
    impostor.origins[0] = (struct origin_record){.member = 2, .incarnation = lives};
    impostor.origins[2] = (struct origin_record){.member = 0, .incarnation = 1};
    impostor.member_count = impostor.origin_count = 3;
    impostor.rows[0].applied[0] = lives == 1 ? 1 : 0;
    impostor.rows[0].applied[2] = bob_made;
}

/* Ann asks bob for a snapshot, and has heard of what cat spent in her first life. */
static void ask_for_a_snapshot(void)
{
    world_init(3);
    world_name_all();
    world_start(ANN);
    world_run(2500);
    impostor_begin(MESSAGE_GOSSIP, 9, 0);
    impostor_say(impostor_batch(5, 9, key_of("bert", 0), 0, 1)); /* ann lacks what is before it */
    world_run(100);
    impostor_begin_with_cat(MESSAGE_GOSSIP, 9, 1);
    impostor_say(impostor_batch(1, 1, key_of("alice", 0), 0, 40));
}

/*
 * Ann has asked bob for a snapshot. When he gives it, all have what cat spent in her first life, and he has retired
 * that: his digest does not name it, and ann still has it in her log.
 */
static void retired_there(void)
{
    ask_for_a_snapshot();
    skip_text();
    world_show_one(ANN, "alice");
    const struct spend used = {.id = key_of("alice", 0), .tokens = 40 * 3600000 * MS, .limit = 0};
    impostor_begin_with_cat(MESSAGE_REPLY, 9, 2);
    impostor_reply(0, 0, false, &used, 1);
    world_show_one(ANN, "alice");
    EXPECT("what the donor has retired is in what it gives", "ann: alice 120.0 - 0.0, may take 50, keeps 1\n"
                                                             "ann: cat (region cat's) has started anew\n"
                                                             "ann: cat is active\n"
                                                             "ann: took a snapshot from bob\n"
                                                             "ann: alice 120.0 - 0.0, may take 50, keeps 0\n");
    world_close();
}

/* As impostor_begin_with_cat, of cat herself: in her second life she has as many batches of her first one. */
static void impostor_begin_as_cat(uint64_t applied)
{
    impostor_begin_with_cat(MESSAGE_GOSSIP, 9, 2);
    impostor.sender = 2;
    impostor.members[2].config = world.host[CAT].options.config_digest;
    impostor.members[2].retired_incarnation = 0;
    impostor.origins[0].incarnation = 1;
    impostor.rows[0] =
        (struct digest_row){.member = 2, .number = impostor_number, .hears = 2, .applied = {applied}};
}

/* Bob says that all have what cat spent in her first life. Ann has half of it, he as well, and cat has all. */
static void retired_by_one_word(void)
{
    ask_for_a_snapshot();
    impostor_begin_as_cat(2);
    impostor_say(NULL);
    const struct spend used = {.id = key_of("alice", 0), .tokens = 40 * 3600000 * MS, .limit = 0};
    impostor_begin_with_cat(MESSAGE_REPLY, 9, 2);
    impostor_reply(0, 0, false, &used, 1);
    OK_U64(world_stats(ANN).snapshots_taken, 0,
           "nothing is retired by the word of one where another says otherwise");
    impostor_begin_as_cat(2);
    impostor_say(impostor_batch(2, 2, key_of("alice", 0), 0, 50));
    OK_U64(world_stats(ANN).batches_applied, 2, "so ann can still hear what bob lacks");
    struct bucket bucket = node_bucket(world.host[ANN].node, key_of("alice", 0), 0, world.now_ns);
    OK(bucket.settled <= 70 * world.limits.limit[0].units_per_token, "and charges it");
    world_close();
}

int main(void)
{
    retired_there();
    retired_by_one_word();
    return tap_done();
}
