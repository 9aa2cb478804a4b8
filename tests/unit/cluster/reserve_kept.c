#include "base/number.h"
#include "cluster/node.h"
#include "tests/lib/commit_tokens.h"
#include "tests/lib/node_figures.h"
#include "tests/lib/reserving_world.h"

/*
 * Reservations of a node that is alone go on in its next process: they hold there what they held, and give back no more
 * than that, once.
 */

static const struct limit_terms bucket = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 1, .period_ns = 1000 * MS};
static const struct limit_terms quota = {.kind = LIMIT_CELL, .capacity = 160, .flags = LIMIT_PERSISTENT};
static const struct limit_terms kept_log = {.kind = LIMIT_LOG,
                                            .capacity = 4,
                                            .period_ns = 10000 * MS,
                                            .overshoot = 4,
                                            .flags = LIMIT_PERSISTENT};

enum { RESERVATIONS = 8 };

static struct node_reservation kept[RESERVATIONS];
static unsigned kept_count;
static bool keeps;

static void alone(void)
{
    world_init(1);
    world.host[ANN].options.reservations_max = RESERVATIONS;
    world_start(ANN);
    world_run(1000);
    skip_text();
}

/* What a daemon does when its node has left. */
static void keep(unsigned host, const struct effects *effects)
{
    uint32_t place = 0;
    if (!effects->left)
        return;
    kept_count = 0;
    keeps = node_keeps_reservations(world.host[host].node);
    while (kept_count < RESERVATIONS &&
           node_keep_reservation(world.host[host].node, &place, world.now_ns, &kept[kept_count]))
        kept_count++;
}

static void stop(unsigned i)
{
    world.watch = keep;
    world_stop(i);
    world_run(500);
    world.watch = NULL;
}

/* The node ends in order and starts again. Returns how many reservations go on. */
static unsigned restart(uint64_t away_ms)
{
    unsigned open = 0;
    stop(ANN);
    away_ms += 500;
    OK(keeps && !world.host[ANN].node, "a node that is alone keeps its reservations");
    world_run(away_ms - 500);
    for (unsigned i = 0; i < kept_count; i++)
        for (size_t k = 0; k < kept[i].kept.count; k++)
            if (kept[i].key[k].terms.kind == LIMIT_BUCKET)
                kept[i].key[k].number -= number_least(kept[i].key[k].number, away_ms * MS);
    world_start(ANN);
    for (unsigned i = 0; i < kept_count; i++)
        open += node_recall_reservation(world.host[ANN].node, &kept[i], world.now_ns);
    node_validate(world.host[ANN].node);
    step(ANN, (struct event){.kind = EVENT_WAKE}, ANN);
    world_run(10);
    skip_text();
    return open;
}

static void spend(const char *key, const struct limit_terms *terms, uint64_t cost)
{
    struct verdict verdict;
    struct charge charge = charge_at(ANN, key, terms, cost);
    OK(node_check(world.host[ANN].node, &charge, 1, true, world.now_ns, &verdict), "%s: %u are spent", key,
       (unsigned)cost);
}

/* Slots of a concurrency limit: those that are held stay so, and no other is lost. */
static void slots(void)
{
    struct reservation_id id[4], other;
    alone();
    struct charge slot = held_at(ANN, "slots", &leases, 1);
    for (int i = 0; i < 3; i++) {
        (void)reserve(ANN, &slot, 1, 60000, &id[i]);
        world_run(1000);
    }
    OK(restart(0) == 3 && tokens_left(ANN, "slots", &leases) == 1, "three of four slots stay held");
    slot = held_at(ANN, "slots", &leases, 1);
    struct node *ann = world.host[ANN].node;
    OK(reserve(ANN, &slot, 1, 60000, &id[3]) && !reserve(ANN, &slot, 1, 60000, &other), "one is free");
    OK(memcmp(&id[3], &id[0], sizeof other) != 0 && memcmp(&id[3], &id[1], sizeof other) != 0 &&
           memcmp(&id[3], &id[2], sizeof other) != 0,
       "which has an id of its own");
    OK(node_cancel(ann, id[0], world.now_ns) == RESERVE_DONE && tokens_left(ANN, "slots", &leases) == 1,
       "one of before is given back");
    OK(node_cancel(ann, id[0], world.now_ns) == RESERVE_UNKNOWN && tokens_left(ANN, "slots", &leases) == 1, "once");
    world_run(5000);
    OK(node_renew(ann, id[1], 60000 * MS, world.now_ns) == RESERVE_DONE, "one goes on");
    world_run(3500);
    OK(node_commit(ann, id[2], NULL, 0, world.now_ns) == RESERVE_UNKNOWN,
       "one has ended by itself, a period after it was made");
    OK(tokens_left(ANN, "slots", &leases) == 2, "so two are free, and two are held");
    OK(node_cancel(ann, id[1], world.now_ns) == RESERVE_DONE &&
           node_cancel(ann, id[3], world.now_ns) == RESERVE_DONE && tokens_left(ANN, "slots", &leases) == 4 &&
           open_reservations(ann) == 0,
       "in the end all are free");
    world_close();
}

