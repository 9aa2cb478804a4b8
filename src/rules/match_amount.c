/*
 * Finds the amount of a variant that applies to a request: its deny and allow lists, its overrides
 * for values, networks and beginnings, and its tiers. Also says whether the request meets the
 * conditions of a variant. Nearly all variants have none of these, and never come here.
 */
#include "base/bits.h"
#include "rules/match_state.h"

static const struct roster_entry *look_up(const struct roster *roster, struct key_id part)
{
    for (uint32_t at = (uint32_t)part.low & roster->mask;; at = (at + 1) & roster->mask) {
        const struct roster_entry *entry = &roster->entry[at];
        if (entry->kind == ROSTER_EMPTY)
            return NULL;
        if (key_id_equal(entry->part, part))
            return entry;
    }
}

/* Begins a walk over the patterns that cover the request's value. False: no pattern is about that dimension. */
static bool begin_walk(const struct matcher *matcher, const struct roster *roster, unsigned dimension,
                       struct roster_walk *walk)
{
    if (!roster->patterns || !(roster->patterns->dimensions >> dimension & 1))
        return false;
    roster_walk_begin(walk, roster->patterns, dimension, matcher->request->id[matcher->id_of[dimension]].value);
    return true;
}

bool match_meets_conditions(struct matcher *matcher, const struct variant *variant)
{
    const struct roster *when = variant->when;
    if (!when)
        return true;
    if (when->dimensions & ~matcher->given)
        return false;
    for (uint32_t left = when->dimensions; left; left &= left - 1) {
        unsigned dimension = (unsigned)__builtin_ctz(left);
        struct roster_walk walk;
        if (!look_up(when, matcher_part(matcher, dimension)) &&
            !(begin_walk(matcher, when, dimension, &walk) && roster_walk_next(&walk)))
            return false;
    }
    return true;
}

/* ---- amounts ---- */

/* The result of one dimension's entries, the most specific entry first. */
struct dimension_result {
    bool denied, allowed;
    const struct amount *amount; /* of an override that holds now; NULL: none */
};

static inline void apply_entry(const struct matcher *matcher, const struct roster_entry *entry,
                               struct dimension_result *result)
{
    result->denied |= entry->kind == ROSTER_DENY;
    result->allowed |= entry->kind == ROSTER_ALLOW;
    if (entry->kind == ROSTER_OVERRIDE && !result->amount && matcher->wall_ns / 1000000000u < entry->until_s)
        result->amount = entry->amount;
}

static struct dimension_result look_up_dimension(struct matcher *matcher, const struct roster *roster,
                                                 unsigned dimension)
{
    struct dimension_result result = {.amount = NULL};
    const struct roster_entry *entry = look_up(roster, matcher_part(matcher, dimension));
    if (entry)
        apply_entry(matcher, entry, &result);
    struct roster_walk walk;
    if (!begin_walk(matcher, roster, dimension, &walk))
        return result;
    while (!result.denied && (entry = roster_walk_next(&walk)) != NULL)
        apply_entry(matcher, entry, &result);
    return result;
}

/* A deny entry outweighs allow entries, and an allow entry outweighs overrides. Among several dimensions the
 * override of the first one counts. */
static struct finding look_up_lists(struct matcher *matcher, const struct roster *roster)
{
    struct finding finding = {.why = WHY_RULE};
    for (uint32_t left = roster->dimensions & matcher->given; left; left &= left - 1) {
        unsigned dimension = (unsigned)__builtin_ctz(left);
        uint8_t id = matcher->id_of[dimension];
        const struct dimension_result result = look_up_dimension(matcher, roster, dimension);
        if (result.denied)
            return (struct finding){.why = WHY_DENY_LIST, .id = id};
        if (result.allowed)
            finding = (struct finding){.why = WHY_ALLOW_LIST, .id = id};
        else if (result.amount && finding.why != WHY_ALLOW_LIST &&
                 (!finding.amount || result.amount < finding.amount))
            finding = (struct finding){.amount = result.amount, .why = WHY_OVERRIDE, .id = id};
    }
    return finding;
}

struct finding match_find_amount(struct matcher *matcher, const struct variant *variant)
{
    struct finding finding = {.why = WHY_RULE};
    if (variant->roster)
        finding = look_up_lists(matcher, variant->roster);
    if (finding.why == WHY_RULE) {
        if (variant->tiers & matcher->tier) {
            finding.id = (uint8_t)bits_count(variant->tiers & (matcher->tier - 1));
            finding.amount = &variant->tier[finding.id];
            finding.why = WHY_TIER;
        } else {
            finding.amount = &variant->base;
        }
    }
    if (finding.amount && !amount_counts(finding.amount)) {
        finding.why = finding.amount->limit == LIMIT_ZERO ? WHY_ZERO
                      : finding.why == WHY_OVERRIDE       ? WHY_UNLIMITED_OVERRIDE
                                                          : WHY_UNLIMITED;
        finding.amount = NULL;
    }
    return finding;
}
