/*
 * Finds the rules of a request and fills their charges. The service's plan for the endpoint lists the steps
 * (ruleset_state.h); a step applies if the request names all of its dimensions. Nearly all steps are plain:
 * only the variant's own amount can apply. Lists, conditions, tiers, windows and canaries take the slower functions.
 */
#include "rules/match.h"

#include "base/bits.h"
#include "base/prefetch.h"
#include "limit/key.h"
#include "rules/ruleset_state.h"

#include <assert.h>

/* The state of one call. An identifier is hashed when the first rule needs its hash. */
struct matcher {
    struct ruleset *ruleset;
    const struct service *service; /* NULL: the service has no rules */
    const struct request *request;
    struct match *match;
    uint64_t now_ns, wall_ns;
    uint32_t given;        /* bits: the service's dimensions that the request names */
    uint32_t hashed;       /* bits: the dimensions of `given` whose hash is in `part` */
    uint32_t joined_of;    /* the dimensions that `joined` is made of; 0: none yet */
    struct key_id joined;  /* the joined hashes, without salt */
    uint8_t priority;      /* less than RULE_PRIORITIES */
    uint64_t tier;         /* bits: one or none */
    size_t counter_offset; /* from the first thread's counters to those of the calling thread */
    uint8_t id_of[SERVICE_DIMENSIONS_MAX];
    struct key_id part[SERVICE_DIMENSIONS_MAX];
};

/* The hash of the identifier of that dimension. The request must name the dimension. */
__attribute__((always_inline)) static inline struct key_id part_of(struct matcher *matcher, unsigned dimension)
{
    if (!(matcher->hashed >> dimension & 1)) {
        const struct request_id *id = &matcher->request->id[matcher->id_of[dimension]];
        matcher->part[dimension] = key_part(&matcher->service->dimension_key[dimension], id->value);
        matcher->hashed |= (uint32_t)1 << dimension;
    }
    return matcher->part[dimension];
}

/* The hashes of these dimensions, without salt. Rules with several dimensions mostly share them. */
static inline struct key_id joined_of(struct matcher *matcher, uint32_t dimensions)
{
    if (dimensions != 0 && (dimensions & (dimensions - 1)) == 0)
        return part_of(matcher, (unsigned)__builtin_ctz(dimensions));
    if (matcher->joined_of != dimensions) {
        matcher->joined = (struct key_id){0, 0};
        matcher->joined_of = dimensions;
        for (uint32_t left = dimensions; left; left &= left - 1)
            matcher->joined = key_join(matcher->joined, part_of(matcher, (unsigned)__builtin_ctz(left)));
    }
    return matcher->joined;
}

/* During a canary the hash of a key selects its version. The hash excludes epoch and window. */
static bool is_selected(const struct variant *variant, struct key_id joined)
{
    uint64_t drawn = ((joined.low ^ variant->selector) >> 32) * MILLION >> 32;
    return drawn >= variant->select_from && drawn < variant->select_below;
}

/* ---- rosters ---- */

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

/* True if the request names each dimension of the variant's conditions with a value that one of them covers. */
static bool meets_conditions(struct matcher *matcher, const struct variant *variant)
{
    const struct roster *when = variant->when;
    if (!when)
        return true;
    if (when->dimensions & ~matcher->given)
        return false;
    for (uint32_t left = when->dimensions; left; left &= left - 1) {
        unsigned dimension = (unsigned)__builtin_ctz(left);
        struct roster_walk walk;
        if (!look_up(when, part_of(matcher, dimension)) &&
            !(begin_walk(matcher, when, dimension, &walk) && roster_walk_next(&walk)))
            return false;
    }
    return true;
}

/* ---- amounts ---- */

struct finding {
    const struct amount *amount; /* NULL: no entry applies */
    enum match_why why;
    uint8_t id;
};

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
    const struct roster_entry *entry = look_up(roster, part_of(matcher, dimension));
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

static struct finding find_amount(struct matcher *matcher, const struct variant *variant)
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
    if (finding.amount && finding.amount->limit == LIMIT_NONE) {
        finding.why = finding.why == WHY_OVERRIDE ? WHY_UNLIMITED_OVERRIDE : WHY_UNLIMITED;
        finding.amount = NULL;
    }
    return finding;
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
    if (!present_is_current(present, matcher->now_ns, matcher->wall_ns))
        window_renew(&matcher->ruleset->windows, window, request->thread, matcher->now_ns, matcher->wall_ns);
    if (variant->sliding)
        charge->previous = key_join(charge->id, present->previous);
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

/* Applies any variant. False: its deny list denies the request. */
__attribute__((noinline)) static bool apply_any(struct matcher *matcher, const struct variant *variant,
                                                struct key_id joined)
{
    struct match *match = matcher->match;
    struct rule_counter *counter = counter_of(matcher, variant);
    struct finding finding = find_amount(matcher, variant);
    match->plain = false;
    if (finding.amount) {
        assert(match->count < CHARGES_MAX);
        struct charge *charge = &match->charge[match->count];
        fill_charge(matcher, variant, finding.amount, joined, charge);
        if (variant->concurrency && charge->cost > 1)
            charge->cost = 1;
        if (finding.amount->window)
            fill_window(matcher, variant, finding.amount->window, charge);
        match->rule[match->count].identity = joined;
        fill_matched(variant, counter, finding.amount, finding.why, finding.id, &match->rule[match->count++]);
        return true;
    }
    assert(match->passed_count < CHARGES_MAX);
    match->passed[match->passed_count].identity = joined;
    fill_matched(variant, counter, NULL, finding.why, finding.id, &match->passed[match->passed_count++]);
    if (finding.why != WHY_DENY_LIST || variant->shadow)
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
    if (request->tier.size > 0) {
        int bit = word_find(service->tier, service->tier_count, request->tier);
        matcher->tier = bit < 0 ? 0 : (uint64_t)1 << bit;
    }
}

/* Follows a plan some of whose steps are about a part of the requests: see ruleset_state.h. */
__attribute__((noinline)) static bool follow_partial(struct matcher *matcher, const struct plan *plan)
{
    bool enforced = false, hides = false;
    matcher->match->plain = false;
    for (uint32_t i = 0; i < plan->count;) {
        const struct step *step = &plan->step[i];
        const struct variant *variant = step->variant;
        if (step->dimensions & ~matcher->given) {
            i = step->group_end;
            continue;
        }
        struct key_id joined = joined_of(matcher, step->dimensions);
        if (is_selected(variant, joined) && meets_conditions(matcher, variant)) {
            if (!apply(matcher, variant, joined))
                return true;
            hides = hides || !variant->shadow;
        }
        enforced = enforced || hides;
        i = step->level_end && hides ? step->group_end : i + 1;
        if (i == step->group_end)
            hides = false;
    }
    return enforced;
}

/* True if an enforced rule applied. */
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
        if (!apply(matcher, variant, joined_of(matcher, step->dimensions)))
            return true;
        enforced |= !variant->shadow;
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
            !meets_conditions(matcher, variant))
            continue;
        concerned = true;
        struct key_id joined = joined_of(matcher, variant->dimensions);
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
