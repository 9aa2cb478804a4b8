/* Peaks: a return is credited at most what the bucket could have held all the time since. */
#include "cluster/state/peaks.h"
#include "limit/limit_span.h"
#include "tests/lib/tap.h"

#include <assert.h>

#define MS UINT64_C(1000000)
#define AGE_NS (500 * MS) /* in which more than is returned refills */

static struct limit limit_of(uint64_t capacity, uint64_t rate)
{
    const struct limit_terms terms = {.capacity = capacity, .rate = rate, .period_ns = 1000 * MS};
    struct limit limit;
    struct error error;
    bool valid = limit_init(&limit, &terms, &error);
    assert(valid);
    return limit;
}

/* Tokens, rounded down, of 10 that are credited to a bucket that has `left` tokens now. */
static int64_t credited(struct peaks *peaks, const struct limit *limit, int64_t left, uint64_t age_ns,
                        uint64_t now_ns)
{
    const struct bucket bucket = {.settled = left * limit->units_per_token};
    return peaks_credit(peaks, (struct key_id){1, 1}, &bucket, limit, 10 * limit->units_per_token, age_ns,
                        RAISE_OTHER, now_ns) /
           limit->units_per_token;
}

static void note(struct peaks *peaks, const struct limit *limit, int64_t left, uint64_t now_ns)
{
    const struct bucket bucket = {.settled = left * limit->units_per_token};
    peaks_note(peaks, (struct key_id){1, 1}, &bucket, limit, now_ns);
}

static void begin(struct peaks *peaks, uint32_t keys)
{
    bool made = peaks_init(peaks, keys);
    assert(made);
}

static void test_levels(void)
{
    struct peaks peaks;
    const struct limit limit = limit_of(1000, 100000);
    begin(&peaks, 1000);
    uint64_t now_ns = 10000 * MS;
    OK(credited(&peaks, &limit, 0, AGE_NS, now_ns) == 10, "an empty bucket takes all");
    OK(credited(&peaks, &limit, 999, AGE_NS, now_ns) == 0, "one that is almost full does not take what is beyond");
    note(&peaks, &limit, 1000, now_ns);
    OK(credited(&peaks, &limit, 0, AGE_NS, now_ns) == 0, "nor one that was full a moment ago");
    OK(credited(&peaks, &limit, 0, AGE_NS, now_ns + PEAKS_SPAN_NS) == 0, "it is remembered for a span");
    OK(credited(&peaks, &limit, 0, AGE_NS, now_ns + 2 * PEAKS_SPAN_NS) == 10, "and forgotten after two");
    note(&peaks, &limit, -5, now_ns + 2 * PEAKS_SPAN_NS);
    OK(credited(&peaks, &limit, 0, AGE_NS, now_ns + 2 * PEAKS_SPAN_NS) == 10, "debt is no peak");
    note(&peaks, &limit, 995, now_ns + 3 * PEAKS_SPAN_NS);
    OK(credited(&peaks, &limit, 0, AGE_NS, now_ns + 3 * PEAKS_SPAN_NS) == 4, "a part of it, rounded down");
    peaks_close(&peaks);
}

static void test_ages(void)
{
    struct peaks peaks;
    const struct limit slow = limit_of(1000, 1), fast = limit_of(1000, 1000);
    begin(&peaks, 1);
    uint64_t now_ns = 10000 * MS;
    note(&peaks, &slow, 1000, now_ns);
    OK(credited(&peaks, &slow, 0, 500 * MS, now_ns) == 8,
       "what did not refill since it was spent was not lost: a token and a half is");
    OK(credited(&peaks, &slow, 0, 5500 * MS, now_ns) == 3, "5 seconds and a half ago, 6 and a half are");
    OK(credited(&peaks, &fast, 0, PEAKS_SPAN_NS, now_ns + 100 * PEAKS_SPAN_NS) == 10, "a span is remembered");
    OK(credited(&peaks, &fast, 0, PEAKS_SPAN_NS + 1, now_ns + 100 * PEAKS_SPAN_NS) == 0,
       "of what is older than peaks are known, all that may have refilled is lost");
    OK(credited(&peaks, &slow, 0, UINT64_MAX, now_ns) == 0, "an age that makes no sense");
    peaks_close(&peaks);
}

/* ---- tiers of one rule ---- */

enum { SMALL_TOKENS = 20, WIDE_TOKENS = 1000 };

/* A small tier, and a wide one that refills as fast, or faster. */
static void tiers_of(uint64_t small_rate, uint64_t wide_rate, struct limit *small, struct limit *wide)
{
    struct limit_span span = {0};
    *small = limit_of(SMALL_TOKENS, small_rate);
    *wide = limit_of(WIDE_TOKENS, wide_rate);
    const struct limit_terms terms[] = {limit_terms_of(small), limit_terms_of(wide)};
    limit_span_add(&span, &terms[0]);
    limit_span_add(&span, &terms[1]);
    limit_span_note(&span, small);
    limit_span_note(&span, wide);
}

static void test_tiers(void)
{
    struct peaks peaks;
    struct limit small, wide;
    const uint64_t now_ns = 10000 * MS;
    begin(&peaks, 1000);
    tiers_of(100000, 100000, &small, &wide);
    note(&peaks, &small, SMALL_TOKENS - 3, now_ns);
    OK(credited(&peaks, &wide, 0, AGE_NS, now_ns) == 3,
       "3 were used of the small tier: the wide one has room for 3");
    note(&peaks, &wide, WIDE_TOKENS - 4, now_ns + 4 * PEAKS_SPAN_NS);
    OK(credited(&peaks, &small, 0, AGE_NS, now_ns + 4 * PEAKS_SPAN_NS) == 4,
       "... and the small one as the wide one had");
    note(&peaks, &small, SMALL_TOKENS, now_ns + 8 * PEAKS_SPAN_NS);
    OK(credited(&peaks, &wide, 0, AGE_NS, now_ns + 8 * PEAKS_SPAN_NS) == 0, "none where it was full");
    note(&peaks, &wide, WIDE_TOKENS - 700, now_ns + 12 * PEAKS_SPAN_NS);
    OK(credited(&peaks, &wide, 0, AGE_NS, now_ns + 12 * PEAKS_SPAN_NS) == 10, "all where enough was used");
    peaks_close(&peaks);
}

static void test_tiers_refill(void)
{
    struct peaks peaks;
    struct limit small, wide;
    const uint64_t now_ns = 10000 * MS;
    begin(&peaks, 1000);
    tiers_of(1, 4, &small, &wide);
    note(&peaks, &small, SMALL_TOKENS, now_ns);
    OK(credited(&peaks, &wide, 0, AGE_NS, now_ns) == 3,
       "in a second and a half, the wide tier has refilled 6 and a bit");
    OK(credited(&peaks, &small, 0, AGE_NS, now_ns) == 3, "... as the key may have been of that one in between");
    peaks_raise(&peaks, (struct key_id){1, 1}, &small, 2 * small.units_per_token, RAISE_OTHER, now_ns);
    OK(credited(&peaks, &wide, 0, AGE_NS, now_ns) == 1, "what came back under the one counts under the other");
    peaks_close(&peaks);
}

int main(void)
{
    test_levels();
    test_ages();
    test_tiers();
    test_tiers_refill();
    return tap_done();
}
