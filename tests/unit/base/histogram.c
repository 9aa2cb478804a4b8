#include "base/histogram.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 50000 };

static struct histogram histogram, other, both;
static uint64_t sample[SAMPLES];

static int compare_u64(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* How far the worst of many percentiles is from the sorted samples', as a part of it; < 0 is an error. */
static double worst_error(size_t count)
{
    double worst = 0;
    for (double percent = 0; percent <= 100; percent += 0.05) {
        double exact_rank = ceil((double)count * percent / 100);
        size_t rank = exact_rank < 1 ? 1 : (size_t)exact_rank;
        if (rank > count)
            rank = count;
        uint64_t exact = sample[rank - 1], got = histogram_percentile(&histogram, percent);
        if (got < exact)
            return -1;
        double error = exact == 0 ? (double)got : (double)(got - exact) / (double)exact;
        if (error > worst)
            worst = error;
    }
    return worst;
}

static void test_against_sorted(const char *what, uint64_t (*draw)(struct random *))
{
    struct random random;
    random_seed(&random, 7);
    histogram_init(&histogram);
    double sum = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        sample[i] = draw(&random);
        sum += (double)sample[i];
        histogram_record(&histogram, sample[i], 1);
    }
    qsort(sample, SAMPLES, sizeof *sample, compare_u64);
    double error = worst_error(SAMPLES);
    OK(error >= 0 && error <= 0.001, "%s: 2001 percentiles within 0.1%% of the sorted samples (%.5f%%)", what,
       error * 100);
    OK_U64(histogram.largest, sample[SAMPLES - 1], "%s: the largest is exact", what);
    OK_U64(histogram.smallest, sample[0], "%s: the smallest is exact", what);
    OK(fabs(histogram_mean(&histogram) - sum / SAMPLES) <= 1e-9 * sum / SAMPLES, "%s: the mean is exact", what);
}

static uint64_t draw_small(struct random *random)
{
    return random_below(random, 3000);
}

static uint64_t draw_any_magnitude(struct random *random)
{
    return (random_u64(random) >> 22) >> random_below(random, 42);
}

static uint64_t draw_long_tail(struct random *random)
{
    return (uint64_t)(20000.0 / pow(1 - random_unit(random), 1.2));
}

static void test_edges(void)
{
    histogram_init(&histogram);
    OK_U64(histogram_percentile(&histogram, 50), 0, "an empty histogram has percentile 0");
    OK(histogram_mean(&histogram) <= 0, "and mean 0");
    histogram_record(&histogram, 5, 0);
    OK_U64(histogram.count, 0, "zero times is nothing");
    histogram_record(&histogram, UINT64_MAX, 1);
    OK_U64(histogram.largest, HISTOGRAM_VALUE_MAX, "what is too large counts as the largest value");
    OK_U64(histogram_percentile(&histogram, 0), HISTOGRAM_VALUE_MAX, "percentile 0 is the smallest");

    bool exact = true, ordered = true;
    for (uint64_t bit = 0; bit < HISTOGRAM_VALUE_BITS; bit++) {
        for (int near = -1; near <= 1; near++) {
            uint64_t value = ((uint64_t)1 << bit) + (uint64_t)(int64_t)near;
            histogram_init(&histogram);
            histogram_record(&histogram, value, 1);
            histogram_record(&histogram, HISTOGRAM_VALUE_MAX, 1);
            uint64_t got = histogram_percentile(&histogram, 50);
            exact = exact && (value >= 2048 || got == value);
            ordered = ordered && got >= value && got <= value + value / 1000;
        }
    }
    OK(exact, "values below 2048 are kept exactly");
    OK(ordered, "around every power of two the answer is within 0.1%% above");
}

static void test_many_times(void)
{
    histogram_init(&histogram);
    histogram_record(&histogram, 1000, (uint64_t)1 << 40);
    histogram_record(&histogram, HISTOGRAM_VALUE_MAX, (uint64_t)1 << 40);
    OK(fabs(histogram_mean(&histogram) / ((1000.0 + (double)HISTOGRAM_VALUE_MAX) / 2) - 1) < 1e-12,
       "the sum of 2^41 large values does not overflow");
    histogram_init(&histogram);
    histogram_record(&histogram, 10, 99);
    histogram_record(&histogram, 20, 1);
    OK_U64(histogram_percentile(&histogram, 99), 10, "p99 of 99 tens and one twenty is 10");
    OK_U64(histogram_percentile(&histogram, 99.1), 20, "p99.1 is 20");
}

static void test_merge(void)
{
    struct random random;
    random_seed(&random, 3);
    histogram_init(&histogram);
    histogram_init(&other);
    histogram_init(&both);
    for (int i = 0; i < 20000; i++) {
        uint64_t value = draw_any_magnitude(&random);
        histogram_record(i % 3 ? &histogram : &other, value, 1);
        histogram_record(&both, value, 1);
    }
    histogram_merge(&histogram, &other);
    OK(memcmp(&histogram, &both, sizeof both) == 0, "two merged are the same as one that saw everything");
    histogram_init(&other);
    histogram_merge(&histogram, &other);
    OK(memcmp(&histogram, &both, sizeof both) == 0, "merging an empty one changes nothing");
    histogram_merge(&other, &histogram);
    OK(memcmp(&other, &both, sizeof both) == 0, "merging into an empty one copies");
}

/* What is listed, recorded again, has the same percentiles. */
static void test_list(void)
{
    struct random random;
    uint64_t value, times, last = 0, sum = 0;
    uint32_t slot = 0, ascends = 0, listed = 0;
    random_seed(&random, 4);
    histogram_init(&histogram);
    histogram_init(&other);
    OK(!histogram_next(&histogram, &slot, &value, &times), "an empty histogram lists nothing");
    for (int i = 0; i < 20000; i++)
        histogram_record(&histogram, draw_any_magnitude(&random), 1 + (uint64_t)i % 3);
    slot = 0;
    while (histogram_next(&histogram, &slot, &value, &times)) {
        ascends += listed++ == 0 || value > last;
        last = value;
        sum += times;
        histogram_record(&other, value, times);
    }
    OK_U64(ascends, listed, "what is listed ascends");
    OK_U64(sum, histogram.count, "and is all there is");
    OK_U64(last, histogram.largest, "up to the largest");
    bool same = true;
    for (double percent = 0; percent <= 100; percent += 0.1)
        same &= histogram_percentile(&other, percent) == histogram_percentile(&histogram, percent);
    OK(same, "its percentiles are the histogram's");
}

int main(void)
{
    test_against_sorted("small", draw_small);
    test_against_sorted("any magnitude", draw_any_magnitude);
    test_against_sorted("long tail", draw_long_tail);
    test_edges();
    test_many_times();
    test_merge();
    test_list();
    return tap_done();
}
