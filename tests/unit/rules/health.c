/* How a service's level follows what it says and how long it takes. */
#include "rules/health.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#define S 1000000000ull
#define MS 1000000ull
#define LATE (20 * MS)
#define GOOD (5 * MS)
#define TARGET (10 * MS)

static void what_it_says(void)
{
    struct health health;
    health_init(&health);
    OK_U64(health_level(&health, 1000 * S), HEALTH_ONE, "a service that was never heard is well");
    health_report(&health, 300000, 1000 * S);
    OK_U64(health_level(&health, 1000 * S), 300000, "it is as well as it says");
    OK_U64(health_level(&health, 1030 * S), 300000, "for 30 s");
    OK_U64(health_level(&health, 1031 * S), 400000, "then it recovers by a tenth each second");
    OK_U64(health_level(&health, 1031 * S + 500 * MS), 450000, "and in between");
    OK_U64(health_level(&health, 1037 * S), HEALTH_ONE, "up to the whole");
    OK_U64(health_level(&health, UINT64_MAX), HEALTH_ONE, "for good");
    OK_U64(health_level(&health, 5), 300000, "a clock that ran back changes nothing");
    health_report(&health, 0, 1031 * S);
    OK_U64(health_level(&health, 1035 * S), 0, "a new report counts at once, 0 is a level");
    health_report(&health, 7 * HEALTH_ONE, 1036 * S);
    OK_U64(health_level(&health, 1036 * S), HEALTH_ONE, "more than the whole is the whole");
}

static void how_long_it_takes(void)
{
    struct health health;
    health_init(&health);
    health_sample(&health, TARGET, TARGET, 10 * S);
    OK_U64(health_level(&health, 10 * S), HEALTH_ONE, "a sample that meets the target is good");
    health_sample(&health, LATE, TARGET, 11 * S);
    OK_U64(health_level(&health, 11 * S), 700000, "a late sample cuts to 0.7");
    for (uint64_t i = 1; i < 100; i++)
        health_sample(&health, LATE, TARGET, 11 * S + i * 10 * MS);
    OK_U64(health_level(&health, 12 * S), 700000, "once within a second, however many there are");
    health_sample(&health, LATE, TARGET, 12 * S);
    OK_U64(health_level(&health, 12 * S), 490000, "and again in the next");
    health_sample(&health, GOOD, TARGET, 12 * S + 999 * MS);
    OK_U64(health_level(&health, 12 * S), 490000, "less than a second is no good second");
    health_sample(&health, GOOD, TARGET, 13 * S);
    OK_U64(health_level(&health, 13 * S), 540000, "a good second raises by a twentieth");
    health_sample(&health, GOOD, TARGET, 15 * S + 500 * MS);
    OK_U64(health_level(&health, 15 * S), 640000, "two and a half raise by two");
    health_sample(&health, GOOD, TARGET, 16 * S);
    OK_U64(health_level(&health, 16 * S), 690000, "and the other half is not lost");
    health_sample(&health, GOOD, TARGET, 46 * S);
    OK_U64(health_level(&health, 46 * S), HEALTH_ONE, "up to the whole");
    for (uint64_t i = 0; i < 60; i++)
        health_sample(&health, LATE, TARGET, (50 + i) * S);
    OK(health_level(&health, 110 * S) < 10, "late for a minute, next to nothing is left");
    OK_U64(health_level(&health, 144 * S), health_level(&health, 110 * S) + 500000, "silence recovers");
    health_sample(&health, GOOD, TARGET, 144 * S);
    OK(health_level(&health, 144 * S) >= 500000, "and what has recovered stays when it is heard again");
}

/* Whatever comes: the level stays within 0..1, falls with late samples or reports alone. */
static void anything(void)
{
    struct random random;
    struct health health;
    uint64_t now_ns = 0;
    bool within = true, only_cut_lowers = true;
    random_seed(&random, 20);
    health_init(&health);
    for (int i = 0; i < 1000000; i++) {
        now_ns += random_below(&random, random_below(&random, 50) == 0 ? 60 * S : 2 * S);
        uint64_t at_ns = now_ns - random_below(&random, 2 * S < now_ns ? 2 * S : now_ns + 1);
        uint32_t before = health_level(&health, now_ns);
        bool late = random_below(&random, 3) == 0;
        if (random_below(&random, 20) == 0)
            health_report(&health, (uint32_t)random_below(&random, 2 * HEALTH_ONE), at_ns);
        else {
            health_sample(&health, late ? LATE : GOOD, TARGET, now_ns);
            only_cut_lowers = only_cut_lowers && (late || health_level(&health, now_ns) >= before);
        }
        within = within && health_level(&health, now_ns) <= HEALTH_ONE;
    }
    OK(within, "1,000,000 random events: the level is never beyond the whole");
    OK(only_cut_lowers, "and a good sample never lowers it");
}

int main(void)
{
    what_it_says();
    how_long_it_takes();
    anything();
    OK_U64(health_scale(HEALTH_ONE), 20, "the whole is 20 steps");
    OK_U64(health_scale(0), 0, "nothing is 0");
    OK_U64(health_scale(524999), 10, "the nearest step");
    OK_U64(health_scale(525000), 11, "halves go up");
    return tap_done();
}
