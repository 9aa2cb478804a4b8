#include "tests/lib/cluster_impostor.h"
#include "tests/lib/opened_message.h"

static void pages(void)
{
    world_init(2);
    world_name_all();
    world.host[ANN].options.message_max_bytes = 65536;
    world.host[BOB].options.message_max_bytes = 65536;
    world.host[ANN].options.table_keys = world.host[BOB].options.table_keys = 16384;
    world_start_all();
    world_run(1000);
    unsigned anns = world_spend_many(ANN, "key", 9000), bobs = world_spend_many(BOB, "other", 1000);
    world_run(1000);
    skip_text();
    tell("ann spent of %u keys, bob of %u", anns, bobs);
    world_crash(BOB);
    world_start(BOB);
    world_run(1000);
    tell("bob knows of %u and %u", world_count_left(BOB, "key", 9000, 159),
         world_count_left(BOB, "other", 1000, 159));
    tell("ann was asked for %s", world_stats(ANN).snapshots_served > 4 ? "several parts" : "all at once");
    EXPECT("a snapshot larger than a message comes in parts",
           "ann spent of 9000 keys, bob of 1000\n"
           "bob crashes\n"
           "ann: bob (region bob's) has started anew\n"
           "bob: ann (region ann's) is heard for the first time\n"
           "bob: ann is active\n"
           "bob: took a snapshot from ann\n"
           "bob: bob is active: its state comes from a peer\n"
           "ann: bob is active\n"
           "bob knows of 9000 and 1000\n"
           "ann was asked for several parts\n");
    world_close();
}

static void split_for_ever(void)
{
    world_init(2);
    world_name_all();
    world_start(ANN);
    impostor_begin(MESSAGE_GOSSIP, 0, 0);
    impostor_say(NULL);
    world_run(100);
    skip_text();
    tell("whatever ann asks bob for, it is said to be too much for one message:");
    for (uint32_t bits = 0; bits <= 32; bits++) {
        impostor_begin(MESSAGE_REPLY, 0, 0);
        impostor_reply(0, bits, true, NULL, 0);
    }
    tell("ann took %" PRIu64 " snapshots", world_stats(ANN).snapshots_taken);
    world_run(5000);
    impostor_begin(MESSAGE_GOSSIP, 1, 0);
    impostor_say(impostor_batch(1, 1, key_of("alice", 0), 0, 5));
    tell("later it hears of 5 tokens:");
    world_show_one(ANN, "alice");
    EXPECT("a donor that never gives anything is given up",
           "whatever ann asks bob for, it is said to be too much for one message:\n"
           "ann took 0 snapshots\n"
           "ann: bob is silent: its share stays reserved\n"
           "ann: ann is active: no active peer could be heard\n"
           "ann: bob is heard again\n"
           "later it hears of 5 tokens:\n"
           "ann: alice 155.0 - 0.0, may take 71, keeps 0\n");
    world_close();
}

static void page_of_nonsense(void)
{
    struct spend numbers[2] = {{.id = key_of("alice", 0), .tokens = UINT64_MAX, .limit = 0},
                               {.id = key_of("alice", 0), .tokens = 1000 * MS, .limit = 1}};
    world_init(2);
    world_name_all();
    world_start(ANN);
    impostor_begin(MESSAGE_GOSSIP, 0, 0);
    impostor_say(NULL);
    world_run(100);
    skip_text();
    impostor_rules(0);
    impostor_begin(MESSAGE_REPLY, 0, 0);
    impostor_reply(0, 0, false, numbers, 2);
    tell("alice is full in 584 years, says bob, and by another limit in a second:");
    world_run(100);
    world_spend(ANN, "alice", 1);
    EXPECT("numbers that cannot be lower what is left, and break nothing",
           "ann: took a snapshot from bob\n"
           "ann: ann is active: its state comes from a peer\n"
           "alice is full in 584 years, says bob, and by another limit in a second:\n"
           "ann: 1 of alice? no, nothing is left\n");
    world_close();
}

