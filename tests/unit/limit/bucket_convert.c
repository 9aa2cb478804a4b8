#include "base/random.h"
#include "limit/bucket.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

/*
 * What becomes of a key when its limit changes, and what one number says of it. Tokens used stay used, or the used
 * part, or the time until it is full; whatever is rounded is rounded against the key; what others do not know yet stays
 * whole.
 */

__extension__ typedef __int128 wide;

enum { ROUNDS = TAP_SLOW ? 50000 : 500000 };
#define SECOND_NS 1000000000ull
#define HOUR_NS (3600 * SECOND_NS)

static struct events *events;

/* ---- examples ---- */

struct row {
    const char *what;
    struct limit_terms from;
    int64_t used, unsettled; /* tokens */
    struct limit_terms to;
    enum bucket_inherit how;
    int64_t settled_after, unsettled_after; /* tokens */
};

#define BUCKET(C, R)                                                                                               \
    {                                                                                                              \
        .kind = LIMIT_BUCKET, .capacity = (C), .rate = (R), .period_ns = SECOND_NS                                 \
    }
#define CELL(C)                                                                                                    \
    {                                                                                                              \
        .kind = LIMIT_CELL, .capacity = (C)                                                                        \
    }
#define SPLIT_CELL(C)                                                                                              \
    {                                                                                                              \
        .kind = LIMIT_CELL, .flags = LIMIT_SPLIT, .capacity = (C)                                                  \
    }
#define LOG(C)                                                                                                     \
    {                                                                                                              \
        .kind = LIMIT_LOG, .capacity = (C), .period_ns = 10 * SECOND_NS                                            \
    }

static const struct row rows[] = {
    {"a larger burst keeps what was used", BUCKET(100, 10), 60, 5, BUCKET(200, 10), INHERIT_KEEP, 140, 5},
    {"a smaller one, too", BUCKET(100, 10), 60, 5, BUCKET(80, 10), INHERIT_KEEP, 20, 5},
    {"... but leaves no debt beyond what is declared", BUCKET(100, 10), 60, 5, BUCKET(10, 10), INHERIT_KEEP, 0, 5},
    {"another rate changes nothing", BUCKET(100, 10), 60, 5, BUCKET(100, 7), INHERIT_KEEP, 40, 5},
    {"the used part of a larger burst", BUCKET(100, 10), 60, 5, BUCKET(200, 10), INHERIT_PROPORTIONAL, 80, 5},
    {"... of a smaller one", BUCKET(100, 10), 60, 5, BUCKET(10, 10), INHERIT_PROPORTIONAL, 4, 5},
    {"... rounded up", SPLIT_CELL(3), 1, 0, SPLIT_CELL(10), INHERIT_PROPORTIONAL, 6, 0},
    {"the time until full at another rate", BUCKET(100, 10), 60, 5, BUCKET(100, 5), INHERIT_TIME, 70, 5},
    {"... at a faster one", BUCKET(100, 10), 20, 0, BUCKET(100, 30), INHERIT_TIME, 40, 0},
    {"... all of it, in a smaller one", BUCKET(100, 10), 60, 5, BUCKET(10, 10), INHERIT_TIME, -50, 5},
    {"a window's tokens stay used", CELL(100), 60, 5, CELL(200), INHERIT_KEEP, 140, 5},
    {"... all of them, until it is over", CELL(100), 60, 5, CELL(10), INHERIT_KEEP, -50, 5},
    {"... or in proportion", CELL(100), 60, 5, CELL(10), INHERIT_PROPORTIONAL, 4, 5},
    {"a window has no time to keep", CELL(100), 60, 5, CELL(50), INHERIT_TIME, -10, 5},
    {"a log keeps its list", LOG(100), 60, 5, LOG(200), INHERIT_KEEP, 140, 5},
    {"... and cannot forget it", LOG(100), 60, 5, LOG(10), INHERIT_KEEP, -50, 5},
    {"... or scales it", LOG(100), 60, 0, LOG(10), INHERIT_PROPORTIONAL, 4, 0},
    {"... with what is unsettled whole", LOG(100), 60, 5, LOG(10), INHERIT_PROPORTIONAL, 8, 5},
    {"a bucket as a window", BUCKET(100, 10), 60, 5, CELL(50), INHERIT_KEEP, -10, 5},
    {"a bucket as a log", BUCKET(100, 10), 60, 5, LOG(200), INHERIT_KEEP, 140, 5},
    {"a log as a bucket", LOG(100), 60, 5, BUCKET(200, 1), INHERIT_PROPORTIONAL, 80, 5},
    {"a window as a log", CELL(100), 60, 5, LOG(100), INHERIT_TIME, 40, 5},
    {"a log as a window", LOG(100), 60, 5, CELL(100), INHERIT_KEEP, 40, 5},
};

