/*
 * spread: what many measurements of the same come to.
 *
 * The one idea: the median stands for them, and next to it how far the others were off. Where all that disturbs adds to
 * what is measured, the least says more: see measure.h.
 */
#ifndef HEADGATE_TESTS_BENCH_SPREAD_H
#define HEADGATE_TESTS_BENCH_SPREAD_H

#include <stddef.h>
#include <stdlib.h>

struct spread {
    double median, least, most;
};

static int spread_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts them. There is at least one. */
static struct spread spread_of(double *figures, int count)
{
    qsort(figures, (size_t)count, sizeof *figures, spread_order);
    return (struct spread){figures[count / 2], figures[0], figures[count - 1]};
}

#endif
