/*
 * truth_cell: what was really spent in each window of one key. No node of the cluster sees it.
 *
 * The one idea: a window is a number, and each number has two sums. `least` counts against the
 * limit: everything that a crash may have taken, or that may have been given back, is subtracted.
 * `most` is the most that a node may see: only tokens that were certainly given back are
 * subtracted. Nothing ever expires here.
 */
#ifndef HEADGATE_TESTS_SIM_TRUTH_CELL_H
#define HEADGATE_TESTS_SIM_TRUTH_CELL_H

#include <stdbool.h>
#include <stdint.h>

/* windows that are remembered; windows whose numbers differ by a multiple of this share a place */
enum { TRUTH_CELLS_MAX = 128 };

struct truth_cell {
    uint64_t number;
    uint64_t least, most; /* in tokens */
    /* tokens in vouchers whose makers have forgotten them, or are gone: so many may be too many */
    uint64_t doubtful;
};

struct truth_cells {
    struct truth_cell cell[TRUTH_CELLS_MAX];
};

/* The window of number `number`. If it was never touched, nothing was spent in it. */
struct truth_cell *truth_cell_of(struct truth_cells *cells, uint64_t number);

void truth_cell_spend(struct truth_cells *cells, uint64_t number, uint64_t tokens);
/* At most `possible` and at least `sure` tokens were given back; sure <= possible. */
void truth_cell_give_back(struct truth_cells *cells, uint64_t number, uint64_t sure, uint64_t possible);
/* Nobody knows any more what was spent. */
void truth_cells_forget(struct truth_cells *cells);

/*
 * A sliding window counts the spends of this window, and of the window before it the part that this
 * window has left. True if that is at most `allowed` tokens when `more` tokens are spent now, but for doubtful ones.
 */
bool truth_sliding_within(struct truth_cells *cells, uint64_t number, uint64_t left_ns, uint64_t window_ns,
                          uint64_t more, uint64_t allowed);

#endif
