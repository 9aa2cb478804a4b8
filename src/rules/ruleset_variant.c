/*
 * Compiles one version of a rule: its amounts with their limits and windows, its roster, and the
 * texts that reports show.
 */
#include "base/bits.h"
#include "limit/key.h"
#include "rules/rule_value.h"
#include "rules/ruleset_state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- amounts: in one row the base, the tiers in the order of their bits, the overrides ---- */

static uint32_t tier_count(const struct variant *variant)
{
    return bits_count(variant->tiers);
}

static uint32_t amount_count(const struct variant *variant)
{
    return 1 + tier_count(variant) + variant->override_count;
}

static struct amount *amount_at(struct variant *variant, uint32_t index)
{
    if (index == 0)
        return &variant->base;
    uint32_t tiers = tier_count(variant);
    return index <= tiers ? &variant->tier[index - 1] : &variant->overrides[index - 1 - tiers];
}

/* The amount at each scale that the service may have. */
static void add_to_span(struct limit_span *span, const struct variant *variant, uint32_t index)
{
    const uint32_t scales[] = {RULE_SCALE_ONE, rule_scale(variant->adaptive_floor, 1)};
    for (uint32_t s = 0; s < 2 && rule_amount_counts(&variant->amounts[index]); s++) {
        struct limit_terms terms;
        rule_terms(&variant->basis, &variant->amounts[index], scales[s], &terms);
        limit_span_add(span, &terms);
    }
}

/* A key goes from limit to limit by the tier of each request, unless it has an override, and by the service's scale. */
static void note_span(const struct ruleset *ruleset, const struct variant *variant, uint32_t index, uint16_t limit)
{
    const struct ruleset_options *options = &ruleset->options;
    const bool has_tier = index <= tier_count(variant);
    struct limit_span of_override = {0};
    if (options->note_span == NULL || (variant->adaptive_floor == 0 && !(has_tier && variant->tiers != 0)))
        return;
    if (!has_tier)
        add_to_span(&of_override, variant, index);
    options->note_span(options->context, limit, has_tier ? &variant->span : &of_override);
}

/* Keys of a rule with tiers go to and fro. */
static uint8_t inherit_of(const struct variant *variant)
{
    return variant->tiers != 0 && variant->inherit == INHERIT_KEEP ? INHERIT_TIERS : variant->inherit;
}

static bool intern_terms(struct ruleset *ruleset, const struct variant *variant, uint32_t of,
                         const struct limit_terms *terms, uint16_t *limit, struct error *error)
{
    const struct ruleset_options *options = &ruleset->options;
    const int index = options->intern(options->context, terms, error);
    assert(index < LIMIT_ZERO);
    if (index < 0)
        return false;
    *limit = (uint16_t)index;
    note_span(ruleset, variant, of, *limit);
    if (options->note_inherit)
        options->note_inherit(options->context, *limit, inherit_of(variant));
    return true;
}

/* All of them or none. The variant has homes. */
static bool intern_at_homes(struct ruleset *ruleset, struct variant *variant, uint32_t index,
                            struct limit_terms *terms, struct error *error)
{
    const struct homes *homes = variant->homes;
    uint16_t limits[HOMES_MAX];
    assert(homes->count > 0 && homes->count <= HOMES_MAX);
    for (uint32_t i = 0; i < homes->count; i++) {
        terms->home = homes->number[i];
        if (!intern_terms(ruleset, variant, index, terms, &limits[i], error))
            return false;
    }
    memcpy(&variant->home_limits[index * homes->count], limits, homes->count * sizeof *limits);
    amount_at(variant, index)->limit = limits[0]; /* it shows the figures, which are those of all */
    return true;
}

static bool intern(struct ruleset *ruleset, struct variant *variant, uint32_t index, uint32_t scale,
                   struct error *error)
{
    struct amount *amount = amount_at(variant, index);
    struct limit_terms terms;
    rule_terms(&variant->basis, &variant->amounts[index], rule_scale(variant->adaptive_floor, scale), &terms);
    const bool done = variant->homes ? intern_at_homes(ruleset, variant, index, &terms, error)
                                     : intern_terms(ruleset, variant, index, &terms, &amount->limit, error);
    if (done)
        amount->capacity = terms.capacity;
    return done;
}

