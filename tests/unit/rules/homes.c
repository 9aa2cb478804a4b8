/* The homes of keys: all configs with the same regions choose alike, by weight, and a choice moves only if it must. */
#include "rules/homes.h"

#include "limit/limit.h"

#include "tests/lib/ruleset_world.h"
#include "tests/lib/tap.h"

enum { KEYS = 20000, REGIONS = 3 };

static const struct home_weight weights[] = {{{"us-east", 7}, SHARE_ONE / 2},
                                             {{"eu-west", 7}, SHARE_ONE / 4},
                                             {{"ap-south", 8}, SHARE_ONE / 4},
                                             {{"coast", 5}, SHARE_ONE / 4}};

static struct key_id key(uint64_t i)
{
    const struct hash_key hash_key = {{1, 2, 3}};
    return hash_128(&hash_key, &i, sizeof i);
}

static uint64_t home(const struct homes *homes, uint64_t i)
{
    return homes->number[homes_of(homes, key(i))];
}

static void by_weight(void)
{
    struct homes homes;
    uint64_t counts[REGIONS] = {0};
    homes_init(&homes, weights, REGIONS);
    for (uint64_t i = 0; i < KEYS; i++)
        for (unsigned r = 0; r < REGIONS; r++)
            counts[r] += home(&homes, i) == limit_home_of(weights[r].home);
    OK(counts[0] > KEYS / 100 * 44 && counts[0] < KEYS / 100 * 56,
       "half of the weight is the home of half of all keys");
    OK(counts[1] > KEYS / 100 * 20 && counts[1] < KEYS / 100 * 30, "a quarter of a quarter");
    OK_U64(counts[0] + counts[1] + counts[2], KEYS, "each key has a home");
}

static void alike(void)
{
    const struct home_weight turned[] = {weights[2], weights[0], weights[1]};
    struct homes one, other;
    uint64_t differ = 0;
    homes_init(&one, weights, REGIONS);
    homes_init(&other, turned, REGIONS);
    for (uint64_t i = 0; i < KEYS; i++)
        differ += home(&one, i) != home(&other, i);
    OK_U64(differ, 0, "the order of regions in a config is of no matter");
}

static void moves(void)
{
    struct homes before, after;
    uint64_t moved = 0, elsewhere = 0;
    homes_init(&before, weights, REGIONS);
    homes_init(&after, weights, REGIONS + 1);
    for (uint64_t i = 0; i < KEYS; i++) {
        moved += home(&before, i) != home(&after, i);
        elsewhere += home(&before, i) != home(&after, i) && home(&after, i) != limit_home_of(weights[3].home);
    }
    OK(moved > KEYS / 100 * 15 && moved < KEYS / 100 * 30,
       "a fourth region is the home of a fifth then: %llu keys move", (unsigned long long)moved);
    OK(elsewhere < KEYS / 100 * 10, "and few move elsewhere: %llu", (unsigned long long)elsewhere);
}

static void without_weight(void)
{
    const struct home_weight some[] = {{bytes_of("us-east"), 0}, {bytes_of("eu-west"), SHARE_ONE}};
    struct homes homes;
    homes_init(&homes, some, 2);
    OK(homes.count == 1 && home(&homes, 1) == limit_home_of(bytes_of("eu-west")), "no weight, no keys");
    homes_init(&homes, some, 1);
    OK_U64(homes.count, 0, "no regions, no homes");
}

static void of_a_list(void)
{
    static const char *const names[] = {"us/n-1", "us/n-2", "eu/n-1", "eu"};
    struct homes homes, longer;
    uint64_t counts[4] = {0}, moved = 0;
    homes_init_list(&homes, bytes_of("us/n-1,us/n-2,eu/n-1,eu"));
    homes_init_list(&longer, bytes_of("us/n-1,us/n-2,us/n-3,eu/n-1,eu"));
    for (uint64_t i = 0; i < KEYS; i++) {
        for (unsigned n = 0; n < 4; n++)
            counts[n] += home(&homes, i) == limit_home_named(bytes_of(names[n]));
        moved += home(&homes, i) != home(&longer, i);
    }
    for (unsigned n = 0; n < 4; n++)
        OK(counts[n] > KEYS / 100 * 20 && counts[n] < KEYS / 100 * 30, "%s is the home of a quarter: %llu", names[n],
           (unsigned long long)counts[n]);
    OK_U64(counts[0] + counts[1] + counts[2] + counts[3], KEYS, "each key has a home");
    OK(moved > KEYS / 100 * 14 && moved < KEYS / 100 * 30, "a fifth daemon takes few keys over: %llu",
       (unsigned long long)moved);
}

