/* What nodes say of what they were asked for: given, and refused for their share alone. */
#include "cluster/members/demand.h"

#include "cluster/codec/message.h"
#include "tests/lib/cluster_harness.h"

#include <math.h>

enum { SLOW, FAST };

static void begin(void)
{
    world_init(3);
    world_name_all();
    for (unsigned i = 0; i < world.count; i++)
        world.host[i].options.table_keys = 16384;
    world_start_all();
    world_run(500);
    skip_text();
}

static uint64_t wanted_at(unsigned i)
{
    return demand_say(world.host[i].node).wanted;
}

static void ask_often(unsigned i, const char *key, uint16_t limit, unsigned count)
{
    for (unsigned n = 0; n < count; n++)
        (void)world_ask(i, key, limit, 1);
}

/* Bob has a quarter. Whoever asks again and again wants no more than the other three quarters. */
static void again_and_again(void)
{
    begin();
    ask_often(BOB, "key", SLOW, 30);
    OK_U64(wanted_at(BOB), 0, "what is given is not wanted");
    ask_often(BOB, "key", SLOW, 2000);
    OK_U64(wanted_at(BOB), 120, "who is refused a thousand times wants what the others have");
    ask_often(BOB, "other", SLOW, 2000);
    OK_U64(wanted_at(BOB), 240, "of each key");
    ask_often(BOB, "key", FAST, 2000);
    OK_U64(wanted_at(BOB), 360, "of each limit");
    world_run(500);
    ask_often(BOB, "key", FAST, 2000);
    OK(wanted_at(BOB) >= 419 && wanted_at(BOB) <= 421, "and what refills for them in half a second: %d",
       (int)wanted_at(BOB));
    for (unsigned i = 0; i < 3; i++)
        ask_often(i, "all", SLOW, 500);
    world_run(1000);
    const uint64_t before = wanted_at(BOB);
    ask_often(BOB, "all", SLOW, 500);
    OK(wanted_at(BOB) <= before + 16, "where nothing is left, one bucket would have refused as well");
    skip_text();
    world_close();
}

/* Too large for bob's share, and not for the limit; more keys than places. */
static void many_keys(void)
{
    char name[32];
    begin();
    for (unsigned k = 0; k < 5000; k++) {
        (void)snprintf(name, sizeof name, "key %u", k);
        (void)world_ask(BOB, name, SLOW, 100);
    }
    OK_U64(wanted_at(BOB), 500000, "each key counts once");
    (void)world_ask(BOB, "large", SLOW, 161);
    OK_U64(wanted_at(BOB), 500000, "what no bucket has is not wanted");
    skip_text();
    world_close();
}

/* What that node says of bob's region, summed over so long. */
static void sum_over(unsigned at, unsigned seconds, double *given, double *wanted)
{
    static struct weights_report report;
    *given = *wanted = 0;
    for (unsigned n = 0; n < 10 * seconds; n++) {
        world_run(100);
        node_weights(world.host[at].node, &report);
        *given += report.row[BOB].demand_tokens_per_s / 10;
        *wanted += report.row[BOB].wanted_tokens_per_s / 10;
    }
}

static void peers_know(void)
{
    double given, wanted;
    begin();
    ask_often(BOB, "key", SLOW, 500);
    const double own = (double)demand_say(world.host[BOB].node).given;
    sum_over(ANN, 8, &given, &wanted);
    OK(fabs(given - own) < 2 && fabs(wanted - 120) < 4, "ann knows what bob gave and refused: %.1f %.1f", given,
       wanted);
    world_links(BOB, LINK_CUT);
    ask_often(BOB, "second", SLOW, 20);
    world_run(500);
    world_links(BOB, LINK_FINE);
    sum_over(ANN, 8, &given, &wanted);
    OK(fabs(given - 20) < 2 && wanted < 2, "also where messages are lost: %.1f %.1f", given, wanted);
    world_crash(BOB);
    world.host[BOB].incarnation++;
    world_start(BOB);
    sum_over(ANN, 8, &given, &wanted);
    OK(given < 2 && wanted < 2, "who starts anew starts with nothing: %.1f %.1f", given, wanted);
    skip_text();
    world_close();
}

int main(void)
{
    again_and_again();
    many_keys();
    peers_know();
    return tap_done();
}
