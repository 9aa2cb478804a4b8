/* Rules and limits that admit nothing, anywhere or at some daemons, and what has to be written instead. */
#include "rules/rule_reach.h"

#include "rules/rule_text.h"
#include "tests/lib/rule_parse.h"
#include "tests/lib/tap.h"

#include <stdio.h>

/* Three even regions, as config/us-east.yaml has them; one that is small; one node alone. */
static const uint64_t even[] = {SHARE_ONE * 34 / 100, SHARE_ONE * 33 / 100, SHARE_ONE * 33 / 100};
static const uint64_t uneven[] = {SHARE_ONE * 90 / 100, SHARE_ONE * 10 / 100};
static const struct reach_peers three = {3, even, false, NULL, false, NULL},
                                two = {2, uneven, false, NULL, false, NULL},
                                one = {1, even, true, NULL, false, NULL};
static const char *const daemons[] = {"n-1", "n-2", "n-3"};
static const struct reach_peers granting = {3, even, true, NULL, false, NULL},
                                two_granting = {2, uneven, true, NULL, false, NULL};

static const char *said_of(const char *yaml, const struct reach_peers *peers)
{
    static char said[700];
    static const char *const names[] = {"", "warned: ", "refused: "};
    struct error error = {.text = ""};
    struct rule *rule = rule_parse(bytes_of(yaml), "r", &error);
    if (!rule) {
        (void)snprintf(said, sizeof said, "%s", error.text);
        return said;
    }
    enum rule_reach reach = rule_reach(rule, peers, &error);
    (void)snprintf(said, sizeof said, "%s%s", names[reach], error.text);
    rule_destroy(&rule);
    return said;
}

#define SINCE ", since each uses its share of the limit: expected "

