/*
 * Patterns and plans of a service. A pattern's plan has the steps of the pattern itself and of all
 * prefixes that cover it; ruleset_state.h says how they are grouped.
 */
#include "rules/ruleset_state.h"

#include <assert.h>
#include <stdlib.h>

enum { STEPS_MAX = 2 * ENDPOINT_RULES_MAX }; /* steps of one plan: a rule and its candidate count as two */

static bool begins_with(struct bytes text, struct bytes prefix)
{
    return text.size >= prefix.size && (prefix.size == 0 || memcmp(text.data, prefix.data, prefix.size) == 0);
}

/* ---- patterns ---- */

static bool is_prefix(struct bytes endpoint)
{
    return endpoint.size > 0 && endpoint.data[endpoint.size - 1] == '*';
}

static struct bytes pattern_text(struct bytes endpoint)
{
    return (struct bytes){endpoint.data, endpoint.size - is_prefix(endpoint)};
}

static int by_pattern(const void *a, const void *b)
{
    const struct variant *one = *(struct variant *const *)a, *other = *(struct variant *const *)b;
    struct bytes left = one->version.endpoint, right = other->version.endpoint;
    if (is_prefix(left) != is_prefix(right))
        return is_prefix(left) ? -1 : 1;
    int order = bytes_compare(pattern_text(left), pattern_text(right));
    if (order != 0)
        return order;
    if (one->dimensions != other->dimensions)
        return one->dimensions < other->dimensions ? -1 : 1;
    return one < other ? -1 : one > other;
}

static void add_to_pattern(struct service *service, uint32_t index)
{
    const struct variant *variant = service->ordered[index];
    struct bytes endpoint = variant->version.endpoint, text = pattern_text(endpoint);
    struct pattern *last = service->pattern_count > 0 ? &service->pattern[service->pattern_count - 1] : NULL;
    if (!last || last->prefix != is_prefix(endpoint) || !bytes_equal(last->text, text)) {
        last = &service->pattern[service->pattern_count++];
        *last = (struct pattern){.text = text, .prefix = is_prefix(endpoint), .variant_first = index};
    }
    service->ordered[index]->pattern = service->pattern_count - 1;
    last->variant_count++;
}

static uint32_t look_up(const struct service *service, struct bytes text, bool prefix)
{
    uint64_t hash = text_hash(text, prefix ? SEED_PREFIX : SEED_EXACT);
    for (uint32_t at = (uint32_t)hash & service->place_mask;; at = (at + 1) & service->place_mask) {
        const struct pattern_place *place = &service->place[at];
        if (place->pattern == PATTERN_NONE)
            return PATTERN_NONE;
        const struct pattern *pattern = &service->pattern[place->pattern];
        if (place->hash == hash >> 32 && pattern->prefix == prefix && bytes_equal(pattern->text, text))
            return place->pattern;
    }
}

/* The longest prefix that covers `text` and is shorter than `below` bytes. */
static uint32_t longest_prefix(const struct service *service, struct bytes text, size_t below)
{
    for (uint8_t i = 0; i < service->length_count; i++) {
        size_t length = service->length[i];
        if (length > text.size || length >= below)
            continue;
        uint32_t found = look_up(service, (struct bytes){text.data, length}, true);
        if (found != PATTERN_NONE)
            return found;
    }
    return below > 0 ? service->everything : PATTERN_NONE;
}

static void note_length(struct service *service, size_t length)
{
    uint8_t at = 0;
    while (at < service->length_count && service->length[at] > length)
        at++;
    if (at < service->length_count && service->length[at] == length)
        return;
    memmove(&service->length[at + 1], &service->length[at], (size_t)(service->length_count - at));
    service->length[at] = (uint8_t)length;
    service->length_count++;
}

