/*
 * What is kept of a decision: counts, each rule by itself, in the counters of the calling thread; and whose it was.
 */
#include "rules/match.h"

#include "base/metric.h"
#include "limit/key.h"
#include "rules/ruleset_state.h"

#include <assert.h>

static inline void note(const struct matched *matched, bool allowed, uint64_t requests)
{
    struct rule_counts *counts = &matched->counter->counts;
    if (allowed || matched->shadow)
        metric_add(&counts->allowed, requests);
    else
        metric_add(&counts->denied, requests);
    if (!allowed && matched->shadow)
        metric_add(matched->soft ? &counts->over_limit : &counts->shadow_denied, requests);
    if (__builtin_expect(!matched->has_canary, 1))
        return;
    if (matched->candidate) {
        metric_add(&counts->canary_allowed, allowed ? requests : 0);
        metric_add(&counts->canary_denied, allowed ? 0 : requests);
    } else {
        metric_add(&counts->stable_allowed, allowed ? requests : 0);
        metric_add(&counts->stable_denied, allowed ? 0 : requests);
    }
}

/* Which mode would have denied. */
static inline unsigned spared_by(const struct matched *matched, bool allowed)
{
    if (allowed || !matched->shadow)
        return 0;
    return matched->soft ? NOTED_SOFT : NOTED_SHADOW;
}

static inline unsigned note_passed(const struct match *match, uint64_t requests)
{
    unsigned noted = 0;
    for (uint32_t i = 0; i < match->passed_count; i++) {
        const bool allowed = !match_why_denies(match->passed[i].why);
        note(&match->passed[i], allowed, requests);
        noted |= spared_by(&match->passed[i], allowed);
    }
    return noted;
}

unsigned ruleset_note(const struct match *match, const struct verdict *verdicts)
{
    unsigned noted = 0;
    for (uint32_t i = 0; i < match->count; i++) {
        note(&match->rule[i], verdicts[i].allowed, 1);
        noted |= spared_by(&match->rule[i], verdicts[i].allowed);
    }
    return noted | note_passed(match, 1);
}

unsigned ruleset_note_many(const struct match *match, uint64_t allowed_count, uint64_t denied_count)
{
    for (uint32_t i = 0; i < match->count; i++) {
        note(&match->rule[i], true, allowed_count);
        note(&match->rule[i], false, denied_count);
    }
    return note_passed(match, allowed_count + denied_count);
}

/* ---- whose ---- */

/* A key without a window is the salt and the identity, joined. */
struct key_id match_identity(const struct match *match, uint32_t charge, struct key_id id)
{
    const struct matched *matched = &match->rule[charge];
    if (match->charge[charge].window_ns > 0)
        return matched->identity;
    return key_join(id, variant_of_version(matched->version)->salt);
}

struct bytes match_tier(const struct ruleset *ruleset, const struct matched *matched)
{
    const struct bytes none = {NULL, 0};
    if (matched->why != WHY_TIER)
        return none;
    const struct service *service = ruleset_service(ruleset, matched->rule->service);
    uint64_t tiers = variant_of_version(matched->version)->tiers;
    for (uint8_t passed = 0; passed < matched->id; passed++)
        tiers &= tiers - 1;
    return service && tiers ? service->tier[__builtin_ctzll(tiers)].text : none;
}

/* ---- names ---- */

const char *match_why_name(enum match_why why)
{
    switch (why) {
    case WHY_RULE:
        return "rule";
    case WHY_TIER:
        return "tier";
    case WHY_OVERRIDE:
        return "override";
    case WHY_ALLOW_LIST:
        return "allow list";
    case WHY_DENY_LIST:
        return "deny list";
    case WHY_ZERO:
        return "limit 0";
    case WHY_UNLIMITED:
        return "unlimited";
    case WHY_UNLIMITED_OVERRIDE:
        return "unlimited override";
    case WHY_CONFIG:
        return "config";
    }
    return "?";
}

enum verdict_reason match_denial(uint8_t why)
{
    assert(match_why_denies(why));
    return why == WHY_ZERO ? VERDICT_LIMIT_ZERO : VERDICT_DENY_LIST;
}
