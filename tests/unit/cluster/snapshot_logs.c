/*
 * Sliding logs and leases at daemons that start anew. A start learns from a snapshot when spends end, not only how many
 * there are: who asks for less than the limit is refused nothing, though all daemons are restarted in turn.
 */
#include "tests/lib/rights_world.h"

enum { PERIOD_MS = 60000, STEP_MS = 3000 };

static const struct limit_terms log_of_100 = {.kind = LIMIT_LOG, .capacity = 100, .period_ns = PERIOD_MS * MS};

static void begin(void)
{
    rights_world_init(3);
    rights_world_start();
}

/* Every host takes `count` tokens at each step; returns how many were refused. */
static unsigned steady(unsigned steps, unsigned count)
{
    unsigned refused = 0;
    for (unsigned i = 0; i < steps; i++) {
        for (unsigned host = ANN; host <= CAT; host++)
            refused += count - rights_take(host, "steady", &log_of_100, count);
        world_run(STEP_MS);
    }
    return refused;
}

/* 60 of 100 a minute: 3 each 3 seconds. */
static void restarted_in_turn(void)
{
    begin();
    OK_U64(steady(20, 1), 0, "three daemons admit 60 of 100 in a minute");
    for (unsigned host = ANN; host <= CAT; host++) {
        world_run(1000);
        rights_world_restart(host);
        OK_U64(steady(2, 1), 0, "%s is restarted: nobody is refused", host_names[host]);
    }
    OK_U64(steady(30, 1), 0, "nor in the minute after that");
    world_close();
}

/* The tokens that count at a host. */
static double used(unsigned host, const char *key)
{
    const struct explanation explained = rights_explain(host, key, &log_of_100);
    return 100 - explained.settled_tokens + explained.unsettled_tokens;
}

/* Bob's spends end one after the other. At ann, who starts anew, each ends in the same second. */
static void ends_as_elsewhere(void)
{
    double most = 0, least = 0, highest = 0;
    begin();
    for (unsigned i = 0; i < 10; i++) {
        (void)rights_take(BOB, "falling", &log_of_100, 3);
        world_run(STEP_MS);
    }
    world_run(1000);
    rights_world_restart(ANN);
    for (unsigned i = 0; i < PERIOD_MS / 1000; i++) {
        const double above = used(ANN, "falling") - used(BOB, "falling");
        most = above > most ? above : most;
        least = above < least ? above : least;
        highest = used(ANN, "falling") > highest ? used(ANN, "falling") : highest;
        world_run(1000);
    }
    OK(highest >= 30, "ann hears of %g tokens that bob has spent", highest);
    OK(most <= 3 && least >= 0, "from second to second %g more count at her at most, and %g fewer", most, -least);
    OK(used(ANN, "falling") == 0, "until all have ended");
    world_close();
}

/* Many spends are told in few parts: each ends late by a 16th of their time at most. */
static void many_in_parts(void)
{
    unsigned late = 0;
    begin();
    for (unsigned i = 0; i < 45; i++) {
        (void)rights_take(BOB, "many", &log_of_100, 1);
        world_run(1000);
    }
    rights_world_restart(ANN);
    for (unsigned i = 0; i < PERIOD_MS / 1000; i++) {
        const double above = used(ANN, "many") - used(BOB, "many");
        late += above > 45 / 16 + 2 || above < 0;
        world_run(1000);
    }
    OK_U64(late, 0, "45 spends in 16 parts: as many as of three seconds count on at a start");
    world_close();
}

/* A page has no room for all parts: each log has fewer, and none ends early. */
static void in_a_small_page(void)
{
    enum { KEYS = 400, SPENDS = 12 };
    char key[16];
    unsigned early = 0, sooner = 0, late = 0;
    rights_world_init(3);
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.message_max_bytes = 65536;
    rights_world_start();
    for (unsigned s = 0; s < SPENDS; s++) {
        for (unsigned k = 0; k < KEYS; k++) {
            (void)snprintf(key, sizeof key, "key %u", k);
            (void)rights_take(BOB, key, &log_of_100, 1);
        }
        world_run(STEP_MS);
    }
    world_run(1000);
    rights_world_restart(ANN);
    for (unsigned i = 0; i < PERIOD_MS / 1000 + 6; i++) {
        for (unsigned k = 0; k < KEYS; k++) {
            (void)snprintf(key, sizeof key, "key %u", k);
            const double here = used(ANN, key);
            early += here < used(BOB, key);
            sooner += here > 0 && here < SPENDS;
            late += i > PERIOD_MS / 1000 && here > 0;
        }
        world_run(1000);
    }
    OK_U64(early, 0, "in a page of 64 KB, no spend of 400 keys ends earlier at a start than it does elsewhere");
    OK(sooner > 0, "they do not end all at once");
    OK_U64(late, 0, "and all have ended a window later");
    world_close();
}

int main(void)
{
    restarted_in_turn();
    ends_as_elsewhere();
    many_in_parts();
    in_a_small_page();
    return tap_done();
}
