/*
 * coarse: a bucket's units for those who count in doubles: scripts of a store, whose numbers are whole up to 2^53.
 *
 * The one idea: the arithmetic is that of limit.h with ticks of a microsecond or more and with smaller numbers. Whoever
 * counts with these units admits what a bucket of limit.h admits at each whole tick. Nothing is counted here.
 */
#ifndef HEADGATE_LIMIT_COARSE_H
#define HEADGATE_LIMIT_COARSE_H

#include "limit/limit.h"

struct coarse {
    uint64_t units_per_token, units_per_tick;
    uint64_t tick_us;
};

/* Of a LIMIT_BUCKET. False: no tick up to a millisecond makes its numbers fit. */
bool coarse_units(const struct limit *limit, struct coarse *coarse);

#endif
