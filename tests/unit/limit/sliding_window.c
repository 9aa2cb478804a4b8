#include "base/random.h"
#include "limit/sliding.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

/*
 * The two counters by windows on one node against their definitions. Fixed window (and quota): so many tokens from
 * each start of a window to the next. Sliding window counter: what was spent in this window, plus the part of what
 * was spent in the one before that a window ending now still covers.
 */

__extension__ typedef unsigned __int128 wide;

enum { OPERATIONS = TAP_SLOW ? 100000 : 1000000 };
#define MS_NS 1000000ull
#define SECOND_NS 1000000000ull

static struct budget alone;

/* ---- one key's cells, as whoever knows the windows keeps them ---- */

struct key {
    uint64_t number; /* of the window of `current` */
    struct bucket current, previous;
};

static void turn(struct key *key, const struct limit *limit, uint64_t window_ns, uint64_t now_ns)
{
    uint64_t number = now_ns / window_ns;
    while (key->number < number) {
        key->previous = key->current;
        if (number - key->number > 1)
            bucket_fill(&key->previous, limit, now_ns, number * window_ns);
        key->number = number - key->number > 1 ? number - 1 : number;
        bucket_fill(&key->current, limit, now_ns, (key->number + 2) * window_ns);
    }
    bucket_refill(&key->current, limit, &alone, now_ns);
    bucket_refill(&key->previous, limit, &alone, now_ns);
}

static struct key fresh_key(const struct limit *limit, uint64_t window_ns, uint64_t now_ns)
{
    struct key key = {.number = now_ns / window_ns};
    bucket_fill(&key.current, limit, now_ns, (key.number + 2) * window_ns);
    bucket_fill(&key.previous, limit, now_ns, (key.number + 1) * window_ns);
    return key;
}

static struct sliding sliding_of(const struct key *key, const struct limit *limit, uint64_t window_ns)
{
    return (struct sliding){.current = &key->current,
                            .previous = &key->previous,
                            .limit = limit,
                            .budget = &alone,
                            .window_ns = window_ns,
                            .window_end_ns = (key->number + 1) * window_ns};
}

/* ---- fixed windows ---- */

static void fixed_examples(void)
{
    static const struct {
        uint64_t at_ms, cost;
        bool allowed;
        uint64_t remaining, retry_ms, reset_ms;
        const char *what;
    } rows[] = {
        {0, 0, true, 10, 0, 0, "nothing"},
        {0, 4, true, 6, 0, 1000, "a window has 10"},
        {500, 7, false, 6, 500, 500, "more than is left waits for the next window"},
        {500, 6, true, 0, 0, 500, "all that is left"},
        {999, 1, false, 0, 1, 1, "nothing comes back within the window"},
        {999, 11, false, 0, UINT64_MAX, 1, "more than a window has never fits"},
        {1000, 10, true, 0, 0, 1000, "at the boundary all of it is there again"},
        {1999, 1, false, 0, 1, 1, "... once"},
        {2999, 10, true, 0, 0, 1, "a burst at the end of a window"},
        {3000, 10, true, 0, 0, 1000,
         "... and one at the start of the next are both allowed: that is the definition"},
        {90000, 10, true, 0, 0, 1000, "idle for long: one window's tokens"},
        {90000, 1, false, 0, 1000, 1000, "... and no more"},
    };
    const struct limit limit = cell_limit(10, 0);
    struct bucket cell;
    uint64_t number = UINT64_MAX;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t now_ns = rows[i].at_ms * MS_NS, end_ns = (now_ns / SECOND_NS + 1) * SECOND_NS;
        if (number != now_ns / SECOND_NS)
            bucket_fill(&cell, &limit, now_ns, end_ns);
        number = now_ns / SECOND_NS;
        bool took = bucket_take(&cell, &limit, &alone, rows[i].cost, 0, now_ns);
        const struct bucket_wait wait = {.cost = rows[i].cost,
                                         .now_ns = now_ns,
                                         .window_end_ns = end_ns,
                                         .settle_ns = UINT64_MAX};
        uint64_t retry_ns = bucket_retry_after_ns(&cell, &limit, &alone, &wait);
        OK(took == rows[i].allowed && bucket_available(&cell, &limit, &alone, 0) == rows[i].remaining, "%s: %s",
           rows[i].what, took ? "allowed" : "refused");
        if (!took)
            OK(retry_ns == (rows[i].retry_ms == UINT64_MAX ? UINT64_MAX : rows[i].retry_ms * MS_NS),
               "... retry when said");
        OK_U64(bucket_reset_after_ns(&cell, &limit, now_ns, end_ns), rows[i].reset_ms * MS_NS,
               "... reset in %" PRIu64 " ms", rows[i].reset_ms);
    }
    OK(!bucket_is_full(&cell, &limit), "a cell is not to be forgotten");
    bucket_refill(&cell, &limit, &alone, cell.expires_ns);
    OK(bucket_is_full(&cell, &limit), "... before it expires");
}