static bool index_patterns(struct service *service)
{
    uint32_t slots = 2;
    while (slots < 2 * service->pattern_count)
        slots *= 2;
    service->place_mask = slots - 1;
    service->everything = PATTERN_NONE;
    service->place = arena_take(&service->arena, slots, sizeof *service->place);
    if (!service->place)
        return false;
    for (uint32_t i = 0; i < slots; i++)
        service->place[i].pattern = PATTERN_NONE;
    for (uint32_t i = 0; i < service->pattern_count; i++) {
        const struct pattern *pattern = &service->pattern[i];
        uint64_t hash = text_hash(pattern->text, pattern->prefix ? SEED_PREFIX : SEED_EXACT);
        uint32_t at = (uint32_t)hash & service->place_mask;
        while (service->place[at].pattern != PATTERN_NONE)
            at = (at + 1) & service->place_mask;
        service->place[at] = (struct pattern_place){.hash = (uint32_t)(hash >> 32), .pattern = i};
        assert(pattern->text.size <= RULE_ENDPOINT_MAX_BYTES);
        if (!pattern->prefix)
            service->exact_longest =
                pattern->text.size > service->exact_longest ? (uint32_t)pattern->text.size : service->exact_longest;
        else if (pattern->text.size == 0)
            service->everything = i;
        else
            note_length(service, pattern->text.size);
    }
    return true;
}

static bool make_patterns(struct service *service)
{
    uint32_t count = 0;
    service->ordered = arena_take(&service->arena, service->variant_count, sizeof(struct variant *));
    service->pattern = arena_take(&service->arena, service->variant_count, sizeof *service->pattern);
    if (!service->ordered || !service->pattern)
        return false;
    for (uint32_t i = 0; i < service->variant_count; i++)
        if (service->variant[i].version.mode != RULE_OFF)
            service->ordered[count++] = &service->variant[i];
    if (count > 0)
        qsort(service->ordered, count, sizeof(struct variant *), by_pattern);
    for (uint32_t i = 0; i < count; i++)
        add_to_pattern(service, i);
    if (!index_patterns(service))
        return false;
    for (uint32_t i = 0; i < service->pattern_count; i++) {
        struct pattern *pattern = &service->pattern[i];
        pattern->parent = longest_prefix(service, pattern->text, pattern->prefix ? pattern->text.size : SIZE_MAX);
    }
    return true;
}

/* ---- plans ---- */

struct planner {
    const struct service *service;
    uint32_t count, rules;
    bool too_many;
    struct step step[STEPS_MAX];
};

static void add_step(struct planner *planner, const struct variant *variant)
{
    bool known = false;
    for (uint32_t i = 0; i < planner->count; i++)
        known = known || planner->step[i].variant->slot == variant->slot;
    planner->rules += !known;
    if (planner->rules > ENDPOINT_RULES_MAX) {
        planner->too_many = true;
        return;
    }
    assert(planner->count < STEPS_MAX);
    planner->step[planner->count++] = (struct step){.variant = variant, .dimensions = variant->dimensions};
}

/* Adds the steps of one level. Returns true if some rule of the level counts for every request, so
 * that less specific levels are hidden. */
static bool add_level(struct planner *planner, const struct pattern *pattern, uint32_t dimensions)
{
    bool hides = false;
    /* Millionths of the keys that the current rule's variants cover which are in force and have no conditions. */
    uint32_t first = planner->count, enforced = 0;
    const struct slot *slot = NULL;
    for (uint32_t i = 0; i < pattern->variant_count; i++) {
        const struct variant *variant = planner->service->ordered[pattern->variant_first + i];
        if (variant->dimensions != dimensions)
            continue;
        if (variant->slot != slot)
            enforced = 0;
        slot = variant->slot;
        if (variant_is_in_force(variant) && !variant->when)
            enforced += variant->select_below - variant->select_from;
        hides = hides || enforced >= MILLION;
        add_step(planner, variant);
    }
    if (planner->count > first)
        planner->step[planner->count - 1].level_end = true;
    return hides;
}

static void add_group(struct planner *planner, uint32_t pattern, uint32_t dimensions)
{
    uint32_t first = planner->count;
    bool hidden = false;
    for (uint32_t at = pattern; at != PATTERN_NONE && !hidden && !planner->too_many;
         at = planner->service->pattern[at].parent)
        hidden = add_level(planner, &planner->service->pattern[at], dimensions);
    for (uint32_t i = first; i < planner->count; i++)
        planner->step[i].group_end = (uint16_t)planner->count;
}

