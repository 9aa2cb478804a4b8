#include "tests/sim/rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void rows_add(struct rows *rows, bool holds, const char *format, ...)
{
    va_list args;
    rows->count++;
    rows->broken += !holds;
    if (rows->tap) {
        va_start(args, format);
        printf("%sok %u - ", holds ? "" : "not ", rows->count);
        (void)vprintf(format, args);
        printf("\n");
        va_end(args);
    }
    (void)fflush(stdout);
}

int rows_end(const struct rows *rows)
{
    if (rows->tap)
        printf("1..%u\n", rows->count);
    return rows->broken > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
