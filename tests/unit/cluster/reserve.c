#include "tests/lib/commit_tokens.h"
#include "tests/lib/node_figures.h"
#include "tests/lib/reserving_world.h"

static void commits(void)
{
    reserving_world();
    struct node *ann = world.host[ANN].node;
    struct reservation_id id;
    uint64_t charged = 0;
    struct charge charges[2] = {held_at(ANN, "alice", &cell, 20), held_at(ANN, "slots", &leases, 1)};
    OK(reserve(ANN, charges, 2, 5000, &id) && open_reservations(ann) == 1,
       "20 of a window and a slot are reserved");
    OK(tokens_left(ANN, "alice", &cell) == 140 && tokens_left(ANN, "slots", &leases) == 3, "and taken");
    world_run(1000);
    OK(tokens_left(BOB, "alice", &cell) == 140 && tokens_left(BOB, "slots", &leases) == 3, "everywhere");
    OK(commit_tokens(ann, id, 5, world.now_ns, &charged) == RESERVE_DONE && charged == 5, "5 were used");
    OK(tokens_left(ANN, "alice", &cell) == 155 && tokens_left(ANN, "slots", &leases) == 4,
       "the rest is returned, and the slot");
    world_run(500);
    OK(tokens_left(BOB, "alice", &cell) == 155 && tokens_left(BOB, "slots", &leases) == 4, "everywhere");
    OK(commit_tokens(ann, id, 5, world.now_ns, &charged) == RESERVE_UNKNOWN && open_reservations(ann) == 0, "once");
    OK(reserve(ANN, charges, 2, 5000, &id), "another");
    OK(commit_tokens(ann, id, 30, world.now_ns, &charged) == RESERVE_DONE && charged == 30, "30 were used");
    OK(tokens_left(ANN, "alice", &cell) == 125, "the extra is taken");
    OK(reserve(ANN, charges, 2, 5000, &id), "another");
    OK(commit_tokens(ann, id, 1000, world.now_ns, &charged) == RESERVE_DONE && charged == 41,
       "as far as the limit allows: 71 are hers, and 30 are on their way");
    world_close();
}

/* The weight of a sliding window's spends never rises: nothing is added to one that is over. */
static void commits_late(void)
{
    reserving_world();
    struct node *ann = world.host[ANN].node;
    struct reservation_id id;
    uint64_t charged = 0;
    struct charge fixed = held_at(ANN, "alice", &cell, 20), sliding = held_at(ANN, "bert", &cell, 20);
    sliding.sliding = true;
    sliding.window_ns = 4000 * MS;
    fixed.window_end_ns = sliding.window_end_ns = world.now_ns + 1000 * MS;
    sliding.previous = key_of("bert before", 0);
    (void)reserve(ANN, &sliding, 1, 5000, &id);
    OK(commit_tokens(ann, id, 30, world.now_ns, &charged) == RESERVE_DONE && charged == 30, "30 of 20 were used");
    (void)reserve(ANN, &fixed, 1, 5000, &id);
    world_run(1000);
    OK(commit_tokens(ann, id, 30, world.now_ns, &charged) == RESERVE_DONE && charged == 30 &&
           tokens_left(ANN, "alice", &cell) == 130,
       "of a fixed window when it is over, too");
    sliding.window_end_ns = world.now_ns + 1000 * MS;
    (void)reserve(ANN, &sliding, 1, 5000, &id);
    world_run(1000);
    OK(commit_tokens(ann, id, 30, world.now_ns, &charged) == RESERVE_DONE && charged == 20 &&
           tokens_left(ANN, "bert", &cell) == 110,
       "of a sliding one only what was held");
    world_close();
}

static void cancels(void)
{
    reserving_world();
    struct node *ann = world.host[ANN].node;
    struct reservation_id id, other;
    struct charge charge = held_at(ANN, "alice", &cell, 20);
    (void)reserve(ANN, &charge, 1, 5000, &id);
    OK(node_cancel(world.host[BOB].node, id, world.now_ns) == RESERVE_UNKNOWN, "nobody else knows an id");
    OK(node_cancel(ann, id, world.now_ns) == RESERVE_DONE && tokens_left(ANN, "alice", &cell) == 160, "cancelled");
    OK(node_cancel(ann, id, world.now_ns) == RESERVE_UNKNOWN, "once");
    charge.cost = 100;
    OK(!reserve(ANN, &charge, 1, 5000, &other) && open_reservations(ann) == 0, "what is denied reserves nothing");
    charge.cost = 1;
    unsigned count = 0;
    while (count < 100 && reserve(ANN, &charge, 1, 5000, &id))
        count++;
    OK(count == 8 && tokens_left(ANN, "alice", &cell) == 152,
       "no more than there is room for, and then none is taken");
    world_run(6000);
    OK(open_reservations(ann) == 0 && tokens_left(ANN, "alice", &cell) == 160 &&
           tokens_left(BOB, "alice", &cell) == 160,
       "whoever never comes back returns all in the end");
    OK(commit_tokens(ann, id, 1, world.now_ns, NULL) == RESERVE_UNKNOWN, "and comes too late");
    world_close();
}

