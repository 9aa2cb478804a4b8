/*
 * calendar: the hour, day, week, month or year that a moment lies in, in a named time zone.
 *
 * The one idea: a period is a half-open stretch of the wall clock, [start, end); periods of one calendar follow
 * each other without gap or overlap, whatever daylight saving does: a day may have 23 or 25 hours. ICU knows the
 * zones; the answer is good until the period ends, so callers keep it and ask about once a period.
 *
 * Wall-clock times are nanoseconds since 1970-01-01 00:00 UTC. No clock is read.
 */
#ifndef HEADGATE_RULES_CALENDAR_H
#define HEADGATE_RULES_CALENDAR_H

#include "base/bytes.h"
#include "base/error.h"
#include "rules/rule.h"

#include <stdbool.h>
#include <stdint.h>

struct calendar;

/* Whether `zone` is a name of the tz database: "Europe/Berlin", "UTC". Allocates: not for the request path. */
bool calendar_zone_known(struct bytes zone);

/* NULL, with a sentence, when the zone is not known or memory is short. */
struct calendar *calendar_create(enum rule_calendar unit, struct bytes zone, struct error *error);
void calendar_destroy(struct calendar **calendar);

/*
 * The period that wall_ns lies in. Weeks begin on Monday, all but hours at the zone's local midnight, or, where
 * that is skipped, at the first moment after it; where it comes twice, at the first. An hour begins when the local
 * clock shows a full one, and where the zone's offset changes. A few microseconds; does not
 * allocate, but for an hour in which the offset changes.
 */
void calendar_period(struct calendar *calendar, uint64_t wall_ns, uint64_t *start_ns, uint64_t *end_ns);

#endif
