/*
 * sheet: a table of text in memory, whose columns are aligned when it is printed.
 *
 * The one idea: a row is filled before the width of a column is known. Knows no replies.
 */
#ifndef HEADGATE_OPERATOR_SHEET_H
#define HEADGATE_OPERATOR_SHEET_H

#include <stddef.h>

enum { SHEET_COLUMNS_MAX = 11, SHEET_CELL_BYTES = 136 };

/* All zero but for title and columns: no rows. */
struct sheet {
    const char *const *title;
    unsigned columns;
    unsigned right; /* bits: columns that are aligned to the right */
    size_t count, room;
    struct sheet_row *row;
};

/* Adds a row of empty cells and returns its first cell; NULL: memory is short. */
char (*sheet_add(struct sheet *sheet))[SHEET_CELL_BYTES];
void sheet_print(const struct sheet *sheet);
void sheet_close(struct sheet *sheet);

#endif
