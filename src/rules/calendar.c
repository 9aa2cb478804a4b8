/*
 * Periods by ICU's calendars. calendar_create asks ICU once in advance, so that later calls do not
 * allocate.
 */
#include "rules/calendar.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <unicode/ucal.h>

#define MS_NS 1000000ull
#define HOUR_MS 3600000.0

struct calendar {
    enum rule_calendar unit;
    UCalendar *icu;
};

/* The zone's name in ICU's encoding. Returns false if no zone can have that name. Names are ASCII. */
static bool widen(struct bytes zone, UChar wide[RULE_ZONE_MAX_BYTES + 1])
{
    if (zone.size == 0 || zone.size > RULE_ZONE_MAX_BYTES)
        return false;
    for (size_t i = 0; i < zone.size; i++) {
        unsigned char byte = (unsigned char)zone.data[i];
        if (byte <= ' ' || byte >= 0x7f)
            return false;
        wide[i] = byte;
    }
    wide[zone.size] = 0;
    return true;
}

/* ICU also accepts names that it composes, such as GMT+3; those are not names of the tz database. */
bool calendar_zone_known(struct bytes zone)
{
    UChar wide[RULE_ZONE_MAX_BYTES + 1], canonical[128];
    UBool of_system = false;
    UErrorCode status = U_ZERO_ERROR;
    if (!widen(zone, wide))
        return false;
    (void)ucal_getCanonicalTimeZoneID(wide, -1, canonical, sizeof canonical / sizeof canonical[0], &of_system,
                                      &status);
    return U_SUCCESS(status) && of_system;
}

struct calendar *calendar_create(enum rule_calendar unit, struct bytes zone, struct error *error)
{
    UChar wide[RULE_ZONE_MAX_BYTES + 1];
    UErrorCode status = U_ZERO_ERROR;
    struct calendar *calendar;
    if (!calendar_zone_known(zone) || !widen(zone, wide)) {
        (void)error_set(error, 78, "\"%.*s\" is no time zone: expected a name such as Europe/Berlin",
                        (int)(zone.size < RULE_ZONE_MAX_BYTES ? zone.size : RULE_ZONE_MAX_BYTES), zone.data);
        return NULL;
    }
    calendar = calloc(1, sizeof *calendar);
    if (calendar) {
        calendar->unit = unit;
        calendar->icu = ucal_open(wide, -1, "en_US", UCAL_GREGORIAN, &status);
    }
    if (!calendar || U_FAILURE(status)) {
        (void)error_set(error, 71, "the calendar of %.*s cannot be opened: %s", (int)zone.size, zone.data,
                        calendar ? u_errorName(status) : "not enough memory");
        calendar_destroy(&calendar);
        return NULL;
    }
    ucal_setAttribute(calendar->icu, UCAL_LENIENT, true);
    ucal_setAttribute(calendar->icu, UCAL_REPEATED_WALL_TIME, UCAL_WALLTIME_FIRST);
    ucal_setAttribute(calendar->icu, UCAL_SKIPPED_WALL_TIME, UCAL_WALLTIME_NEXT_VALID);
    /* ICU computes the transitions of a zone at the first question, and allocates for them. */
    uint64_t start_ns, end_ns;
    calendar_period(calendar, 0, &start_ns, &end_ns);
    return calendar;
}

void calendar_destroy(struct calendar **calendar)
{
    if (!*calendar)
        return;
    if ((*calendar)->icu)
        ucal_close((*calendar)->icu);
    free(*calendar);
    *calendar = NULL;
}

static uint64_t ns_of(double ms)
{
    return ms <= 0 ? 0 : (uint64_t)ms * MS_NS;
}

static double offset_ms_at(UCalendar *icu, double ms)
{
    UErrorCode status = U_ZERO_ERROR;
    ucal_setMillis(icu, ms, &status);
    double offset_ms = ucal_get(icu, UCAL_ZONE_OFFSET, &status) + ucal_get(icu, UCAL_DST_OFFSET, &status);
    assert(U_SUCCESS(status));
    return offset_ms;
}

