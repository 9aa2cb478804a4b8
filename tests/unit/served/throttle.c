/*
 * CL.THROTTLE and THROTTLE, as redis-cell and throttlecrab answer.
 */
#include "tests/lib/served.h"

/* What redis-cell's own test asks of it: five tokens, one a second. Then its README, and its end-to-end test. */
static const struct {
    uint64_t at_ms;
    const char *ask, *answer;
} cell[] = {
    {0, "CL.THROTTLE foo 4 1 1 6", "[1 5 5 -1 0]"}, /* never more than there can be */
    {0, "CL.THROTTLE foo 4 1 1 1", "[0 5 4 -1 1]"},
    {0, "CL.THROTTLE foo 4 1 1", "[0 5 3 -1 2]"},
    {0, "CL.THROTTLE foo 4 1 1", "[0 5 2 -1 3]"},
    {0, "CL.THROTTLE foo 4 1 1", "[0 5 1 -1 4]"},
    {0, "CL.THROTTLE foo 4 1 1", "[0 5 0 -1 5]"},
    {0, "CL.THROTTLE foo 4 1 1", "[1 5 0 1 5]"},
    {3000, "CL.THROTTLE foo 4 1 1", "[0 5 2 -1 3]"},
    {3100, "CL.THROTTLE foo 4 1 1", "[0 5 1 -1 4]"}, /* 3.9 s */
    {4000, "CL.THROTTLE foo 4 1 1", "[0 5 1 -1 4]"},
    {8000, "CL.THROTTLE foo 4 1 1", "[0 5 4 -1 1]"},
    {9500, "CL.THROTTLE foo 4 1 1", "[0 5 4 -1 1]"},
    {9500, "CL.THROTTLE foo 4 1 1 0", "[0 5 4 -1 1]"},
    {9500, "CL.THROTTLE foo 4 1 1 2", "[0 5 2 -1 3]"},
    {9500, "CL.THROTTLE foo 4 1 1 5", "[1 5 2 3 3]"},

    {10000, "CL.THROTTLE user123 15 30 60", "[0 16 15 -1 2]"},
    {10000, "CL.THROTTLE user123 15 30 60 1", "[0 16 14 -1 4]"},
    {10000, "CL.THROTTLE user124 0 1 2 1", "[0 1 0 -1 2]"},
    {10000, "CL.THROTTLE user124 0 1 2 1", "[1 1 0 2 2]"},
    {11000, "CL.THROTTLE user124 0 1 2 1", "[1 1 0 1 1]"},
    {11999, "CL.THROTTLE user124 0 1 2 1", "[1 1 0 1 1]"}, /* a millisecond is a second more */
    {12000, "CL.THROTTLE user124 0 1 2 1", "[0 1 0 -1 2]"},

    /* The time until full stays when the same key comes with another limit. */
    {20000, "CL.THROTTLE change 9 1 1 5", "[0 10 5 -1 5]"},
    {20000, "CL.THROTTLE change 9 2 1 0", "[0 10 0 -1 5]"},
    {20000, "CL.THROTTLE change 19 2 1 0", "[0 20 10 -1 5]"},
    {20000, "CL.THROTTLE change 4 1 1 1", "[1 5 0 1 5]"},

    /* Numbers that make little sense. */
    {30000, "CL.THROTTLE odd 3 0 60", "!ERR Zero rates are not supported: expected a count and a period above 0"},
    {30000, "CL.THROTTLE odd 3 60 0", "!ERR Zero rates are not supported: expected a count and a period above 0"},
    {30000, "CL.THROTTLE odd 3 -60 60", "[1 4 0 -1 0]"},
    {30000, "CL.THROTTLE odd 3 60 -60", "[1 4 0 -1 0]"},
    {30000, "CL.THROTTLE odd 3 -60 -60", "[0 4 3 -1 1]"},
    {30000, "CL.THROTTLE odd2 -1 1 1", "[1 0 0 -1 0]"},
    {30000, "CL.THROTTLE odd2 -1 1 1 0", "[0 0 0 -1 0]"},
    {30000, "CL.THROTTLE odd2 -5 1 1", "[1 -4 0 -1 0]"},
    {30000, "CL.THROTTLE odd3 3 1 1 x",
     "!ERR Couldn't parse as integer: 'x', expected quantity as a whole number of at most 64 bits"},
    {30000, "CL.THROTTLE odd3 3 1 1 3", "[0 4 1 -1 3]"},
    {30000, "CL.THROTTLE odd3 3 1 1 -2", "[0 4 3 -1 1]"}, /* gives back, */
    {30000, "CL.THROTTLE odd3 3 1 1 -9", "[0 4 4 -1 0]"}, /* no more than was taken */
    {30000, "CL.THROTTLE \"\" 3 1 1", "[0 4 3 -1 1]"},
    {30000, "CL.THROTTLE odd4 3 1 1 1 1",
     "!ERR Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]"},
    {30000, "CL.THROTTLE odd4 3 1",
     "!ERR wrong number of arguments for 'cl.throttle' command: expected "
     "cl.throttle key max_burst count period [quantity]"},

    /* Fast, and with a period that a token's time does not divide. */
    {40000, "CL.THROTTLE fast 0 1000000000 1", "[0 1 0 -1 0]"},
    {40000, "CL.THROTTLE fast2 0 3000000000 1",
     "!ERR Zero rates are not supported: expected a count and a period "
     "above 0"},
    {40000, "CL.THROTTLE seven 15 7 60", "[0 16 15 -1 9]"}, /* 8.571 s */
    {40000, "CL.THROTTLE seven 15 7 60", "[0 16 14 -1 18]"},
    {40000, "CL.THROTTLE huge 999999999999 1 1", "[0 1000000000000 999999999999 -1 1]"},
    {40000, "CL.THROTTLE huge 1000000000000 1 1",
     "!ERR max_burst is 1000000000000: expected less than 1000000000000"},
    {40000, "CL.THROTTLE big 999999999 1000000000 1 1000000000", "[0 1000000000 0 -1 1]"},
};

