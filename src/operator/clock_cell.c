#include "operator/clock_cell.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void clock_cell(char cell[CLOCK_CELL_BYTES], const char *clock, double rate, int64_t jumps)
{
    const double off = rate - 1;
    const bool is_off = strcmp(clock, "fast") == 0 || strcmp(clock, "slow") == 0;
    const bool is_known = is_off || strcmp(clock, "good") == 0;
    char percent[16] = "", jumped[32] = "";
    if (is_off)
        (void)snprintf(percent, sizeof percent, "%.1f%% ", (off < 0 ? -off : off) * 100);
    if (jumps > 0)
        (void)snprintf(jumped, sizeof jumped, "%s%" PRId64 " jump%s", is_known ? ", " : "", jumps,
                       jumps == 1 ? "" : "s");
    (void)snprintf(cell, CLOCK_CELL_BYTES, "%s%s%s", percent, is_known ? clock : jumps > 0 ? "" : "-", jumped);
}
