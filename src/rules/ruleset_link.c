/*
 * What rules of a service say of each other: `replaces`. Peers may change two rules without hearing each other, so a
 * name may have no rule, and names may go in a circle: both are left out here, and the more is limited. A change that
 * an operator makes is refused instead (ruleset_find_doubt).
 */
#include "rules/ruleset_state.h"

#include <stdlib.h>

static bool find_replaced(struct service *service, struct variant *variant, const struct rule *rule)
{
    if (rule->replaces_count == 0)
        return true;
    variant->replaces = arena_take(&service->arena, rule->replaces_count, sizeof(struct slot *));
    for (uint16_t i = 0; variant->replaces && i < rule->replaces_count; i++) {
        const struct slot *slot = service_slot(service, rule->replaces[i]);
        if (slot)
            variant->replaces[variant->replaces_count++] = slot;
        else if (!service_doubt(service, RULESET_DANGLES, "rule %s/%s replaces %s, which is no rule of the service",
                                rule->service.data, rule->id.data, rule->replaces[i].data))
            return false;
    }
    return variant->replaces != NULL;
}

/* ---- circles ---- */

/* Calls `visit` for each slot that a version of `slot` replaces. */
static void each_replaced(const struct slot *slot, void (*visit)(void *context, const struct slot *replaced),
                          void *context)
{
    for (int version = 0; version < 2; version++) {
        const struct variant *variant = slot->variant[version];
        for (uint32_t i = 0; variant && i < variant->replaces_count; i++)
            visit(context, variant->replaces[i]);
    }
}

/* For each slot, how many names of it are left. */
struct circles {
    struct service *service;
    uint32_t *names;
    uint32_t *waiting; /* slots without names, whose own names are still counted */
    uint32_t waiting_count;
    const struct slot *found; /* of each_replaced: the first that has names */
};

static uint32_t *names_of(const struct circles *circles, const struct slot *slot)
{
    return &circles->names[slot - circles->service->slot];
}

static void count_name(void *context, const struct slot *replaced)
{
    ++*names_of(context, replaced);
}

static void uncount_name(void *context, const struct slot *replaced)
{
    struct circles *circles = context;
    if (--*names_of(circles, replaced) == 0)
        circles->waiting[circles->waiting_count++] = (uint32_t)(replaced - circles->service->slot);
}

static void note_named(void *context, const struct slot *replaced)
{
    struct circles *circles = context;
    if (!circles->found && *names_of(circles, replaced) > 0)
        circles->found = replaced;
}

/* The first slot with names that `slot` replaces, or NULL. */
static const struct slot *next_named(struct circles *circles, const struct slot *slot)
{
    circles->found = NULL;
    each_replaced(slot, note_named, circles);
    return circles->found;
}

/* Afterwards only slots in a circle, and between circles, have names. Returns one of them, or NULL. */
static const struct slot *find_circle(struct circles *circles)
{
    const struct service *service = circles->service;
    const struct slot *some = NULL;
    for (uint32_t i = 0; i < service->slot_count; i++)
        each_replaced(&service->slot[i], count_name, circles);
    for (uint32_t i = 0; i < service->slot_count; i++)
        if (circles->names[i] == 0)
            circles->waiting[circles->waiting_count++] = i;
    for (uint32_t i = 0; i < circles->waiting_count; i++)
        each_replaced(&service->slot[circles->waiting[i]], uncount_name, circles);
    for (bool changed = true; changed;) {
        changed = false;
        some = NULL;
        for (uint32_t i = 0; i < service->slot_count; i++) {
            if (circles->names[i] == 0)
                continue;
            if (next_named(circles, &service->slot[i])) {
                some = &service->slot[i];
                continue;
            }
            circles->names[i] = 0;
            changed = true;
        }
    }
    return some;
}

/* Drops the names from slots that have names to others that have. */
static void break_circles(struct circles *circles)
{
    struct service *service = circles->service;
    for (uint32_t i = 0; i < service->variant_count; i++) {
        struct variant *variant = &service->variant[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < variant->replaces_count; k++)
            if (*names_of(circles, variant->slot) == 0 || *names_of(circles, variant->replaces[k]) == 0)
                variant->replaces[kept++] = variant->replaces[k];
        variant->replaces_count = kept;
    }
}

static bool look_for_circles(struct service *service, struct circles *circles)
{
    const struct slot *in = find_circle(circles);
    if (!in)
        return true;
    for (uint32_t i = 0; i < service->slot_count; i++)
        in = next_named(circles, in); /* after so many steps it is in a circle for sure */
    if (!service_doubt(service, RULESET_CIRCLE,
                       "rule %s/%s replaces %s, which leads back to it: expected no circle", service->name_text,
                       in->ruled.id.data, next_named(circles, in)->ruled.id.data))
        return false;
    break_circles(circles);
    return true;
}

bool service_link(struct service *service, const struct rule_use *const *uses, size_t count)
{
    uint32_t at = 0;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const struct rule *const versions[2] = {uses[i]->rule, uses[i]->candidate};
        for (int version = 0; version < 2; version++) {
            if (!versions[version])
                continue;
            any = any || versions[version]->replaces_count > 0;
            if (!find_replaced(service, &service->variant[at++], versions[version]))
                return false;
        }
    }
    if (!any)
        return true;
    struct circles circles = {.service = service,
                              .names = calloc(service->slot_count, sizeof *circles.names),
                              .waiting = calloc(service->slot_count, sizeof *circles.waiting)};
    const bool good = circles.names && circles.waiting && look_for_circles(service, &circles);
    free(circles.names);
    free(circles.waiting);
    return good;
}
