/* A clock that is slowed: never back, never a jump, and exact where it is not held. */
#include "base/held_clock.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#define SECOND UINT64_C(1000000000)

static void free_clock(void)
{
    const struct held_clock clock = {0};
    bool exact = true;
    const uint64_t times_ns[] = {0, 1, 999999, 1000000, 1000001, 86400 * SECOND + 7, UINT64_C(1) << 61};
    for (size_t i = 0; i < sizeof times_ns / sizeof times_ns[0]; i++)
        exact &= held_clock_show(&clock, times_ns[i]) == times_ns[i] &&
                 held_clock_raw(&clock, times_ns[i]) == times_ns[i];
    OK(exact, "a clock that was never held shows the raw time, to the nanosecond");
    OK_U64(held_clock_raw(&clock, UINT64_MAX), UINT64_MAX, "never stays never");
}

static void held(void)
{
    struct held_clock clock = {0};
    held_clock_bend(&clock, 100 * SECOND, 90909);
    OK_U64(held_clock_show(&clock, 100 * SECOND), 100 * SECOND, "a bend moves no time");
    OK_U64(held_clock_show(&clock, 111 * SECOND), 110 * SECOND + 1000, "then 11 s take 10 s, to a millionth");
    OK_U64(held_clock_show(&clock, 99 * SECOND), 100 * SECOND,
           "who read the raw clock before sees no earlier time");
    held_clock_bend(&clock, 111 * SECOND, 0);
    OK_U64(held_clock_show(&clock, 112 * SECOND), 111 * SECOND + 1000, "what was lost is not made up for");
    held_clock_bend(&clock, 200 * SECOND, HELD_CLOCK_PPM_MAX);
    OK_U64(held_clock_raw(&clock, UINT64_MAX), UINT64_MAX, "never stays never");
}

static void drawn(void)
{
    struct random random;
    struct held_clock clock = {0};
    uint64_t raw_ns = 0, shown_ns = 0;
    bool forward = true, met = true;
    random_seed(&random, 7);
    for (unsigned i = 0; i < 100000; i++) {
        raw_ns += random_below(&random, 3 * SECOND);
        const uint64_t now_ns = held_clock_show(&clock, raw_ns), wanted_ns = now_ns + random_below(&random, SECOND);
        forward &= now_ns >= shown_ns && now_ns <= raw_ns;
        shown_ns = now_ns;
        const uint64_t at_ns = held_clock_raw(&clock, wanted_ns);
        met &= held_clock_show(&clock, at_ns) >= wanted_ns &&
               (at_ns <= raw_ns || held_clock_show(&clock, at_ns - 2) <= wanted_ns);
        if (i % 10 == 0)
            held_clock_bend(&clock, raw_ns, (uint32_t)random_below(&random, HELD_CLOCK_PPM_MAX + 1));
    }
    OK(forward, "it never runs back, and never ahead of the raw clock");
    OK(met, "what is due then is due at that raw time, and hardly sooner");
}

int main(void)
{
    free_clock();
    held();
    drawn();
    return tap_done();
}