static uint32_t index_of(const struct variant *variant, const struct amount *amount)
{
    if (amount == &variant->base)
        return 0;
    const uint32_t tiers = tier_count(variant);
    for (uint32_t i = 0; i < tiers; i++)
        if (amount == &variant->tier[i])
            return 1 + i;
    return 1 + tiers + (uint32_t)(amount - variant->overrides);
}

uint16_t variant_limit_at_home(const struct variant *variant, const struct amount *amount, struct key_id id)
{
    return variant->home_limits[index_of(variant, amount) * variant->homes->count + homes_of(variant->homes, id)];
}

static bool obtain_window(struct ruleset *ruleset, struct variant *variant, uint32_t index, struct bytes zone,
                          struct error *error)
{
    const struct rule_amount *from = &variant->amounts[index];
    uint64_t period_ns = from->period_ns;
    if (!rule_has_windows(variant->version.algorithm))
        return true;
    if (rule_has_calendar(variant->version.algorithm))
        period_ns = 0;
    else
        assert(period_ns > 0);
    struct amount *amount = amount_at(variant, index);
    amount->window = window_obtain(&ruleset->windows, period_ns, from->unit, zone, error);
    return amount->window != NULL;
}

/* The bit of a tier that the service must know. */
static unsigned tier_of(const struct service *service, struct bytes name)
{
    int found = word_find(service->tier, service->tier_count, name);
    assert(found >= 0);
    return (unsigned)found;
}

/* Copies the rule's amounts into one row. */
static bool lay_out(struct service *service, struct variant *variant, const struct rule *rule, struct error *error)
{
    struct arena *arena = &service->arena;
    for (uint16_t i = 0; i < rule->tier_count; i++)
        variant->tiers |= (uint64_t)1 << tier_of(service, rule->tiers[i].name);
    variant->override_count = rule->override_count;
    variant->tier = arena_take(arena, rule->tier_count, sizeof *variant->tier);
    variant->overrides = arena_take(arena, rule->override_count, sizeof *variant->overrides);
    variant->amounts = arena_take(arena, amount_count(variant), sizeof *variant->amounts);
    if (!variant->tier || !variant->overrides || !variant->amounts) {
        variant->tiers = variant->override_count = 0;
        return error_set(error, 71, "not enough memory");
    }
    struct rule_amount *row = variant->amounts;
    *row++ = rule->amount;
    for (uint16_t i = 0; i < rule->tier_count; i++) {
        uint64_t before = variant->tiers & (((uint64_t)1 << tier_of(service, rule->tiers[i].name)) - 1);
        row[bits_count(before)] = rule->tiers[i].amount;
    }
    row += rule->tier_count;
    for (uint16_t i = 0; i < rule->override_count; i++)
        *row++ = rule->overrides[i].amount;
    return true;
}

/* Keeps the weights as reports show them, and has the caller note them. */
static bool compile_weights(struct ruleset *ruleset, struct service *service, struct variant *variant,
                            const struct rule *rule, struct error *error)
{
    char text[LIMIT_WEIGHTS_MAX * (RULE_NAME_MAX_BYTES + RULE_WEIGHT_TEXT_BYTES)], weight[RULE_WEIGHT_TEXT_BYTES];
    size_t size = 0;
    text[0] = '\0';
    for (uint16_t i = 0; i < rule->weights_count; i++) {
        const struct limit_weight *part = &rule->weights[i];
        const int written =
            snprintf(text + size, sizeof text - size, "%s%.*s %s", i > 0 ? ", " : "", (int)part->region.size,
                     part->region.data, rule_weight_text(part->billionths, weight, sizeof weight));
        size += written > 0 ? (size_t)written : 0;
    }
    variant->version.weights = arena_copy(&service->arena, (struct bytes){text, size});
    if (!variant->version.weights.data)
        return error_set(error, 71, "not enough memory");
    return rule->weights_count == 0 || !ruleset->options.note_weights ||
           ruleset->options.note_weights(ruleset->options.context, rule->weights, rule->weights_count, error);
}

