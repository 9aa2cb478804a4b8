#include "tests/lib/commit_tokens.h"
#include "tests/lib/node_figures.h"
#include "tests/lib/reserving_world.h"

/* A reservation is a thing of its own, with an end of its own: nobody else gives back what it holds. */

static const struct limit_terms one_lease = {.kind = LIMIT_LOG, .capacity = 1, .period_ns = 10000 * MS};

static uint64_t refund(unsigned i, const char *key, const struct limit_terms *terms, uint64_t tokens)
{
    struct charge charge = held_at(i, key, terms, tokens);
    return node_return(world.host[i].node, &charge, 1, tokens, world.now_ns);
}

static void reset(unsigned i, const char *key, const struct limit_terms *terms)
{
    struct charge charge = held_at(i, key, terms, 0);
    node_reset_key(world.host[i].node, &charge, 1, world.now_ns);
}

static void alone(void)
{
    world_init(1);
    world.host[ANN].options.reservations_max = 8;
    world_start(ANN);
    world_run(1000);
    skip_text();
}

/* What one reservation holds, neither a reset nor a refund nor another reservation gives back. */
static void somebody_elses(void)
{
    alone();
    struct node *ann = world.host[ANN].node;
    struct reservation_id a, b;
    struct charge slot = held_at(ANN, "slot", &one_lease, 1);
    OK(reserve(ANN, &slot, 1, 5000, &a), "a holds the one lease");
    reset(ANN, "slot", &one_lease);
    OK(refund(ANN, "slot", &one_lease, 1) == 0 && !reserve(ANN, &slot, 1, 5000, &b),
       "a reset and a refund leave it to him: b gets none");
    (void)node_cancel(ann, a, world.now_ns);
    OK(reserve(ANN, &slot, 1, 5000, &b) && node_cancel(ann, a, world.now_ns) == RESERVE_UNKNOWN,
       "when a has cancelled, b gets it, and a cannot cancel again");
    OK(!reserve(ANN, &slot, 1, 5000, &a), "so there is one holder at a time");

    struct charge ten = held_at(ANN, "alice", &cell, 100);
    OK(reserve(ANN, &ten, 1, 5000, &a), "a reserves 100 of 160");
    reset(ANN, "alice", &cell);
    OK(!reserve(ANN, &ten, 1, 5000, &b) && tokens_left(ANN, "alice", &cell) == 60,
       "after a reset, b cannot have 100");
    ten.cost = 60;
    OK(reserve(ANN, &ten, 1, 5000, &b), "but 60");
    (void)node_cancel(ann, a, world.now_ns);
    OK(tokens_left(ANN, "alice", &cell) == 100, "a cancels: the 60 stay b's");
    OK(refund(ANN, "alice", &cell, 60) == 0, "whoever asks");
    world_close();
}

/* A lease that ends early takes its own place off the list, here and elsewhere: the others end when they would have. */
static void own_entry(void)
{
    reserving_world();
    struct node *ann = world.host[ANN].node;
    struct reservation_id first, second;
    struct charge slot = held_at(ANN, "slots", &leases, 1);
    OK(reserve(ANN, &slot, 1, 10000, &first), "a lease of ten seconds");
    world_run(5000);
    OK(reserve(ANN, &slot, 1, 10000, &second), "another one, five seconds later");
    world_run(500);
    (void)node_cancel(ann, second, world.now_ns);
    world_run(500);
    OK(tokens_left(ANN, "slots", &leases) == 3 && tokens_left(BOB, "slots", &leases) == 3,
       "the second is cancelled");
    world_run(4100);
    OK(tokens_left(ANN, "slots", &leases) == 4 && tokens_left(BOB, "slots", &leases) == 4,
       "the first one ends after its ten seconds, here and there: nothing of the second is left");
    OK(reserve(ANN, &slot, 1, 10000, &first), "a lease");
    world_run(5000);
    OK(reserve(ANN, &slot, 1, 1000, &second), "and a short one, five seconds later");
    world_run(1500);
    OK(tokens_left(ANN, "slots", &leases) == 3 && tokens_left(BOB, "slots", &leases) == 3,
       "which has ended by itself");
    world_run(3600);
    OK(tokens_left(ANN, "slots", &leases) == 4 && tokens_left(BOB, "slots", &leases) == 4,
       "the long one ends at its time");
    world_close();
}