/* Each part stands for what its donor knew then: what was spent between two parts counts once in either. */
static void spends_between_parts(void)
{
    char key[32];
    world_init(2);
    world_name_all();
    world.host[ANN].options.message_max_bytes = world.host[BOB].options.message_max_bytes = 65536;
    world.host[ANN].options.table_keys = world.host[BOB].options.table_keys = 16384;
    world_start_all();
    world_run(1000);
    (void)world_spend_many(ANN, "key", 9000);
    world_run(1000);
    world_crash(BOB);
    world_start(BOB);
    skip_text();
    unsigned meanwhile = 0;
    while (world_stats(BOB).snapshots_taken == 0 && meanwhile < 2000) {
        for (unsigned i = 0; i < 10; i++, meanwhile++) {
            (void)snprintf(key, sizeof key, "key %u", meanwhile);
            assert(world_ask(ANN, key, 0, 1).allowed);
        }
        world_run(1);
        world_push(ANN);
    }
    world_run(1000);
    OK(meanwhile >= 500, "while parts of a snapshot travel, %u keys are spent from again", meanwhile);
    OK_U64(world_count_left(BOB, "key", meanwhile, 158), meanwhile, "each has lost exactly two tokens, bob knows");
    OK_U64(world_count_left(BOB, "key", 9000, 159), 9000 - meanwhile, "and all others one");
    skip_text();
    world_close();
}

static void own_in_full(void)
{
    world_init(3);
    world_name_all();
    world_start_all();
    world_run(1000);
    host_down(CAT);
    world_links(BOB, LINK_CUT);
    (void)world_ask(ANN, "alice", 1, 40);
    world_run(200);
    struct bucket ann = node_bucket(world.host[ANN].node, key_of("alice", 1), 1, world.now_ns);
    const struct limit *fast = &world.limits.limit[1];
    OK(ann.unsettled < 30 * fast->units_per_token, "refill has paid off some of what ann spent");
    world_start(CAT);
    while (world_stats(CAT).snapshots_taken == 0)
        world_run(1);
    struct bucket cat = node_bucket(world.host[CAT].node, key_of("alice", 1), 1, world.now_ns);
    OK(cat.settled <= (fast->capacity_units - 38 * fast->units_per_token),
       "but in a snapshot all of it counts, as it does in batches");
    world_close();
}

/*
 * Ann took 10 of a log, which bob knows of and which have ended since, and takes 10 more: these are not what bob has
 * charged. So the 5 that he says are used are somebody else's.
 */
static void untold_of_a_log(void)
{
    enum { CALLS = 2 };
    const struct limit_terms calls = {.kind = LIMIT_LOG, .capacity = 160, .period_ns = 2000 * MS};
    world_init(2);
    world_name_all();
    const bool added = limits_add_terms(&world.limits, "calls", &calls);
    assert(added && world.limits.count == CALLS + 1);
    world_start(ANN);
    world_run(2500);
    (void)world_ask(ANN, "alice", CALLS, 10);
    world_run(2100);
    impostor_begin(MESSAGE_GOSSIP, 0, 0);
    impostor_say(NULL);
    world_until_published(ANN);
    (void)world_ask(ANN, "alice", CALLS, 10);
    impostor_begin(MESSAGE_GOSSIP, 9, 1);
    impostor_say(impostor_batch(5, 9, key_of("bert", 0), 0, 1)); /* ann lacks what is before it */
    const struct spend used = {.id = key_of("alice", CALLS), .tokens = 5, .limit = CALLS};
    OK_U64(world_stats(ANN).open_keys, 1, "ann has told nobody of her last spends");
    impostor_begin(MESSAGE_REPLY, 9, 1);
    impostor_reply(0, 0, false, &used, 1);
    struct bucket bucket = node_bucket(world.host[ANN].node, key_of("alice", CALLS), CALLS, world.now_ns);
    OK_U64(world_stats(ANN).snapshots_taken, 1, "while she takes a snapshot");
    OK(bucket.settled == 155 && bucket.unsettled == 10, "they stand for nothing that it says: %d and %d",
       (int)bucket.settled, (int)bucket.unsettled);
    world_close();
}

/* Refill has paid off some of ann's here, and there what is left in all: settling charges no more than bob says. */
static void paid_off_once(void)
{
    impostor_world();
    (void)world_ask(ANN, "alice", 1, 40);
    world_run(200);
    struct bucket before = node_bucket(world.host[ANN].node, key_of("alice", 1), 1, world.now_ns);
    const struct limit *fast = &world.limits.limit[1];
    OK(before.settled == fast->capacity_units && before.unsettled < 30 * fast->units_per_token,
       "refill has paid off some of what ann spent");
    impostor_begin(MESSAGE_GOSSIP, 9, 0);
    impostor_say(impostor_batch(5, 9, key_of("bert", 0), 0, 1)); /* ann lacks what is before it */
    const struct spend used = {.id = key_of("alice", 1), .tokens = 500 * MS, .limit = 1};
    impostor_begin(MESSAGE_REPLY, 9, 1);
    impostor_reply(0, 0, false, &used, 1);
    struct bucket after = node_bucket(world.host[ANN].node, key_of("alice", 1), 1, world.now_ns);
    OK(after.unsettled == 0 && after.settled == fast->capacity_units - 80 * fast->units_per_token,
       "half a second's refill is missing, he says, with all of hers: so much it is when these are settled");
    world_close();
}

