/*
 * rotations: the worst schedules of a model of peers that spend in turns. For each number of peers it says what was
 * left.
 */
#ifndef HEADGATE_TESTS_SIM_ROTATIONS_H
#define HEADGATE_TESTS_SIM_ROTATIONS_H

#include <stdint.h>

/* Tries so many changes in each of so many climbs, for 3 to 8 peers. Returns for how many the bound was exceeded. */
unsigned rotations_run(uint64_t changes, uint64_t climbs);

#endif
