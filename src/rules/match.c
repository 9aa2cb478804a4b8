/*
 * Finds the rules of a request and fills their charges. The service's plan for the endpoint lists the steps
 * (ruleset_state.h); a step applies if the request names all of its dimensions. Nearly all steps are plain:
 * only the variant's own amount can apply. All others take the slower functions; match_amount.c finds their amounts.
 */
#include "rules/match.h"

#include "base/number.h"
#include "base/prefetch.h"
#include "rules/match_state.h"

#include <assert.h>

/* During a canary the hash of a key selects its version. The hash excludes epoch and window. */
static bool is_selected(const struct variant *variant, struct key_id joined)
{
    uint64_t drawn = ((joined.low ^ variant->selector) >> 32) * MILLION >> 32;
    return drawn >= variant->select_from && drawn < variant->select_below;
}

/* ---- charges ---- */

/* Fills field by field: a compound literal would be built aside and copied. fill_matched does the same. */
static inline void fill_charge(const struct matcher *matcher, const struct variant *variant,
                               const struct amount *amount, struct key_id joined, struct charge *charge)
{
    uint32_t floor = variant->floor[matcher->priority];
    charge->id = key_join(variant->salt, joined);
    charge->cost = matcher->request->cost;
    charge->floor_tokens = __builtin_expect(floor > 0, 0) ? amount->capacity * floor / MILLION : 0;
    charge->limit = amount->limit;
    charge->tenant = matcher->match->tenant;
    charge->inherit = variant->inherit;
    charge->on_isolation = variant->on_isolation;
    charge->patience_ms = variant->patience_ms;
    charge->central = variant->central;
    charge->lease = variant->concurrency;
    charge->sliding = variant->sliding;
    charge->shadow = variant->shadow;
    charge->previous = (struct key_id){0, 0};
    charge->expires_ns = charge->window_end_ns = charge->window_ns = 0;
}

static void fill_window(const struct matcher *matcher, const struct variant *variant, struct window *window,
                        struct charge *charge)
{
    const struct request *request = matcher->request;
    const struct present *present = &window->present[request->thread];
    if (variant->from_first) {
        charge->previous = charge->id;
        charge->window_ns = window->period_ns;
        charge->expires_ns = number_sum(matcher->now_ns, window->period_ns);
        return;
    }
    if (!present_is_current(present, matcher->now_ns, matcher->wall_ns))
        window_renew(&matcher->ruleset->windows, window, request->thread, matcher->now_ns, matcher->wall_ns);
    if (variant->sliding)
        charge->previous = key_join(charge->id, present->previous);
    else if (variant->central != CENTRAL_NOT)
        charge->previous = charge->id;
    charge->id = key_join(charge->id, present->stamp);
    charge->expires_ns = variant->sliding ? present->next_expires_ns : present->expires_ns;
    charge->window_end_ns = present->end_ns;
    charge->window_ns = present->wall_length_ns;
}

static inline void fill_matched(const struct variant *variant, struct rule_counter *counter,
                                const struct amount *amount, enum match_why why, uint8_t id,
                                struct matched *matched)
{
    matched->rule = &variant->slot->ruled;
    matched->counter = counter;
    matched->version = &variant->version;
    matched->limit_tokens = amount ? amount->capacity : 0;
    matched->why = (uint8_t)why;
    matched->id = id;
    matched->candidate = variant->candidate;
    matched->shadow = variant->shadow;
    matched->soft = variant->soft;
    matched->has_canary = variant->has_canary;
}

/* The calling thread's counter; prefetched, since ruleset_note writes it. */
static inline struct rule_counter *counter_of(const struct matcher *matcher, const struct variant *variant)
{
    struct rule_counter *counter = variant->counter + matcher->counter_offset;
    prefetch_write(counter);
    return counter;
}

/* Applies a variant whose own amount is the only one that can apply, as for nearly all variants. */
static inline void apply_plain(const struct matcher *matcher, const struct variant *variant, struct key_id joined)
{
    struct match *match = matcher->match;
    uint32_t index = match->count++;
    assert(index < CHARGES_MAX);
    fill_charge(matcher, variant, &variant->base, joined, &match->charge[index]);
    fill_matched(variant, counter_of(matcher, variant), &variant->base, WHY_RULE, 0, &match->rule[index]);
}

