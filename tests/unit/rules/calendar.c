/* Hours, days, weeks, months and years of named zones; daylight saving above all. */
#include "rules/calendar.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#include <time.h>

#define S 1000000000ull
#define H (3600 * S)

/* 2026-03-29T00:30:00 is UTC. */
static uint64_t at(const char *utc)
{
    struct tm tm = {0};
    char *end = strptime(utc, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!end || *end) {
        printf("Bail out! \"%s\" is no time\n", utc);
        return 0;
    }
    return (uint64_t)timegm(&tm) * S;
}

struct expected {
    const char *zone;
    enum rule_calendar unit;
    const char *when, *start, *end; /* UTC */
    const char *what;
};

static const struct expected table[] = {
    {"UTC", RULE_HOUR, "2026-11-21T03:15:42", "2026-11-21T03:00:00", "2026-11-21T04:00:00", "an hour"},
    {"UTC", RULE_HOUR, "2026-11-21T03:00:00", "2026-11-21T03:00:00", "2026-11-21T04:00:00",
     "begins with its start"},
    {"UTC", RULE_HOUR, "2026-11-21T03:59:59", "2026-11-21T03:00:00", "2026-11-21T04:00:00", "ends before its end"},
    {"Asia/Kathmandu", RULE_HOUR, "2026-11-21T03:15:00", "2026-11-21T03:15:00", "2026-11-21T04:15:00",
     "an hour where the offset is 5:45"},
    {"Europe/Berlin", RULE_HOUR, "2026-10-25T00:30:00", "2026-10-25T00:00:00", "2026-10-25T01:00:00",
     "02:30, the first time"},
    {"Europe/Berlin", RULE_HOUR, "2026-10-25T01:30:00", "2026-10-25T01:00:00", "2026-10-25T02:00:00",
     "02:30, the second time"},
    {"Australia/Lord_Howe", RULE_HOUR, "2026-04-04T14:50:00", "2026-04-04T14:00:00", "2026-04-04T15:00:00",
     "the hour before half an hour comes twice"},
    {"Australia/Lord_Howe", RULE_HOUR, "2026-04-04T15:10:00", "2026-04-04T15:00:00", "2026-04-04T15:30:00",
     "the half hour"},
    {"Australia/Lord_Howe", RULE_HOUR, "2026-10-03T15:40:00", "2026-10-03T15:30:00", "2026-10-03T16:00:00",
     "the hour of which half is skipped"},
    {"UTC", RULE_DAY, "2026-11-21T03:15:42", "2026-11-21T00:00:00", "2026-11-22T00:00:00", "a day"},
    {"Asia/Tokyo", RULE_DAY, "2026-11-21T15:00:00", "2026-11-21T15:00:00", "2026-11-22T15:00:00", "a day in Tokyo"},
    {"Europe/Berlin", RULE_DAY, "2026-03-29T12:00:00", "2026-03-28T23:00:00", "2026-03-29T22:00:00",
     "a day of 23 hours"},
    {"Europe/Berlin", RULE_DAY, "2026-10-25T12:00:00", "2026-10-24T22:00:00", "2026-10-25T23:00:00",
     "a day of 25 hours"},
    {"America/Havana", RULE_DAY, "2026-11-01T05:30:00", "2026-11-01T04:00:00", "2026-11-02T05:00:00",
     "midnight comes twice: the day begins at the first"},
    {"America/Havana", RULE_DAY, "2026-11-01T04:30:00", "2026-11-01T04:00:00", "2026-11-02T05:00:00",
     "and there is one day of that name"},
    {"America/Sao_Paulo", RULE_DAY, "2018-11-04T12:00:00", "2018-11-04T03:00:00", "2018-11-05T02:00:00",
     "midnight is skipped: the day begins at 01:00"},
    {"America/Sao_Paulo", RULE_DAY, "2018-11-04T02:59:59", "2018-11-03T03:00:00", "2018-11-04T03:00:00",
     "and the day before ends there"},
    {"Pacific/Apia", RULE_DAY, "2011-12-30T09:00:00", "2011-12-29T10:00:00", "2011-12-30T10:00:00",
     "a day is skipped: the one before ends as always"},
    {"Pacific/Apia", RULE_DAY, "2011-12-30T10:00:00", "2011-12-30T10:00:00", "2011-12-31T10:00:00",
     "and the one after begins there"},
    {"America/St_Johns", RULE_DAY, "2006-10-29T02:30:30", "2006-10-29T02:30:00", "2006-10-30T03:30:00",
     "clocks are set back a minute after midnight: this minute is in the new day"},
    {"America/St_Johns", RULE_DAY, "2006-10-29T02:45:00", "2006-10-29T02:30:00", "2006-10-30T03:30:00",
     "and so is the last hour of the date before, the second time"},
    {"America/St_Johns", RULE_WEEK, "2006-10-29T02:45:00", "2006-10-23T02:30:00", "2006-10-30T03:30:00",
     "within a week that changes nothing"},
    {"Antarctica/Casey", RULE_DAY, "2010-03-04T16:30:00", "2010-03-04T13:00:00", "2010-03-05T16:00:00",
     "a new day that lasted two hours before the old one came back is one"},
    {"UTC", RULE_WEEK, "2026-11-21T03:15:42", "2026-11-16T00:00:00", "2026-11-23T00:00:00",
     "a week begins on Monday"},
    {"UTC", RULE_WEEK, "2026-11-22T23:59:59", "2026-11-16T00:00:00", "2026-11-23T00:00:00", "and ends with Sunday"},
    {"UTC", RULE_WEEK, "2027-01-01T12:00:00", "2026-12-28T00:00:00", "2027-01-04T00:00:00", "over a new year"},
    {"America/New_York", RULE_WEEK, "2026-03-08T12:00:00", "2026-03-02T05:00:00", "2026-03-09T04:00:00",
     "a week of 167 hours"},
    {"UTC", RULE_MONTH, "2026-02-21T03:15:42", "2026-02-01T00:00:00", "2026-03-01T00:00:00", "a month of 28 days"},
    {"UTC", RULE_MONTH, "2028-02-29T03:15:42", "2028-02-01T00:00:00", "2028-03-01T00:00:00", "a month of 29 days"},
    {"UTC", RULE_MONTH, "2026-12-31T23:59:59", "2026-12-01T00:00:00", "2027-01-01T00:00:00", "December"},
    {"Europe/Berlin", RULE_MONTH, "2026-03-31T12:00:00", "2026-02-28T23:00:00", "2026-03-31T22:00:00",
     "a month of 31 days less an hour, on its last"},
    {"UTC", RULE_YEAR, "2026-11-21T03:15:42", "2026-01-01T00:00:00", "2027-01-01T00:00:00", "a year"},
    {"Pacific/Kiritimati", RULE_YEAR, "2026-12-31T10:00:00", "2026-12-31T10:00:00", "2027-12-31T10:00:00",
     "a year that begins first"},
    {"America/Los_Angeles", RULE_YEAR, "1970-01-01T00:00:00", "1970-01-01T00:00:00", "1970-01-01T08:00:00",
     "what began before 1970 begins with it"},
};

