/*
 * truth_cell: what was really spent in each window of one key, seen by nobody in the cluster.
 *
 * The one idea: a window is a number, and a number has two sums. `least` is what must be counted against the limit:
 * whatever a crash may have taken with it, or may have been given back, is taken off. `most` is what may be seen
 * at all: only what was certainly given back is taken off. Nothing ever expires here.
 */
#ifndef HEADGATE_TESTS_SIM_TRUTH_CELL_H
#define HEADGATE_TESTS_SIM_TRUTH_CELL_H

#include <stdbool.h>
#include <stdint.h>

enum { TRUTH_CELLS_MAX = 128 }; /* windows that are remembered; a number so far from another takes its place */

struct truth_cell {
    uint64_t number;
    uint64_t least, most; /* tokens */
};

struct truth_cells {
    struct truth_cell cell[TRUTH_CELLS_MAX];
};

/* The window of that number; never touched: nothing was spent in it. */
struct truth_cell *truth_cell_of(struct truth_cells *cells, uint64_t number);

void truth_cell_spend(struct truth_cells *cells, uint64_t number, uint64_t tokens);
/* At most `possible` and at least `sure` tokens were given back; sure <= possible. */
void truth_cell_give_back(struct truth_cells *cells, uint64_t number, uint64_t sure, uint64_t possible);
/* What was spent is known to nobody any more. */
void truth_cells_forget(struct truth_cells *cells);

/*
 * A sliding window counts what was spent in this window, and of the window before it the part that is left of this
 * one: true if that is at most `allowed` tokens, with `more` tokens spent now.
 */
bool truth_sliding_within(struct truth_cells *cells, uint64_t number, uint64_t left_ns, uint64_t window_ns,
                          uint64_t more, uint64_t allowed);

#endif
