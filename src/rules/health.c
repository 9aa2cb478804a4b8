/*
 * The level of a service: AIMD by latency samples, levels by report, recovery in silence.
 */
#include "rules/health.h"

enum {
    CUT_NUMERATOR = 7,
    CUT_DENOMINATOR = 10,
    RISE_PER_S = HEALTH_ONE / 20,    /* for a service without late samples */
    RECOVER_PER_S = HEALTH_ONE / 10, /* for a silent service */
};
#define SECOND_NS 1000000000ull

/* The level after rising by `per_s` for `ns`, at most the whole. */
static uint32_t risen(uint32_t level, uint32_t per_s, uint64_t ns)
{
    uint64_t needed = HEALTH_ONE - level;
    if (ns >= HEALTH_ONE / per_s * SECOND_NS)
        return HEALTH_ONE;
    uint64_t rise = ns * per_s / SECOND_NS;
    return rise < needed ? level + (uint32_t)rise : HEALTH_ONE;
}

void health_init(struct health *health)
{
    *health = (struct health){.level = HEALTH_ONE};
}

uint32_t health_level(const struct health *health, uint64_t now_ns)
{
    if (!health->told || now_ns <= health->reported_ns || now_ns - health->reported_ns <= HEALTH_SILENT_NS)
        return health->level;
    return risen(health->level, RECOVER_PER_S, now_ns - health->reported_ns - HEALTH_SILENT_NS);
}

static void hear(struct health *health, uint64_t now_ns)
{
    if (health->told && now_ns < health->reported_ns)
        now_ns = health->reported_ns;
    health->told = true;
    health->reported_ns = now_ns;
}

void health_report(struct health *health, uint32_t level, uint64_t now_ns)
{
    hear(health, now_ns);
    health->level = level < HEALTH_ONE ? level : HEALTH_ONE;
    health->changed_ns = health->reported_ns;
}

/* The level rises by whole seconds; a remaining part of a second counts later. */
void health_sample(struct health *health, uint64_t latency_ns, uint64_t target_ns, uint64_t now_ns)
{
    uint32_t before = health_level(health, now_ns);
    bool first = !health->told;
    bool was_silent = before != health->level;
    hear(health, now_ns);
    now_ns = health->reported_ns;
    if (first || was_silent) {
        health->level = before;
        health->changed_ns = now_ns;
    }
    if (latency_ns > target_ns) {
        health->changed_ns = now_ns;
        if (now_ns < health->cut_again_ns)
            return;
        health->level = (uint32_t)((uint64_t)health->level * CUT_NUMERATOR / CUT_DENOMINATOR);
        health->cut_again_ns = now_ns + HEALTH_CUT_EVERY_NS;
        return;
    }
    uint64_t seconds = (now_ns - health->changed_ns) / SECOND_NS;
    if (seconds > 0) {
        health->level = risen(health->level, RISE_PER_S, seconds * SECOND_NS);
        health->changed_ns += seconds * SECOND_NS;
    }
}

uint32_t health_scale(uint32_t level)
{
    uint32_t whole = level < HEALTH_ONE ? level : HEALTH_ONE;
    return (whole * HEALTH_STEPS + HEALTH_ONE / 2) / HEALTH_ONE;
}
