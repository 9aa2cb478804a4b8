#include "base/zipf.h"

#include "tests/lib/tap.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 2000000 };

/* Chi-square of the draws against the exact weights, over the things that expect at least 20 draws. */
static void test_shape(uint32_t count, double exponent)
{
    struct zipf *zipf = zipf_create(count, exponent);
    uint64_t *seen = calloc(count, sizeof *seen);
    struct random random;
    bool in_range = true;
    random_seed(&random, 5);
    for (int i = 0; i < DRAWS; i++) {
        uint32_t drawn = zipf_draw(zipf, &random);
        in_range = in_range && drawn < count;
        if (drawn < count)
            seen[drawn]++;
    }
    double sum = 0, chi_square = 0, classes = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += pow((double)i + 1, -exponent);
    for (uint32_t i = 0; i < count; i++) {
        double expected = DRAWS * pow((double)i + 1, -exponent) / sum;
        if (expected < 20)
            break;
        chi_square += ((double)seen[i] - expected) * ((double)seen[i] - expected) / expected;
        classes++;
    }
    OK(in_range, "%u things, exponent %.2f: draws are in range", count, exponent);
    /* Chi-square has mean `classes` and variance twice that; five deviations are one in a million. */
    OK(chi_square < classes + 5 * sqrt(2 * classes) + 5, "%u things, exponent %.2f: chi-square %.0f over %.0f",
       count, exponent, chi_square, classes);
    free(seen);
    zipf_destroy(&zipf);
}

/* The columns, summed exactly, give every thing its weight. */
static void test_columns(uint32_t count, double exponent)
{
    struct zipf *zipf = zipf_create(count, exponent);
    double *part = calloc(count, sizeof *part), sum = 0, worst = 0;
    for (uint32_t i = 0; i < count; i++) {
        double own = ((double)zipf->column[i].own + 1) * 0x1.0p-32;
        part[i] += own / count;
        part[zipf->column[i].other] += (1 - own) / count;
        sum += pow((double)i + 1, -exponent);
    }
    for (uint32_t i = 0; i < count; i++) {
        double error = fabs(part[i] - pow((double)i + 1, -exponent) / sum);
        worst = error > worst ? error : worst;
    }
    OK(worst < 1e-8, "%u things, exponent %.2f: every part is right within %.1e", count, exponent, worst);
    free(part);
    zipf_destroy(&zipf);
    OK(zipf == NULL, "destroyed");
}

int main(void)
{
    test_shape(1, 1);
    test_shape(2, 0.5);
    test_shape(10, 0);
    test_shape(1000, 0.99);
    test_shape(100000, 1.2);
    test_columns(1, 0);
    test_columns(7, 1);
    test_columns(1000, 0.99);
    test_columns(1000, 10);
    return tap_done();
}