/* What a renewal begins anew is the lease's own. */
static void own_renewal(void)
{
    reserving_world();
    struct node *ann = world.host[ANN].node;
    struct reservation_id first, second;
    struct charge slot = held_at(ANN, "slots", &leases, 1);
    (void)reserve(ANN, &slot, 1, 10000, &first);
    world_run(4000);
    (void)reserve(ANN, &slot, 1, 10000, &second);
    world_run(4000);
    OK(node_renew(ann, second, 10000 * MS, world.now_ns) == RESERVE_DONE, "of two leases the second is renewed");
    world_run(2100);
    OK(tokens_left(ANN, "slots", &leases) == 3 && tokens_left(BOB, "slots", &leases) == 3,
       "the first ends at its time");
    world_run(7000);
    OK(tokens_left(ANN, "slots", &leases) == 3 && node_renew(ann, second, 1000 * MS, world.now_ns) == RESERVE_DONE,
       "the second goes on");
    world_close();
}

/* What is committed is spent for good: it can be refunded, and ends by itself when it would have. */
static void committed_log(void)
{
    const struct limit_terms calls = {.kind = LIMIT_LOG, .capacity = 160, .period_ns = 10000 * MS};
    reserving_world();
    struct node *ann = world.host[ANN].node;
    struct reservation_id id;
    struct charge charge = charge_at(ANN, "calls", &calls, 20);
    (void)reserve(ANN, &charge, 1, 5000, &id);
    world_run(2000);
    OK(refund(ANN, "calls", &calls, 20) == 0, "20 calls are reserved: none of them can be refunded");
    (void)commit_tokens(ann, id, 8, world.now_ns, NULL);
    OK(tokens_left(ANN, "calls", &calls) == 152, "8 were made");
    OK(refund(BOB, "calls", &calls, 20) == 0 && refund(ANN, "calls", &calls, 3) == 3, "3 of them are refunded");
    world_run(500);
    OK(tokens_left(ANN, "calls", &calls) == 155 && tokens_left(BOB, "calls", &calls) == 155, "everywhere");
    world_run(7600);
    OK(tokens_left(ANN, "calls", &calls) == 160 && tokens_left(BOB, "calls", &calls) == 160,
       "the rest ends by itself");
    world_close();
}

static struct verdict refused(unsigned i, const char *key, const struct limit_terms *terms)
{
    struct verdict verdict;
    struct charge charge = held_at(i, key, terms, 1);
    bool allowed = node_check(world.host[i].node, &charge, 1, false, world.now_ns, &verdict);
    assert(!allowed);
    return verdict;
}

/* The leases of this node end with their reservations; those of others, as far as it knows, with their period. */
static void how_long_to_wait(void)
{
    const struct limit_terms two = {.kind = LIMIT_LOG, .capacity = 2, .period_ns = 30000 * MS};
    struct reservation_id id;
    alone();
    struct charge slot = held_at(ANN, "slots", &two, 1);
    (void)reserve(ANN, &slot, 1, 5000, &id);
    world_run(100);
    (void)reserve(ANN, &slot, 1, 1000, &id);
    struct verdict verdict = refused(ANN, "slots", &two);
    OK_U64(verdict.retry_after_ns / MS, 1000, "two are held for 5 s and for 1 s: the next may try in 1 s");
    OK_U64(verdict.reset_after_ns / MS, 4900, "both are free when the first one ends");
    OK(node_renew(world.host[ANN].node, id, 20000 * MS, world.now_ns) == RESERVE_DONE, "the second is renewed");
    verdict = refused(ANN, "slots", &two);
    OK(verdict.retry_after_ns / MS == 4900 && verdict.reset_after_ns / MS == 20000,
       "then they end the other way round");
    world_run(4900);
    OK(tokens_left(ANN, "slots", &two) == 1, "and so it is");
    world_close();
}