/* Among which homes the keys of the rule choose, if they do, and where the limits of these homes are put. */
static bool compile_homes(const struct ruleset *ruleset, struct service *service, struct variant *variant,
                          struct bytes home, struct error *error)
{
    const struct homes *of_regions = ruleset->options.homes;
    if (home_is_list(home)) {
        struct homes *listed = arena_take(&service->arena, 1, sizeof *listed);
        if (!listed)
            return error_set(error, 71, "not enough memory");
        homes_init_list(listed, home);
        variant->homes = listed;
    } else {
        variant->homes = home_is_by_key(home) && of_regions && of_regions->count > 0 ? of_regions : NULL;
    }
    if (!variant->homes)
        return true;
    variant->home_limits =
        arena_take(&service->arena, amount_count(variant) * variant->homes->count, sizeof *variant->home_limits);
    return variant->home_limits || error_set(error, 71, "not enough memory");
}

static bool compile_amounts(struct ruleset *ruleset, struct service *service, struct variant *variant,
                            const struct rule *rule, struct error *error)
{
    if (!lay_out(service, variant, rule, error) || !compile_weights(ruleset, service, variant, rule, error))
        return false;
    const struct bytes home = arena_copy(&service->arena, rule->home);
    if (!home.data)
        return error_set(error, 71, "not enough memory");
    variant->version.home = home;
    variant->basis = (struct rule){.algorithm = rule->algorithm,
                                   .overshoot_relative = rule->overshoot_relative,
                                   .overshoot = rule->overshoot,
                                   .sync = rule->sync,
                                   .persist = rule->persist,
                                   .home = home,
                                   .weights_number = rule->weights_number};
    if (!compile_homes(ruleset, service, variant, home, error))
        return false;
    for (uint32_t i = 0; i <= tier_count(variant); i++)
        add_to_span(&variant->span, variant, i);
    for (uint32_t i = 0; i < amount_count(variant); i++) {
        const struct rule_amount *from = &variant->amounts[i];
        amount_at(variant, i)->limit = from->unlimited ? LIMIT_NONE : LIMIT_ZERO;
        if (!rule_amount_counts(from))
            continue;
        if (!obtain_window(ruleset, variant, i, rule->zone, error) ||
            !intern(ruleset, variant, i, service->scale, error))
            return false;
    }
    return true;
}

bool variant_rescale(struct ruleset *ruleset, struct variant *variant, uint32_t scale)
{
    bool changed = false;
    if (variant->adaptive_floor == 0)
        return false;
    for (uint32_t i = 0; i < amount_count(variant); i++) {
        struct error ignored;
        uint16_t before = amount_at(variant, i)->limit;
        if (amount_counts(amount_at(variant, i)) && intern(ruleset, variant, i, scale, &ignored))
            changed = changed || amount_at(variant, i)->limit != before;
    }
    return changed;
}

void variant_close(struct variant *variant)
{
    for (uint32_t i = 0; i < amount_count(variant); i++) {
        struct amount *amount = amount_at(variant, i);
        if (amount->window)
            window_release(amount->window);
        amount->window = NULL;
    }
}

/* The amount that has this place in the row. */
static void visit_amount(const struct variant *variant, uint32_t index, const struct amount *amount,
                         void (*visit)(void *context, uint16_t limit), void *context)
{
    if (!amount_counts(amount))
        return;
    if (!variant->homes)
        visit(context, amount->limit);
    for (uint32_t i = 0; variant->homes && i < variant->homes->count; i++)
        visit(context, variant->home_limits[index * variant->homes->count + i]);
}

void variant_visit_limits(const struct variant *variant, void (*visit)(void *context, uint16_t limit),
                          void *context)
{
    const uint32_t tiers = tier_count(variant);
    visit_amount(variant, 0, &variant->base, visit, context);
    for (uint32_t i = 0; i < tiers; i++)
        visit_amount(variant, 1 + i, &variant->tier[i], visit, context);
    for (uint32_t i = 0; i < variant->override_count; i++)
        visit_amount(variant, 1 + tiers + i, &variant->overrides[i], visit, context);
}

/* ---- salt and texts ---- */

