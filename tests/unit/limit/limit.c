#include "limit/limit.h"

#include "base/random.h"
#include "limit/named_limit.h"
#include "tests/lib/tap.h"

__extension__ typedef unsigned __int128 wide;
#define SECOND_NS 1000000000ull
#define DAY_NS (86400 * SECOND_NS)

static struct limit_terms terms_of(uint64_t capacity, uint64_t rate, uint64_t period_ns, uint64_t overshoot)
{
    return (struct limit_terms){.capacity = capacity, .rate = rate, .period_ns = period_ns, .overshoot = overshoot};
}

static void units(void)
{
    static const struct {
        uint64_t capacity, rate, period_ns, overshoot;
        int64_t units_per_token, units_per_tick;
        uint64_t tick_ns;
    } cases[] = {
        {100, 100, SECOND_NS, 0, 10000000, 1, 1},
        {100, 6000, 60 * SECOND_NS, 20, 10000000, 1, 1},
        {1000, 7, SECOND_NS, 0, 1000000000, 7, 1},
        {1, 1, 366 * DAY_NS, 0, 31622400000000000, 1, 1},
        {1000, 1, 366 * DAY_NS, 0, 316224000000000, 1, 100},
        {1, 3, 1, 0, 1, 3, 1},
        {LIMIT_CAPACITY_MAX, LIMIT_CAPACITY_MAX, SECOND_NS, LIMIT_CAPACITY_MAX, 1, 1000, 1},
        {10, 1, 10, 1000000000000, 10, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct limit limit;
        struct error error;
        const struct limit_terms terms =
            terms_of(cases[i].capacity, cases[i].rate, cases[i].period_ns, cases[i].overshoot);
        OK(limit_init(&limit, &terms, &error), "%" PRIu64 " at %" PRIu64 " per %" PRIu64 " ns", cases[i].capacity,
           cases[i].rate, cases[i].period_ns);
        OK_I64(limit.units_per_token, cases[i].units_per_token, "... a token is %" PRId64 " units",
               cases[i].units_per_token);
        OK(limit.units_per_tick == cases[i].units_per_tick && limit.tick_ns == cases[i].tick_ns,
           "... %" PRId64 " of which come every %" PRIu64 " ns", cases[i].units_per_tick, cases[i].tick_ns);
        OK(limit.capacity_units == (int64_t)cases[i].capacity * cases[i].units_per_token &&
               limit.overshoot_units == (int64_t)cases[i].overshoot * cases[i].units_per_token,
           "... capacity and overshoot in units");
    }
}

/* Tokens of windows have parts, which peers grant each other; those of logs and static splits are whole. */
static void units_that_do_not_refill(void)
{
    static const struct {
        struct limit_terms terms;
        int64_t units_per_token;
    } cases[] = {
        {{.kind = LIMIT_CELL, .capacity = 3}, 65536},
        {{.kind = LIMIT_CELL, .flags = LIMIT_PERSISTENT, .capacity = 3, .overshoot = 2}, 65536},
        {{.kind = LIMIT_CELL, .capacity = LIMIT_CAPACITY_MAX, .overshoot = LIMIT_CAPACITY_MAX}, 65536},
        {{.kind = LIMIT_CELL, .flags = LIMIT_SPLIT, .capacity = 3}, 1},
        {{.kind = LIMIT_LOG, .capacity = 3, .period_ns = SECOND_NS}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct limit limit = {0};
        struct error error;
        const struct limit_terms *terms = &cases[i].terms;
        OK(limit_init(&limit, terms, &error) && limit.units_per_token == cases[i].units_per_token &&
               limit.units_per_tick == 0 && limit.tick_ns == 1,
           "a token of %s of %" PRIu64 "%s is %" PRId64 " units", terms->kind == LIMIT_LOG ? "a log" : "a window",
           terms->capacity, terms->flags & LIMIT_SPLIT ? " that is split" : "", limit.units_per_token);
        OK(limit.capacity_units == (int64_t)terms->capacity * limit.units_per_token &&
               limit.overshoot_units == (int64_t)terms->overshoot * limit.units_per_token &&
               limit.capacity_units <= (int64_t)1 << 60,
           "... capacity and overshoot in units");
    }
}

static void any_limit_is_exact(void)
{
    struct random random;
    random_seed(&random, 1);
    unsigned refused = 0, wrong = 0, early = 0;
    for (int i = 0; i < 200000; i++) {
        struct limit limit;
        struct error error;
        uint64_t capacity = 1 + random_below(&random, (uint64_t)1 << random_below(&random, 40));
        uint64_t rate = 1 + random_below(&random, (uint64_t)1 << random_below(&random, 40));
        uint64_t period_ns = 1 + random_below(&random, (uint64_t)1 << random_below(&random, 55));
        const struct limit_terms terms = terms_of(capacity, rate, period_ns, random_below(&random, capacity));
        if (!limit_init(&limit, &terms, &error)) {
            refused++;
            continue;
        }
        /* rate tokens per period, exactly: units_per_tick/units_per_token = rate * tick/period */
        wrong += (wide)limit.units_per_tick * period_ns != (wide)limit.units_per_token * rate * limit.tick_ns;
        wrong += limit.tick_ns > 1000000 || limit.tick_ns > period_ns || limit.units_per_tick < 1 ||
                 limit.units_per_token < 1 || limit.capacity_units > (int64_t)1 << 60;
        int64_t some = (int64_t)random_below(&random, (uint64_t)limit.capacity_units) + 1;
        uint64_t ns = limit_refill_ns(&limit, some);
        if (ns != UINT64_MAX)
            early += (wide)(ns / limit.tick_ns) * (wide)limit.units_per_tick < (wide)some ||
                     (wide)(ns / limit.tick_ns - 1) * (wide)limit.units_per_tick >= (wide)some;
    }
    printf("# %u of 200000 need more than 60 bits\n", refused);
    OK_U64(wrong, 0, "a tick's refill is a whole number of units, whatever the rate");
    OK_U64(early, 0, "a refill lasts as many ticks as it needs and no more");
    OK(refused < 100000, "most limits can be counted exactly");
}

static void mistakes(void)
{
    static const struct {
        const char *name;
        uint64_t capacity, rate, period_ns, overshoot;
        const char *said;
    } cases[] = {
        {"", 1, 1, 1, 0, "name has 0 bytes: expected 1 to 63"},
        {"0123456789012345678901234567890123456789012345678901234567890123", 1, 1, 1, 0,
         "name has 64 bytes: expected 1 to 63"},
        {"x", 0, 1, 1, 0, "capacity is 0: expected 1 to 1000000000000 tokens"},
        {"x", LIMIT_CAPACITY_MAX + 1, 1, 1, 0, "capacity is 1000000000001: expected 1 to 1000000000000 tokens"},
        {"x", 1, 0, 1, 0, "rate is 0: expected 1 to 1000000000000 tokens per period"},
        {"x", 1, UINT64_MAX, 1, 0, "rate is 18446744073709551615: expected 1 to 1000000000000 tokens per period"},
        {"x", 1, 1, 0, 0, "rate's period is 0 ns: expected at most 366 days"},
        {"x", 1, 1, 367 * DAY_NS, 0, "rate's period is 31708800000000000 ns: expected at most 366 days"},
        {"x", 1, 1, 1, LIMIT_CAPACITY_MAX + 1, "overshoot is 1000000000001: expected 0 to 1000000000000 tokens"},
        {"x", LIMIT_CAPACITY_MAX, 1, 366 * DAY_NS, 0,
         "capacity 1000000000000 at this rate needs more than 60 bits to count exactly: expected a smaller "
         "capacity or "
         "a rate with a shorter or rounder period"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct named_limit limit;
        struct error error = {0};
        const struct limit_terms terms =
            terms_of(cases[i].capacity, cases[i].rate, cases[i].period_ns, cases[i].overshoot);
        OK(!named_limit_init(&limit, bytes_of(cases[i].name), &terms, &error) && error.exit_status == 78,
           "an operator's mistake, exit status 78");
        OK_STRING(error.text, cases[i].said, "... %s", cases[i].said);
    }
    struct named_limit limit;
    struct error error;
    const struct limit_terms terms = terms_of(1, 1, 1, 0);
    OK(!named_limit_init(&limit, (struct bytes){"a\0b", 3}, &terms, &error), "a zero byte in a name is refused");
}

static void refill_times(void)
{
    struct limit limit;
    struct error error;
    struct limit_terms terms = terms_of(1000, 1, 366 * DAY_NS, 0);
    (void)limit_init(&limit, &terms, &error);
    OK_U64(limit_refill_ns(&limit, 0), 0, "nothing takes no time");
    OK_U64(limit_refill_ns(&limit, -5), 0, "less than nothing as well");
    OK_U64(limit_refill_ns(&limit, 1), 100, "a unit takes a tick");
    OK_U64(limit_refill_ns(&limit, limit.units_per_token), 366 * DAY_NS, "a token takes its period");
    OK_U64(limit_refill_ns(&limit, INT64_MAX), UINT64_MAX, "what takes longer than time itself takes forever");
    terms = terms_of(10, 3, 1, 0);
    (void)limit_init(&limit, &terms, &error);
    OK_U64(limit_refill_ns(&limit, 4), 2, "a part of a tick is a tick");
}

static void names(void)
{
    static struct named_limits limits;
    struct error error;
    const struct limit_terms terms = terms_of(1, 1, 1, 0);
    (void)named_limit_init(&limits.limit[limits.count++], bytes_of("one"), &terms, &error);
    (void)named_limit_init(&limits.limit[limits.count++], bytes_of("two"), &terms, &error);
    OK_I64(named_limit_find(&limits, bytes_of("two")), 1, "a limit is found by its name");
    OK_I64(named_limit_find(&limits, bytes_of("tw")), -1, "... its whole name");
    OK_I64(named_limit_find_id(&limits, limits.limit[0].id), 0, "... by its id");
    OK_I64(named_limit_find_id(&limits, limits.limit[0].id + 1), -1, "... or not at all");
    OK_U64(limits.limit[0].id, 0xba2719efu, "an id is FNV-1a of the name, at every peer");
}

static bool is_even(void *context, uint16_t index)
{
    (void)context;
    return index % 2 == 0;
}

/* Random terms come and go; a map by index says what each index is. */
static void sets(void)
{
    enum { ROOM = 100 };
    struct limit_set set;
    struct limit_terms model[ROOM] = {{0}};
    struct random random;
    struct error error;
    uint64_t wrong = 0, full = 0;
    OK(limit_set_init(&set, ROOM, NULL), "a set of 100");
    random_seed(&random, 2);
    for (int i = 0; i < 100000; i++) {
        const struct limit_terms terms =
            terms_of(1 + random_below(&random, 15), 1 + random_below(&random, 15), SECOND_NS, 0);
        int known = -1;
        for (int m = 0; m < ROOM; m++)
            known = limit_terms_equal(&model[m], &terms) ? m : known;
        wrong += limit_set_find(&set, &terms) != known;
        int index = limit_set_intern(&set, &terms, &error);
        full += index < 0;
        wrong += known >= 0 && index != known;
        wrong += index >= 0 && known < 0 && model[index].capacity != 0;
        wrong += index < 0 && set.used != ROOM;
        if (index >= 0)
            model[index] = terms;
        if (random_below(&random, 300) != 0)
            continue;
        limit_set_sweep(&set, is_even, NULL);
        for (int m = 1; m < ROOM; m += 2)
            model[m] = terms_of(0, 0, 0, 0);
    }
    OK_U64(wrong, 0, "equal terms have one index, which stays until nobody uses it");
    OK(full > 0, "a full set refuses");
    OK_STRING(error.text, "100 different limits are in use: expected at most so many", "... and says so");
    limit_set_close(&set);
}

static void quotients(void)
{
    struct random random;
    uint64_t wrong = 0;
    random_seed(&random, 3);
    for (int i = 0; i < 1000000; i++) {
        uint64_t divisor = (random_u64(&random) >> random_below(&random, 64)) | 1;
        uint64_t dividend = random_u64(&random) >> random_below(&random, 64);
        if (i % 2 == 0) /* next to a multiple, where a quotient changes */
            dividend = dividend / divisor * divisor - random_below(&random, 2);
        wrong += limit_quotient(dividend, divisor, UINT64_MAX / divisor) != dividend / divisor;
    }
    OK_U64(wrong, 0, "a quotient is that of a division");
    OK_U64(limit_quotient(UINT64_MAX, 1, UINT64_MAX), UINT64_MAX, "... by one");
    OK_U64(limit_quotient(0, UINT64_MAX, 1), 0, "... of nothing");
    OK_U64(limit_quotient(UINT64_MAX, UINT64_MAX, 1), 1, "... of the largest by itself");
}

static void numbers_of_weights(void)
{
    const struct limit_weight two[] = {{bytes_of("eu-west"), 100000000}, {bytes_of("us-east"), 900000000}},
                              other[] = {{bytes_of("eu-west"), 100000001}, {bytes_of("us-east"), 899999999}},
                              shifted[] = {{bytes_of("eu-westu"), 100000000}, {bytes_of("s-east"), 900000000}};
    const uint64_t number = limit_weights_number(two, 2);
    struct limit_terms terms = {.flags = LIMIT_PERSISTENT, .home = number}, read = {0};
    OK(limit_home_is_list(number) && !limit_home_is_one(number), "a list of weights has a number of its own");
    OK(limit_home_is_one(limit_home_of(bytes_of("us-east"))) && !limit_home_is_list(UINT32_MAX),
       "which no region has");
    const uint64_t daemon = limit_home_of_daemon(bytes_of("us-east"), bytes_of("n-1"));
    OK(limit_home_is_one(daemon) && !limit_home_is_list(daemon) && daemon > UINT32_MAX,
       "a daemon has its number");
    OK(daemon == limit_home_named(bytes_of("us-east/n-1")), "which its region and its name make");
    OK(daemon != limit_home_of_daemon(bytes_of("us-eas"), bytes_of("tn-1")) &&
           daemon != limit_home_of_daemon(bytes_of("eu-west"), bytes_of("n-1")),
       "and no other ones");
    OK(daemon == UINT64_C(23684702360852622), "it is the same on all machines: %" PRIu64, daemon);
    OK_U64(limit_home_named(bytes_of("us-east")), limit_home_of(bytes_of("us-east")), "a region stands by itself");
    terms.home = daemon;
    OK(limit_terms_set_word(&read, limit_terms_word(&terms)) && read.home == daemon,
       "the word of the terms has it");
    terms.home = number;
    OK(number != limit_weights_number(other, 2) && number != limit_weights_number(shifted, 2) &&
           number != limit_weights_number(two, 1),
       "and no other list");
    OK(number == UINT64_C(66201685615116564), "it is the same on all machines: %" PRIu64, number);
    OK(limit_terms_set_word(&read, limit_terms_word(&terms)) && read.home == number &&
           read.flags == LIMIT_PERSISTENT,
       "the word of the terms has it");
    read = (struct limit_terms){0};
    OK(!limit_terms_set_word(&read, (UINT64_C(1) << 40) << 8),
       "what is neither a region, a daemon nor a list is no word");
    const uint32_t hash = limit_terms_hash(&terms);
    terms.home ^= (uint64_t)1 << 50;
    OK(limit_terms_hash(&terms) != hash, "all of it counts in the hash");
}

int main(void)
{
    units();
    units_that_do_not_refill();
    quotients();
    any_limit_is_exact();
    mistakes();
    refill_times();
    names();
    numbers_of_weights();
    sets();
    return tap_done();
}
