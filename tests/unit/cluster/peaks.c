/* Peaks: a return is credited at most what the bucket could have held all the time since. */
#include "cluster/state/peaks.h"
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

static void test_levels(void)
{
    struct peaks peaks;
    const struct limit limit = limit_of(1000, 100000);
    bool made = peaks_init(&peaks, 1000);
    assert(made);
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
    bool made = peaks_init(&peaks, 1);
    assert(made);
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

int main(void)
{
    test_levels();
    test_ages();
    return tap_done();
}
