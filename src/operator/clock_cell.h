/*
 * clock_cell: what a table says of a daemon's clock.
 */
#ifndef HEADGATE_OPERATOR_CLOCK_CELL_H
#define HEADGATE_OPERATOR_CLOCK_CELL_H

#include <stdint.h>

enum { CLOCK_CELL_BYTES = 64 };

/*
 * "good", "3.1% fast", "1 jump", or both; "-": not measured, or the daemon is older than that. `clock`: as NODES has
 * it; `rate`: the median of all clocks is 1.
 */
void clock_cell(char cell[CLOCK_CELL_BYTES], const char *clock, double rate, int64_t jumps);

#endif
