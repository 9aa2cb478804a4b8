/* Weights that follow demand by themselves. */
#include "cluster/members/weights_auto.h"

#include "tests/lib/cluster_harness.h"

enum { SLOW, FAST, PERIOD_MS = 5000 };

/* What each node's store was given last; it has written that a moment later. */
static uint64_t given[WORLD_HOSTS_MAX], kept[WORLD_HOSTS_MAX];

static void watch(unsigned host, const struct effects *effects)
{
    if (effects->weights_text.size > 0)
        given[host] = effects->weights_number;
}

static void pass(uint64_t ms)
{
    world_run(ms);
    for (unsigned i = 0; i < world.count; i++) {
        if (kept[i] == given[i] || !world.host[i].node)
            continue;
        kept[i] = given[i];
        step(i, (struct event){.kind = EVENT_WEIGHTS_KEPT, .weights_number = kept[i]}, 0);
    }
}

/* So many tokens of each host's own key are asked for each 100 ms. */
static void load(uint64_t ms, unsigned ann, unsigned bob, unsigned cat)
{
    const unsigned count[] = {ann, bob, cat};
    for (uint64_t passed = 0; passed < ms; passed += 100) {
        for (unsigned i = 0; i < world.count; i++)
            for (unsigned n = 0; n < count[i] && world.host[i].node; n++)
                (void)world_ask(i, host_names[i], FAST, 1);
        pass(100);
    }
}

static void begin(bool auto_on)
{
    memset(given, 0, sizeof given);
    memset(kept, 0, sizeof kept);
    world_init(3);
    world_name_all();
    for (unsigned i = 0; i < world.count; i++) {
        world.host[i].options.keeps_weights = true;
        world.host[i].options.weights_by_demand_ns = auto_on ? PERIOD_MS * MS : 0;
        world.host[i].options.weights_tokens_least = 100;
    }
    world.watch = watch;
    world_start_all();
    for (unsigned n = 0; n < 5; n++)
        pass(100);
    skip_text();
}

static const struct weights_report *report_of(unsigned i)
{
    static struct weights_report report;
    node_weights(world.host[i].node, &report);
    return &report;
}

static uint64_t version(void)
{
    return report_of(BOB)->base->stamp.number;
}

/* Percents of ann's, bob's and cat's regions. */
static bool has(unsigned ann, unsigned bob, unsigned cat)
{
    const struct weights_report *report = report_of(BOB);
    const unsigned percent[] = {ann, bob, cat};
    bool equal = true;
    for (unsigned r = 0; r < 3; r++) {
        const double apart = weight_number(report->row[r].base_billionths) * 100 - percent[r];
        equal &= apart > -3 && apart < 3;
    }
    for (unsigned r = 0; r < 3 && !equal; r++)
        printf("# %s %.3f\n", report->row[r].region, weight_number(report->row[r].base_billionths));
    return equal;
}

static bool set(unsigned i, unsigned ann, unsigned bob, unsigned cat, const char *author)
{
    const unsigned percent[] = {ann, bob, cat};
    static struct weights_change change;
    change = (struct weights_change){.count = 3, .author = bytes_of(author)};
    for (unsigned r = 0; r < 3; r++) {
        (void)snprintf(change.part[r].region, NODE_NAME_BYTES, "%s's", host_names[r]);
        change.part[r].billionths = percent[r] * (WEIGHT_ONE_BILLIONTHS / 100);
    }
    step(i, (struct event){.kind = EVENT_WEIGHTS, .weights = &change}, 0);
    return !node_weights_result(world.host[i].node)->refused;
}

/* ---- arithmetic ---- */

static uint64_t millionth(uint64_t count)
{
    return count * (WEIGHT_ONE_BILLIONTHS / 1000000);
}

static void next_weights(void)
{
    const uint64_t floor[] = {millionth(50000), millionth(50000), millionth(50000)};
    const uint64_t even[] = {millionth(340000), millionth(330000), millionth(330000)};
    const uint64_t small[] = {millionth(20000), millionth(490000), millionth(490000)};
    const uint64_t idle[] = {millionth(200000), millionth(200000), millionth(200000)};
    const uint64_t floors[] = {millionth(300000), millionth(300000), millionth(300000)};
    uint64_t next[3];
    OK(weights_auto_next(3, even, floor, (const double[]){800, 100, 100}, next) && next[0] == millionth(570000) &&
           next[1] == millionth(215000) && next[2] == millionth(215000),
       "half of the way");
    OK(weights_auto_next(3, even, floor, (const double[]){1000, 0, 0}, next) && next[1] == millionth(190000) &&
           next[0] + next[1] + next[2] == WEIGHT_ONE_BILLIONTHS,
       "half of the way to its floor, for who is asked for nothing");
    OK(!weights_auto_next(3, even, floor, (const double[]){390, 310, 300}, next), "what is near is left alone");
    OK(weights_auto_next(3, even, floor, (const double[]){480, 260, 260}, next),
       "a region that is off by a fifth is not, though half of the way is less than a fifth");
    OK(weights_auto_next(3, small, floor, (const double[]){0, 500, 500}, next) && next[0] >= floor[0],
       "who was set below its floor is lifted to it");
    OK(weights_auto_next(3, idle, floor, (const double[]){600, 100, 100}, next) &&
           next[0] + next[1] + next[2] == millionth(600000),
       "what is kept idle stays idle");
    OK(!weights_auto_next(3, idle, floors, (const double[]){600, 100, 100}, next), "no room for the floors");
    OK(!weights_auto_next(3, even, floor, (const double[]){0, 0, 0}, next), "nobody is asked for anything");
}

