#include "grpc/timeout.h"

enum { DIGITS_MAX = 8 };

static uint64_t unit_ns(char unit)
{
    switch (unit) {
    case 'H':
        return 3600 * (uint64_t)1000000000;
    case 'M':
        return 60 * (uint64_t)1000000000;
    case 'S':
        return 1000000000;
    case 'm':
        return 1000000;
    case 'u':
        return 1000;
    case 'n':
        return 1;
    default:
        return 0;
    }
}

bool grpc_timeout_read(struct bytes text, uint64_t *ns)
{
    uint64_t number = 0;
    if (text.size < 2 || text.size > DIGITS_MAX + 1)
        return false;
    const uint64_t unit = unit_ns(text.data[text.size - 1]);
    for (size_t i = 0; i + 1 < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        number = 10 * number + (uint64_t)(text.data[i] - '0');
    }
    if (__builtin_mul_overflow(number, unit, ns))
        *ns = UINT64_MAX;
    return unit > 0;
}