/* What a reservation holds lacks in its key, so that what it gives back is nobody else's. */
static void bounds(void)
{
    struct reservation_id id;
    uint64_t charged = 0;
    alone();
    struct charge charges[2] = {held_at(ANN, "window", &cell, 100), held_at(ANN, "bucket", &bucket, 50)};
    spend("window", &cell, 20);
    spend("bucket", &bucket, 30);
    OK(reserve(ANN, charges, 2, 60000, &id), "100 of a window of 160 and 50 of a bucket of 100 are held");
    OK(restart(3500) == 1, "they go on");
    struct node *ann = world.host[ANN].node;
    OK(tokens_left(ANN, "window", &cell) == 40, "the window has what it had");
    OK(tokens_left(ANN, "bucket", &bucket) == 24, "the bucket has what it had, and what time has given it: 4");
    spend("window", &cell, 40);
    spend("bucket", &bucket, 24);
    OK(commit_tokens(ann, id, 10, world.now_ns, &charged) == RESERVE_DONE && charged == 10, "10 were used");
    OK(tokens_left(ANN, "window", &cell) == 90 && tokens_left(ANN, "bucket", &bucket) == 40,
       "the rest comes back, and no more");
    OK(commit_tokens(ann, id, 10, world.now_ns, &charged) == RESERVE_UNKNOWN, "once");
    OK(restart(100) == 0 && kept_count == 0, "what has ended is not kept");
    world_close();
}

/* Of a quota the store knows as well what is used: it counts once. */
static void quotas(void)
{
    struct reservation_id id, slot_id;
    alone();
    struct charge held = held_at(ANN, "quota", &quota, 100), slot = held_at(ANN, "slots", &kept_log, 3);
    spend("quota", &quota, 20);
    OK(reserve(ANN, &held, 1, 60000, &id) && reserve(ANN, &slot, 1, 60000, &slot_id), "100 of a quota, 3 slots");
    stop(ANN);
    struct counter counters[2] =
        {kept[0].key[0],
         {.terms = kept_log, .id = slot.id, .number = 3, .expires_ns = world.now_ns + kept_log.period_ns}};
    struct error error;
    world.host[ANN].options.incarnation = world.host[ANN].incarnation++;
    world.host[ANN].node = node_create(&world.host[ANN].options, &error);
    step(ANN, (struct event){.kind = EVENT_RESTORE, .counters = counters, .counter_count = 2}, ANN);
    step(ANN, (struct event){.kind = EVENT_START}, ANN);
    struct node *ann = world.host[ANN].node;
    OK(tokens_left(ANN, "quota", &quota) == 40 && tokens_left(ANN, "slots", &kept_log) == 1,
       "the store has lowered the keys");
    OK(node_recall_reservation(ann, &kept[0], world.now_ns) &&
           node_recall_reservation(ann, &kept[1], world.now_ns) && tokens_left(ANN, "quota", &quota) == 40 &&
           tokens_left(ANN, "slots", &kept_log) == 1,
       "reservations do not lower them once more");
    OK(node_cancel(ann, id, world.now_ns) == RESERVE_DONE &&
           node_cancel(ann, slot_id, world.now_ns) == RESERVE_DONE && tokens_left(ANN, "quota", &quota) == 140 &&
           tokens_left(ANN, "slots", &kept_log) == 4,
       "and give back what they hold");
    world_close();
}

/* The time of a reservation goes on while nobody runs. */
static void ends(void)
{
    struct reservation_id id, slot_id;
    alone();
    struct charge held = held_at(ANN, "window", &cell, 100), slot = held_at(ANN, "slots", &leases, 1);
    (void)reserve(ANN, &held, 1, 2000, &id);
    (void)reserve(ANN, &slot, 1, 2000, &slot_id);
    OK(restart(5000) == 2, "two come back when their time is over");
    struct node *ann = world.host[ANN].node;
    OK(open_reservations(ann) == 0 && tokens_left(ANN, "window", &cell) == 160 &&
           tokens_left(ANN, "slots", &leases) == 4,
       "and end at once, with all that they held");
    OK(node_cancel(ann, id, world.now_ns) == RESERVE_UNKNOWN, "nobody finds them");
    slot = held_at(ANN, "slots", &leases, 1);
    (void)reserve(ANN, &slot, 1, 60000, &slot_id);
    OK(restart(15000) == 1 && tokens_left(ANN, "slots", &leases) == 4, "a slot whose period is over is free");
    world_close();
}

/* What does not find room ends, and counts as used. */
static void no_room(void)
{
    struct reservation_id id[4];
    alone();
    struct charge slot = held_at(ANN, "slots", &leases, 1);
    for (int i = 0; i < 3; i++)
        (void)reserve(ANN, &slot, 1, 60000, &id[i]);
    world.host[ANN].options.reservations_max = 2;
    OK(restart(0) == 2 && tokens_left(ANN, "slots", &leases) == 1, "of three two go on, and three slots are taken");
    world_run(10000);
    OK(tokens_left(ANN, "slots", &leases) == 4, "until they end");
    world.host[ANN].options.reservations_max = 0;
    OK(!node_keeps_reservations(world.host[ANN].node) || restart(0) == 0, "without a pool nothing goes on");
    world_close();
}

/* With peers others count what a reservation holds: reserve_kept_peers.c. */
static void peers(void)
{
    struct reservation_id id;
    reserving_world();
    OK(!node_keeps_reservations(world.host[ANN].node), "a node with a peer keeps none while it runs");
    stop(BOB);
    keeps = true;
    stop(ANN);
    OK(!keeps && !world.host[ANN].node, "nor does the last one of all, whose peer comes back");
    world_close();
    world_init(2);
    world_name_peer(BOB, ANN);
    for (unsigned i = 0; i < 2; i++)
        world.host[i].options.reservations_max = RESERVATIONS;
    world_start(ANN);
    struct charge slot = held_at(ANN, "slots", &leases, 1);
    OK(reserve(ANN, &slot, 1, 60000, &id) && node_keeps_reservations(world.host[ANN].node),
       "one without peers does,");
    world_start(BOB);
    world_run(2000);
    OK(!node_keeps_reservations(world.host[ANN].node), "until somebody joins it");
    world_close();
}

int main(void)
{
    slots();
    bounds();
    quotas();
    ends();
    no_room();
    peers();
    return tap_done();
}