/* Nobody speaks, and the node would sleep: it wakes up for the end of what it holds, to the moment. */
static void ends_in_time(void)
{
    static const uint64_t ttls_ms[] = {7, 33, 61, 250, 1001};
    unsigned in_time = 0;
    for (unsigned i = 0; i < 5; i++) {
        world_init(1);
        world.host[ANN].options.reservations_max = 8;
        world.host[ANN].options.interval_ns = 500 * MS;
        world_start(ANN);
        world_run(1000 + 37 * i);
        struct charge charge = held_at(ANN, "alice", &cell, 20);
        struct reservation_id id;
        (void)reserve(ANN, &charge, 1, ttls_ms[i], &id);
        world_push(ANN);
        world_run(ttls_ms[i] - 1);
        bool holds = tokens_left(ANN, "alice", &cell) == 140;
        world_run(1);
        in_time += holds && tokens_left(ANN, "alice", &cell) == 160 && open_reservations(world.host[ANN].node) == 0;
        world_close();
    }
    OK_U64(in_time, 5, "reservations of 7 ms to 1 s end in their millisecond, where intervals are of 500 ms");
}

/*
 * A window's cell has expired here, and what was held of it with it. Whoever goes on in that window, because a clock is
 * behind, finds the cell anew: the end of the reservation gives back nothing of it.
 */
static void expired_cell(void)
{
    alone();
    struct node *ann = world.host[ANN].node;
    struct reservation_id id;
    struct charge held = held_at(ANN, "alice", &cell, 20), others = held_at(ANN, "alice", &cell, 50);
    held.expires_ns = world.now_ns + 300 * MS;
    others.expires_ns = world.now_ns + 3000 * MS;
    OK(reserve(ANN, &held, 1, 2000, &id) && tokens_left(ANN, "alice", &cell) == 140, "20 of a window are held");
    world_run(301);
    OK_I64(tokens_left(ANN, "alice", &cell), 160, "the window is over, and its cell has expired");
    OK(node_takes(ann, &others, world.now_ns) && tokens_left(ANN, "alice", &cell) == 110,
       "then 50 are taken of it");
    OK(node_cancel(ann, id, world.now_ns) == RESERVE_DONE, "the reservation is cancelled");
    OK_I64(tokens_left(ANN, "alice", &cell), 110, "and gives back nothing of the 50");
    OK(open_reservations(ann) == 0, "it has ended all the same");
    world_close();
}

/* The window of what is held is over, and a peer whose clock is behind has it open: then nobody gives that back. */
static void ended_cell(void)
{
    struct reservation_id id = {{0}};
    struct verdict verdict;
    reserving_world();
    struct charge held = held_at(ANN, "key", &cell, 30), other = held_at(BOB, "key", &cell, 10);
    held.expires_ns = world.now_ns + 2000 * MS;
    OK(reserve(ANN, &held, 1, 3000, &id), "30 of a window of two seconds are held for three");
    OK(node_check(world.host[BOB].node, &other, 1, true, world.now_ns, &verdict), "a peer has it for longer");
    world_run(4000);
    OK(open_reservations(world.host[ANN].node) == 0 && tokens_left(ANN, "key", &cell) == 120,
       "the reservation ends, and gives nothing back");
    OK_U64(refund(ANN, "key", &cell, 100), 0, "nor does a client who asks for what it held");
    OK(tokens_left(ANN, "key", &cell) == 120, "it stays so");
    world_close();
}

int main(void)
{
    somebody_elses();
    own_entry();
    own_renewal();
    committed_log();
    how_long_to_wait();
    ends_in_time();
    expired_cell();
    ended_cell();
    return tap_done();
}
