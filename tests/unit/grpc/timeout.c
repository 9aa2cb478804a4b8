/*
 * grpc-timeout.
 */
#include "grpc/timeout.h"

#include "tests/lib/tap.h"

static uint64_t read(const char *text)
{
    uint64_t ns = 0;
    return grpc_timeout_read(bytes_of(text), &ns) ? ns : 7;
}

int main(void)
{
    OK_U64(read("1n"), 1, "nanoseconds");
    OK_U64(read("20u"), 20000, "microseconds");
    OK_U64(read("100m"), 100000000, "milliseconds");
    OK_U64(read("5S"), 5000000000, "seconds");
    OK_U64(read("2M"), 120000000000, "minutes");
    OK_U64(read("1H"), 3600000000000, "hours");
    OK_U64(read("0m"), 0, "no time at all");
    OK_U64(read("99999999H"), UINT64_MAX, "for ever");
    static const char *const wrong[] = {"", "5", "m", "-1m", "1 m", "1x", "123456789m", "1.5S"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        OK_U64(read(wrong[i]), 7, "'%s' is none", wrong[i]);
    return tap_done();
}