/* Applies any variant. False: it denies the request for good. */
__attribute__((noinline)) static bool apply_any(struct matcher *matcher, const struct variant *variant,
                                                struct key_id joined)
{
    struct match *match = matcher->match;
    struct rule_counter *counter = counter_of(matcher, variant);
    struct finding finding = match_find_amount(matcher, variant);
    match->plain = false;
    if (finding.amount) {
        assert(match->count < CHARGES_MAX);
        struct charge *charge = &match->charge[match->count];
        fill_charge(matcher, variant, finding.amount, joined, charge);
        if (variant->counts >= 0)
            charge->cost = matcher->request->named_cost[matcher->id_of[variant->counts]].tokens;
        if (variant->concurrency && charge->cost > 1)
            charge->cost = 1;
        if (variant->homes)
            charge->limit = variant_limit_at_home(variant, finding.amount, charge->id); /* before it has a window */
        if (finding.amount->window)
            fill_window(matcher, variant, finding.amount->window, charge);
        match->rule[match->count].identity = joined;
        fill_matched(variant, counter, finding.amount, finding.why, finding.id, &match->rule[match->count++]);
        return true;
    }
    assert(match->passed_count < CHARGES_MAX);
    match->passed[match->passed_count].identity = joined;
    fill_matched(variant, counter, NULL, finding.why, finding.id, &match->passed[match->passed_count++]);
    if (!match_why_denies((uint8_t)finding.why) || variant->shadow)
        return true;
    match->status = MATCH_DENIED;
    match->denied_by = match->passed_count - 1;
    match->count = 0;
    return false;
}

static inline bool apply(struct matcher *matcher, const struct variant *variant, struct key_id joined)
{
    if (!variant->plain || (variant->tiers & matcher->tier) != 0)
        return apply_any(matcher, variant, joined);
    apply_plain(matcher, variant, joined);
    return true;
}

/* ---- finding rules ---- */

/* The request names a cost that rules count. A cost has no part in keys: rules that count it have their own salt. */
static void give_cost(struct matcher *matcher, unsigned cost, uint32_t index)
{
    const uint8_t bit = matcher->service->cost_bit[cost];
    matcher->given |= (uint32_t)1 << bit;
    matcher->hashed |= (uint32_t)1 << bit;
    matcher->part[bit] = (struct key_id){0, 0};
    matcher->id_of[bit] = (uint8_t)index;
}

static void read_request(struct matcher *matcher)
{
    const struct service *service = matcher->service;
    const struct request *request = matcher->request;
    assert(request->id_count >= 1 && request->id_count <= REQUEST_IDS_MAX);
    for (uint32_t i = 0; i < request->id_count; i++) {
        assert(request->id[i].value.size <= KEY_VALUE_MAX_BYTES);
        int bit = word_find(service->dimension, service->dimension_count, request->id[i].dimension);
        if (bit < 0 || (matcher->given >> bit & 1))
            continue;
        matcher->given |= (uint32_t)1 << bit;
        matcher->id_of[bit] = (uint8_t)i;
    }
    for (uint32_t i = 0; i < request->cost_count; i++) {
        int cost = word_find(service->cost, service->cost_count, request->named_cost[i].name);
        if (cost >= 0)
            give_cost(matcher, (unsigned)cost, i);
    }
    for (unsigned i = 0; request->any_cost && i < service->cost_count; i++)
        give_cost(matcher, i, 0);
    if (request->tier.size > 0) {
        int bit = word_find(service->tier, service->tier_count, request->tier);
        matcher->tier = bit < 0 ? 0 : (uint64_t)1 << bit;
    }
}

/*
 * Follows a plan some of whose steps are about a part of the requests, or replace others: see ruleset_state.h. A rule
 * that is replaced hides less specific ones all the same, and replaces what it names.
 */
__attribute__((noinline)) static bool follow_partial(struct matcher *matcher, const struct plan *plan)
{
    bool enforced = false, hides = false;
    uint32_t concerned = 0, replaced = 0; /* steps, as bits */
    matcher->match->plain = false;
    for (uint32_t i = 0; i < plan->count;) {
        const struct step *step = &plan->step[i];
        const struct variant *variant = step->variant;
        if (step->dimensions & ~matcher->given) {
            i = step->group_end;
            continue;
        }
        struct key_id joined = matcher_joined(matcher, step->dimensions);
        if (is_selected(variant, joined) && match_meets_conditions(matcher, variant)) {
            concerned |= (uint32_t)1 << i;
            replaced |= plan->replaces ? plan->replaces[i] : 0;
            hides = hides || variant_is_in_force(variant);
            enforced = enforced || variant->hides_config;
        }
        i = step->level_end && hides ? step->group_end : i + 1;
        if (i == step->group_end)
            hides = false;
    }
    for (uint32_t left = concerned & ~replaced; left; left &= left - 1) {
        const struct step *step = &plan->step[__builtin_ctz(left)];
        if (!apply(matcher, step->variant, matcher_joined(matcher, step->dimensions)))
            return true;
    }
    return enforced;
}