/* The 128 bits that distinguish a rule's keys, for one epoch. */
static struct key_id rule_salt(const struct hash_key *hash_key, struct bytes service, struct bytes id,
                               uint64_t epoch)
{
    char text[2 + 2 * (1 + RULE_NAME_MAX_BYTES) + sizeof epoch];
    size_t size = 0;
    assert(service.size <= RULE_NAME_MAX_BYTES && id.size <= RULE_NAME_MAX_BYTES);
    /* No other text that is hashed with this key begins with this byte. */
    text[size++] = (char)0xff;
    const struct bytes names[] = {service, id};
    for (size_t i = 0; i < 2; i++) {
        text[size++] = (char)names[i].size;
        if (names[i].size > 0)
            memcpy(text + size, names[i].data, names[i].size);
        size += names[i].size;
    }
    memcpy(text + size, &epoch, sizeof epoch);
    return hash_128(hash_key, text, size + sizeof epoch);
}

static bool describe(struct service *service, struct variant *variant, const struct rule *rule, struct error *error)
{
    char by[RULE_DIMENSIONS_MAX * (KEY_DIMENSION_MAX_BYTES + 1)];
    size_t size = 0;
    for (uint8_t i = 0; i < rule->by_count; i++) {
        if (size > 0)
            by[size++] = ',';
        memcpy(by + size, rule->by[i].data, rule->by[i].size);
        size += rule->by[i].size;
    }
    variant->version = (struct ruled_version){
        .endpoint = arena_copy(&service->arena, rule->endpoint),
        .by = arena_copy(&service->arena, (struct bytes){by, size}),
        .counts = arena_copy(&service->arena, rule->counts),
        .algorithm = rule->algorithm,
        .mode = rule->mode,
        .adaptive = rule->adaptive_floor > 0,
        .central = rule->sync == RULE_CENTRAL,
        .from_first = rule->begins == RULE_BEGINS_FIRST_REQUEST,
        .sheet = rule->overrides_of.size > 0,
    };
    if (!variant->version.endpoint.data || !variant->version.by.data || !variant->version.counts.data)
        return error_set(error, 71, "not enough memory");
    return true;
}

bool variant_compile(struct ruleset *ruleset, struct service *service, struct variant *variant,
                     const struct rule *rule, uint64_t epoch, struct error *error)
{
    if (!describe(service, variant, rule, error))
        return false;
    if (rule->overrides_of.size > 0)
        return true; /* a sheet: its rule has its overrides */
    variant->salt = rule_salt(&ruleset->hash_key, rule->service, rule->id, epoch);
    variant->selector = rule_salt(&ruleset->hash_key, rule->service, rule->id, 0).low;
    for (uint8_t i = 0; i < rule->by_count; i++)
        variant->dimensions |= (uint32_t)1 << word_find(service->dimension, service->dimension_count, rule->by[i]);
    variant->counts = -1;
    if (rule->counts.size > 0) {
        variant->counts = (int8_t)service->cost_bit[word_find(service->cost, service->cost_count, rule->counts)];
        variant->dimensions |= (uint32_t)1 << variant->counts;
    }
    memcpy(variant->floor, rule->priority_floor, sizeof variant->floor);
    variant->inherit = rule->inherit == RULE_PROPORTIONAL ? INHERIT_PROPORTIONAL : INHERIT_KEEP;
    variant->on_isolation = (uint8_t)rule->on_isolation;
    variant->central = rule->sync == RULE_CENTRAL ? (uint8_t)(CENTRAL_OR_BUDGET + rule->when_down) : CENTRAL_NOT;
    variant->patience_ms = (uint16_t)((rule->patience_ns + 999999) / 1000000);
    variant->sliding = rule_has_trait(rule->algorithm, ALGORITHM_SLIDES);
    variant->from_first = rule->begins == RULE_BEGINS_FIRST_REQUEST;
    variant->concurrency = rule_has_trait(rule->algorithm, ALGORITHM_LEASES);
    variant->soft = rule->mode == RULE_SOFT;
    variant->shadow = rule->mode == RULE_SHADOW || variant->soft;
    variant->hides_config = variant_is_in_force(variant) && variant->counts < 0;
    variant->adaptive_floor = rule->adaptive_floor;
    variant->latency_target_ns = rule->adaptive_floor > 0 ? rule->adaptive_latency_ns : 0;
    if (!compile_amounts(ruleset, service, variant, rule, error) || !roster_compile(service, variant, rule, error))
        return false;
    variant->inherit = inherit_of(variant);
    variant->plain = !variant->roster && !variant->base.window && !variant->concurrency && variant->counts < 0 &&
                     variant->central == CENTRAL_NOT && amount_counts(&variant->base) && !variant->homes;
    return true;
}