static void renewals(void)
{
    reserving_world();
    struct node *ann = world.host[ANN].node;
    struct reservation_id id[4];
    struct charge slot = held_at(ANN, "slots", &leases, 1);
    bool reserved = true, renewed = true;
    for (int i = 0; i < 4; i++) {
        reserved &= reserve(ANN, &slot, 1, 1000000, &id[i]);
        world_run(300);
    }
    OK(reserved && tokens_left(ANN, "slots", &leases) == 0, "all four slots are held");
    for (int round = 0; round < 6; round++) {
        world_run(5000);
        for (int i = 0; i < 3; i++)
            renewed &= node_renew(ann, id[i], 1000000 * MS, world.now_ns) == RESERVE_DONE;
    }
    world_run(500);
    OK(renewed && tokens_left(ANN, "slots", &leases) == 1 && tokens_left(BOB, "slots", &leases) == 1,
       "three are renewed and last; the other has ended by itself");
    OK(node_renew(ann, id[3], 1000 * MS, world.now_ns) == RESERVE_UNKNOWN, "and cannot be renewed");
    OK(node_cancel(ann, id[0], world.now_ns) == RESERVE_DONE, "one is given back");
    world_run(500);
    OK(tokens_left(ANN, "slots", &leases) == 2 && tokens_left(BOB, "slots", &leases) == 2, "everywhere");
    world_crash(ANN);
    world_run(10000);
    OK(tokens_left(BOB, "slots", &leases) == 4, "those of one who crashed end by themselves");
    world_close();
}

static unsigned steps;

static void count_step(unsigned host, const struct effects *effects)
{
    (void)effects;
    steps += host == ANN;
    assert(steps < 10000);
}

/* What is given back must be told, and cannot be while the log is full: it waits for that, and wakes nobody. */
static void waits_for_room(void)
{
    char key[32];
    struct reservation_id id;
    unsigned spent = 0;
    world_init(2);
    world_name_all();
    world.host[ANN].options.reservations_max = 8;
    world.host[ANN].options.log_keys_max = 16;
    world_start_all();
    world_run(1000);
    struct charge charge = held_at(ANN, "alice", &cell, 20);
    struct node *ann = world.host[ANN].node;
    world.watch = count_step;
    world_links(ANN, LINK_CUT);
    OK(reserve(ANN, &charge, 1, 2000, &id), "20 are reserved for 2 s, and nobody hears ann");
    for (unsigned i = 0; i < 32; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        spent += world_ask(ANN, key, 0, 1).allowed;
        world_run(100);
    }
    OK(spent < 32 && open_reservations(ann) == 1 && tokens_left(ANN, "alice", &cell) == 140,
       "her log is full after %u spends: when the time is over, nothing is given back", spent);
    steps = 0;
    world_run(1000);
    OK(steps <= 20, "in the next second she makes %u steps", steps);
    world.watch = NULL;
    world_links(ANN, LINK_FINE);
    world_run(1000);
    OK(open_reservations(ann) == 0 && tokens_left(ANN, "alice", &cell) == 160 &&
           tokens_left(BOB, "alice", &cell) == 160,
       "when she is heard, all comes back, everywhere");
    world_close();
}

static uint32_t held_before, ended_most;

static void note_ended(unsigned host, const struct effects *effects)
{
    (void)effects;
    uint32_t held = host == ANN ? open_reservations(world.host[ANN].node) : held_before;
    if (held_before - held > ended_most)
        ended_most = held_before - held;
    held_before = held;
}

/* However many end together, a step ends as many as it has time for. */
static void many_end(void)
{
    enum { RESERVATIONS = 200, STEP_KEYS = 16 };
    char key[32];
    struct reservation_id id;
    world_init_steps(1024, STEP_KEYS);
    world.host[ANN].options.reservations_max = RESERVATIONS;
    world_start_all();
    world_run(1000);
    for (unsigned i = 0; i < RESERVATIONS; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        struct charge charge = held_at(ANN, key, &cell, 1);
        (void)reserve(ANN, &charge, 1, 2000, &id);
    }
    held_before = open_reservations(world.host[ANN].node);
    OK_U64(held_before, RESERVATIONS, "200 are reserved for 2 s");
    world.watch = note_ended;
    world_run(2100);
    OK(ended_most <= STEP_KEYS, "they end in one moment, %u in a step", ended_most);
    OK(open_reservations(world.host[ANN].node) == 0 && tokens_left(ANN, "key 7", &cell) == 160, "all of them soon");
    world_close();
}

int main(void)
{
    many_end();
    waits_for_room();
    commits();
    commits_late();
    cancels();
    renewals();
    return tap_done();
}
