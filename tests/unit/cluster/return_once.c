#include "cluster/state/node_state.h"
#include "tests/lib/commit_tokens.h"
#include "tests/lib/refunds_world.h"

/*
 * A token is given back once, by the node that spent it, whoever is asked how often. Of every algorithm: three nodes,
 * 160 tokens, no overshoot, nothing comes back by itself while a test lasts. Ann has half of it, bob and cat a quarter.
 */

enum { CAPACITY = 160, ALGORITHMS = 6 };

static const struct algorithm algorithms[ALGORITHMS] = {
    {"a bucket", {.kind = LIMIT_BUCKET, .capacity = CAPACITY, .rate = 1, .period_ns = 3600000 * MS}, false},
    {"a fixed window", {.kind = LIMIT_CELL, .capacity = CAPACITY}, false},
    {"a sliding window", {.kind = LIMIT_CELL, .capacity = CAPACITY}, true},
    {"a quota", {.kind = LIMIT_CELL, .capacity = CAPACITY, .flags = LIMIT_PERSISTENT}, false},
    {"a sliding log", {.kind = LIMIT_LOG, .capacity = CAPACITY, .period_ns = 3600000 * MS}, false},
    {"a static split", {.kind = LIMIT_CELL, .capacity = CAPACITY, .flags = LIMIT_SPLIT}, false},
};

static void reset(unsigned i)
{
    struct charge charge = refunds_charge(i, 0);
    node_reset_key(world.host[i].node, &charge, 1, world.now_ns);
}

/* All ask for one token after the other until nobody gets any more. How many that were. */
static uint64_t take_all(void)
{
    uint64_t taken = 0;
    for (unsigned refused = 0; refused < 20; refused++, world_run(100))
        for (unsigned i = 0; i < world.count; i++)
            while (refunds_take(i, 1)) {
                taken++;
                refused = 0;
            }
    return taken;
}

static void begin(void)
{
    world_init(3);
    world_name_all();
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.reservations_max = 8;
    world_start_all();
    world_run(1000);
    skip_text();
}

static void at_three_regions(void)
{
    begin();
    OK(refunds_take(ANN, 20), "%s: ann takes 20", algorithm->name);
    world_run(500);
    uint64_t given[3];
    for (unsigned i = 0; i < 3; i++)
        given[i] = refunds_give(i, 20);
    OK(given[ANN] == 20 && given[BOB] == 0 && given[CAT] == 0,
       "all three are asked to refund 20: ann gives 20, bob and cat 0");
    world_run(20);
    OK(refunds_give(ANN, 20) == 0 && refunds_give(BOB, 20) == 0, "asked again, none gives any");
    world_run(500);
    OK(refunds_give(ANN, 20) == 0 && refunds_give(CAT, 20) == 0, "nor when all is known everywhere");
    uint64_t taken = take_all();
    OK(taken <= CAPACITY && taken >= CAPACITY / 2, "no more than the limit is admitted besides: %" PRIu64, taken);
    world_close();
}

/* The return is told before its spends have settled; then they settle one after the other. */
static void before_it_settles(void)
{
    begin();
    world_links(CAT, LINK_CUT);
    OK(refunds_take(ANN, 20), "%s: ann takes 20 while cat is cut off", algorithm->name);
    world_run(300);
    OK_U64(refunds_give(ANN, 15), 15, "and gives 15 back");
    world_run(300);
    OK_U64(refunds_give(ANN, 15), 5, "then no more than the rest");
    world_links(CAT, LINK_FINE);
    uint64_t more = 0;
    for (unsigned ms = 0; ms < 1000; ms += 10, world_run(10))
        more += refunds_give(ANN, 20);
    OK_U64(more, 0, "nothing more, at whatever moment while it settles");
    uint64_t taken = take_all();
    OK(taken <= CAPACITY, "no more than the limit is admitted besides: %" PRIu64, taken);
    world_close();
}

static void on_both_sides_of_a_cut(void)
{
    begin();
    uint64_t taken = 0, given = 0;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned n = 0; n < 20; n++)
            taken += refunds_take(i, 1);
    world_run(500);
    OK_U64(taken, 60, "%s: each takes 20", algorithm->name);
    world_links(CAT, LINK_CUT);
    for (unsigned i = 0; i < 3; i++)
        given += refunds_give(i, 100);
    OK_U64(given, 60, "both sides of a cut are asked to refund 100: each node gives its own 20");
    world_run(2000);
    for (unsigned i = 0; i < 3; i++)
        given += refunds_give(i, 100);
    OK_U64(given, 60, "and nothing more");
    taken = 0;
    for (unsigned i = 0; i < 3; i++)
        while (refunds_take(i, 1))
            taken++;
    world_links(CAT, LINK_FINE);
    world_run(2000);
    taken += take_all();
    OK(taken <= CAPACITY, "no more than the limit is admitted, before and after it has healed: %" PRIu64, taken);
    world_close();
}

