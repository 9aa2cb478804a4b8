/*
 * zipf: which of N things is drawn when thing number i is 1/(i+1)^s as popular as the first.
 *
 * The one idea (Walker's alias method): N columns of equal width, each shared by at most two things, so that a
 * draw costs one random number and one look at 8 bytes, whatever N is. s = 0 draws evenly.
 */
#ifndef HEADGATE_BASE_ZIPF_H
#define HEADGATE_BASE_ZIPF_H

#include "base/random.h"

#include <stdint.h>

enum { ZIPF_COUNT_MAX = 100000000 };

struct zipf_column {
    uint32_t own;   /* the part of the column, in 1/2^32, that belongs to its own thing */
    uint32_t other; /* whose the rest is */
};

struct zipf {
    uint32_t count;
    struct zipf_column column[];
};

/* 1 <= count <= ZIPF_COUNT_MAX, 0 <= exponent <= 10. NULL when memory is short. */
struct zipf *zipf_create(uint32_t count, double exponent);
void zipf_destroy(struct zipf **zipf);

/* In [0, count). */
static inline uint32_t zipf_draw(const struct zipf *zipf, struct random *random)
{
    uint64_t drawn = random_u64(random);
    uint32_t column = (uint32_t)(((drawn >> 32) * zipf->count) >> 32);
    return (uint32_t)drawn <= zipf->column[column].own ? column : zipf->column[column].other;
}

#endif