static void by_table(void)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct expected *expected = &table[i];
        struct error error;
        struct calendar *calendar = calendar_create(expected->unit, bytes_of(expected->zone), &error);
        uint64_t start_ns = 0, end_ns = 0;
        if (calendar)
            calendar_period(calendar, at(expected->when), &start_ns, &end_ns);
        OK(start_ns == at(expected->start) && end_ns == at(expected->end), "%s, %s: %s", expected->zone,
           expected->when, expected->what);
        calendar_destroy(&calendar);
    }
}

/* Periods tile time: each moment lies in its own, which is the same from its first to its last moment. */
static void no_gaps(void)
{
    static const char *const zones[] =
        {"UTC",           "Europe/Berlin",     "America/New_York", "Australia/Lord_Howe", "America/Havana",
         "Pacific/Apia",  "America/Sao_Paulo", "Asia/Beirut",      "America/St_Johns",    "Africa/Casablanca",
         "Europe/Dublin", "Antarctica/Troll",  "Asia/Gaza",        "Pacific/Kwajalein",   "Africa/Monrovia"};
    struct random random;
    random_seed(&random, 11);
    for (size_t z = 0; z < sizeof zones / sizeof zones[0]; z++) {
        uint64_t broken = 0;
        for (int unit = RULE_HOUR; unit < RULE_CALENDAR_END; unit++) {
            struct error error;
            struct calendar *calendar = calendar_create((enum rule_calendar)unit, bytes_of(zones[z]), &error);
            for (int i = 0; i < 1000 && calendar; i++) {
                uint64_t when_ns = random_below(&random, 80ull * 366 * 24 * H), start_ns, end_ns, s_ns, e_ns;
                calendar_period(calendar, when_ns, &start_ns, &end_ns);
                broken += !(start_ns <= when_ns && when_ns < end_ns);
                calendar_period(calendar, start_ns, &s_ns, &e_ns);
                broken += s_ns != start_ns || e_ns != end_ns;
                calendar_period(calendar, end_ns - 1, &s_ns, &e_ns);
                broken += s_ns != start_ns || e_ns != end_ns;
                calendar_period(calendar, end_ns, &s_ns, &e_ns);
                broken += s_ns != end_ns;
            }
            broken += !calendar;
            calendar_destroy(&calendar);
        }
        OK_U64(broken, 0, "%s: 5,000 random moments, no gap, no overlap", zones[z]);
    }
}

