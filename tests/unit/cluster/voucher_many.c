/*
 * Many keys with a home, whose windows are long: each has its token in bob's region, though there are more keys than
 * places for vouchers and grants. Three nodes 40 ms apart. ann's region is the home.
 */
#include "tests/lib/rights_world.h"

#include <stdio.h>

enum { ROUNDS = 20, KEYS = 30 };

static struct limit_terms five;

static const char *name_of(const char *story, unsigned round, unsigned key)
{
    static char name[64];
    (void)snprintf(name, sizeof name, "%s-%u-%u", story, round, key);
    return name;
}

/* Bob asks for a token of each key of the round, and has it a round trip later. Returns how many he had. */
static unsigned ask_round(const char *story, unsigned round)
{
    unsigned got = 0;
    for (unsigned key = 0; key < KEYS; key++)
        got += rights_take(BOB, name_of(story, round, key), &five, 1);
    world_run(TURN_MS);
    for (unsigned key = 0; key < KEYS; key++)
        got += rights_take(BOB, name_of(story, round, key), &five, 1);
    world_run(4 * TURN_MS);
    return got;
}

static unsigned ask_all(const char *story)
{
    unsigned got = 0;
    for (unsigned round = 0; round < ROUNDS; round++)
        got += ask_round(story, round);
    return got;
}

static void third(enum link_mood mood)
{
    world_links(CAT, mood);
    world_run(20000);
}

/* Nobody admits more of the keys than what is left of them. */
static void whole(const char *story)
{
    unsigned got = 0;
    for (unsigned round = 0; round < ROUNDS; round += ROUNDS - 1)
        got += rights_take_all(name_of(story, round, round), &five, 5);
    OK_U64(got, 2 * (five.capacity - 1), "%s: and what is left of each is there once", story);
}

/* Granted tokens are no client's of the home, also where their grants have no place any more. */
static void not_returned(const char *story)
{
    uint64_t given = 0;
    for (unsigned round = 1; round < ROUNDS; round++) {
        const struct charge charge = charge_at(ANN, name_of(story, round, 0), &five, 1);
        given += node_return(world.host[ANN].node, &charge, 1, 1, world.now_ns);
    }
    OK_U64(given, 0, "%s: at home nobody gives back what was granted", story);
}

int main(void)
{
    five = (struct limit_terms){.kind = LIMIT_CELL, .capacity = 5, .home = limit_home_of(bytes_of("ann's"))};
    rights_world_init(3);
    for (unsigned i = ANN; i <= CAT; i++)
        world.host[i].options.table_keys = 4096, world.host[i].options.rights_places = 256;
    rights_world_start();
    OK_U64(ask_all("heard"), ROUNDS * KEYS, "each of more keys than there are places for vouchers has its token");
    whole("heard");
    third(LINK_CUT);
    OK_U64(ask_all("silent"), ROUNDS * KEYS, "so has each while a third region is silent and no grant settles");
    not_returned("silent");
    third(LINK_FINE);
    whole("silent");
    world_close();
    return tap_done();
}
