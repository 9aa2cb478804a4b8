/*
 * The worst woven schedules, found by a climb: a model of peers that spend in turns all that they may, as bucket.h
 * allows. Before a turn a peer hears the newest spends of some of the others, and with them all that those knew.
 *
 * The one idea: which spends a view may lack follows from docs/accounting.md, "Why the reserve has this form", and
 * nothing else of the nodes matters to the bound. Without messages a schedule costs microseconds, so thousands of
 * small changes can be tried on each, and what brings the views closer to the bound is kept.
 */
#include "tests/sim/rotations.h"

#include "limit/bucket.h"
#include "src/base/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PEERS_MAX = 8,
    ROUNDS = 8,
    TURNS_MAX = PEERS_MAX * ROUNDS,
    CAPACITY = 1 << 30,
    CHANGES_MAX = 3, /* at once */
};

struct rotation {
    unsigned peers, turns;
    uint64_t share[PEERS_MAX]; /* the sum is at most SHARE_ONE */
    uint8_t lacks[TURNS_MAX];  /* bit j: that turn's peer does not know the newest spend of peer j */
    bool rests[TURNS_MAX];
};

/* How close a rotation came to the bound. */
struct closeness {
    double part; /* of the spender's view plus E that was left, at the worst turn; below 0: the bound is exceeded */
    int64_t left; /* units, at the worst turn */
};

static struct closeness run(const struct rotation *rotation, const struct limit *limit,
                            const struct budget *budgets)
{
    const int64_t all = limit->capacity_units + limit->overshoot_units;
    int64_t total = 0, newest[PEERS_MAX] = {0};
    struct closeness closest = {1, INT64_MAX};
    for (unsigned turn = 0; turn < rotation->turns; turn++) {
        unsigned i = turn % rotation->peers;
        struct bucket view = {.settled = limit->capacity_units - total};
        for (unsigned j = 0; j < rotation->peers; j++)
            if (j != i && (rotation->lacks[turn] >> j & 1) != 0)
                view.settled += newest[j];
        const int64_t most = bucket_allowance(&view, &budgets[i]);
        newest[i] = rotation->rests[turn] || most < 0 ? 0 : most;
        total += newest[i];
        const double part = (double)(all - total) / (double)(view.settled + limit->overshoot_units + 1);
        if (newest[i] > CAPACITY / (1 << 20) && part < closest.part)
            closest.part = part;
        if (newest[i] > 0 && all - total < closest.left)
            closest.left = all - total;
    }
    return closest;
}

/* How many turns ago peer j spent before the turn of peer i. */
static unsigned ago(const struct rotation *rotation, unsigned i, unsigned j)
{
    return (i + rotation->peers - j) % rotation->peers;
}

/*
 * What a turn lacks is possible: a peer whose newest spend it does not know knew this peer's newest one by then; and
 * whoever's newest spend it knows knew nothing that this turn lacks.
 */
static bool is_possible(const struct rotation *rotation, unsigned turn)
{
    unsigned i = turn % rotation->peers;
    for (unsigned j = 0; j < rotation->peers; j++) {
        if (j == i || ago(rotation, i, j) > turn)
            continue;
        unsigned then = turn - ago(rotation, i, j);
        if ((rotation->lacks[turn] >> j & 1) != 0) {
            if ((rotation->lacks[then] >> i & 1) != 0)
                return false;
            continue;
        }
        for (unsigned k = 0; k < rotation->peers; k++)
            if (k != i && k != j && ago(rotation, i, j) + ago(rotation, j, k) == ago(rotation, i, k) &&
                (rotation->lacks[turn] >> k & 1) != 0 && (rotation->lacks[then] >> k & 1) == 0)
                return false;
    }
    return true;
}

static bool all_possible(const struct rotation *rotation)
{
    for (unsigned turn = 0; turn < rotation->turns; turn++)
        if (!is_possible(rotation, turn))
            return false;
    return true;
}