/* throttlecrab: what its tests say, and how its code comes to it. */
static const struct {
    uint64_t at_ms;
    const char *ask, *answer;
} crab[] = {
    {50000, "THROTTLE test_key 10 100 60", "[1 10 9 5 0]"},
    {50000, "THROTTLE test_key2 10 100 60 5", "[1 10 5 7 0]"},
    {50000, "THROTTLE k 3 3 60", "[1 3 2 40 0]"},
    {50000, "THROTTLE k 3 3 60", "[1 3 1 60 0]"},
    {50000, "THROTTLE k 3 3 60", "[1 3 0 80 0]"},
    {50000, "THROTTLE k 3 3 60", "[0 3 0 80 20]"},
    {50500, "THROTTLE k 3 3 60", "[0 3 0 79 19]"}, /* seconds are cut */
    {70000, "THROTTLE k 3 3 60", "[1 3 0 80 0]"},
    {70000, "THROTTLE k 3 3 60 4", "[0 3 0 80 80]"},  /* never possible, yet there is a time */
    {70000, "THROTTLE k 3 3 60 7", "[0 3 0 80 140]"}, /* a token's time for each that is too many */
    {70000, "THROTTLE more 3 3 60 5", "[0 3 3 20 40]"},
    {70000, "THROTTLE more 3 7 60 8", "[0 3 3 8 42]"}, /* 42.857 s */
    {70000, "THROTTLE more 3 3 60 922337206", "[0 3 3 20 18446744060]"},
    {70000, "THROTTLE more 3 3 60", "[1 3 2 40 0]"},
    {70000, "THROTTLE more 3 3 60 922337206", "[0 3 2 40 18446744073]"}, /* as far as nanoseconds count */
    {70000, "THROTTLE more 3 3 60 9223372036854775807", "[0 3 2 40 18446744073]"},
    {70000, "THROTTLE q 3 3 60 0", "[1 3 3 20 0]"},
    {70000, "THROTTLE one 1 1 10", "[1 1 0 0 0]"},
    {70000, "THROTTLE one 1 1 10", "[0 1 0 0 10]"},
    {70000, "THROTTLE one 1 1 10 -1", "!ERR negative quantity: -1"},
    {70000, "THROTTLE one 0 1 10",
     "!ERR invalid rate limit parameters: expected max_burst, count and period above "
     "0, and at most one token in a nanosecond"},
    {70000, "THROTTLE one 1 x 10", "!ERR invalid count_per_period 'x': expected a whole number of at most 64 bits"},
};

