/*
 * Everything that reports and operators ask of a ruleset, and the scale of adaptive rules.
 */
#include "rules/ruleset_state.h"

#include "base/metric.h"

#include <assert.h>

bool ruleset_set_scale(struct ruleset *ruleset, struct bytes service, uint32_t scale)
{
    struct service *found = ruleset_service(ruleset, service);
    bool changed = false;
    uint32_t within = scale < RULE_SCALE_ONE ? scale : RULE_SCALE_ONE;
    if (!found || found->scale == within)
        return false;
    found->scale = within;
    ruleset->edition++;
    for (uint32_t i = 0; i < found->variant_count; i++)
        if (variant_rescale(ruleset, &found->variant[i], within))
            changed = true;
    return changed;
}

uint64_t ruleset_latency_target_ns(const struct ruleset *ruleset, struct bytes service)
{
    const struct service *found = ruleset_service(ruleset, service);
    uint64_t target_ns = 0;
    for (uint32_t i = 0; found && i < found->variant_count; i++) {
        uint64_t of_one_ns = found->variant[i].latency_target_ns;
        if (of_one_ns > 0 && (target_ns == 0 || of_one_ns < target_ns))
            target_ns = of_one_ns;
    }
    return target_ns;
}

static void visit_limits_of(const struct service *service, void (*visit)(void *context, uint16_t limit),
                            void *context)
{
    for (uint32_t i = 0; i < service->variant_count; i++)
        variant_visit_limits(&service->variant[i], visit, context);
}

void ruleset_visit_limits(const struct ruleset *ruleset, void (*visit)(void *context, uint16_t limit),
                          void *context)
{
    for (uint32_t i = 0; i < ruleset->named_count; i++)
        visit(context, ruleset->named[i].variant[0]->base.limit);
    for (uint32_t i = 0; i <= ruleset->places.mask; i++)
        if (ruleset->places.place[i].service)
            visit_limits_of(ruleset->places.place[i].service, visit, context);
    for (const struct service *staged = ruleset->staged; staged; staged = staged->next_staged)
        visit_limits_of(staged, visit, context);
}

void ruleset_visit_services(const struct ruleset *ruleset,
                            void (*visit)(void *context, const struct ruled_service *service), void *context)
{
    for (uint32_t i = 1; i <= ruleset->options.services_max; i++) {
        const struct service *service = ruleset->tenant[i];
        if (!service)
            continue;
        struct ruled_service shown = {.name = service->name,
                                      .tenant = service->tenant,
                                      .rule_count = service->slot_count,
                                      .scale = service->scale,
                                      .adaptive = service->adaptive};
        visit(context, &shown);
    }
}

void ruleset_visit_rules(const struct ruleset *ruleset, struct bytes service,
                         void (*visit)(void *context, const struct ruled *rule), void *context)
{
    const struct service *found = service.size > 0 ? ruleset_service(ruleset, service) : NULL;
    for (uint32_t i = 0; found && i < found->slot_count; i++)
        visit(context, &found->slot[i].ruled);
    for (uint32_t i = 0; service.size == 0 && i < ruleset->named_count; i++)
        visit(context, &ruleset->named[i].ruled);
}

uint16_t ruleset_named_limit(const struct ruleset *ruleset, uint32_t index)
{
    assert(index < ruleset->named_count);
    return ruleset->named[index].variant[0]->base.limit;
}

const struct ruled *ruleset_find(const struct ruleset *ruleset, struct bytes service, struct bytes id)
{
    const struct service *found = ruleset_service(ruleset, service);
    const struct slot *slot = found ? service_slot(found, id) : NULL;
    return slot ? &slot->ruled : NULL;
}

struct rule_counts ruled_counts(const struct ruled *rule)
{
    struct rule_counts sum = {0};
    for (uint32_t thread = 0; thread < rule->threads; thread++) {
        const struct rule_counts *counts = &rule->counter[thread * rule->counter_stride].counts;
        sum.allowed += metric_get(&counts->allowed);
        sum.denied += metric_get(&counts->denied);
        sum.shadow_denied += metric_get(&counts->shadow_denied);
        sum.over_limit += metric_get(&counts->over_limit);
        sum.canary_allowed += metric_get(&counts->canary_allowed);
        sum.canary_denied += metric_get(&counts->canary_denied);
        sum.stable_allowed += metric_get(&counts->stable_allowed);
        sum.stable_denied += metric_get(&counts->stable_denied);
    }
    return sum;
}

/* The state of a visit of one slot. */
struct amounts_visit {
    const struct ruled *rule;
    void (*visit)(void *context, const struct ruled *rule, uint16_t limit);
    void *context;
};

static void pass_on(void *context, uint16_t limit)
{
    const struct amounts_visit *visit = context;
    visit->visit(visit->context, visit->rule, limit);
}

static void visit_slot(const struct slot *slot, struct amounts_visit *visit)
{
    visit->rule = &slot->ruled;
    for (int i = 0; i < 2; i++)
        if (slot->variant[i] && !slot->variant[i]->shadow)
            variant_visit_limits(slot->variant[i], pass_on, visit);
}

void ruleset_visit_amounts(const struct ruleset *ruleset,
                           void (*visit)(void *context, const struct ruled *rule, uint16_t limit), void *context)
{
    struct amounts_visit each = {.visit = visit, .context = context};
    for (uint32_t i = 0; i < ruleset->named_count; i++)
        visit_slot(&ruleset->named[i], &each);
    for (uint32_t i = 0; i <= ruleset->places.mask; i++) {
        const struct service *service = ruleset->places.place[i].service;
        for (uint32_t k = 0; service && k < service->slot_count; k++)
            visit_slot(&service->slot[k], &each);
    }
}

bool ruleset_has_service(const struct ruleset *ruleset, struct bytes service)
{
    return ruleset_service(ruleset, service) != NULL;
}

void ruleset_stats(const struct ruleset *ruleset, struct ruleset_stats *stats)
{
    *stats = (struct ruleset_stats){.services = ruleset->service_count, .rules = ruleset->rule_count};
    stats->bytes = sizeof *ruleset + (ruleset->places.mask + 1) * sizeof *ruleset->places.place +
                   (ruleset->options.services_max + 1) * sizeof(struct service *) + ruleset->arena.bytes;
    for (uint32_t i = 0; i < ruleset->windows.count; i++)
        stats->windows += ruleset->windows.window[i]->users > 0;
    for (uint32_t i = 0; i <= ruleset->places.mask; i++)
        if (ruleset->places.place[i].service)
            stats->bytes += sizeof(struct service) + ruleset->places.place[i].service->arena.bytes;
}