/* Bob lacks what ann spent, or may, and says so twice: refill has paid off some of it here, and nothing there. */
static void paid_off_here_alone(uint64_t beyond)
{
    const struct limit *fast = &world.limits.limit[1];
    const struct key_id alice = key_of("alice", 1);
    impostor_world();
    (void)world_ask(ANN, "alice", 1, 40);
    world_run(100);
    for (uint64_t made = 10; made <= 20; made += 10) {
        const struct spend used = {.id = alice, .tokens = (made == 10 ? 500 : 750) * MS, .limit = 1};
        impostor_begin(MESSAGE_GOSSIP, made, 0);
        impostor.floor = made - 5;
        impostor_say(impostor_batch(made - 5, made, key_of("bert", 0), 0, 1));
        world_run(300);
        impostor_begin(MESSAGE_REPLY, made, 0);
        impostor.page_beyond[0] = made;
        impostor.page_beyond[1] = beyond;
        impostor_reply(0, 0, false, &used, 1);
    }
    struct bucket bucket = node_bucket(world.host[ANN].node, alice, 1, world.now_ns);
    int64_t left = (bucket.settled - bucket.unsettled) / fast->units_per_token;
    OK_U64(world_stats(ANN).snapshots_taken, 2, "others have spent 120 by the second, and ann 40");
    OK(left == 0 && bucket.unsettled > 0, "so of 160, %d are left", (int)left);
    OK_U64(world_stats(ANN).doubted_tokens, beyond > 0 ? 80 : 0, "and as much as he may have is counted");
    world_close();
}

/* A key whose id begins with these two bits. */
static const char *key_in_quarter(unsigned quarter, char *name, size_t room)
{
    for (unsigned i = 0;; i++) {
        (void)snprintf(name, room, "key %u", i);
        if (key_of(name, 0).high >> 62 == quarter)
            return name;
    }
}

/* Bob is heard, and asked for a snapshot. */
static void bob_is_back(uint64_t made)
{
    impostor_begin(MESSAGE_GOSSIP, made, 0);
    impostor_say(NULL);
    world_run(300);
}

/* Bob gives what begins with these bits, where 20 of each of these keys are used. */
static void bob_gives(uint64_t prefix, uint32_t bits, uint64_t made, const char *const *keys, uint32_t count)
{
    struct spend used[2];
    for (uint32_t i = 0; i < count; i++)
        used[i] = (struct spend){.id = key_of(keys[i], 0), .tokens = 20 * 3600000 * MS, .limit = 0};
    impostor_begin(MESSAGE_REPLY, made, 0);
    impostor_reply(prefix, bits, false, used, count);
}

static void bob_splits(uint64_t prefix, uint32_t bits)
{
    impostor_begin(MESSAGE_REPLY, 9, 0);
    impostor_reply(prefix, bits, true, NULL, 0);
}

/*
 * Of two snapshots that are given up, the first has brought half of the table, the second a quarter, as somebody has it
 * who knows less. The other quarter is as the first has left it.
 */