static void change(struct rotation *rotation, struct random *random)
{
    unsigned turn = (unsigned)random_below(random, rotation->turns), peers = rotation->peers;
    unsigned j = (unsigned)random_below(random, peers), k = (unsigned)random_below(random, peers);
    switch (random_below(random, 8)) {
    case 0:
        rotation->rests[turn] = !rotation->rests[turn];
        break;
    case 1: {
        uint64_t moved = random_below(random, SHARE_ONE / 16);
        if (j != k && rotation->share[j] > moved + SHARE_ONE / 256) {
            rotation->share[j] -= moved;
            rotation->share[k] += moved;
        }
        break;
    }
    default:
        if (j != turn % peers) {
            unsigned then = turn - ago(rotation, turn % peers, j);
            rotation->lacks[turn] ^= (uint8_t)(1u << j);
            if ((rotation->lacks[turn] >> j & 1) != 0 && then < rotation->turns)
                rotation->lacks[then] &= (uint8_t) ~(1u << turn % peers);
        }
    }
}

static struct closeness judge(const struct rotation *rotation, const struct limit *limit)
{
    struct budget budgets[PEERS_MAX];
    for (unsigned i = 0; i < rotation->peers; i++)
        budget_init(&budgets[i], limit, rotation->share[i], false);
    return run(rotation, limit, budgets);
}

/* Begins with even shares and turns that know all; worse ones are kept now and then, ever more seldom. */
static struct closeness climb(unsigned peers, const struct limit *limit, uint64_t changes, uint64_t seed)
{
    struct random random;
    struct rotation rotation = {.peers = peers, .turns = peers * ROUNDS}, tried;
    random_seed(&random, seed);
    for (unsigned i = 0; i < peers; i++)
        rotation.share[i] = SHARE_ONE / peers;
    struct closeness now = judge(&rotation, limit), worst = now;
    for (uint64_t done = 0; done < changes; done++) {
        tried = rotation;
        for (uint64_t count = 1 + random_below(&random, CHANGES_MAX); count > 0; count--)
            change(&tried, &random);
        if (!all_possible(&tried))
            continue;
        const struct closeness then = judge(&tried, limit);
        const double may_lose = 0.004 * (double)(changes - done) / (double)changes;
        if (then.part <= now.part + may_lose * (double)random_below(&random, 1024) / 1024) {
            rotation = tried;
            now = then;
        }
        worst.part = now.part < worst.part ? now.part : worst.part;
        worst.left = now.left < worst.left ? now.left : worst.left;
    }
    return worst;
}

unsigned rotations_run(uint64_t changes, uint64_t climbs)
{
    static const uint64_t overshoots[] = {0, 0, CAPACITY / 20, CAPACITY / 5, CAPACITY};
    unsigned broken = 0;
    for (unsigned peers = 3; peers <= PEERS_MAX; peers++) {
        struct closeness worst = {1, INT64_MAX};
        for (uint64_t seed = 0; seed < climbs; seed++) {
            const struct limit_terms terms = {.kind = LIMIT_CELL,
                                              .capacity = CAPACITY,
                                              .overshoot =
                                                  overshoots[seed % (sizeof overshoots / sizeof *overshoots)]};
            struct limit limit;
            struct error error;
            if (!limit_init(&limit, &terms, &error))
                return 1;
            const struct closeness found = climb(peers, &limit, changes, seed);
            worst.part = found.part < worst.part ? found.part : worst.part;
            worst.left = found.left < worst.left ? found.left : worst.left;
        }
        broken += worst.left < 0;
        if (worst.left < 0)
            printf("# seed 0, rotations of %u peers exceed the declared overshoot    (--woven)\n", peers);
        printf("# %u peers: at least %.6f of the capacity was left, and %.4f of a view\n", peers,
               (double)worst.left / CAPACITY, worst.part);
    }
    return broken;
}
