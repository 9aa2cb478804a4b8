#include "base/number.h"
#include "cluster/node.h"
#include "limit/kind.h"
#include "tests/lib/commit_tokens.h"
#include "tests/lib/kept_world.h"
#include "tests/lib/node_figures.h"
#include "tests/lib/reserving_world.h"

#include <stdio.h>

/*
 * Reservations of a node with a peer go on in its next process, if the peer had acknowledged all that they hold: both
 * count it all the time, and it comes back once.
 */

static const struct limit_terms bucket = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 1, .period_ns = 1000 * MS};
static const struct limit_terms part = {.kind = LIMIT_CELL, .capacity = 160, .flags = LIMIT_SPLIT};

/* Ann starts, and has not joined yet. Returns how many reservations go on. */
static unsigned recall(void)
{
    world_start(ANN);
    return kept_recall(ANN);
}

static void spend(unsigned host, const char *key, const struct limit_terms *terms, uint64_t cost)
{
    struct verdict verdict;
    struct charge charge = charge_at(host, key, terms, cost);
    OK(node_check(world.host[host].node, &charge, 1, true, world.now_ns, &verdict), "%s: %u are spent", key,
       (unsigned)cost);
}

static bool both_see(const char *key, const struct limit_terms *terms, int64_t left)
{
    const int64_t ann = tokens_left(ANN, key, terms), bob = tokens_left(BOB, key, terms);
    if (ann != left || bob != left)
        printf("# %s: ann sees %d, bob %d\n", key, (int)ann, (int)bob);
    return ann == left && bob == left;
}

/* Leases, a window and a bucket, of which the peer spends as well. */
static void go_on(void)
{
    struct reservation_id lease[2], id = {{0}};
    uint64_t charged = 0;
    reserving_world();
    struct charge slot = held_at(ANN, "slots", &leases, 1);
    struct charge charges[2] = {held_at(ANN, "window", &cell, 30), held_at(ANN, "bucket", &bucket, 20)};
    spend(BOB, "window", &cell, 10);
    OK(reserve(ANN, &slot, 1, 60000, &lease[0]) && reserve(ANN, &slot, 1, 60000, &lease[1]) &&
           reserve(ANN, charges, 2, 60000, &id),
       "two leases are held, 30 of a window and 20 of a bucket");
    world_run(1000);
    OK(both_see("slots", &leases, 2) && both_see("window", &cell, 120) && both_see("bucket", &bucket, 80),
       "both count that");
    kept_stop(ANN);
    OK(kept.keeps && kept.count == 3, "all are kept");
    OK(recall() == 3, "all are there again");
    struct node *ann = world.host[ANN].node;
    OK(node_cancel(ann, lease[0], world.now_ns) == RESERVE_LATER &&
           node_renew(ann, lease[0], 1000 * MS, world.now_ns) == RESERVE_LATER &&
           commit_tokens(ann, id, 1, world.now_ns, &charged) == RESERVE_LATER && open_reservations(ann) == 3,
       "before ann has joined, nothing becomes of them");
    world_run(1000);
    OK(both_see("slots", &leases, 2) && both_see("window", &cell, 120) && both_see("bucket", &bucket, 84),
       "then both count what they counted");
    spend(ANN, "window", &cell, 25);
    spend(ANN, "bucket", &bucket, 10);
    OK(node_cancel(ann, lease[0], world.now_ns) == RESERVE_DONE &&
           node_cancel(ann, lease[0], world.now_ns) == RESERVE_UNKNOWN,
       "a lease is given back, once");
    OK(commit_tokens(ann, id, 5, world.now_ns, &charged) == RESERVE_DONE && charged == 5 &&
           commit_tokens(ann, id, 5, world.now_ns, &charged) == RESERVE_UNKNOWN,
       "5 of 30 and of 20 were used, once");
    world_run(1000);
    OK(both_see("slots", &leases, 3) && both_see("window", &cell, 120), "the rest is everybody's");
    OK(tokens_left(ANN, "bucket", &bucket) >= 86 && tokens_left(ANN, "bucket", &bucket) <= 91 &&
           tokens_left(BOB, "bucket", &bucket) <= tokens_left(ANN, "bucket", &bucket),
       "of the bucket what refill has not made good");
    struct charge again[1] = {held_at(ANN, "window", &cell, 100)};
    OK(node_return(ann, again, 1, 100, world.now_ns) == 30, "a refund gives back what was used, then and since");
    OK(node_return(ann, again, 1, 100, world.now_ns) == 0, "once");
    OK(node_renew(ann, lease[1], 60000 * MS, world.now_ns) == RESERVE_DONE, "the other lease begins anew");
    world_run(8000);
    OK(both_see("slots", &leases, 3), "and counts when the first one would have ended");
    world_run(3000);
    OK(both_see("slots", &leases, 4) && open_reservations(ann) == 0, "until its own end");
    node_validate(ann);
    world_close();
}

