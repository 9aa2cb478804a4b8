/* What part of the time goes to pieces of work that would take all of it. */
#include "edge/process/pace.h"

#include "base/random.h"
#include "tests/lib/draw.h"
#include "tests/lib/tap.h"

enum { PIECES = 20000, PIECE_NS_MAX = 1500000, US = 1000 };

#define MS UINT64_C(1000000)

/* Pieces that begin as soon as they may: thousandths of the time that they take, and the longest rest. */
static uint64_t share_of(uint64_t piece_ns_max, uint64_t *longest_ns)
{
    struct random random;
    struct pace pace = {0};
    uint64_t now_ns = 1000 * MS, began_ns = now_ns, worked_ns = 0;
    random_seed(&random, 7);
    *longest_ns = 0;
    for (int i = 0; i < PIECES; i++) {
        uint64_t next_ns = pace_next_ns(&pace), took_ns = 10 * US + below(&random, (unsigned)piece_ns_max);
        uint64_t rest_ns = next_ns > now_ns ? next_ns - now_ns : 0;
        *longest_ns = rest_ns > *longest_ns ? rest_ns : *longest_ns;
        now_ns += rest_ns + took_ns;
        worked_ns += took_ns;
        pace_worked(&pace, now_ns - took_ns, now_ns);
    }
    return worked_ns * 1000 / (now_ns - began_ns);
}

static void shares(void)
{
    uint64_t longest_ns;
    uint64_t share = share_of(PIECE_NS_MAX, &longest_ns);
    OK(share <= 250 && share >= 245, "a quarter of the time is worked: %u of 1,000", (unsigned)share);
    OK(longest_ns <= PACE_REST * (PIECE_NS_MAX + 10 * US),
       "and a piece waits three times as long as the last one took");
    share = share_of(20 * US, &longest_ns);
    OK(share <= 250 && share >= 245, "the same of small pieces: %u of 1,000", (unsigned)share);
}

static void small_pieces(void)
{
    struct pace pace = {0};
    uint64_t now_ns = 1000 * MS;
    bool waits = false;
    for (int i = 0; i < 1000; i++) {
        waits |= pace_next_ns(&pace) > now_ns;
        pace_worked(&pace, now_ns, now_ns + 200 * US);
        now_ns += MS;
    }
    OK(!waits, "a fifth of a millisecond, each millisecond, never waits");
    now_ns += 100 * MS;
    pace_worked(&pace, now_ns, now_ns + 200 * US);
    OK(pace_next_ns(&pace) <= now_ns + 200 * US, "nor does what follows one at once");
    pace_worked(&pace, now_ns + 200 * US, now_ns + 400 * US);
    OK_U64(pace_next_ns(&pace) - (now_ns + 400 * US), 1200 * US - PACE_OWED_FREE_NS, "but what follows two");
}

static void long_pieces(void)
{
    struct pace pace = {0};
    pace_worked(&pace, 1000 * MS, 61000 * MS);
    OK(pace_next_ns(&pace) <= 61000 * MS + PACE_OWED_MAX_NS,
       "who was stopped for a minute does not rest for three");
    pace_worked(&pace, 61000 * MS, 61001 * MS);
    OK(pace_next_ns(&pace) <= 61001 * MS + PACE_OWED_MAX_NS, "nor if he goes on at once");
    pace_worked(&pace, 200000 * MS, 200000 * MS);
    OK_U64(pace_next_ns(&pace), 200000 * MS, "what was owed is forgotten in time");
}

static void lulls(void)
{
    struct pace pace = {0};
    uint64_t now_ns = 1000 * MS;
    OK_U64(pace_begin(&pace, now_ns, false), now_ns, "where nobody was served, a piece of work begins");
    OK_U64(pace_begin(&pace, now_ns += 50 * US, true), 0, "where somebody was, it waits");
    OK_U64(pace_begin(&pace, now_ns, false), now_ns, "for a lull");
    OK_U64(pace_begin(&pace, now_ns += MS, true), 0, "what is left waits anew");
    OK_U64(pace_begin(&pace, now_ns + PACE_LULL_NS - 1, true), 0, "but not for ever");
    now_ns += PACE_LULL_NS;
    OK_U64(pace_begin(&pace, now_ns, true), now_ns + PACE_LULL_NS / 3, "then it gets a quarter of the time");
    now_ns += PACE_LULL_NS / 3;
    OK_U64(pace_begin(&pace, now_ns + PACE_LULL_NS - 1, true), 0, "after which it waits as long again");
    OK(pace_begin(&pace, now_ns + PACE_LULL_NS, true) > 0, "and no longer");
    pace_has_none(&pace);
    OK_U64(pace_begin(&pace, now_ns += 10 * MS, true), 0, "what comes later waits since it came");
    now_ns += 2 * MS;
    OK_U64(pace_begin(&pace, now_ns, true), now_ns + 2 * MS / 3,
           "where a turn takes long, it gets as much of that");
    now_ns += 30 * MS;
    OK_U64(pace_begin(&pace, now_ns, true), now_ns + PACE_GO_NS, "but no more than a millisecond");
}

int main(void)
{
    lulls();
    shares();
    small_pieces();
    long_pieces();
    return tap_done();
}