static bool has_group(const struct planner *planner, uint32_t dimensions)
{
    for (uint32_t i = 0; i < planner->count; i++)
        if (planner->step[i].dimensions == dimensions)
            return true;
    return false;
}

/* True if the variant is about all requests. */
static bool is_whole(const struct variant *variant)
{
    return variant->select_from == 0 && variant->select_below == MILLION && !variant->when;
}

/* The steps of a plan that a variant replaces, as bits. */
static uint32_t replaced_by(const struct plan *plan, const struct variant *variant)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < plan->count; i++)
        for (uint32_t k = 0; k < variant->replaces_count; k++)
            if (plan->step[i].variant->slot == variant->replaces[k])
                bits |= (uint32_t)1 << i;
    return bits;
}

_Static_assert(STEPS_MAX <= 32, "a bit each");

/* Fills plan->replaces, and makes a plan partial that has such steps. A shadow replaces nothing. */
static bool note_replaced(struct service *service, struct plan *plan)
{
    uint32_t replaces[STEPS_MAX], all = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct variant *variant = plan->step[i].variant;
        replaces[i] = variant_is_in_force(variant) ? replaced_by(plan, variant) : 0;
        all |= replaces[i];
    }
    if (all == 0)
        return true;
    plan->partial = true;
    plan->replaces = arena_take(&service->arena, plan->count, sizeof *plan->replaces);
    if (!plan->replaces)
        return false;
    memcpy(plan->replaces, replaces, plan->count * sizeof *plan->replaces);
    return true;
}

static bool make_plan(struct service *service, uint32_t index, struct error *error)
{
    struct planner planner = {.service = service};
    struct pattern *pattern = &service->pattern[index];
    for (uint32_t at = index; at != PATTERN_NONE && !planner.too_many; at = service->pattern[at].parent) {
        const struct pattern *level = &service->pattern[at];
        for (uint32_t i = 0; i < level->variant_count && !planner.too_many; i++) {
            uint32_t dimensions = service->ordered[level->variant_first + i]->dimensions;
            if (!has_group(&planner, dimensions))
                add_group(&planner, index, dimensions);
        }
    }
    if (planner.too_many)
        return error_set(
            error, 65, "service %s: more than %d rules may apply to one request of endpoint %.*s%s: expected fewer",
            service->name_text, ENDPOINT_RULES_MAX, (int)pattern->text.size, pattern->text.data,
            pattern->prefix ? "*" : "");
    pattern->plan.count = planner.count;
    pattern->plan.step = arena_take(&service->arena, planner.count, sizeof(struct step));
    if (!pattern->plan.step)
        return error_set(error, 71, "not enough memory for the rules");
    memcpy(pattern->plan.step, planner.step, planner.count * sizeof(struct step));
    for (uint32_t i = 0; i < planner.count; i++)
        pattern->plan.partial |= !is_whole(planner.step[i].variant);
    return note_replaced(service, &pattern->plan) || error_set(error, 71, "not enough memory for the rules");
}

bool service_plan(struct service *service, struct error *error)
{
    if (!make_patterns(service))
        return error_set(error, 71, "not enough memory for the rules");
    for (uint32_t i = 0; i < service->pattern_count; i++)
        if (!make_plan(service, i, error))
            return false;
    return true;
}

/* ---- look-up ---- */

const struct plan *service_find_plan(const struct service *service, struct bytes endpoint)
{
    uint32_t found = PATTERN_NONE;
    if (endpoint.size > 0 && endpoint.size <= service->exact_longest)
        found = look_up(service, endpoint, false);
    if (found == PATTERN_NONE)
        found = longest_prefix(service, endpoint, SIZE_MAX);
    return found != PATTERN_NONE ? &service->pattern[found].plan : NULL;
}

bool pattern_covers(const struct pattern *pattern, struct bytes endpoint)
{
    return pattern->prefix ? begins_with(endpoint, pattern->text) : bytes_equal(pattern->text, endpoint);
}