static void fixed_random(uint64_t capacity, uint64_t window_ns, uint64_t seed)
{
    const struct limit limit = cell_limit(capacity, 0);
    struct random random;
    random_seed(&random, seed);
    uint64_t now_ns = window_ns, spent = 0, number = 1, wrong = 0, allowed = 0, returned = 0;
    struct key key = fresh_key(&limit, window_ns, now_ns);
    for (int i = 0; i < OPERATIONS; i++) {
        now_ns += random_below(&random, 8) == 0 ? random_below(&random, 1 + window_ns / 8) : 0;
        now_ns += random_below(&random, 5000) == 0 ? random_below(&random, 5 * window_ns) : 0;
        spent = now_ns / window_ns == number ? spent : 0;
        number = now_ns / window_ns;
        turn(&key, &limit, window_ns, now_ns);
        uint64_t most = random_below(&random, 32) == 0 ? capacity + 2 : 2 + capacity / 16;
        uint64_t cost = random_below(&random, most), credit;
        if (random_below(&random, 16) == 0) {
            uint64_t gives = cost < spent ? cost : spent;
            wrong += bucket_return(&key.current, &limit, &alone, cost, now_ns, &credit) != gives || credit != 0;
            spent -= gives;
            returned += gives;
        } else {
            bool took = bucket_take(&key.current, &limit, &alone, cost, 0, now_ns);
            wrong += took != (spent + cost <= capacity);
            spent += took ? cost : 0;
            allowed += took;
        }
        wrong += bucket_number(&key.current, &limit) != spent;
        wrong += bucket_available(&key.current, &limit, &alone, 0) != capacity - spent;
    }
    OK(wrong == 0 && allowed > OPERATIONS / 8 && allowed < OPERATIONS * 15 / 16 && returned > 0,
       "%" PRIu64 " per %" PRIu64 " ns: a fixed window in %d operations (%" PRIu64 " allowed)", capacity, window_ns,
       OPERATIONS, allowed);
}

/* ---- sliding windows ---- */

static void sliding_examples(void)
{
    static const struct {
        uint64_t at_ms, cost;
        bool allowed;
        uint64_t remaining, retry_ms, reset_ms;
        const char *what;
    } rows[] = {
        {0, 0, true, 100, 0, 0, "nothing"},
        {900, 100, true, 0, 0, 1100, "a burst at the end of a window"},
        {999, 1, false, 0, 11, 1001, "nothing is left"},
        {1000, 1, false, 0, 10, 1000, "... at the boundary either: all of it still counts"},
        {1010, 1, true, 0, 0, 1990, "a hundredth of the window later a hundredth of it is gone"},
        {1010, 1, false, 0, 10, 1990, "... and no more"},
        {1500, 49, true, 0, 0, 1500, "half a window later a half"},
        {1500, 101, false, 0, UINT64_MAX, 1500, "more than the limit never fits"},
        {1600, 11, false, 10, 10, 1400, "50 of this window and 40 of the other: 10 are left"},
        {1600, 60, false, 10, 600, 1400, "60 are when 50 of 50 and 40 have gone: in the next window"},
        {2200, 60, true, 0, 0, 1800, "... as said"},
        {9000, 100, true, 0, 0, 2000, "idle for long: the limit"},
        {9000, 1, false, 0, 1010, 2000, "... and no more"},
    };
    const struct limit limit = cell_limit(100, 0);
    struct key key = fresh_key(&limit, SECOND_NS, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t now_ns = rows[i].at_ms * MS_NS;
        turn(&key, &limit, SECOND_NS, now_ns);
        const struct sliding sliding = sliding_of(&key, &limit, SECOND_NS);
        bool allowed = sliding_allows(&sliding, rows[i].cost, 0, now_ns);
        const struct bucket_wait wait = {.cost = rows[i].cost, .now_ns = now_ns, .settle_ns = UINT64_MAX};
        uint64_t retry_ns = sliding_retry_after_ns(&sliding, &wait);
        if (allowed)
            (void)bucket_spend(&key.current, &limit, &alone, rows[i].cost, now_ns);
        OK(allowed == rows[i].allowed, "%s: %s", rows[i].what, allowed ? "allowed" : "refused");
        OK_U64(sliding_available(&sliding, 0, now_ns), rows[i].remaining, "... leaving %" PRIu64,
               rows[i].remaining);
        OK_U64(sliding_remaining(&sliding, 0, now_ns), rows[i].remaining, "... of the whole limit, too");
        OK_U64(sliding_remaining(&sliding, 7, now_ns), rows[i].remaining > 7 ? rows[i].remaining - 7 : 0,
               "... 7 fewer above a floor of 7");
        OK_U64(retry_ns, rows[i].retry_ms == UINT64_MAX ? UINT64_MAX : rows[i].retry_ms * MS_NS, "... to wait");
        OK_U64(sliding_reset_after_ns(&sliding, now_ns), rows[i].reset_ms * MS_NS, "... reset");
    }
}

