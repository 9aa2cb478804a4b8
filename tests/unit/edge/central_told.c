/* Which reasons of a store that is down the log has, and how many. */
#include "edge/central/central_told.h"
#include "tests/lib/tap.h"

#include <string.h>

int main(void)
{
    struct central_told told = {0};
    OK(central_told_note(&told, "the sentinel at a: refused") &&
           !central_told_note(&told, "the sentinel at a: refused"),
       "a reason is told once");
    OK(central_told_note(&told, "the store at b: its certificate is refused") &&
           !central_told_note(&told, "the sentinel at a: refused"),
       "another one is told as well, and reasons that take turns are not told again");
    char longest[2 * CENTRAL_ERROR_BYTES];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    OK(central_told_note(&told, longest) && !central_told_note(&told, longest),
       "one that is too long is told once");
    OK(central_told_note(&told, "4") && !central_told_note(&told, "5"), "there are four lines at most");
    told.count = 0;
    OK(central_told_note(&told, "4"), "until the store was up");
    return tap_done();
}
