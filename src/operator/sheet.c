#include "operator/sheet.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sheet_row {
    char cell[SHEET_COLUMNS_MAX][SHEET_CELL_BYTES];
};

char (*sheet_add(struct sheet *sheet))[SHEET_CELL_BYTES]
{
    if (!ARRAY_RESERVE(sheet->row, sheet->room, sheet->count + 1))
        return NULL;
    struct sheet_row *row = &sheet->row[sheet->count++];
    memset(row, 0, sizeof *row);
    return row->cell;
}

void sheet_print(const struct sheet *sheet)
{
    int width[SHEET_COLUMNS_MAX] = {0};
    for (unsigned c = 0; c < sheet->columns; c++) {
        width[c] = (int)strlen(sheet->title[c]);
        for (size_t i = 0; i < sheet->count; i++) {
            int cell = (int)strlen(sheet->row[i].cell[c]);
            width[c] = cell > width[c] ? cell : width[c];
        }
    }
    for (size_t i = 0; i <= sheet->count; i++)
        for (unsigned c = 0; c < sheet->columns; c++) {
            const char *cell = i == 0 ? sheet->title[c] : sheet->row[i - 1].cell[c];
            bool last = c + 1 == sheet->columns;
            printf("%*s%s", sheet->right >> c & 1 ? width[c] : last ? 0 : -width[c], cell, last ? "\n" : "  ");
        }
}

void sheet_close(struct sheet *sheet)
{
    free(sheet->row);
    *sheet = (struct sheet){0};
}
