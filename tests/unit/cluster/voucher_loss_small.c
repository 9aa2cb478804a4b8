/*
 * A small limit has a burst each minute, and each third time its clients come back. Otherwise the whole tokens that
 * were granted are given back, and of each ask a part of one comes to nothing. That is much of so few tokens, but does
 * not keep a peer from asking for the next burst. Three even regions, 40 ms apart.
 */
#include "tests/lib/rights_world.h"

enum { BURSTS = 6, COMES_BACK = 3, PAUSE_MS = 68000 };

static void asks_as_before(unsigned capacity, unsigned least_asks, unsigned least)
{
    const struct limit_terms terms = {.capacity = capacity, .rate = capacity, .period_ns = 60000 * MS};
    unsigned got = 0, asked = 0;
    char key[32];
    (void)snprintf(key, sizeof key, "%u a minute", capacity);
    for (unsigned i = 1; i <= BURSTS; i++) {
        const uint64_t before = world_stats(ANN).rights_asked;
        got = rights_take(ANN, key, &terms, capacity);
        (void)rights_take_at_once(ANN, key, &terms, 1);
        world_run(TURN_MS);
        asked += world_stats(ANN).rights_asked > before;
        got += i % COMES_BACK == 0 ? rights_take(ANN, key, &terms, capacity) : 0;
        world_run(PAUSE_MS);
    }
    OK(asked >= least_asks, "%s: peers are asked for %u of %u bursts", key, asked, BURSTS);
    OK(got >= least, "... and the last one, whose clients come back, gets %u", got);
}

int main(void)
{
    rights_world_init(3);
    for (unsigned host = ANN; host <= CAT; host++)
        world.host[host].options.grants_eager = false;
    rights_world_start();
    asks_as_before(20, 4, 10);
    asks_as_before(10, BURSTS, 5);
    world_close();
    return tap_done();
}
