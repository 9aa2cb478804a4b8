#include "base/random.h"
#include "limit/bucket.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

/*
 * A bucket on one node against its two classic definitions, each written down without units or ticks: the token
 * bucket (a level that rises at the rate up to the capacity) and GCRA, the leaky bucket as a meter (the theoretical
 * arrival time moves on by one interval for each token and may be at most the burst ahead of now).
 */

__extension__ typedef __int128 wide;

enum { OPERATIONS = TAP_SLOW ? 100000 : 1000000 };
#define SECOND_NS 1000000000ull
#define DAY_NS (86400 * SECOND_NS)

static struct budget alone;

/* ---- the definitions, with the rate as the denominator of all times ---- */

struct level {
    wide level; /* tokens * period */
    uint64_t at_ns;
};

static void level_refill(struct level *level, const struct limit *limit, uint64_t now_ns)
{
    wide full = (wide)limit->capacity * limit->period_ns;
    level->level += (wide)(now_ns - level->at_ns) * limit->rate;
    level->level = level->level > full ? full : level->level;
    level->at_ns = now_ns;
}

static bool level_take(struct level *level, const struct limit *limit, uint64_t cost)
{
    wide needed = (wide)cost * limit->period_ns;
    if (needed > level->level)
        return false;
    level->level -= needed;
    return true;
}

struct gcra {
    wide arrival; /* the theoretical arrival time of the next token, ns * rate */
};

static wide gcra_after(const struct gcra *gcra, const struct limit *limit, uint64_t cost, uint64_t now_ns)
{
    wide now = (wide)now_ns * limit->rate;
    return (gcra->arrival > now ? gcra->arrival : now) + (wide)cost * limit->period_ns;
}

static bool gcra_take(struct gcra *gcra, const struct limit *limit, uint64_t cost, uint64_t now_ns)
{
    wide after = gcra_after(gcra, limit, cost, now_ns);
    if (after > (wide)now_ns * limit->rate + (wide)limit->capacity * limit->period_ns)
        return false;
    if (cost > 0)
        gcra->arrival = after;
    return true;
}

static uint64_t gcra_reset_ns(const struct gcra *gcra, const struct limit *limit, uint64_t now_ns)
{
    wide ahead = gcra->arrival - (wide)now_ns * limit->rate;
    return ahead <= 0 ? 0 : (uint64_t)((ahead + limit->rate - 1) / limit->rate);
}

/* How long until it conforms: 0 now; UINT64_MAX never. */
static uint64_t gcra_retry_ns(const struct gcra *gcra, const struct limit *limit, uint64_t cost, uint64_t now_ns)
{
    wide over = gcra_after(gcra, limit, cost, now_ns) - (wide)now_ns * limit->rate -
                (wide)limit->capacity * limit->period_ns;
    if (cost > limit->capacity)
        return UINT64_MAX;
    return over <= 0 ? 0 : (uint64_t)((over + limit->rate - 1) / limit->rate);
}

/* ---- examples ---- */