static struct limit made(const struct limit_terms *terms)
{
    struct limit limit;
    struct error error;
    bool valid = limit_init(&limit, terms, &error);
    assert(valid);
    limit.events = terms->kind == LIMIT_LOG ? events : NULL;
    return limit;
}

/* A state with so much charged by others and so much spent here. */
static struct bucket state_of(const struct limit *limit, int64_t used, int64_t unsettled, uint64_t now_ns)
{
    struct bucket bucket;
    struct budget budget;
    budget_init(&budget, limit, SHARE_ONE / 2, false);
    bucket_fill(&bucket, limit, now_ns, now_ns + HOUR_NS);
    bucket_apply(&bucket, limit, &budget, (uint64_t)used, 0, now_ns, 0);
    bool spent = bucket_spend(&bucket, limit, &budget, (uint64_t)unsettled, now_ns);
    assert(spent);
    return bucket;
}

static bool is_sound(const struct bucket *bucket, const struct limit *limit)
{
    uint64_t count;
    bool summed = limit->kind != LIMIT_LOG || (int64_t)events_check(events, &bucket->events, &count) ==
                                                  limit->capacity_units - bucket->settled + bucket->unsettled;
    return summed && bucket->settled <= limit->capacity_units && bucket->unsettled >= 0;
}

static void examples(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        const struct limit from = made(&row->from), to = made(&row->to);
        const uint64_t now_ns = 5 * SECOND_NS;
        struct bucket bucket = state_of(&from, row->used, row->unsettled, now_ns);
        bucket_convert(&bucket, &from, &to, row->how, now_ns, now_ns + HOUR_NS);
        OK(bucket.settled == row->settled_after * to.units_per_token &&
               bucket.unsettled == row->unsettled_after * to.units_per_token && is_sound(&bucket, &to),
           "%s: %" PRId64 " settled, %" PRId64 " unsettled", row->what, bucket.settled / to.units_per_token,
           bucket.unsettled / to.units_per_token);
        bucket_close(&bucket, &to);
    }
}

/* ---- random states and limits ---- */

static struct limit_terms draw_terms(struct random *random)
{
    struct limit_terms terms = {.kind = (uint8_t)random_below(random, LIMIT_KINDS)};
    terms.capacity = 1 + random_below(random, random_below(random, 2) ? 20 : 2000);
    terms.overshoot = random_below(random, 2) ? 0 : random_below(random, terms.capacity);
    if (terms.kind != LIMIT_CELL)
        terms.period_ns = 1 + random_below(random, 100 * SECOND_NS);
    if (terms.kind == LIMIT_BUCKET)
        terms.rate = 1 + random_below(random, 2 * terms.capacity);
    return terms;
}

/* What was used is used, exactly or a unit more: tokens, the part of the capacity, the time. */
static bool is_inherited(const struct bucket *before, const struct limit *from, const struct bucket *after,
                         const struct limit *to, enum bucket_inherit how)
{
    wide used = from->capacity_units - before->settled, got = to->capacity_units - after->settled;
    wide a = (wide)used * to->units_per_token, b = got * from->units_per_token, unit = from->units_per_token;
    if (how == INHERIT_PROPORTIONAL) {
        a = (wide)used * to->capacity_units;
        b = got * from->capacity_units;
        unit = from->capacity_units;
    } else if (how == INHERIT_TIME && from->kind == LIMIT_BUCKET && to->kind == LIMIT_BUCKET) {
        uint64_t was_ns = limit_refill_ns(from, (int64_t)used), is_ns = limit_refill_ns(to, (int64_t)got);
        return is_ns >= was_ns && is_ns < was_ns + to->tick_ns;
    }
    bool stopped = to->kind == LIMIT_BUCKET && after->settled == -to->overshoot_units && b <= a;
    return stopped || (b >= a && b < a + unit);
}

static void random_conversions(void)
{
    struct random random;
    random_seed(&random, 51);
    uint64_t wrong = 0, unsound = 0, unsettled_wrong = 0, back_wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const struct limit_terms from_terms = draw_terms(&random), to_terms = draw_terms(&random);
        const struct limit from = made(&from_terms), to = made(&to_terms);
        enum bucket_inherit how = (enum bucket_inherit)random_below(&random, 3);
        uint64_t now_ns = 1000 * SECOND_NS + random_below(&random, SECOND_NS);
        int64_t used = (int64_t)random_below(&random, from.capacity + from.overshoot + 1);
        int64_t unsettled = (int64_t)random_below(&random, random_below(&random, 2) ? 1 : from.capacity + 1);
        struct bucket bucket = state_of(&from, used, unsettled, now_ns), before = bucket;
        bucket_convert(&bucket, &from, &to, how, now_ns, now_ns + HOUR_NS);
        bool both_logs = from.kind == LIMIT_LOG && to.kind == LIMIT_LOG;
        unsound += !is_sound(&bucket, &to);
        if (!both_logs || how != INHERIT_PROPORTIONAL || unsettled == 0)
            wrong += !is_inherited(&before, &from, &bucket, &to, how);
        unsettled_wrong += bucket.unsettled != unsettled * to.units_per_token;
        bucket_convert(&bucket, &to, &to, INHERIT_KEEP, now_ns, now_ns + HOUR_NS);
        back_wrong += bucket.unsettled != unsettled * to.units_per_token || !is_sound(&bucket, &to);
        bucket_close(&bucket, &to);
    }
    OK_U64(unsound, 0, "%d conversions: every state is sound", ROUNDS);
    OK_U64(wrong, 0, "... what was used stays so, exactly, or a unit more");
    OK_U64(unsettled_wrong, 0, "... and what others do not know yet stays whole");
    OK_U64(back_wrong, 0, "... again and again");
}