/* The same right before and after clocks are set, in all of these years. */
static void around_changes(void)
{
    static const struct {
        const char *zone, *changes;
    } times[] = {{"America/St_Johns", "2000-10-29T02:31:00"}, {"America/Goose_Bay", "2010-11-07T03:01:00"},
                 {"America/Moncton", "2006-10-29T03:01:00"},  {"Antarctica/Casey", "2010-03-04T15:00:00"},
                 {"Pacific/Apia", "2011-12-30T10:00:00"},     {"Asia/Pyongyang", "2015-08-14T15:00:00"},
                 {"America/Havana", "2026-11-01T05:00:00"},   {"America/Sao_Paulo", "2018-02-18T02:00:00"}};
    enum { HOURS = 4, STEP_S = 20, STEPS = 2 * HOURS * 3600 / STEP_S };
    for (size_t t = 0; t < sizeof times / sizeof times[0]; t++) {
        uint64_t broken = 0;
        for (int unit = RULE_HOUR; unit < RULE_CALENDAR_END; unit++) {
            struct error error;
            struct calendar *calendar = calendar_create((enum rule_calendar)unit, bytes_of(times[t].zone), &error);
            uint64_t last_start_ns = 0, last_end_ns = 0;
            for (uint64_t i = 0; i < STEPS && calendar; i++) {
                const uint64_t when_ns = at(times[t].changes) - HOURS * H + i * STEP_S * S + 1;
                uint64_t start_ns, end_ns;
                calendar_period(calendar, when_ns, &start_ns, &end_ns);
                broken += !(start_ns <= when_ns && when_ns < end_ns);
                broken += i > 0 && start_ns != last_end_ns && (start_ns != last_start_ns || end_ns != last_end_ns);
                last_start_ns = start_ns;
                last_end_ns = end_ns;
            }
            broken += !calendar;
            calendar_destroy(&calendar);
        }
        OK_U64(broken, 0, "%s: no gap, no overlap around %s", times[t].zone, times[t].changes);
    }
}

static void zones(void)
{
    struct error error = {0};
    OK(calendar_zone_known(bytes_of("Europe/Berlin")), "Berlin is known");
    OK(calendar_zone_known(bytes_of("Etc/GMT+3")), "and what the database calls GMT+3");
    OK(!calendar_zone_known(bytes_of("GMT+3:17")), "not what only looks like a zone");
    OK(!calendar_zone_known(bytes_of("Europe/Berlinn")), "nor a misspelt one");
    OK(!calendar_zone_known(bytes_of("")), "nor none");
    OK(!calendar_zone_known(bytes_of("Europe/B\xc3\xa9rlin")), "nor bytes beyond ASCII");
    OK(!calendar_create(RULE_DAY, bytes_of("Mars/Olympus"), &error), "no calendar for an unknown zone");
    OK_STRING(error.text, "\"Mars/Olympus\" is no time zone: expected a name such as Europe/Berlin",
              "and it says so");
}

int main(void)
{
    by_table();
    no_gaps();
    around_changes();
    zones();
    return tap_done();
}
