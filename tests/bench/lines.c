/*
 * lines: says how far memory is, next to what the other programs measured: see far.h. Where others use the machine as
 * well, that changes within minutes, and what waits for memory changes with it.
 */
#include "tests/bench/far.h"

enum { TRIES = 2 };

int main(void)
{
    static struct far far;
    struct random random;
    far_open(&far);
    random_seed(&random, 1);
    for (int try = 0; try < TRIES; try++)
        far_read(&far, &random);
    far_print(&far);
    printf("\n");
    far_close(&far);
    return 0;
}