static void on_three_regions(void)
{
    static const char *const cases[][2] = {
        {"{id: a, rate: 1/h}",
         "refused: rule default/a: under rate (1/h) a request of cost 1 is ever admitted at none of 3 "
         "daemons" SINCE "overshoot: 3, or a capacity or burst of 3"},
        {"{id: a, rate: 1/h, overshoot: 3}", ""},
        {"{id: a, rate: 1/h, overshoot: 2}",
         "refused: rule default/a: under rate (1/h) a request of cost 1 is ever admitted at none of 3 "
         "daemons" SINCE "overshoot: 3, or a capacity or burst of 2"},
        {"{id: a, rate: 1/h, burst: 3}", ""},
        {"{id: a, rate: 1/h, burst: 3, overshoot: 0}",
         "refused: rule default/a: under rate (1/h burst 3) a request of cost 1 is ever admitted at none of 3 "
         "daemons" SINCE "overshoot: 1, or a capacity or burst of 4"},
        {"{id: a, algorithm: concurrency, limit: 1, window: 1m}",
         "refused: rule default/a: under limit (1) a request of cost 1 is ever admitted at none of 3 daemons" SINCE
         "overshoot: 4, or a limit of 4"},
        {"{id: a, algorithm: concurrency, limit: 1, window: 1m, overshoot: 4}", ""},
        {"{id: a, algorithm: fixed_window, limit: 300, window: 1m, sync: budget}", ""},
        {"{id: a, algorithm: fixed_window, limit: 2, window: 1m, sync: budget}",
         "refused: rule default/a: under limit (2) a request of cost 1 is ever admitted at none of 3 daemons" SINCE
         "a limit of 4, or no sync: budget"},
        {"{id: a, rate: 1000/h, tiers: {pro: 2000/h, free: 1/h}}",
         "refused: rule default/a: under tiers.free (1/h) a request of cost 1 is ever admitted at none of 3 "
         "daemons" SINCE "overshoot: 3, or a capacity or burst of 3"},
        {"{id: a, rate: 1000/h, overrides: [{for: mallory, amount: 1/h}]}",
         "refused: rule default/a: under the override of mallory (1/h) a request of cost 1 is ever admitted at "
         "none of 3 "
         "daemons" SINCE "overshoot: 3, or a capacity or burst of 3"},
        {"{id: a, rate: unlimited, tiers: {free: 100/h, internal: unlimited}}", ""},
        {"{id: a, rate: 100/h, overshoot: 0, priority_floor: {low: 99%}}",
         "refused: rule default/a: under rate (100/h) with priority low a request of cost 1 is ever admitted at "
         "none of 3 "
         "daemons" SINCE "overshoot: 3, or a capacity or burst of 601"},
        {"{id: a, rate: 1/h, mode: off}", ""},
        {"{id: a, rate: 1/h, mode: shadow}",
         "warned: rule default/a: under rate (1/h) a request of cost 1 is ever admitted at none of 3 daemons" SINCE
         "overshoot: 3, or a capacity or burst of 3"},
        {"{id: a, algorithm: concurrency, limit: 10, window: 1m, adaptive: {floor: 5%}}",
         "warned: rule default/a: under limit (10), when its service is unwell, a request of cost 1 is ever "
         "admitted at "
         "none of 3 daemons" SINCE "overshoot: 4, or a limit of 4"},
        {"{id: a, rate: 10/h, deny: ['*']}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        OK_STRING(said_of(cases[i][0], &three), cases[i][1], "%s", cases[i][0]);
}

/* What no share has, all shares together may have, a round trip later. */
static void where_peers_grant(void)
{
    static const char *const cases[][2] = {
        {"{id: a, rate: 1/h, burst: 3, overshoot: 0}", ""}, /* each has 0.94 of a token */
        {"{id: a, rate: 3/m, overshoot: 0}", ""},
        {"{id: a, rate: 2/h, overshoot: 0}", ""},
        {"{id: a, rate: 1/h, overshoot: 0}",
         "refused: rule default/a: under rate (1/h) a request of cost 1 is ever admitted at none of 3 "
         "daemons" SINCE "overshoot: 1, or a capacity or burst of 2"},
        {"{id: a, rate: 3/m, overshoot: 0, priority_floor: {low: 99%}}",
         "refused: rule default/a: under rate (3/m) with priority low a request of cost 1 is ever admitted at none "
         "of 3 daemons" SINCE "overshoot: 3, or a capacity or burst of 601"},
        {"{id: a, algorithm: fixed_window, limit: 6, window: 1m, overshoot: 0}", ""},
        {"{id: a, algorithm: fixed_window, limit: 2, window: 1m, overshoot: 0}", ""},
        {"{id: a, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0}",
         "refused: rule default/a: under limit (1) a request of cost 1 is ever admitted at none of 3 daemons" SINCE
         "overshoot: 1, or a limit of 2"},
        {"{id: a, algorithm: sliding_window, limit: 2, window: 1m, overshoot: 0}", ""},
        {"{id: a, algorithm: sliding_window, limit: 1, window: 1m}", ""},
        {"{id: a, algorithm: sliding_log, limit: 3, window: 1m, overshoot: 0}",
         "refused: rule default/a: under limit (3) a request of cost 1 is ever admitted at none of 3 daemons" SINCE
         "overshoot: 3, or a limit of 4"},
        {"{id: a, algorithm: concurrency, limit: 1, window: 1m}",
         "refused: rule default/a: under limit (1) a request of cost 1 is ever admitted at none of 3 daemons" SINCE
         "overshoot: 3, or a limit of 4"},
        {"{id: a, algorithm: fixed_window, limit: 2, window: 1m, sync: budget}",
         "refused: rule default/a: under limit (2) a request of cost 1 is ever admitted at none of 3 daemons" SINCE
         "a limit of 4, or no sync: budget"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        OK_STRING(said_of(cases[i][0], &granting), cases[i][1], "granting: %s", cases[i][0]);
    OK_STRING(said_of("{id: a, rate: 2/h}", &two_granting), "", "a small region asks the large one");
}

static void elsewhere(void)
{
    OK_STRING(
        said_of("{id: a, rate: 2/h}", &two),
        "warned: rule default/a: under rate (2/h) a request of cost 1 is ever admitted at 1 of 2 daemons only" SINCE
        "overshoot: 9, or a capacity or burst of 9",
        "a small region has nothing: a warning");
    OK_STRING(said_of("{id: a, rate: 1/h, overshoot: 0}", &one), "", "a node alone has all of it");
    OK_STRING(said_of("{id: a, rate: 1/h, overshoot: 0}", &(struct reach_peers){0, even, false, NULL, false, NULL}),
              "", "nobody misses nothing");
}

static void at_home(void)
{
    static const char *const names[] = {"us-east", "eu-west", "ap-south"}, *const twins[] = {"a", "a", "b"};
    const struct reach_peers known = {3, even, true, names, false, daemons},
                             several = {3, even, true, twins, false, daemons};
    OK_STRING(said_of("{id: a, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, home: us-east}",
                      &known),
              "", "a window of 1 with a home");
    OK_STRING(said_of("{id: a, algorithm: quota, limit: 1, window: day, overshoot: 0, home: us-east}", &granting),
              "", "a home of unknown regions");
    OK_STRING(said_of("{id: a, rate: 10/s, burst: 1, overshoot: 0, home: us-east}", &known),
              "warned: rule default/a: under rate (10/s burst 1) a request of cost 1 is ever admitted at 1 of 3 "
              "daemons only" SINCE "a capacity or burst of 7",
              "a fast bucket of 1 is admitted at home alone");
    OK_STRING(said_of("{id: a, rate: 1/m, overshoot: 0, home: us-east}", &known), "", "and a slow one everywhere");
    OK_STRING(said_of("{id: a, algorithm: concurrency, limit: 1, window: 1m, overshoot: 0, home: us-east}", &known),
              "", "a lease with a home");
    OK_STRING(said_of("{id: a, algorithm: sliding_log, limit: 1, window: 1m, overshoot: 0, home: by_key}", &known),
              "", "a log of 1 whose keys have homes");
    OK_STRING(
        said_of("{id: a, algorithm: concurrency, limit: 1, window: 1m, overshoot: 0, home: us-east}",
                &(struct reach_peers){3, even, false, names, false, daemons}),
        "warned: rule default/a: under limit (1) a request is admitted at 1 of 3 daemons only, at home, since no "
        "others can ask for such tokens: expected no daemon with grants: false, or no home",
        "where nobody grants it is admitted at home alone");
    OK_STRING(said_of("{id: a, rate: 1/m, home: mars}", &known),
              "refused: rule default/a: home is 'mars', where no daemon is: expected the region of a daemon, "
              "a daemon as REGION/NAME, or by_key",
              "a home where nobody is");
    OK_STRING(
        said_of("{id: a, rate: 1/m, home: us-east/n-2}", &known),
        "refused: rule default/a: home is 'us-east/n-2', which no daemon is: expected the region of a daemon, "
        "a daemon as REGION/NAME, or by_key",
        "a home that nobody is");
    OK_STRING(said_of("{id: a, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, home: a/n-2}",
                      &several),
              "", "one of two daemons of a region has all of it");
    OK_STRING(said_of("{id: a, algorithm: concurrency, limit: 1, window: 1m, overshoot: 0, home: a/n-1}", &several),
              "", "also of leases");
    OK_STRING(said_of("{id: a, algorithm: quota, limit: 1, window: day, overshoot: 0, home: a/n-1}", &granting), "",
              "a daemon at home where none is known");
    OK_STRING(said_of("{id: a, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, home: by_key}", &known),
              "", "a window of 1 whose keys have homes");
    OK_STRING(said_of("{id: a, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, home: by_key}",
                      &granting),
              "", "keys have homes in unknown regions");
    OK(strncmp(said_of("{id: a, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, home: by_key}",
                       &several),
               "refused: ", 9) == 0,
       "one home of keys that admits nothing is enough");
    OK(strncmp(said_of("{id: a, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, home: a}", &several),
               "refused: ", 9) == 0,
       "two daemons share what their home has, and keep a reserve");
}

static void at_homes(void)
{
    static const char *const twins[] = {"a", "a", "b"};
    const struct reach_peers several = {3, even, true, twins, false, daemons};
    OK_STRING(said_of("{id: a, algorithm: concurrency, limit: 1, window: 1m, overshoot: 0, home: [a/n-2, b/n-3]}",
                      &several),
              "", "keys of some daemons");
    OK_STRING(said_of("{id: a, algorithm: quota, limit: 1, window: day, overshoot: 0, home: [b, a/n-1]}", &several),
              "", "or of a daemon and a region");
    OK_STRING(said_of("{id: a, algorithm: quota, limit: 1, window: day, overshoot: 0, home: [a/n-1, x]}",
                      &granting),
              "", "also where none is known");
    OK(strncmp(said_of("{id: a, algorithm: quota, limit: 1, window: day, overshoot: 0, home: [a, a/n-1]}",
                       &several),
               "refused: ", 9) == 0,
       "each home of a list must admit");
    OK_STRING(said_of("{id: a, algorithm: quota, limit: 1, window: day, overshoot: 0, home: [a/n-1, b/n-1, b/n-3]}",
                      &several),
              "refused: rule default/a: home is 'b/n-1', which no daemon is: expected the region of a daemon, "
              "a daemon as REGION/NAME, or by_key",
              "and must be there");
    OK_STRING(said_of("{id: a, rate: 10/s, burst: 1, overshoot: 0, home: [a/n-1, b/n-3]}", &several),
              "warned: rule default/a: under rate (10/s burst 1) a request of cost 1 is ever admitted at 1 of 3 "
              "daemons only" SINCE "a capacity or burst of 7",
              "a fast bucket of 1 is admitted by the home of a key alone");
    OK_STRING(said_of("{id: a, rate: 1/m, overshoot: 0, home: [a/n-1, b/n-3]}", &several), "",
              "and a slow one everywhere");
}

/* Where a home would do, the sentence says so. */
static void suggests_a_home(void)
{
    static const char *const names[] = {"us-east", "eu-west", "ap-south"}, *const twins[] = {"a", "a", "b"};
    const struct reach_peers known = {3, even, true, names, true, daemons},
                             several = {3, even, true, twins, true, daemons},
                             unknown = {3, even, true, NULL, true, NULL},
                             settled = {3, even, true, names, false, daemons},
                             silent = {3, even, false, names, true, daemons};
    static const char window[] = "{id: a, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0}",
                      lease[] = "{id: a, algorithm: concurrency, limit: 1, window: 1m}";
    static const char under[] =
        "refused: rule default/a: under limit (1) a request of cost 1 is ever admitted at none "
        "of 3 daemons" SINCE;
    static const char daemon[] = ", or daemons as homes (home: [REGION/NAME, ...])";
    char with[600], without[600], of_lease[600];
    (void)snprintf(with, sizeof with, "%sovershoot: 1, or a limit of 2, or home: by_key", under);
    (void)snprintf(without, sizeof without, "%sovershoot: 1, or a limit of 2", under);
    (void)snprintf(of_lease, sizeof of_lease, "%sovershoot: 3, or a limit of 4, or home: by_key", under);
    OK_STRING(said_of(window, &known), with, "a window of 1");
    OK_STRING(said_of(window, &unknown), with, "a window of 1, where regions are not known");
    OK_STRING(said_of(lease, &known), of_lease, "a lease of 1");
    OK_STRING(said_of(window, &settled), without, "not where rules may have no home");
    (void)snprintf(with, sizeof with, "%sovershoot: 1, or a limit of 2%s", under, daemon);
    OK_STRING(said_of(window, &several), with, "of several in one region, who would keep a reserve, one daemon");
    OK_STRING(said_of("{id: a, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0, home: a}", &several),
              with, "also where their region is the home");
    OK_STRING(
        said_of(lease, &silent),
        "refused: rule default/a: under limit (1) a request of cost 1 is ever admitted at none of 3 daemons" SINCE
        "overshoot: 4, or a limit of 4",
        "not where nobody grants");
    OK_STRING(said_of("{id: a, rate: 1/h, overshoot: 0}", &known),
              "refused: rule default/a: under rate (1/h) a request of cost 1 is ever admitted at none of 3 "
              "daemons" SINCE "overshoot: 1, or a capacity or burst of 2, or home: by_key",
              "a bucket of 1");
    OK_STRING(
        said_of("{id: a, rate: 10/s, burst: 1, overshoot: 0}", &known),
        "refused: rule default/a: under rate (10/s burst 1) a request of cost 1 is ever admitted at none of 3 "
        "daemons" SINCE "overshoot: 3, or a capacity or burst of 4, or algorithm: fixed_window, which a home "
        "helps",
        "not of a fast bucket of 1, which is admitted at home alone, but of a window");
    OK_STRING(
        said_of("{id: a, algorithm: fixed_window, limit: 2, window: 1m, sync: budget}", &known),
        "refused: rule default/a: under limit (2) a request of cost 1 is ever admitted at none of 3 daemons" SINCE
        "a limit of 4, or no sync: budget",
        "not of a static split");
    OK_STRING(
        said_of("{id: a, rate: 10/s, burst: 1, overshoot: 0, home: us-east}", &known),
        "warned: rule default/a: under rate (10/s burst 1) a request of cost 1 is ever admitted at 1 of 3 daemons "
        "only" SINCE "a capacity or burst of 7",
        "not where there is one");
}

static void by_weights(void)
{
    static const char *const names[] = {"us-east", "eu-west", "ap-south"}, *const twins[] = {"a", "a", "b"};
    const struct reach_peers known = {3, even, true, names, false, daemons},
                             several = {3, even, true, twins, false, daemons};
    OK_STRING(said_of("{id: a, rate: 2/h, weights: {us-east: 0.9, eu-west: 0.1}}", &known), "",
              "who has little, or nothing, asks the others");
    OK_STRING(said_of("{id: a, rate: 2/h, weights: {us-east: 0.9, eu-west: 0.1}}", &two),
              "warned: rule default/a: under rate (2/h) a request of cost 1 is ever admitted at 1 of 2 daemons "
              "only" SINCE "overshoot: 9, or a capacity or burst of 9",
              "of unknown regions each weight is a daemon's");
    OK_STRING(
        said_of("{id: a, algorithm: sliding_log, limit: 40, window: 1m, weights: {us-east: 0.5, eu-west: 0.5}}",
                &known),
        "warned: rule default/a: under limit (40) a request is admitted at 2 of 3 daemons only, in regions with a "
        "weight, since others cannot ask for such tokens: expected a weight for each region, or fixed_window, "
        "quota or a bucket",
        "logs cannot be asked for");
    OK_STRING(
        said_of("{id: a, algorithm: fixed_window, limit: 40, window: 1m, sync: budget, "
                "weights: {us-east: 0.5, eu-west: 0.5}}",
                &known),
        "warned: rule default/a: under limit (40) a request is admitted at 2 of 3 daemons only, in regions with a "
        "weight, since others cannot ask for such tokens: expected a weight for each region, or fixed_window, "
        "quota or a bucket without sync: budget",
        "nor static splits");
    OK_STRING(
        said_of("{id: a, rate: 40/m, weights: {a: 0.5, c: 0.5}}", &several),
        "warned: rule default/a: weights gives 0.5 of the limit to region 'c', where no daemon is: nobody has it "
        "before one runs there",
        "a part that nobody has");
    OK(strncmp(said_of("{id: a, rate: 40/m, weights: {c: 0.5, d: 0.5}}", &several), "refused: ", 9) == 0,
       "parts that nobody has at all");
    OK_STRING(said_of("{id: a, rate: 1/h, weights: {us-east: 0.9, eu-west: 0.1}}", &one), "",
              "a node alone has all of it");
}

/* What is advised is enough, and the least that is. */
static void advice_is_exact(void)
{
    unsigned wrong = 0, asked = 0;
    for (uint64_t capacity = 1; capacity < 40; capacity++) {
        for (uint64_t overshoot = 0; overshoot < 12; overshoot++) {
            struct limit_terms terms = {.kind = LIMIT_CELL, .capacity = capacity, .overshoot = overshoot};
            if (reach_count(&terms, 0, &three) == 3)
                continue;
            asked++;
            const uint64_t more = reach_overshoot(&terms, 0, &three), larger = reach_capacity(&terms, 0, &three);
            struct limit_terms changed = terms;
            changed.overshoot = more;
            wrong += more <= overshoot || reach_count(&changed, 0, &three) != 3;
            changed.overshoot = more - 1;
            wrong += reach_count(&changed, 0, &three) == 3;
            changed = terms;
            changed.capacity = larger;
            wrong += larger <= capacity || reach_count(&changed, 0, &three) != 3;
            changed.capacity = larger - 1;
            wrong += reach_count(&changed, 0, &three) == 3;
        }
    }
    OK(wrong == 0 && asked >= 5, "of %u limits that are too small, the advice is enough and the least", asked);
}

int main(void)
{
    on_three_regions();
    where_peers_grant();
    elsewhere();
    at_home();
    at_homes();
    suggests_a_home();
    by_weights();
    advice_is_exact();
    return tap_done();
}