static void floors_of_regions(void)
{
    struct region_weight regions[32] = {{.floor_billionths = 0}};
    uint64_t floor[32];
    weights_auto_floors(3, regions, floor);
    OK_U64(floor[2], millionth(50000), "a floor of a twentieth");
    weights_auto_floors(32, regions, floor);
    OK_U64(floor[31], WEIGHT_ONE_BILLIONTHS / 64, "or half of an even part");
    regions[0].floor_billionths = millionth(900000);
    weights_auto_floors(3, regions, floor);
    OK(floor[0] == millionth(900000) && floor[1] == millionth(25000), "of what other floors leave");
}

/* ---- nodes ---- */

static void follows(void)
{
    begin(true);
    OK(strcmp(report_of(CAT)->proposer, "ann") == 0, "the first name proposes");
    load(PERIOD_MS - 500, 1, 1, 8);
    OK_U64(version(), 0, "not before the period is over");
    load(2000, 1, 1, 8);
    OK_U64(version(), 1, "then once");
    OK(has(30, 18, 52), "half of the way");
    OK(strstr(world.text, "ann: weights 1 by demand: ann's 0.500 to 0.300 (asked for ") != NULL &&
           strstr(world.text, "bob: weights 1 by demand") == NULL,
       "one line of the log says so");
    OK(strcmp(report_of(BOB)->past[0]->author, "auto") == 0, "the history, too");
    load(4 * PERIOD_MS, 1, 1, 8);
    OK(has(11, 11, 78), "the rest in further steps");
    const uint64_t settled = version();
    load(4 * PERIOD_MS, 1, 1, 8);
    OK_U64(version(), settled, "demand that stays changes nothing more");
    load(1000, 1, 1, 8);
    OK(report_of(CAT)->looks_in_s > 0, "each node knows when the next look is, after one that changed nothing");
    load(PERIOD_MS / 2, 1, 1, 8);
    OK(report_of(CAT)->looks_in_s > 0 || report_of(BOB)->looks_in_s > 0, "and again");
    world_stop(ANN);
    load(1000, 0, 5, 5);
    load(4 * PERIOD_MS, 0, 5, 5);
    OK_U64(version(), settled, "who has left is waited for, so nothing is lowered");
    skip_text();
    world_close();
}

static void stays(void)
{
    begin(false);
    load(3 * PERIOD_MS, 1, 1, 8);
    OK(version() == 0 && report_of(ANN)->proposer[0] == '\0' && !report_of(ANN)->by_demand, "off: nothing happens");
    skip_text();
    world_close();

    begin(true);
    for (unsigned n = 0; n < 30; n++) {
        load(400, 5, 0, 0);
        load(150, 0, 5, 0);
        load(150, 0, 0, 5);
    }
    OK_U64(version(), 0, "demand that swings faster than a period changes nothing");
    skip_text();
    world_close();

    begin(true);
    world_links(CAT, LINK_CUT);
    load(1500, 1, 8, 1);
    load(3 * PERIOD_MS, 1, 8, 1);
    OK(version() == 0 && report_of(ANN)->pending == NULL, "nothing while somebody is silent");
    world_links(CAT, LINK_FINE);
    load(PERIOD_MS - 1000, 8, 1, 1);
    OK_U64(version(), 0, "what passed before counts for nothing");
    load(3000, 8, 1, 1);
    OK(version() == 1 && report_of(ANN)->row[ANN].base_billionths > WEIGHT_ONE_BILLIONTHS / 2,
       "nor what was asked for then");
    skip_text();
    world_close();
}

static void operators(void)
{
    begin(true);
    OK(set(BOB, 20, 60, 20, "auto"), "an operator sets weights");
    load(5 * PERIOD_MS, 1, 1, 8);
    OK(version() == 1 && has(20, 60, 20), "they hold for five periods");
    OK(strcmp(report_of(ANN)->past[0]->author, "_auto") == 0, "also of one who is called auto");
    load(2 * PERIOD_MS, 1, 1, 8);
    OK(version() == 2 && has(15, 35, 50), "after six demand goes on from there");
    skip_text();
    world_close();
}

int main(void)
{
    next_weights();
    floors_of_regions();
    follows();
    stays();
    operators();
    return tap_done();
}