/*
 * Computes the hour from the offset at this moment, and cuts it where the offset changes, so that
 * hours around a change by less than a whole hour do not overlap. Only in such an hour does it ask
 * ICU for the moment of the change, which allocates.
 */
static void period_of_hour(UCalendar *icu, double now_ms, double *start_ms, double *end_ms)
{
    UErrorCode status = U_ZERO_ERROR;
    UDate change_ms;
    double offset_ms = offset_ms_at(icu, now_ms);
    *start_ms = floor((now_ms + offset_ms) / HOUR_MS) * HOUR_MS - offset_ms;
    *end_ms = *start_ms + HOUR_MS;
    bool changed = offset_ms_at(icu, *start_ms) != offset_ms, changes = offset_ms_at(icu, *end_ms - 1) != offset_ms;
    ucal_setMillis(icu, now_ms, &status);
    if (changed &&
        ucal_getTimeZoneTransitionDate(icu, UCAL_TZ_TRANSITION_PREVIOUS_INCLUSIVE, &change_ms, &status) &&
        change_ms > *start_ms)
        *start_ms = change_ms;
    if (changes && ucal_getTimeZoneTransitionDate(icu, UCAL_TZ_TRANSITION_NEXT, &change_ms, &status) &&
        change_ms < *end_ms)
        *end_ms = change_ms;
    assert(U_SUCCESS(status));
}

/* The moment when that local day begins. Months and days beyond their range continue in the next
 * year or month. */
static double midnight_ms(UCalendar *icu, int32_t year, int32_t month, int32_t day)
{
    UErrorCode status = U_ZERO_ERROR;
    ucal_clear(icu);
    ucal_setDateTime(icu, year, month, day, 0, 0, 0, &status);
    double ms = ucal_getMillis(icu, &status);
    assert(U_SUCCESS(status));
    return ms;
}

/*
 * Where clocks are set back over midnight, the date before comes back for a while. Its period is over by then: that
 * time belongs to the period that has begun.
 */
static void period_of_days(UCalendar *icu, enum rule_calendar unit, double now_ms, double *start_ms, double *end_ms)
{
    UErrorCode status = U_ZERO_ERROR;
    int32_t year = ucal_get(icu, UCAL_EXTENDED_YEAR, &status);
    int32_t month = ucal_get(icu, UCAL_MONTH, &status), day = ucal_get(icu, UCAL_DATE, &status);
    int32_t weekday = ucal_get(icu, UCAL_DAY_OF_WEEK, &status);
    int32_t years = 0, months = 0, days = 0; /* the length of the period */
    assert(U_SUCCESS(status));
    switch (unit) {
    case RULE_DAY:
        days = 1;
        break;
    case RULE_WEEK:
        day -= (weekday - UCAL_MONDAY + 7) % 7;
        days = 7;
        break;
    case RULE_MONTH:
        day = 1;
        months = 1;
        break;
    case RULE_YEAR:
        day = 1;
        month = UCAL_JANUARY;
        years = 1;
        break;
    case RULE_HOUR:
    case RULE_CALENDAR_END:
        assert(false);
    }
    *start_ms = midnight_ms(icu, year, month, day);
    *end_ms = midnight_ms(icu, year + years, month + months, day + days);
    if (now_ms < *end_ms)
        return;
    *start_ms = *end_ms;
    *end_ms = midnight_ms(icu, year + 2 * years, month + 2 * months, day + 2 * days);
}

void calendar_period(struct calendar *calendar, uint64_t wall_ns, uint64_t *start_ns, uint64_t *end_ns)
{
    UErrorCode status = U_ZERO_ERROR;
    uint64_t whole_ms = wall_ns / MS_NS;
    double now_ms = (double)whole_ms, start_ms, end_ms;
    ucal_setMillis(calendar->icu, now_ms, &status);
    assert(U_SUCCESS(status));
    if (calendar->unit == RULE_HOUR)
        period_of_hour(calendar->icu, now_ms, &start_ms, &end_ms);
    else
        period_of_days(calendar->icu, calendar->unit, now_ms, &start_ms, &end_ms);
    *start_ns = ns_of(start_ms);
    *end_ns = ns_of(end_ms);
    assert(*start_ns <= wall_ns && wall_ns < *end_ns);
}
