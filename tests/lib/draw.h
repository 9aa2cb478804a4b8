/*
 * draw: random values for tests.
 */
#ifndef HEADGATE_TESTS_LIB_DRAW_H
#define HEADGATE_TESTS_LIB_DRAW_H

#include "base/random.h"

/* A value below `bound`, which must be above 0. */
static inline unsigned below(struct random *random, unsigned bound)
{
    return (unsigned)random_below(random, bound);
}

static inline const char *any(struct random *random, const char *const *of, unsigned count)
{
    return of[below(random, count)];
}

/* One of these texts. */
#define ANY(random, ...)                                                                                           \
    any(random, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

#endif
