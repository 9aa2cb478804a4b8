/*
 * Numbers as people write them, at each length.
 */
#include "wire/digits.h"

#include "tests/lib/tap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* True if the number is written as printf writes it, and nothing behind it changes. */
static bool is_right(uint64_t number)
{
    char expected[DIGITS_BYTES + 1], written[DIGITS_BYTES + 1];
    const size_t size = (size_t)snprintf(expected, sizeof expected, "%" PRIu64, number);
    memset(written, '#', sizeof written);
    const char *end = digits_write(written, number);
    return end == written + size && memcmp(written, expected, size) == 0 && *end == '#';
}

int main(void)
{
    bool right = true;
    for (uint64_t number = 0; number <= 1001; number++)
        right = right && is_right(number);
    OK(right, "every number of up to three digits");
    for (uint64_t power = 10; power <= UINT64_MAX / 10; power *= 10)
        right = right && is_right(power - 1) && is_right(power) && is_right(power + 7);
    OK(right, "the first and the last number of each length");
    OK(is_right(UINT64_MAX), "the largest one");
    return tap_done();
}