/* A peer that does not know what they hold could not take it back. */
static void not_known(void)
{
    struct reservation_id id;
    reserving_world();
    struct charge held = held_at(ANN, "window", &cell, 30);
    world_link(ANN, BOB, LINK_CUT);
    OK(reserve(ANN, &held, 1, 60000, &id), "30 are held, and bob does not hear of them");
    kept_stop(ANN);
    OK(!kept.keeps && kept.count == 0, "so they end with the process");
    world_close();
}

/* Ann holds 30 of the window and a lease, which bob knows, and stops. */
static void stop_holding(struct reservation_id *id, struct reservation_id *lease)
{
    reserving_world();
    struct charge held = held_at(ANN, "window", &cell, 30), slot = held_at(ANN, "slots", &leases, 1);
    OK(reserve(ANN, &held, 1, 60000, id) && reserve(ANN, &slot, 1, 60000, lease), "30 and a lease are held");
    world_run(1000);
    kept_stop(ANN);
}

/* An old copy of a disk is used: a start since had the same reservations, and gave them back, or used them. */
static void old_copy(bool is_retired, bool is_used)
{
    struct reservation_id id = {{0}}, lease = {{0}};
    stop_holding(&id, &lease);
    OK(kept.keeps && recall() == 2, "the next start has them,");
    world_run(1000);
    uint64_t used = 0;
    OK(node_cancel(world.host[ANN].node, lease, world.now_ns) == RESERVE_DONE, "and gives the lease back");
    if (is_used)
        OK(commit_tokens(world.host[ANN].node, id, 30, world.now_ns, &used) == RESERVE_DONE && used == 30,
           "the 30 are used");
    else
        OK(node_cancel(world.host[ANN].node, id, world.now_ns) == RESERVE_DONE, "and so are the 30");
    world_run(1000);
    spend(BOB, "window", &cell, 40);
    struct charge other = held_at(BOB, "slots", &leases, 1);
    OK(reserve(BOB, &other, 1, 60000, &lease), "bob spends of that, and takes the place");
    const struct kept_world copy = kept;
    world_run(1000);
    if (is_retired)
        kept_stop(ANN);
    else
        world_crash(ANN);
    kept = copy;
    world_run(1000);
    OK(recall() == 2, "a start with a copy of the disk of before has them again, until it knows better");
    world_run(1000);
    (void)node_cancel(world.host[ANN].node, id, world.now_ns);
    world_run(1000);
    OK(both_see("window", &cell, is_used ? 90 : 120) && both_see("slots", &leases, 3), "and gives nothing back");
    node_validate(world.host[ANN].node);
    world_close();
}

/* The peer has lost all while ann was away: nothing comes back that nobody lacks. */
static void peer_forgets(void)
{
    struct reservation_id id = {{0}}, lease = {{0}};
    stop_holding(&id, &lease);
    world_crash(BOB);
    world_run(1000);
    world_start(BOB);
    OK(kept.keeps && recall() == 2, "both start");
    world_run(1000);
    struct node *ann = world.host[ANN].node;
    OK(node_renew(ann, lease, 60000 * MS, world.now_ns) == RESERVE_UNKNOWN, "a lease that nobody counts has ended");
    spend(BOB, "window", &cell, 50);
    spend(ANN, "window", &cell, 10);
    world_run(1000);
    OK(node_cancel(ann, id, world.now_ns) == RESERVE_DONE, "30 of a window that nobody counts are held,");
    world_run(1000);
    OK(both_see("window", &cell, 100) && both_see("slots", &leases, 4), "and give nothing back");
    world_close();
}

/* Of a lease of two the peer, which begins anew, counts as much as it has spent itself: one. */
static void peer_counts_less(void)
{
    struct reservation_id lease = {{0}}, other = {{0}};
    reserving_world();
    struct charge slots = held_at(ANN, "slots", &leases, 2);
    OK(reserve(ANN, &slots, 1, 60000, &lease), "a lease of two is held");
    world_run(1000);
    kept_stop(ANN);
    world_crash(BOB);
    world.host[BOB].options.join_timeout_ns = 100 * MS;
    world_start(BOB);
    world_run(1000);
    struct charge slot = held_at(BOB, "slots", &leases, 1);
    OK(reserve(BOB, &slot, 1, 60000, &other), "the peer goes on alone, and takes one");
    OK(kept.keeps && recall() == 1, "the lease is there again");
    world_run(1000);
    OK(node_renew(world.host[ANN].node, lease, 60000 * MS, world.now_ns) == RESERVE_UNKNOWN &&
           both_see("slots", &leases, 3),
       "and has ended: nobody counts it");
    world_close();
}