/* As many as a rule may have, with names as long as they may be. */
static void of_a_long_list(void)
{
    static char text[HOMES_MAX * 130];
    struct homes homes;
    size_t size = 0;
    uint64_t least = UINT64_MAX, counts[HOMES_MAX] = {0};
    for (unsigned i = 0; i < HOMES_MAX; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%063d/%063u", i > 0 ? "," : "", 7, i);
    homes_init_list(&homes, (struct bytes){text, size});
    OK_U64(homes.count, HOMES_MAX, "a list of %d homes", HOMES_MAX);
    for (uint64_t i = 0; i < KEYS; i++)
        counts[homes_of(&homes, key(i))]++;
    for (unsigned i = 0; i < HOMES_MAX; i++)
        least = counts[i] < least ? counts[i] : least;
    OK(least > KEYS / HOMES_MAX / 4, "each has keys: %llu at least", (unsigned long long)least);
}

/* ---- rules ---- */

static const uint64_t now_ns = 5000 * (uint64_t)1000000000, wall_ns = 1800000000 * (uint64_t)1000000000;

static const struct match *match_at(struct world *world, const char *text, uint64_t later_ns)
{
    static struct match match;
    struct request request = world_request(text);
    (void)ruleset_match(world->ruleset, &request, now_ns + later_ns, wall_ns + later_ns, &match);
    return &match;
}

static void note(void *context, uint16_t limit)
{
    ((bool *)context)[limit] = true;
}

static void of_rules(void)
{
    struct homes homes;
    homes_init(&homes, weights, REGIONS);
    struct world *world = world_create_with_homes(&homes);
    bool visited[256] = {false};
    OK(world_load(world,
                  "rules:\n"
                  "  - {id: w, service: s, by: user, algorithm: fixed_window, limit: 1, window: 1m, home: by_key,\n"
                  "     tiers: {gold: 5}, overrides: [{for: user=vip, amount: 9}]}\n"),
       "a rule whose home is by_key");
    uint64_t seen[REGIONS] = {0}, right = 0, steady = 0;
    for (unsigned i = 0; i < 300; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "SERVICE s user=u%u", i);
        const struct match *match = match_at(world, text, 0);
        const struct limit_terms terms = world->limit[match->charge[0].limit];
        for (unsigned r = 0; r < REGIONS; r++)
            seen[r] += terms.home == limit_home_of(weights[r].home);
        right += terms.capacity == 1 && !match->plain;
        const uint16_t limit = match->charge[0].limit;
        steady += match_at(world, text, 3600 * (uint64_t)1000000000)->charge[0].limit == limit;
    }
    OK(seen[0] > 100 && seen[1] > 40 && seen[2] > 40 && seen[0] + seen[1] + seen[2] == 300, "keys have homes");
    OK_U64(right, 300, "all with the same figures, and no request is like another one");
    OK_U64(steady, 300, "a key has one home in all windows");
    const struct limit_terms gold =
        world->limit[match_at(world, "SERVICE s user=u1 TIER gold", 0)->charge[0].limit];
    const struct limit_terms base = world->limit[match_at(world, "SERVICE s user=u1", 0)->charge[0].limit];
    OK(gold.capacity == 5 && gold.home == base.home && base.home != 0, "a tier of a key has the same home");
    OK_U64(world->limit[match_at(world, "SERVICE s user=vip", 0)->charge[0].limit].capacity, 9,
           "overrides have homes");
    ruleset_visit_limits(world->ruleset, note, visited);
    uint64_t count = 0;
    for (unsigned i = 0; i < 256; i++)
        count += visited[i];
    OK_U64(count, 3 * REGIONS, "the limits of all homes are in use");
    world_destroy(world);
}

/* Where no regions are known as well: the list says all. */
static void of_rules_with_a_list(void)
{
    struct world *world = world_create_with_homes(NULL);
    bool visited[256] = {false};
    OK(world_load(world,
                  "rules:\n"
                  "  - {id: w, service: s, by: user, algorithm: fixed_window, limit: 1, window: 1m, home: [b/2, a/1],\n"
                  "     tiers: {gold: 5}}\n"),
       "a rule whose home is a list");
    uint64_t seen[2] = {0}, golden = 0;
    for (unsigned i = 0; i < 300; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "SERVICE s user=u%u", i);
        const uint64_t home = world->limit[match_at(world, text, 0)->charge[0].limit].home;
        seen[0] += home == limit_home_of_daemon(bytes_of("a"), bytes_of("1"));
        seen[1] += home == limit_home_of_daemon(bytes_of("b"), bytes_of("2"));
        (void)snprintf(text, sizeof text, "SERVICE s user=u%u TIER gold", i);
        const struct limit_terms gold = world->limit[match_at(world, text, 0)->charge[0].limit];
        golden += gold.home == home && gold.capacity == 5;
    }
    OK(seen[0] > 100 && seen[1] > 100 && seen[0] + seen[1] == 300, "each key has one of the two");
    OK_U64(golden, 300, "whatever its tier");
    ruleset_visit_limits(world->ruleset, note, visited);
    uint64_t count = 0;
    for (unsigned i = 0; i < 256; i++)
        count += visited[i];
    OK_U64(count, 4, "the limits of all homes are in use");
    world_destroy(world);
}

int main(void)
{
    by_weight();
    alike();
    moves();
    without_weight();
    of_a_list();
    of_a_long_list();
    of_rules();
    of_rules_with_a_list();
    return tap_done();
}
