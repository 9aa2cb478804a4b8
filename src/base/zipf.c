#include "base/zipf.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* weight[i] becomes the height of column i, 1 on average. */
static void fill_weights(double *weight, uint32_t count, double exponent)
{
    double sum = 0;
    for (uint32_t i = count; i-- > 0;) { /* the smallest first, which keeps the sum's error small */
        weight[i] = pow((double)i + 1, -exponent);
        sum += weight[i];
    }
    for (uint32_t i = 0; i < count; i++)
        weight[i] *= (double)count / sum;
}

/*
 * Vose's construction: each column lower than 1 is filled up by a higher one, which may thereby become a lower
 * one. `stack` holds the lower ones from its start and the higher ones from its end.
 */
static void level_columns(struct zipf *zipf, double *weight, uint32_t *stack)
{
    uint32_t low = 0, high = zipf->count;
    for (uint32_t i = 0; i < zipf->count; i++) {
        if (weight[i] < 1)
            stack[low++] = i;
        else
            stack[--high] = i;
    }
    while (low > 0 && high < zipf->count) {
        uint32_t filled = stack[--low], giver = stack[high];
        zipf->column[filled] = (struct zipf_column){(uint32_t)(weight[filled] * 0x1.0p32), giver};
        weight[giver] -= 1 - weight[filled];
        if (weight[giver] < 1) {
            high++;
            stack[low++] = giver;
        }
    }
    /* What is left has height 1 but for rounding. */
    for (; low > 0; low--)
        zipf->column[stack[low - 1]] = (struct zipf_column){UINT32_MAX, stack[low - 1]};
    for (; high < zipf->count; high++)
        zipf->column[stack[high]] = (struct zipf_column){UINT32_MAX, stack[high]};
}

struct zipf *zipf_create(uint32_t count, double exponent)
{
    assert(count >= 1 && count <= ZIPF_COUNT_MAX && exponent >= 0 && exponent <= 10);
    struct zipf *zipf = malloc(sizeof *zipf + count * sizeof zipf->column[0]);
    double *weight = malloc(count * sizeof *weight);
    uint32_t *stack = malloc(count * sizeof *stack);
    if (zipf && weight && stack) {
        zipf->count = count;
        fill_weights(weight, count, exponent);
        level_columns(zipf, weight, stack);
    } else {
        zipf_destroy(&zipf);
    }
    free(weight);
    free(stack);
    return zipf;
}

void zipf_destroy(struct zipf **zipf)
{
    free(*zipf);
    *zipf = NULL;
}
