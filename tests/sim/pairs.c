/*
 * Checks that every two features of plans meet in some seed, and that each comes without the other in some seed. A
 * bug that needs two features together is found only by a seed that draws both; a bug that the second feature
 * hides, only by a seed that draws the first alone. Plans have many draws, from several random streams, and some
 * draws exclude others: without this check, two features might never meet unnoticed.
 */
#include "tests/sim/scenarios.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

static bool has_fault(const struct plan *plan, enum fault_kind kind)
{
    return (plan->faults & 1u << kind) != 0;
}

static bool has_drift(const struct plan *plan)
{
    bool drifts = false;
    for (unsigned i = 0; i < plan->nodes; i++)
        drifts |= plan->node[i].drift_ppm != plan->node[0].drift_ppm;
    return drifts;
}

static bool has_uneven_weights(const struct plan *plan)
{
    return plan->regions > 1 && plan->weight[0] != plan->weight[1];
}

static bool has_skew(const struct plan *plan)
{
    return plan->asks.skew_ns[0] != plan->asks.skew_ns[1];
}

static bool has_kind(const struct plan *plan, enum ask_algorithm algorithm)
{
    bool has = false;
    for (unsigned r = 0; r < plan->asks.rules; r++)
        has |= plan->asks.rule[r].algorithm == algorithm;
    return has;
}

static bool has_split(const struct plan *plan)
{
    bool has = false;
    for (unsigned r = 0; r < plan->asks.rules; r++)
        has |= (plan->asks.rule[r].terms.flags & LIMIT_SPLIT) != 0;
    return has;
}

static bool has_shadow(const struct plan *plan)
{
    bool has = false;
    for (unsigned r = 0; r < plan->asks.rules; r++)
        has |= plan->asks.rule[r].shadow;
    return has;
}

static bool has_closed(const struct plan *plan)
{
    bool has = false;
    for (unsigned r = 0; r < plan->asks.rules; r++)
        has |= plan->asks.rule[r].on_isolation == ISOLATION_CLOSED;
    return has;
}

#define FEATURES(X)                                                                                                \
    X("one-way cuts", has_fault(plan, FAULT_CUT_ONE_WAY))                                                          \
    X("cuts", has_fault(plan, FAULT_CUT_BOTH))                                                                     \
    X("partitions", has_fault(plan, FAULT_PARTITION))                                                              \
    X("slow links", has_fault(plan, FAULT_SLOW_LINK))                                                              \
    X("pauses", has_fault(plan, FAULT_PAUSE))                                                                      \
    X("crashes", has_fault(plan, FAULT_CRASH))                                                                     \
    X("leaves", has_fault(plan, FAULT_LEAVE))                                                                      \
    X("forgets", has_fault(plan, FAULT_FORGET))                                                                    \
    X("jumps", has_fault(plan, FAULT_JUMP))                                                                        \
    X("stalls", has_fault(plan, FAULT_STALL))                                                                      \
    X("loss", plan->loss > 0)                                                                                      \
    X("duplicates", plan->duplicate > 0)                                                                           \
    X("damage", plan->corrupt > 0)                                                                                 \
    X("jitter", plan->jitter > 0)                                                                                  \
    X("in order", plan->in_order)                                                                                  \
    X("no latency", plan->latency_max_ns == 0)                                                                     \
    X("two nodes", plan->nodes == 2)                                                                               \
    X("many nodes", plan->nodes > 4)                                                                               \
    X("shared regions", plan->regions < plan->nodes)                                                               \
    X("uneven weights", has_uneven_weights(plan))                                                                  \
    X("seeds only", plan->seeds_only)                                                                              \
    X("joiner", plan->node[plan->nodes - 1].unnamed)                                                               \
    X("drift", has_drift(plan))                                                                                    \
    X("small table", plan->table_keys <= SIM_KEYS_MAX)                                                             \
    X("small log", plan->log_keys_max < 16384)                                                                     \
    X("tiny log", plan->log_keys_max < 256)                                                                        \
    X("slices", plan->step_keys > 0)                                                                               \
    X("steps apart", plan->apart_ns > 0)                                                                           \
    X("small messages", plan->message_max_bytes <= 65536)                                                          \
    X("threads", plan->threads > 1)                                                                                \
    X("pace", plan->tell_pace > 0)                                                                                 \
    X("sips", plan->sips)                                                                                          \
    X("trickles", plan->trickles)                                                                                  \
    X("pipelines", plan->pipelines)                                                                                \
    X("even load", plan->shape == LOAD_EVEN)                                                                       \
    X("skewed load", plan->shape == LOAD_SKEWED)                                                                   \
    X("one region's load", plan->shape == LOAD_ONE_REGION)                                                         \
    X("bursts", plan->bursts)                                                                                      \
    X("gaps", plan->gaps)                                                                                          \
    X("greed", plan->greedy)                                                                                       \
    X("one key", plan->keys == 1)                                                                                  \
    X("several limits", plan->limits.count > 1)                                                                    \
    X("rules", plan->asks.rules > 0)                                                                               \
    X("tides", plan->asks.tides)                                                                                   \
    X("buckets", has_kind(plan, ASK_BUCKET) && !plan->asks.tides)                                                  \
    X("fixed windows", has_kind(plan, ASK_FIXED))                                                                  \
    X("sliding windows", has_kind(plan, ASK_SLIDING))                                                              \
    X("logs", has_kind(plan, ASK_LOG))                                                                             \
    X("leases", has_kind(plan, ASK_LEASE))                                                                         \
    X("splits", has_split(plan))                                                                                   \
    X("shadows", has_shadow(plan))                                                                                 \
    X("closed", has_closed(plan))                                                                                  \
    X("returns", plan->asks.holds_in_8 > 0)                                                                        \
    X("refunds elsewhere", plan->asks.strangers)                                                                   \
    X("greedy requests", plan->asks.greedy)                                                                        \
    X("wall clocks apart", has_skew(plan))