/* A limit that changes all the time gives nobody more than the largest burst and the fastest rate would. */
static void changes_midway(void)
{
    struct random random;
    random_seed(&random, 52);
    uint64_t wrong = 0, allowed_in_all = 0;
    for (int round = 0; round < ROUNDS / 500; round++) {
        struct limit limit = bucket_limit(10, 10, SECOND_NS, 0), fastest = bucket_limit(100, 100, SECOND_NS, 0);
        struct bucket bucket, most;
        struct budget alone;
        uint64_t now_ns = SECOND_NS;
        budget_init(&alone, &limit, SHARE_ONE, true);
        bucket_fill(&bucket, &limit, now_ns, 0);
        bucket_fill(&most, &fastest, now_ns, 0);
        for (int step = 0; step < 500; step++) {
            now_ns += random_below(&random, SECOND_NS / 10);
            if (random_below(&random, 20) == 0) {
                const struct limit next =
                    bucket_limit(1 + random_below(&random, 100), 1 + random_below(&random, 100), SECOND_NS, 0);
                bucket_refill(&bucket, &limit, &alone, now_ns);
                bucket_convert(&bucket, &limit, &next, INHERIT_KEEP, now_ns, 0);
                limit = next;
            }
            bool allowed = bucket_take(&bucket, &limit, &alone, 1, 0, now_ns);
            if (allowed)
                wrong += !bucket_take(&most, &fastest, &alone, 1, 0, now_ns);
            allowed_in_all += allowed;
        }
    }
    OK(wrong == 0 && allowed_in_all > 0, "a changing limit never admits what the largest of them would not");
}

/* ---- tiers: a key that changes its limit to and fro ---- */

static void outgrown(void)
{
    const struct limit big = bucket_limit(100, 2, SECOND_NS, 0), small = bucket_limit(4, 1, SECOND_NS, 3),
                       window = made(&(struct limit_terms)CELL(4));
    struct bucket bucket = state_of(&big, 2, 5, SECOND_NS), seen;
    OK(!bucket_outgrows(&bucket, &big, &small, SECOND_NS, &seen),
       "what the smaller limit can owe is no more than it holds");
    bucket = state_of(&big, 3, 5, SECOND_NS);
    OK(bucket_outgrows(&bucket, &big, &small, SECOND_NS, &seen), "... with what others do not know yet");
    bucket = state_of(&big, 52, 5, SECOND_NS);
    const struct bucket before = bucket;
    OK(!bucket_outgrows(&bucket, &big, &window, SECOND_NS, &seen), "a window owes whatever was spent in it");
    OK(bucket_outgrows(&bucket, &big, &small, SECOND_NS, &seen), "50 tokens more than it can owe are more");
    OK(memcmp(&bucket, &before, sizeof bucket) == 0, "... and the key keeps them, under the limit that it had");
    OK(seen.settled == -(3 + 25) * small.units_per_token && seen.unsettled == 0,
       "... a request sees the time of 25 s until they have refilled, and then the debt");
}