/* What a client of a throttle sees: a burst of 16 at 30 a minute; and 1 every two seconds with no burst. */
static void examples(void)
{
    static const struct {
        uint64_t capacity, rate, period_ns, at_ms, cost;
        bool allowed;
        uint64_t remaining, retry_ms, reset_ms;
        const char *what;
    } rows[] = {
        {16, 30, 60 * SECOND_NS, 0, 1, true, 15, 0, 2000, "the first of a burst"},
        {16, 30, 60 * SECOND_NS, 0, 15, true, 0, 0, 32000, "the rest of it at once"},
        {16, 30, 60 * SECOND_NS, 0, 1, false, 0, 2000, 32000, "one too many"},
        {16, 30, 60 * SECOND_NS, 1999, 1, false, 0, 1, 30001, "still one too many"},
        {16, 30, 60 * SECOND_NS, 2000, 1, true, 0, 0, 32000, "two seconds later"},
        {16, 30, 60 * SECOND_NS, 2000, 0, true, 0, 0, 32000, "nothing is always allowed"},
        {16, 30, 60 * SECOND_NS, 2000, 17, false, 0, UINT64_MAX, 32000, "more than the burst never is"},
        {16, 30, 60 * SECOND_NS, 1000000, 17, false, 16, UINT64_MAX, 0, "... not even when full"},
        {16, 30, 60 * SECOND_NS, 1000000, 16, true, 0, 0, 32000, "idle for long: one burst"},
        {16, 30, 60 * SECOND_NS, 1000000, 1, false, 0, 2000, 32000, "... and no more"},
        {1, 1, 2 * SECOND_NS, 0, 1, true, 0, 0, 2000, "one every two seconds: the first"},
        {1, 1, 2 * SECOND_NS, 0, 1, false, 0, 2000, 2000, "... the second"},
        {1, 1, 2 * SECOND_NS, 2000, 1, true, 0, 0, 2000, "... two seconds later"},
        {5, 1, DAY_NS, 0, 5, true, 0, 0, 5 * 86400000, "a tiny rate: five a day at once"},
        {5, 1, DAY_NS, 86399999, 1, false, 0, 1, 4 * 86400000 + 1, "... a sixth before a day is over"},
        {5, 1, DAY_NS, 86400000, 1, true, 0, 0, 5 * 86400000, "... after it"},
        {1000000000, 1000000000, SECOND_NS, 0, 1000000000, true, 0, 0, 1000,
         "a huge rate: all of a second at once"},
        {1000000000, 1000000000, SECOND_NS, 1, 1000000, true, 0, 0, 1000, "... and a millisecond's"},
        {1000000000, 1000000000, SECOND_NS, 1, 1, false, 0, 1, 1000, "... and no more"},
    };
    struct bucket bucket;
    struct limit limit = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t now_ns = SECOND_NS + rows[i].at_ms * 1000000;
        if (i == 0 || rows[i].capacity != limit.capacity || rows[i].period_ns != limit.period_ns) {
            limit = bucket_limit(rows[i].capacity, rows[i].rate, rows[i].period_ns, 0);
            bucket_fill(&bucket, &limit, now_ns, 0);
        }
        bool took = bucket_take(&bucket, &limit, &alone, rows[i].cost, 0, now_ns);
        const struct bucket_wait wait = {.cost = rows[i].cost, .settle_ns = UINT64_MAX};
        uint64_t retry_ns = took ? 0 : bucket_retry_after_ns(&bucket, &limit, &alone, &wait);
        uint64_t retry_ms = retry_ns == UINT64_MAX ? UINT64_MAX : (retry_ns + 999999) / 1000000;
        uint64_t reset_ms = (bucket_reset_after_ns(&bucket, &limit, now_ns, 0) + 999999) / 1000000;
        OK(took == rows[i].allowed, "%s: %s", rows[i].what, took ? "allowed" : "refused");
        OK(bucket_available(&bucket, &limit, &alone, 0) == rows[i].remaining && retry_ms == rows[i].retry_ms &&
               reset_ms == rows[i].reset_ms,
           "... %" PRIu64 " remain, retry in %" PRId64 " ms, full in %" PRIu64 " ms",
           bucket_available(&bucket, &limit, &alone, 0), (int64_t)retry_ms, reset_ms);
    }
}

