/*
 * calendar: the hour, day, week, month or year of a moment, in a named time zone.
 *
 * The one idea: a period is a half-open interval of the wall clock, [start, end). Periods of one
 * calendar follow each other without gap or overlap, also when daylight saving makes a day of 23 or
 * 25 hours. ICU knows the zones. An answer holds until its period ends, so callers keep it and ask
 * about once a period.
 *
 * Wall-clock times are nanoseconds since 1970-01-01 00:00 UTC. This module reads no clock.
 */
#ifndef HEADGATE_RULES_CALENDAR_H
#define HEADGATE_RULES_CALENDAR_H

#include "base/bytes.h"
#include "base/error.h"
#include "rules/rule.h"

#include <stdbool.h>
#include <stdint.h>

struct calendar;

/* True if `zone` is a name of the tz database, such as "Europe/Berlin" or "UTC". Allocates: must
 * not be called on the request path. */
bool calendar_zone_known(struct bytes zone);

/* NULL, with a sentence, if the zone is unknown or memory is short. */
struct calendar *calendar_create(enum rule_calendar unit, struct bytes zone, struct error *error);
void calendar_destroy(struct calendar **calendar);

/*
 * The period that contains wall_ns. Weeks begin on Monday. Days, weeks, months and years begin at
 * local midnight: at the first midnight where the zone has two, even if the date before comes back
 * in between, and at the first moment after it where the zone skips it. An hour begins when the
 * local clock shows a full hour, and where the zone's offset changes. Takes a few microseconds.
 * Allocates only for an hour in which the offset changes.
 */
void calendar_period(struct calendar *calendar, uint64_t wall_ns, uint64_t *start_ns, uint64_t *end_ns);

#endif
