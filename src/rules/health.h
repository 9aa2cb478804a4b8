/*
 * health: the part of its limits that a service can bear now, by the service's own reports.
 *
 * The one idea: one level between 0 and 1, in millionths. A service reports the level, or gives latency
 * samples that steer it (AIMD): a late sample cuts the level to 0.7 of itself, at most once per
 * HEALTH_CUT_EVERY_NS; each second without a late sample raises it by a twentieth of the whole. After 30
 * s of silence a service counts as recovering: the level rises by a tenth each second. Times are
 * nanoseconds of one monotonic clock, passed in by the caller; a clock that runs backwards counts as
 * standing still.
 */
#ifndef HEADGATE_RULES_HEALTH_H
#define HEADGATE_RULES_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HEALTH_ONE = 1000000, /* the whole, in millionths */
    HEALTH_STEPS = 20,    /* limits are scaled in twentieths (RULE_SCALE_ONE) */
};
#define HEALTH_SILENT_NS 30000000000ull   /* a level holds for this long without a report */
#define HEALTH_CUT_EVERY_NS 1000000000ull /* late samples within this time count as one */

struct health {
    uint32_t level;        /* millionths at changed_ns */
    bool told;             /* the service has reported at least once */
    uint64_t changed_ns;   /* the start of the seconds that count as good */
    uint64_t reported_ns;  /* the time of the last report */
    uint64_t cut_again_ns; /* late samples do not cut before this time */
};

/* Begins with the whole level. */
void health_init(struct health *health);

/* The service reports a level, 0..HEALTH_ONE; larger values count as HEALTH_ONE. */
void health_report(struct health *health, uint32_t level, uint64_t now_ns);

/* The service took latency_ns for a request whose target is target_ns. */
void health_sample(struct health *health, uint64_t latency_ns, uint64_t target_ns, uint64_t now_ns);

/* The level at now_ns; the whole if the service never reported. */
uint32_t health_level(const struct health *health, uint64_t now_ns);

/* The level in twentieths, rounded to the nearest: the argument of ruleset_set_scale.
 * 0..HEALTH_STEPS. */
uint32_t health_scale(uint32_t level);

#endif