static void floors(void)
{
    static const struct {
        uint64_t cost, floor;
        bool allowed;
        uint64_t remaining;
    } rows[] = {
        {80, 20, true, 0}, /* the lowest leave 20 */
        {1, 20, false, 0}, {0, 20, true, 0}, {10, 10, true, 0},
        {1, 10, false, 0}, {10, 0, true, 0}, /* the highest leave none */
        {1, 0, false, 0},  {0, 0, true, 0},  {0, 1, false, 0},
    };
    const struct limit limit = bucket_limit(100, 100, SECOND_NS, 0);
    struct bucket bucket;
    bucket_fill(&bucket, &limit, 0, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        OK(bucket_take(&bucket, &limit, &alone, rows[i].cost, rows[i].floor, 0) == rows[i].allowed,
           "%" PRIu64 " tokens above a floor of %" PRIu64 " are %s", rows[i].cost, rows[i].floor,
           rows[i].allowed ? "allowed" : "refused");
        OK_U64(bucket_available(&bucket, &limit, &alone, rows[i].floor), rows[i].remaining,
               "... and nothing remains");
    }
    const struct bucket_wait wait = {.cost = 5, .floor_tokens = 20, .settle_ns = UINT64_MAX};
    OK_U64(bucket_retry_after_ns(&bucket, &limit, &alone, &wait), 250000000, "retry when 5 are above the floor");
    OK(!bucket_take(&bucket, &limit, &alone, 5, 20, 249999999), "... not before");
    OK(bucket_take(&bucket, &limit, &alone, 5, 20, 250000000), "... but then");
    const struct bucket_wait never = {.cost = 81, .floor_tokens = 20, .settle_ns = UINT64_MAX};
    OK_U64(bucket_retry_after_ns(&bucket, &limit, &alone, &never), UINT64_MAX, "what a floor never leaves: never");
}

/* ---- random spends, returns and pauses ---- */

struct trial {
    struct bucket bucket;
    struct level level;
    struct gcra gcra;
    uint64_t now_ns, full_ns;
    uint64_t wrong, allowed, refused, returned;
};

static uint64_t draw_pause(struct random *random, const struct trial *trial, const struct limit *limit)
{
    uint64_t token_ns = limit->period_ns / limit->rate + 1, ns;
    switch (random_below(random, 512)) {
    case 0:
        ns = random_below(random, trial->full_ns + 1);
        break;
    case 1:
        ns = 3 * trial->full_ns;
        break;
    default:
        ns = random_below(random, 2) ? 0 : random_below(random, 2 * token_ns);
    }
    return (ns + limit->tick_ns - 1) / limit->tick_ns * limit->tick_ns;
}

static void compare(struct trial *trial, const struct limit *limit, uint64_t cost)
{
    wide level = (wide)trial->bucket.settled * limit->period_ns, now_ns = trial->now_ns;
    trial->wrong += level != trial->level.level * limit->units_per_token;
    trial->wrong +=
        trial->gcra.arrival > now_ns * limit->rate &&
        (wide)limit->capacity * limit->period_ns - trial->level.level != trial->gcra.arrival - now_ns * limit->rate;
    uint64_t tick_ns = limit->tick_ns;
    uint64_t reset_ns = gcra_reset_ns(&trial->gcra, limit, trial->now_ns);
    uint64_t retry_ns = gcra_retry_ns(&trial->gcra, limit, cost, trial->now_ns);
    const struct bucket_wait wait = {.cost = cost, .settle_ns = UINT64_MAX};
    uint64_t waits_ns = bucket_retry_after_ns(&trial->bucket, limit, &alone, &wait);
    trial->wrong += bucket_reset_after_ns(&trial->bucket, limit, trial->now_ns, 0) !=
                    (reset_ns + tick_ns - 1) / tick_ns * tick_ns;
    trial->wrong += waits_ns != (retry_ns == UINT64_MAX ? retry_ns : (retry_ns + tick_ns - 1) / tick_ns * tick_ns);
    trial->wrong += bucket_available(&trial->bucket, limit, &alone, 0) !=
                    (uint64_t)(trial->level.level / (wide)limit->period_ns);
}

static void spend(struct trial *trial, struct random *random, const struct limit *limit)
{
    uint64_t most = random_below(random, 64) == 0 ? limit->capacity + 2 : 1 + limit->capacity / 8;
    uint64_t cost = random_below(random, 4) ? random_below(random, 3) : random_below(random, most);
    level_refill(&trial->level, limit, trial->now_ns);
    bool allowed = bucket_take(&trial->bucket, limit, &alone, cost, 0, trial->now_ns);
    trial->wrong += allowed != level_take(&trial->level, limit, cost);
    trial->wrong += allowed != gcra_take(&trial->gcra, limit, cost, trial->now_ns);
    trial->allowed += allowed;
    trial->refused += !allowed;
    compare(trial, limit, cost);
}