static const char *const names[] = {
#define X(name, has) name,
    FEATURES(X)
#undef X
};

enum { FEATURES_COUNT = sizeof names / sizeof names[0] };

/* Pairs that must never meet, pairs of which the first must never come alone, and the reasons. */
static const struct {
    const char *one, *other, *why;
} never[] =
    {
        {"splits", "leaves", "a static split holds as long as nobody's share changes"},
        {"splits", "forgets", "the same"},
        {"splits", "seeds only", "the same"},
        {"splits", "joiner", "the same"},
        {"joiner", "two nodes", "there are two to be joined"},
        {"many nodes", "two nodes", ""},
        {"skewed load", "even load", ""},
        {"one region's load", "even load", ""},
        {"one region's load", "skewed load", ""},
        {"sips", "even load", "a load of its own: skewed, with gaps"},
        {"sips", "one region's load", "the same"},
        {"trickles", "sips", "both are loads of their own"},
        {"pipelines", "sips", "a load of its own"},
        {"pipelines", "trickles", "the same"},
        {"trickles", "several limits", "a load of its own, of one limit"},
},
  always[] = {
      {"sips", "skewed load", "its load"},
      {"sips", "gaps", "its load"},
      {"sips", "pushes", "what it takes is too little to be urgent"},
      {"sips", "pace", "what is not urgent waits"},
      {"tiny log", "small log", ""},
      {"tiny log", "slices", "merging takes steps"},
      {"steps apart", "slices", "else no step leaves anything"},
};

static bool is_pair(const char *one, const char *other, unsigned a, unsigned b)
{
    return strcmp(one, names[a]) == 0 && strcmp(other, names[b]) == 0;
}

/* True: both are features of rules. A world with tides has no other feature of rules. */
static bool rules_say_more(unsigned a, unsigned b)
{
    unsigned rules = 0;
    while (strcmp(names[rules], "rules") != 0)
        rules++;
    return a > rules && b > rules;
}

static bool is_never(unsigned a, unsigned b)
{
    bool is = rules_say_more(a, b) && (strcmp(names[a], "tides") == 0 || strcmp(names[b], "tides") == 0);
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        is |= is_pair(never[i].one, never[i].other, a, b) || is_pair(never[i].one, never[i].other, b, a);
    return is;
}

static bool is_always(unsigned a, unsigned b)
{
    bool is = strcmp(names[b], "rules") == 0 && rules_say_more(a, a);
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        is |= is_pair(always[i].one, always[i].other, a, b);
    return is;
}

static void note(const struct plan *plan, unsigned meet[FEATURES_COUNT][FEATURES_COUNT])
{
    const bool has[] = {
#define X(name, has) has,
        FEATURES(X)
#undef X
    };
    for (unsigned a = 0; a < FEATURES_COUNT; a++)
        for (unsigned b = 0; b < FEATURES_COUNT; b++)
            meet[a][b] += has[a] && has[b];
}

/* Returns the number of pairs that are not as they must be. */
static unsigned check(unsigned meet[FEATURES_COUNT][FEATURES_COUNT], unsigned seeds)
{
    unsigned wrong = 0;
    for (unsigned a = 0; a < FEATURES_COUNT; a++)
        for (unsigned b = 0; b < FEATURES_COUNT; b++) {
            bool meets = meet[a][b] > 0, differs = meet[a][b] < meet[a][a];
            bool neither = meet[a][a] + meet[b][b] - meet[a][b] < seeds;
            if (a == b || (meets != is_never(a, b) && differs != is_always(a, b) && neither))
                continue;
            wrong++;
            printf("# of %u seeds %u have %s, %u %s, %u both\n", seeds, meet[a][a], names[a], meet[b][b], names[b],
                   meet[a][b]);
        }
    return wrong;
}

static void print_table(unsigned meet[FEATURES_COUNT][FEATURES_COUNT])
{
    for (unsigned a = 0; a < FEATURES_COUNT; a++)
        for (unsigned b = 0; b <= a; b++)
            printf(b < a ? "%5u" : "%5u %s\n", meet[a][b], names[a]);
}

int pairs_run(unsigned seeds, bool tap)
{
    static unsigned meet[FEATURES_COUNT][FEATURES_COUNT];
    static struct plan plan;
    for (unsigned seed = 1; seed <= seeds; seed++) {
        plan_draw(&plan, seed);
        plan_draw_late(&plan);
        note(&plan, meet);
    }
    if (!tap)
        print_table(meet);
    unsigned wrong = check(meet, seeds);
    if (tap)
        printf("%sok 1 - every two of %d features meet within %u seeds, one comes without the other, and others "
               "without both\n1..1\n",
               wrong == 0 ? "" : "not ", FEATURES_COUNT, seeds);
    return wrong == 0 ? 0 : 1;
}