static void to_and_fro(void)
{
    struct random random;
    random_seed(&random, 53);
    uint64_t wrong = 0, allowed_in_all = 0, outgrown_in_all = 0;
    for (int round = 0; round < ROUNDS / 500; round++) {
        const struct limit tier[] = {bucket_limit(100, 10, SECOND_NS, 0), bucket_limit(5, 1, SECOND_NS, 2)};
        struct bucket bucket, most, seen;
        struct budget alone;
        uint64_t now_ns = SECOND_NS, has = 0;
        budget_init(&alone, &tier[0], SHARE_ONE, true);
        bucket_fill(&bucket, &tier[0], now_ns, 0);
        bucket_fill(&most, &tier[0], now_ns, 0);
        for (int step = 0; step < 500; step++) {
            now_ns += random_below(&random, SECOND_NS / 50);
            const uint64_t wants = random_below(&random, 2);
            bucket_refill(&bucket, &tier[has], &alone, now_ns);
            if (wants != has && bucket_outgrows(&bucket, &tier[has], &tier[wants], now_ns, &seen)) {
                outgrown_in_all++;
                continue;
            }
            if (wants != has)
                bucket_convert(&bucket, &tier[has], &tier[wants], INHERIT_TIERS, now_ns, 0);
            has = wants;
            const bool allowed = bucket_take(&bucket, &tier[has], &alone, 1, 0, now_ns);
            wrong += allowed && !bucket_take(&most, &tier[0], &alone, 1, 0, now_ns);
            allowed_in_all += allowed;
        }
    }
    OK(allowed_in_all > 0 && outgrown_in_all > 0,
       "keys change between two tiers, and are refused by the lower one");
    OK_U64(wrong, 0, "... and never get more than the higher one alone would give");
}

/* ---- numbers ---- */

static void numbers(void)
{
    struct random random;
    random_seed(&random, 53);
    uint64_t wrong = 0, raised = 0, twice = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const struct limit_terms terms = draw_terms(&random);
        const struct limit limit = made(&terms);
        uint64_t now_ns = 1000 * SECOND_NS, most = limit.capacity + limit.overshoot;
        int64_t a_used = (int64_t)random_below(&random, most + 1),
                b_used = (int64_t)random_below(&random, most + 1);
        struct bucket a = state_of(&limit, a_used, 0, now_ns), b = state_of(&limit, b_used, 0, now_ns);
        int64_t was = b.settled;
        bucket_lower_to(&b, &limit, bucket_number(&a, &limit), now_ns);
        raised += b.settled > was || b.settled > a.settled;
        /* Exactly the lesser of both; a bucket's number is a time, in whole ticks: at most one tick's refill less. */
        int64_t lesser = a.settled < was ? a.settled : was;
        wrong += b.settled > lesser || lesser - b.settled >= (limit.units_per_tick > 0 ? limit.units_per_tick : 1);
        was = b.settled;
        bucket_lower_to(&b, &limit, bucket_number(&a, &limit), now_ns);
        twice += b.settled != was || !is_sound(&b, &limit);
        bucket_close(&a, &limit);
        bucket_close(&b, &limit);
    }
    OK_U64(raised, 0, "merging a number never raises what is left");
    OK_U64(wrong, 0, "... and leaves the lesser of both");
    OK_U64(twice, 0, "... once or twice");
    const struct limit limit = cell_limit(10, 5);
    struct bucket cell = state_of(&limit, 0, 0, 0);
    bucket_lower_to(&cell, &limit, UINT64_MAX, 0);
    OK_I64(cell.settled, -5 * limit.units_per_token, "nonsense lowers to the declared overshoot and no further");
    cell = (struct bucket){.settled = limit.capacity_units - 3 * limit.units_per_token - 1};
    OK_U64(bucket_number(&cell, &limit), 4, "of a window whole tokens are told and kept, and a part counts as one");
    OK_I64(bucket_level_of(&limit, 4), 6 * limit.units_per_token, "and are read as such");
    const struct limit bucket = bucket_limit(10, 1, HOUR_NS, 5);
    cell = state_of(&bucket, 0, 0, 0);
    bucket_lower_to(&cell, &bucket, UINT64_MAX, 0);
    OK_I64(cell.settled, -5 * bucket.units_per_token, "... of a bucket as well");
}

/* A million tokens at one a year: the time until the bucket is full does not fit a number. */
static void numbers_of_slow_buckets(void)
{
    struct random random;
    random_seed(&random, 54);
    uint64_t above = 0, below = 0;
    for (int i = 0; i < ROUNDS / 10; i++) {
        uint64_t years = 1 + random_below(&random, 1000000);
        const struct limit limit = bucket_limit(years, 1, 366 * 24 * HOUR_NS, random_below(&random, years));
        int64_t used = (int64_t)random_below(&random, years + limit.overshoot + 1);
        struct bucket a = state_of(&limit, used, 0, 0), b = state_of(&limit, 0, 0, 0);
        bucket_lower_to(&b, &limit, bucket_number(&a, &limit), 0);
        above += b.settled > a.settled;
        below += a.settled - b.settled > limit.units_per_token;
    }
    OK_U64(above, 0, "the number of a bucket that takes centuries to fill never says more than is left");
    OK_U64(below, 0, "... and less than a token below it");
}

int main(void)
{
    events = events_create(100000);
    examples();
    random_conversions();
    changes_midway();
    outgrown();
    to_and_fro();
    numbers();
    numbers_of_slow_buckets();
    struct events_stats stats;
    events_stats(events, &stats);
    OK_U64(stats.used, 0, "no event is left behind");
    events_destroy(&events);
    return tap_done();
}