static void wait_until_ms(uint64_t begun_ns, uint64_t at_ms)
{
    uint64_t at_ns = begun_ns + at_ms * SERVED_MS;
    if (at_ns > served.now_ns)
        served_wait_ns(at_ns - served.now_ns);
}

/* How many of `tries` single requests are allowed. */
static unsigned take_all(const char *line, unsigned tries)
{
    unsigned allowed = 0;
    bool redis_cell_dialect = strncmp(line, "CL.", 3) == 0;
    for (unsigned i = 0; i < tries; i++)
        allowed += served_ask(line)[1] == (redis_cell_dialect ? '0' : '1');
    return allowed;
}

/* Whatever the pause, a key gives its burst and no more. */
static void test_idle(void)
{
    static const uint64_t pauses_ms[] = {1, 1000, 59999, 60000, 61000, 119000, 120000, 121000, 600000, 86400000};
    for (size_t i = 0; i < sizeof pauses_ms / sizeof pauses_ms[0]; i++) {
        served_wait_ms(200000);
        OK_U64(take_all("THROTTLE idle 100 100 60", 300), 100, "THROTTLE gives its burst");
        served_wait_ms(pauses_ms[i]);
        uint64_t refilled = pauses_ms[i] / 600 < 100 ? pauses_ms[i] / 600 : 100;
        OK_U64(take_all("THROTTLE idle 100 100 60", 300), refilled, "after %llu ms what was refilled",
               (unsigned long long)pauses_ms[i]);
        served_wait_ms(200000);
        OK_U64(take_all("CL.THROTTLE idle 99 100 60", 300), 100, "CL.THROTTLE gives its burst");
        served_wait_ms(pauses_ms[i]);
        OK_U64(take_all("CL.THROTTLE idle 99 100 60", 300), refilled, "after %llu ms what was refilled",
               (unsigned long long)pauses_ms[i]);
    }
}

/* Clients that bring ever other limits have half of the room for limits, until theirs are forgotten. */
static void test_many_limits(void)
{
    char line[100];
    unsigned refused = 0;
    for (unsigned i = 1; i <= NODE_LIMITS_DEFAULT; i++) {
        (void)snprintf(line, sizeof line, "CL.THROTTLE many%u 1 %u 1", i % 500, i);
        refused += served_ask(line)[0] == '!';
    }
    OK(refused > NODE_LIMITS_DEFAULT / 3 && served_told("different limits are in use: more of them are for rules"),
       "%u limits are refused: %s", refused, served.told);
    OK_STRING(served_ask("CL.THROTTLE many1 1 1 1"), "[0 2 0 -1 2]", "one that is known is not");
    OK(set_rules("{id: x, service: f, rate: 12345/m}"), "nor one of a rule");
    served_wait_ms(20000);
    OK_STRING(served_ask("CL.THROTTLE many1 1 4097 1"), "[0 2 1 -1 0]", "nor are new ones after a while");
}

int main(void)
{
    served_open();
    uint64_t begun_ns = served.now_ns;
    for (size_t i = 0; i < sizeof cell / sizeof cell[0]; i++) {
        wait_until_ms(begun_ns, cell[i].at_ms);
        OK_STRING(served_ask(cell[i].ask), cell[i].answer, "at %llu ms: %s", (unsigned long long)cell[i].at_ms,
                  cell[i].ask);
    }
    for (size_t i = 0; i < sizeof crab / sizeof crab[0]; i++) {
        wait_until_ms(begun_ns, crab[i].at_ms);
        OK_STRING(served_ask(crab[i].ask), crab[i].answer, "at %llu ms: %s", (unsigned long long)crab[i].at_ms,
                  crab[i].ask);
    }
    test_idle();
    test_many_limits();
    served_close();
    return tap_done();
}