static void parts_in_parts(void)
{
    char first[16], second[16];
    impostor_world();
    const char *keys[] = {key_in_quarter(0, first, sizeof first), key_in_quarter(1, second, sizeof second)};
    impostor_begin(MESSAGE_GOSSIP, 9, 0);
    impostor_say(impostor_batch(5, 9, key_of("bert", 0), 0, 1)); /* ann lacks what is before it */
    world_run(200);
    bob_splits(0, 0);
    bob_gives(0, 1, 9, keys, 2);
    world_run(2000);
    bob_is_back(9);
    bob_splits(0, 0);
    bob_splits(0, 1);
    bob_gives(0, 2, 2, NULL, 0);
    world_run(2000);
    impostor_begin(MESSAGE_GOSSIP, 9, 0);
    impostor_say(impostor_batch(1, 2, key_of(keys[1], 0), 0, 20));
    impostor_begin(MESSAGE_GOSSIP, 9, 0);
    impostor_say(impostor_batch(3, 4, key_of(keys[0], 0), 0, 20));
    OK_U64(world_stats(ANN).snapshots_taken, 0, "no snapshot was whole");
    OK_U64(world_stats(ANN).batches_applied, 3, "what is in their parts comes as batches");
    struct bucket of_first = node_bucket(world.host[ANN].node, key_of(keys[0], 0), 0, world.now_ns),
                  of_second = node_bucket(world.host[ANN].node, key_of(keys[1], 0), 0, world.now_ns);
    int64_t token = world.limits.limit[0].units_per_token;
    OK_U64((uint64_t)(of_second.settled / token), 140,
           "it is charged once, where the part that had it counts still");
    OK_U64((uint64_t)(of_first.settled / token), 120, "and again, where it was in none of the last donor's");
    world_close();
}

/*
 * Ann knows by a snapshot what bob says he has no more: none of it stands in her log, to be charged on top of what he
 * says of what she lacks.
 */
static void each_lacks_something(void)
{
    const struct key_id alice = key_of("alice", 0);
    const struct spend first = {.id = alice, .tokens = 20 * 3600 * 1000 * MS};
    const struct spend second = {.id = alice, .tokens = 30 * 3600 * 1000 * MS};
    unsigned refused = 0;
    world_init(2);
    world_name_all();
    world_start(ANN);
    impostor_begin(MESSAGE_GOSSIP, 5, 0);
    impostor_say(NULL);
    world_run(100);
    impostor_rules(0);
    impostor_begin(MESSAGE_REPLY, 5, 0);
    impostor_reply(0, 0, false, &first, 1);
    OK_U64(world_stats(ANN).snapshots_taken, 1, "20 were spent, says a snapshot");
    for (; world_stats(ANN).snapshots_taken == 1 && refused < 1000; refused++) {
        impostor_begin(MESSAGE_GOSSIP, 9, 0);
        impostor_say(impostor_batch(8, 9, alice, 0, 1)); /* 6 and 7 never come */
        world_run(100);
        impostor_begin(MESSAGE_REPLY, 3, 0);
        impostor_reply(0, 0, false, &second, 1);
    }
    const struct limit *slow = &world.limits.limit[0];
    struct bucket bucket = node_bucket(world.host[ANN].node, alice, 0, world.now_ns);
    OK(refused > 60 && refused < 1000,
       "30, says the next, which lacks some of those: for long it is refused (%u times)", refused);
    OK(bucket.settled / slow->units_per_token == 110, "then both are charged: %d of 160 are left",
       (int)(bucket.settled / slow->units_per_token));
    OK_U64(world_stats(ANN).doubted_tokens, 20, "and INFO says that the 20 may be among the 30");
    skip_text();
    world_close();
}

static unsigned questions;

static void count_questions(unsigned host, const struct effects *effects)
{
    for (size_t e = 0; e < effects->effect_count && host == ANN; e++)
        questions += effects->effect[e].kind == EFFECT_REQUEST;
}

/* Bob is as near as can be, and what he answers is of no use to ann, who wants to join. */
static void answered_in_vain(void)
{
    enum { ANSWERS = 20 };
    world_init(2);
    world_name_all();
    world_start(ANN);
    impostor_begin(MESSAGE_GOSSIP, 0, 0);
    impostor_say(NULL);
    world_run(100);
    world.watch = count_questions;
    questions = 0;
    for (unsigned i = 0; i < ANSWERS; i++) {
        impostor_begin(MESSAGE_REPLY, 0, 0);
        impostor.row_count = 0; /* it is not said which batches the part contains */
        impostor_reply(0, 0, false, NULL, 0);
    }
    OK_U64(questions, 0, "after an answer that is of no use ann does not ask again at once");
    world_run(500);
    OK(questions > 0, "she does so later");
    skip_text();
    world_close();
}

int main(void)
{
    answered_in_vain();
    each_lacks_something();
    parts_in_parts();
    paid_off_once();
    paid_off_here_alone(0);
    paid_off_here_alone(1);
    untold_of_a_log();
    own_in_full();
    spends_between_parts();
    split_for_ever();
    page_of_nonsense();
    pages();
    return tap_done();
}
