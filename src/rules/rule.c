/*
 * From a rule's amounts to the terms that limits count with, at any scale; and the names of a
 * rule's choices.
 */
#include "rules/rule.h"

#include "base/number.h"
#include "limit/limit.h"
#include "rules/rule_value.h"

#include <assert.h>
#include <stdlib.h>

void rule_destroy(struct rule **rule)
{
    free(*rule);
    *rule = NULL;
}

const char *rule_mode_name(enum rule_mode mode)
{
    return rule_modes.name[mode];
}

const char *rule_priority_name(enum rule_priority priority)
{
    return rule_priorities.name[priority];
}

/* ---- order, and sheets ---- */

int rule_name_compare(struct rule_name a, struct rule_name b)
{
    const int order = bytes_compare(a.service, b.service);
    return order != 0 ? order : bytes_compare(a.id, b.id);
}

int rule_by_name(const void *a, const void *b)
{
    const struct rule *left = *(struct rule *const *)a, *right = *(struct rule *const *)b;
    return rule_name_compare((struct rule_name){left->service, left->id},
                             (struct rule_name){right->service, right->id});
}

int rule_override_compare(const struct rule_override *a, const struct rule_override *b)
{
    if (a->dimension != b->dimension)
        return a->dimension < b->dimension ? -1 : 1;
    return a->form != b->form ? (a->form < b->form ? -1 : 1) : bytes_compare(a->value, b->value);
}

bool rule_same_dimensions(const struct rule *a, const struct rule *b)
{
    if (a->by_count != b->by_count)
        return false;
    for (uint8_t i = 0; i < a->by_count; i++)
        if (!bytes_equal(a->by[i], b->by[i]))
            return false;
    return true;
}

bool rule_of_sheet(const struct rule *sheet, const struct rule *base, struct rule *joined)
{
    if (!bytes_equal(sheet->overrides_of, base->id) || !bytes_equal(sheet->service, base->service) ||
        base->overrides_of.size > 0 || base->algorithm != sheet->algorithm || !rule_same_dimensions(sheet, base))
        return false;
    *joined = *base;
    joined->id = sheet->id;
    joined->amount = (struct rule_amount){.unlimited = true};
    joined->tier_count = 0;
    joined->override_count = sheet->override_count;
    joined->overrides = sheet->overrides;
    return true;
}

/* ---- terms ---- */

_Static_assert((int)RULE_LOG_MAX == (int)LIMIT_LOG_MAX, "what a rule may ask of a log, a log can hold");

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* rate * scale / 20 per period. The result is exact if a longer period can express it. */
static void scale_rate(struct limit_terms *terms, uint32_t scale)
{
    uint64_t rate = terms->rate * scale, period_ns = terms->period_ns * RULE_SCALE_ONE;
    uint64_t common = divisor(rate, period_ns);
    if (period_ns / common <= LIMIT_PERIOD_MAX_NS && rate / common <= LIMIT_CAPACITY_MAX) {
        terms->rate = rate / common;
        terms->period_ns = period_ns / common;
    } else {
        terms->rate = rate >= RULE_SCALE_ONE ? rate / RULE_SCALE_ONE : 1;
    }
}

uint32_t rule_scale(uint32_t adaptive_floor, uint32_t scale)
{
    if (adaptive_floor == 0)
        return RULE_SCALE_ONE;
    uint32_t least = (uint32_t)(((uint64_t)adaptive_floor * RULE_SCALE_ONE + 1000000 - 1) / 1000000);
    uint32_t more = scale > least ? scale : least;
    return more < RULE_SCALE_ONE ? more : RULE_SCALE_ONE;
}

bool rule_amount_at(const struct rule *rule, size_t index, struct rule_amount_of *found)
{
    if (index == 0) {
        *found = (struct rule_amount_of){rule_has_rate(rule->algorithm) ? "rate" : "limit", "", &rule->amount};
    } else if (index <= rule->tier_count) {
        const struct rule_tier *tier = &rule->tiers[index - 1];
        *found = (struct rule_amount_of){"tiers.", tier->name.data, &tier->amount};
    } else if (index - rule->tier_count <= rule->override_count) {
        const struct rule_override *override = &rule->overrides[index - rule->tier_count - 1];
        *found = (struct rule_amount_of){"the override of ", override->value.data, &override->amount};
    } else {
        return false;
    }
    return true;
}

void rule_terms(const struct rule *rule, const struct rule_amount *amount, uint32_t scale,
                struct limit_terms *terms)
{
    assert(rule_amount_counts(amount) && scale >= 1 && scale <= RULE_SCALE_ONE);
    *terms = (struct limit_terms){
        .kind = (uint8_t)rule_kind(rule->algorithm),
        .flags = (uint8_t)((rule->sync != RULE_GOSSIP ? LIMIT_SPLIT : 0) | (rule->persist ? LIMIT_PERSISTENT : 0)),
        .capacity = amount->limit,
        .rate = amount->rate,
        .period_ns = rule_has_windows(rule->algorithm) ? 0 : amount->period_ns,
        .home = rule->home.size > 0 ? limit_home_named(rule->home) : rule->weights_number,
    };
    if (rule_has_rate(rule->algorithm) && scale < RULE_SCALE_ONE)
        scale_rate(terms, scale);
    if (!rule_has_rate(rule->algorithm) && scale < RULE_SCALE_ONE) {
        uint64_t scaled = amount->limit * scale / RULE_SCALE_ONE;
        terms->capacity = scaled > 0 ? scaled : 1;
    }
    uint64_t most = rule_is_listed(rule->algorithm) ? LIMIT_LOG_MAX : LIMIT_CAPACITY_MAX;
    uint128 overshoot = rule->overshoot;
    if (rule->overshoot_relative)
        overshoot = overshoot * terms->capacity / 1000000;
    terms->overshoot = overshoot < most ? (uint64_t)overshoot : most;
}