/* Gives back at most what is taken, begun tokens as whole ones; the arrival time moves back. */
static void give_back(struct trial *trial, struct random *random, const struct limit *limit)
{
    uint64_t tokens = random_below(random, 2 + limit->capacity / 4), credit;
    level_refill(&trial->level, limit, trial->now_ns);
    wide full = (wide)limit->capacity * limit->period_ns;
    wide taken = (full - trial->level.level + limit->period_ns - 1) / limit->period_ns;
    uint64_t whole = (wide)tokens < taken ? tokens : (uint64_t)taken;
    uint64_t returned = bucket_return(&trial->bucket, limit, &alone, tokens, trial->now_ns, &credit);
    trial->wrong += returned != whole || credit != 0;
    trial->level.level += (wide)whole * limit->period_ns;
    trial->level.level = trial->level.level > full ? full : trial->level.level;
    trial->gcra.arrival -= (wide)whole * limit->period_ns;
    trial->returned += returned;
    compare(trial, limit, 1);
}

static void random_spends(const struct limit *limit, uint64_t seed)
{
    struct trial trial = {.now_ns = UINT64_MAX};
    struct random random;
    random_seed(&random, seed);
    for (int i = 0; i < OPERATIONS / 3; i++) {
        if (trial.now_ns > (uint64_t)1 << 60) { /* time runs out: all over again */
            trial.now_ns = limit->tick_ns * 1000;
            trial.full_ns = limit_refill_ns(limit, limit->capacity_units);
            trial.level = (struct level){(wide)limit->capacity * limit->period_ns, trial.now_ns};
            trial.gcra = (struct gcra){0};
            bucket_fill(&trial.bucket, limit, trial.now_ns, 0);
        }
        trial.now_ns += draw_pause(&random, &trial, limit);
        if (random_below(&random, 16) == 0)
            give_back(&trial, &random, limit);
        else
            spend(&trial, &random, limit);
    }
    printf("# %" PRIu64 " allowed, %" PRIu64 " refused, %" PRIu64 " tokens returned\n", trial.allowed,
           trial.refused, trial.returned);
    OK(trial.wrong == 0 && trial.allowed > OPERATIONS / 100 && trial.refused > OPERATIONS / 200,
       "%" PRIu64 " at %" PRIu64 " per %" PRIu64 " ns: a token bucket, and GCRA, in %d operations", limit->capacity,
       limit->rate, limit->period_ns, OPERATIONS / 3);
}

/* However long a key was idle, what it is given at once afterwards is its burst. */
static void idle(void)
{
    struct random random;
    random_seed(&random, 12);
    uint64_t wrong = 0;
    for (int i = 0; i < OPERATIONS / 10; i++) {
        uint64_t capacity = 1 + random_below(&random, 200), burst = 0;
        const struct limit limit =
            bucket_limit(capacity, 1 + random_below(&random, 1000), 1 + random_below(&random, 100 * SECOND_NS), 0);
        struct bucket bucket;
        bucket_fill(&bucket, &limit, 0, 0);
        uint64_t now_ns = limit_refill_ns(&limit, limit.capacity_units) << random_below(&random, 10);
        wrong += !bucket_take(&bucket, &limit, &alone, 1 + random_below(&random, capacity), 0, 0);
        while (bucket_take(&bucket, &limit, &alone, 1, 0, now_ns))
            burst++;
        wrong += burst != capacity;
    }
    OK_U64(wrong, 0, "a key that was idle for any time admits its burst, and no more");
}

int main(void)
{
    const struct limit limits[] = {
        bucket_limit(16, 30, 60 * SECOND_NS, 0),
        bucket_limit(100, 100, SECOND_NS, 0),
        bucket_limit(1, 1, 2 * SECOND_NS, 0),
        bucket_limit(1000000000000, 1000000000000, SECOND_NS, 0), /* huge */
        bucket_limit(50, 7, 366 * DAY_NS, 0),                     /* tiny, in coarser ticks */
        bucket_limit(1000, 999983, SECOND_NS, 0),
    };
    budget_init(&alone, &limits[0], SHARE_ONE, true);
    examples();
    floors();
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        random_spends(&limits[i], 11 + i);
    idle();
    return tap_done();
}