static void while_one_is_cancelled(void)
{
    begin();
    struct reservation_id id;
    struct verdict verdict;
    struct charge charge = refunds_charge(ANN, 20);
    OK(node_reserve(world.host[ANN].node, &charge, 1, 60000 * MS, world.now_ns, &verdict, &id) &&
           refunds_take(ANN, 5),
       "%s: ann reserves 20, and takes 5", algorithm->name);
    world_run(500);
    OK(refunds_give(BOB, 20) == 0 && refunds_give(ANN, 20) == 5, "bob refunds nothing, ann what is not reserved");
    reset(BOB);
    reset(ANN);
    bool told = (algorithm->terms.flags & LIMIT_SPLIT) == 0;
    OK(refunds_left(ANN) == 140 && refunds_left(BOB) == (told ? refunds_left(BOB) : 160),
       "a reset leaves what is reserved");
    OK(node_cancel(world.host[ANN].node, id, world.now_ns) == RESERVE_DONE && refunds_left(ANN) == 160,
       "cancelled, all of it comes back");
    OK(refunds_give(CAT, 20) == 0 && refunds_give(ANN, 20) == 0, "and nobody refunds it besides");
    world_run(500);
    bool exact = algorithm->terms.kind != LIMIT_BUCKET; /* buckets credit no more than is certain */
    OK(refunds_left(BOB) >= (exact ? 160 : 145) && refunds_left(CAT) >= (exact ? 160 : 145),
       "everybody hears of it");
    uint64_t taken = take_all();
    OK(taken <= CAPACITY, "no more than the limit is admitted: %" PRIu64, taken);
    world_close();
}

static void committed(void)
{
    begin();
    struct reservation_id id;
    struct verdict verdict;
    uint64_t charged;
    struct charge charge = refunds_charge(ANN, 20);
    (void)node_reserve(world.host[ANN].node, &charge, 1, 60000 * MS, world.now_ns, &verdict, &id);
    world_run(500);
    (void)commit_tokens(world.host[ANN].node, id, 8, world.now_ns, &charged);
    OK(refunds_left(ANN) == 152, "%s: ann uses 8 of 20 that were reserved", algorithm->name);
    OK(refunds_give(BOB, 20) == 0 && refunds_give(ANN, 20) == 8 && refunds_give(ANN, 20) == 0,
       "these can be refunded there, once");
    world_close();
}

static void after_a_restart(void)
{
    begin();
    OK(refunds_take(ANN, 20) && refunds_take(BOB, 10), "%s: ann takes 20, bob 10", algorithm->name);
    world_run(500);
    world_crash(ANN);
    world_run(200);
    world_start(ANN);
    world_run(2000);
    OK(refunds_give(ANN, 20) == 0,
       "ann crashes, and comes back: of what she had spent nobody can say whether it was returned");
    OK(refunds_give(BOB, 20) == 10, "bob gives what he spent");
    world_close();
}

/*
 * While cat is cut off, ann's 20 do not settle. Refill pays them off, and her table forgets the full key before the
 * reservation ends. They settle when cat is back: then the only tokens that are taken are bob's.
 */
static void when_its_key_is_forgotten(void)
{
    static const struct algorithm quick = {"quick",
                                           {.capacity = CAPACITY, .rate = CAPACITY, .period_ns = 1000 * MS},
                                           false};
    algorithm = &quick;
    begin();
    struct node *node = world.host[ANN].node;
    struct reservation_id id;
    struct verdict verdict;
    struct charge charge = refunds_charge(ANN, 20);
    world_links(CAT, LINK_CUT);
    OK(node_reserve(node, &charge, 1, 60000 * MS, world.now_ns, &verdict, &id), "ann reserves 20");
    world_push(ANN);
    world_run(100);
    for (unsigned round = 0; round < 100 && table_find(node->table, charge.id); round++) {
        char name[16];
        (void)snprintf(name, sizeof name, "key %u ", round);
        (void)world_spend_many(BOB, name, 100);
        world_run(500);
    }
    OK(!table_find(node->table, charge.id), "the key is full again, and forgotten");
    OK(node_cancel(node, id, world.now_ns) == RESERVE_DONE, "the reservation is cancelled");
    world_links(CAT, LINK_FINE);
    world_run(3000);
    OK_U64(world_stats(ANN).log_keys, 0, "her spends have settled");
    OK(refunds_take(BOB, 30), "bob takes 30");
    world_run(50);
    OK(refunds_left(ANN) < CAPACITY - 10, "of which ann knows: %d are left", (int)refunds_left(ANN));
    OK_U64(refunds_give(ANN, 20), 0, "she gives nothing back: her 20 were the reservation's");
    world_close();
}

int main(void)
{
    for (unsigned i = 0; i < ALGORITHMS; i++) {
        algorithm = &algorithms[i];
        at_three_regions();
        before_it_settles();
        on_both_sides_of_a_cut();
        while_one_is_cancelled();
        committed();
        after_a_restart();
    }
    when_its_key_is_forgotten();
    return tap_done();
}