/* What ends while nobody runs ends when the node has joined; of a part that nobody else counts nothing comes back. */
static void ends(void)
{
    struct reservation_id id = {{0}}, of_part = {{0}};
    reserving_world();
    struct charge held = held_at(ANN, "window", &cell, 30), own = held_at(ANN, "part", &part, 20);
    OK(reserve(ANN, &held, 1, 2000, &id) && reserve(ANN, &own, 1, 60000, &of_part), "30 are held for two seconds");
    world_run(500);
    kept_stop(ANN);
    OK(kept.keeps && recall() == 2, "they are there again when their time is over");
    world_run(1000);
    struct node *ann = world.host[ANN].node;
    OK(both_see("window", &cell, 160) && open_reservations(ann) == 1, "and come back");
    spend(ANN, "part", &part, 70);
    const int64_t left = tokens_left(ANN, "part", &part);
    OK(node_cancel(ann, of_part, world.now_ns) == RESERVE_DONE && tokens_left(ANN, "part", &part) == left,
       "what a split limit held gives back nothing of what others spent since");
    world_close();
}

/* The machine has started anew as well: its clock cannot say when the tokens were spent, so nobody gives them back. */
static void before_the_clock(void)
{
    struct reservation_id id = {{0}}, lease = {{0}};
    reserving_world();
    struct charge held[2] = {held_at(ANN, "bucket", &bucket, 20), held_at(ANN, "window", &cell, 30)};
    struct charge slot = held_at(ANN, "slots", &leases, 1);
    OK(reserve(ANN, held, 2, 60000, &id) && reserve(ANN, &slot, 1, 60000, &lease),
       "a bucket, a window and a lease");
    world_run(500);
    kept_stop(ANN);
    for (unsigned i = 0; i < kept.count; i++)
        for (size_t c = 0; c < kept.reservation[i].kept.count; c++)
            kept.reservation[i].kept.charge[c].spent_ns = NODE_FIRST_NS;
    OK(kept.keeps && recall() == 2, "they are there again");
    world_run(1000);
    struct node *ann = world.host[ANN].node;
    const int64_t left = tokens_left(ANN, "bucket", &bucket);
    OK(node_renew(ann, lease, 60000 * MS, world.now_ns) == RESERVE_UNKNOWN && both_see("slots", &leases, 3),
       "the lease has ended, and counts until its time is over");
    OK(node_cancel(ann, id, world.now_ns) == RESERVE_DONE && tokens_left(ANN, "bucket", &bucket) == left &&
           tokens_left(ANN, "window", &cell) == 160,
       "of the others only the window gives back what it held");
    world_run(10000 + (GRANTED_AHEAD_NS + GRANTED_STEP_NS) / MS);
    OK(both_see("slots", &leases, 4), "all is free in the end");
    world_close();
}

/* A start that ends before it has joined leaves them to the next one. */
static void ends_early(void)
{
    struct reservation_id id;
    reserving_world();
    struct charge held = held_at(ANN, "window", &cell, 30);
    OK(reserve(ANN, &held, 1, 60000, &id), "30 are held");
    world_run(500);
    kept_stop(ANN);
    world_links(ANN, LINK_CUT);
    world.host[ANN].options.join_timeout_ns = 0;
    OK(recall() == 1, "they are there again");
    world_run(1000);
    OK(node_cancel(world.host[ANN].node, id, world.now_ns) == RESERVE_LATER, "ann hears nobody, and does not join");
    kept_stop(ANN);
    OK(kept.keeps && kept.count == 1, "the next start gets them");
    world_links(ANN, LINK_FINE);
    OK(recall() == 1, "and has them");
    world_run(1000);
    OK(both_see("window", &cell, 130) && node_cancel(world.host[ANN].node, id, world.now_ns) == RESERVE_DONE,
       "when it has joined");
    world_run(1000);
    OK(both_see("window", &cell, 160), "they come back");
    world_close();
}

int main(void)
{
    go_on();
    not_known();
    for (int is_retired = 0; is_retired < 2; is_retired++)
        for (int is_used = 0; is_used < 2; is_used++)
            old_copy(is_retired, is_used);
    peer_forgets();
    peer_counts_less();
    ends();
    before_the_clock();
    ends_early();
    return tap_done();
}