/* True if a rule applied that hides the limits of the config. */
static inline bool follow(struct matcher *matcher, const struct plan *plan)
{
    bool enforced = false;
    const struct step *end = plan->step + plan->count;
    for (const struct step *step = plan->step; step < end; step++) {
        prefetch_read(step->variant);
        prefetch_read((const char *)step->variant + 64);
    }
    if (plan->partial)
        return follow_partial(matcher, plan);
    for (const struct step *step = plan->step; step < end; step++) {
        const struct variant *variant = step->variant;
        if (step->dimensions & ~matcher->given)
            continue;
        if (!apply(matcher, variant, matcher_joined(matcher, step->dimensions)))
            return true;
        enforced |= variant->hides_config;
    }
    return enforced;
}

static bool refuse(struct match *match, enum match_status status)
{
    match->status = status;
    return false;
}

static bool match_one(struct matcher *matcher, bool by_default)
{
    const struct ruleset *ruleset = matcher->ruleset;
    const struct service *service = matcher->service;
    const struct request *request = matcher->request;
    const struct slot *slot = service ? service_slot(service, request->only_rule) : NULL;
    matcher->match->plain = false;
    for (uint32_t i = 0; by_default && !slot && i < ruleset->named_count; i++)
        if (bytes_equal(ruleset->named[i].ruled.id, request->only_rule))
            return match_config(ruleset, request, &ruleset->named[i], matcher->match);
    if (!slot)
        return refuse(matcher->match, MATCH_UNKNOWN_RULE);
    bool concerned = !slot->variant[0] && !slot->variant[1]; /* the rule is off, which is no mistake */
    for (int i = 0; i < 2; i++) {
        const struct variant *variant = slot->variant[i];
        if (!variant || (variant->dimensions & ~matcher->given) ||
            !pattern_covers(&service->pattern[variant->pattern], request->endpoint) ||
            !match_meets_conditions(matcher, variant))
            continue;
        concerned = true;
        struct key_id joined = matcher_joined(matcher, variant->dimensions);
        if (is_selected(variant, joined))
            return apply(matcher, variant, joined);
    }
    return concerned || refuse(matcher->match, MATCH_RULE_NOT_CONCERNED);
}

bool ruleset_match(struct ruleset *ruleset, const struct request *request, uint64_t now_ns, uint64_t wall_ns,
                   struct match *match)
{
    bool by_default = request->service.size == 0 || bytes_equal(request->service, bytes_of(RULE_DEFAULT_SERVICE));
    assert(request->thread < ruleset->options.threads);
    match->status = MATCH_CHARGES;
    match->count = match->passed_count = match->denied_by = 0;
    match->tenant = 0;
    match->plain = true;
    struct matcher matcher; /* the arrays are filled as far as needed; clearing them would cost more */
    matcher.ruleset = ruleset;
    matcher.service = by_default ? ruleset->by_default : ruleset_service(ruleset, request->service);
    matcher.request = request;
    matcher.match = match;
    matcher.now_ns = now_ns;
    matcher.wall_ns = wall_ns;
    matcher.given = matcher.hashed = matcher.joined_of = 0;
    matcher.joined = (struct key_id){0, 0};
    matcher.priority = request->priority < RULE_PRIORITIES ? request->priority : RULE_PRIORITY_CRITICAL;
    matcher.tier = 0;
    bool enforced = false;
    if (matcher.service) {
        matcher.counter_offset = (size_t)request->thread * matcher.service->slot_count;
        match->tenant = matcher.service->tenant;
        read_request(&matcher);
    } else if (!by_default && !(ruleset->options.unknown_service_open && request->only_rule.size == 0)) {
        return refuse(match, MATCH_UNKNOWN_SERVICE);
    }
    if (request->only_rule.size > 0)
        return match_one(&matcher, by_default);
    if (matcher.service) {
        const struct plan *plan = service_find_plan(matcher.service, request->endpoint);
        enforced = plan && follow(&matcher, plan);
    }
    if (!enforced && by_default && ruleset->named_count > 0 && match->count < CHARGES_MAX)
        return match_config(ruleset, request, &ruleset->named[ruleset->named_by_default], match);
    return match->status == MATCH_CHARGES;
}
