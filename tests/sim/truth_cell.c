#include "tests/sim/truth_cell.h"

#include <assert.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

struct truth_cell *truth_cell_of(struct truth_cells *cells, uint64_t number)
{
    struct truth_cell *cell = &cells->cell[number % TRUTH_CELLS_MAX];
    if (cell->number != number)
        *cell = (struct truth_cell){.number = number};
    return cell;
}

void truth_cell_spend(struct truth_cells *cells, uint64_t number, uint64_t tokens)
{
    struct truth_cell *cell = truth_cell_of(cells, number);
    cell->least += tokens;
    cell->most += tokens;
}

static uint64_t less(uint64_t from, uint64_t tokens)
{
    return tokens < from ? from - tokens : 0;
}

void truth_cell_give_back(struct truth_cells *cells, uint64_t number, uint64_t sure, uint64_t possible)
{
    struct truth_cell *cell = truth_cell_of(cells, number);
    assert(sure <= possible);
    cell->least = less(cell->least, possible);
    cell->most = less(cell->most, sure);
}

void truth_cells_forget(struct truth_cells *cells)
{
    for (unsigned c = 0; c < TRUTH_CELLS_MAX; c++)
        cells->cell[c].least = 0;
}

bool truth_sliding_within(struct truth_cells *cells, uint64_t number, uint64_t left_ns, uint64_t window_ns,
                          uint64_t more, uint64_t allowed)
{
    const struct truth_cell none = {0};
    const struct truth_cell before = number > 0 ? *truth_cell_of(cells, number - 1) : none,
                            now = *truth_cell_of(cells, number);
    return (wide)before.least * left_ns + (wide)(now.least + more) * window_ns <=
           (wide)(allowed + now.doubtful) * window_ns + (wide)before.doubtful * left_ns;
}