struct counts {
    uint64_t number, current, previous;
};

static void counts_turn(struct counts *counts, uint64_t number)
{
    if (number > counts->number)
        *counts = (struct counts){number, 0, number == counts->number + 1 ? counts->current : 0};
}

/* previous * left / window + current + cost <= capacity, in fractions. */
static bool counts_allow(const struct counts *counts, uint64_t capacity, uint64_t window_ns, uint64_t cost,
                         uint64_t now_ns)
{
    uint64_t left_ns = window_ns - now_ns % window_ns;
    return (wide)counts->previous * left_ns + (wide)(counts->current + cost) * window_ns <=
           (wide)capacity * window_ns;
}

/* Allowed when said, and not a ns before. */
static bool retry_is_right(const struct counts *counts, const struct sliding *sliding, uint64_t cost,
                           uint64_t now_ns)
{
    const struct bucket_wait wait = {.cost = cost, .now_ns = now_ns, .settle_ns = UINT64_MAX};
    uint64_t wait_ns = sliding_retry_after_ns(sliding, &wait), window_ns = sliding->window_ns;
    struct counts then = *counts, before = *counts;
    if (cost > sliding->limit->capacity || wait_ns == UINT64_MAX)
        return cost > sliding->limit->capacity && wait_ns == UINT64_MAX;
    counts_turn(&then, (now_ns + wait_ns) / window_ns);
    if (!counts_allow(&then, sliding->limit->capacity, window_ns, cost, now_ns + wait_ns))
        return false;
    if (wait_ns == 0)
        return true;
    counts_turn(&before, (now_ns + wait_ns - 1) / window_ns);
    return !counts_allow(&before, sliding->limit->capacity, window_ns, cost, now_ns + wait_ns - 1);
}

static void sliding_random(uint64_t capacity, uint64_t window_ns, uint64_t seed)
{
    const struct limit limit = cell_limit(capacity, 0);
    struct random random;
    random_seed(&random, seed);
    uint64_t now_ns = window_ns, wrong = 0, allowed = 0, waits_wrong = 0;
    struct counts counts = {.number = 1};
    struct key key = fresh_key(&limit, window_ns, now_ns);
    for (int i = 0; i < OPERATIONS; i++) {
        now_ns += random_below(&random, 8) == 0 ? random_below(&random, 1 + window_ns / 8) : 0;
        now_ns += random_below(&random, 5000) == 0 ? random_below(&random, 5 * window_ns) : 0;
        counts_turn(&counts, now_ns / window_ns);
        turn(&key, &limit, window_ns, now_ns);
        const struct sliding sliding = sliding_of(&key, &limit, window_ns);
        uint64_t most = random_below(&random, 32) == 0 ? capacity + 2 : 2 + capacity / 16;
        uint64_t cost = random_below(&random, most), credit;
        if (random_below(&random, 32) == 0) {
            uint64_t gives = cost < counts.current ? cost : counts.current;
            wrong += bucket_return(&key.current, &limit, &alone, cost, now_ns, &credit) != gives;
            counts.current -= gives;
        }
        bool may = sliding_allows(&sliding, cost, 0, now_ns);
        wrong += may != counts_allow(&counts, capacity, window_ns, cost, now_ns);
        if (i % 8 == 0)
            waits_wrong += !retry_is_right(&counts, &sliding, cost, now_ns);
        uint64_t remaining = sliding_available(&sliding, 0, now_ns);
        wrong += !counts_allow(&counts, capacity, window_ns, remaining, now_ns) && remaining > 0;
        wrong += counts_allow(&counts, capacity, window_ns, remaining + 1, now_ns);
        if (may)
            wrong += !bucket_spend(&key.current, &limit, &alone, cost, now_ns);
        counts.current += may ? cost : 0;
        allowed += may;
    }
    OK(wrong == 0 && allowed > OPERATIONS / 8 && allowed < OPERATIONS * 15 / 16,
       "%" PRIu64 " per %" PRIu64 " ns: a sliding window in %d operations (%" PRIu64 " allowed)", capacity,
       window_ns, OPERATIONS, allowed);
    OK_U64(waits_wrong, 0, "... allowed when said, and not a nanosecond before");
}

int main(void)
{
    const struct limit any = cell_limit(1, 0);
    budget_init(&alone, &any, SHARE_ONE, true);
    fixed_examples();
    fixed_random(1, SECOND_NS, 21);
    fixed_random(100, 60 * SECOND_NS, 22);
    fixed_random(LIMIT_CAPACITY_MAX, 86400 * SECOND_NS, 23);
    fixed_random(7, 1, 24);
    sliding_examples();
    sliding_random(1, SECOND_NS, 31);
    sliding_random(100, 60 * SECOND_NS, 32);
    sliding_random(999983, 7 * SECOND_NS + 1, 33);
    sliding_random(LIMIT_CAPACITY_MAX, 86400 * SECOND_NS, 34);
    return tap_done();
}
