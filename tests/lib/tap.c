#include "tests/lib/tap.h"

static int tap_count, tap_failed;

bool tap_report(bool passed, const char *file, int line, const char *format, ...)
{
    va_list arguments;
    tap_count++;
    printf("%sok %d - ", passed ? "" : "not ", tap_count);
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    if (!passed) {
        tap_failed++;
        printf("# failed at %s:%d\n", file, line);
    }
    (void)fflush(stdout);
    return passed;
}

void tap_skip(const char *what, const char *why)
{
    printf("ok %d - %s # SKIP %s\n", ++tap_count, what, why);
}

int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}
