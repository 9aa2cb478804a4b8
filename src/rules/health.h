/*
 * health: how much of its limits a service can stand at this moment, by its own account.
 *
 * The one idea: one level between 0 and 1, in millionths. A service either says it outright, or gives samples of
 * its latency, from which the level is steered: cut to 0.7 of itself by a late sample, at most once an interval,
 * and raised by a twentieth of the whole for each second without one (AIMD). A service that falls silent is taken to be
 * recovering: after 30 s the level rises by a tenth each second. Pure: times are passed in.
 *
 * Times are nanoseconds of one monotonic clock; one that runs backwards stands still.
 */
#ifndef HEADGATE_RULES_HEALTH_H
#define HEADGATE_RULES_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HEALTH_ONE = 1000000, /* the whole, in millionths */
    HEALTH_STEPS = 20,    /* limits are scaled in twentieths (RULE_SCALE_ONE) */
};
#define HEALTH_SILENT_NS 30000000000ull   /* without a report, a level holds for so long */
#define HEALTH_CUT_EVERY_NS 1000000000ull /* late samples within this time are one */

struct health {
    uint32_t level;        /* millionths, as of changed_ns */
    bool told;             /* something was ever reported */
    uint64_t changed_ns;   /* good seconds are counted from here */
    uint64_t reported_ns;  /* when the service was last heard */
    uint64_t cut_again_ns; /* until then, late samples do not cut */
};

/* Never heard: the whole. */
void health_init(struct health *health);

/* The service says: this well, 0..HEALTH_ONE (more counts as that). */
void health_report(struct health *health, uint32_t level, uint64_t now_ns);

/* The service took latency_ns for a request that should take at most target_ns. */
void health_sample(struct health *health, uint64_t latency_ns, uint64_t target_ns, uint64_t now_ns);

/* The level at now_ns; the whole if it was never heard. */
uint32_t health_level(const struct health *health, uint64_t now_ns);

/* A level as twentieths, rounded to the nearest: what ruleset_set_scale takes. 0..HEALTH_STEPS. */
uint32_t health_scale(uint32_t level);

#endif
