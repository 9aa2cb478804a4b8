/*
 * Compiles a service: collects its dimensions and tiers as bits, then makes a slot for each rule
 * and a variant for each version, then the plans (ruleset_plan.c).
 */
#include "limit/key.h"
#include "rules/ruleset_state.h"

#include <assert.h>
#include <stdlib.h>

static bool of_rule(struct bytes service, struct bytes id, const struct error *inner, struct error *error)
{
    return error_set(error, inner->exit_status, "rule %.*s of service %.*s: %s", (int)id.size, id.data,
                     (int)service.size, service.data, inner->text);
}

/* ---- words: dimensions and tiers become bits ---- */

static bool add_word(struct arena *arena, struct word *words, uint8_t *count, uint32_t room, struct bytes text,
                     const char *what, struct error *error)
{
    if (word_find(words, *count, text) >= 0)
        return true;
    if (*count == room)
        return error_set(error, 65, "the rules of this service name more than %u different %s", room, what);
    struct bytes copy = arena_copy(arena, text);
    if (!copy.data)
        return error_set(error, 71, "not enough memory");
    words[(*count)++] = (struct word){.head = text_head(copy), .text = copy};
    return true;
}

static bool add_dimension(const struct ruleset *ruleset, struct service *service, struct bytes name,
                          struct error *error)
{
    uint8_t before = service->dimension_count;
    if (!add_word(&service->arena, service->dimension, &service->dimension_count, SERVICE_DIMENSIONS_MAX, name,
                  "dimensions", error))
        return false;
    if (service->dimension_count > before)
        key_of_dimension(&service->dimension_key[before], &ruleset->hash_key, name);
    return true;
}

/* A named cost takes the bit of a dimension that no request names. */
static bool add_cost(struct service *service, struct bytes name, struct error *error)
{
    uint8_t before = service->cost_count;
    if (!add_word(&service->arena, service->cost, &service->cost_count, SERVICE_COSTS_MAX, name, "costs (counts)",
                  error))
        return false;
    if (service->cost_count == before)
        return true;
    if (service->dimension_count == SERVICE_DIMENSIONS_MAX)
        return error_set(error, 65, "the rules of this service name more than %d different dimensions and costs",
                         SERVICE_DIMENSIONS_MAX);
    service->cost_bit[before] = service->dimension_count;
    service->dimension[service->dimension_count++] = (struct word){.text = {"", 0}};
    return true;
}

static bool add_words(const struct ruleset *ruleset, struct service *service, const struct rule *rule,
                      struct error *error)
{
    bool good = true;
    for (uint8_t i = 0; good && i < rule->by_count; i++)
        good = add_dimension(ruleset, service, rule->by[i], error);
    for (uint16_t i = 0; good && i < rule->allow_count; i++)
        good = add_dimension(ruleset, service, rule->allow[i].dimension, error);
    for (uint16_t i = 0; good && i < rule->deny_count; i++)
        good = add_dimension(ruleset, service, rule->deny[i].dimension, error);
    for (uint16_t i = 0; good && i < rule->when_count; i++)
        good = add_dimension(ruleset, service, rule->when[i].dimension, error);
    if (good && rule->counts.size > 0)
        good = add_cost(service, rule->counts, error);
    for (uint16_t i = 0; good && i < rule->tier_count; i++)
        good = add_word(&service->arena, service->tier, &service->tier_count, SERVICE_TIERS_MAX,
                        rule->tiers[i].name, "tiers", error);
    return good;
}

/* ---- slots ---- */

static const struct rule *rule_of(const struct rule_use *use)
{
    return use->rule ? use->rule : use->candidate;
}

static int by_id(const void *a, const void *b)
{
    const struct rule_use *const *left = a, *const *right = b;
    return bytes_compare(rule_of(*left)->id, rule_of(*right)->id);
}

/* A key's version depends on the values of its dimensions, so both versions must have the same
 * `by`; and their tokens must be the same thing. */
static bool check_versions(const struct rule_use *use, struct error *error)
{
    if (!use->rule || !use->candidate)
        return true;
    if (!bytes_equal(use->rule->id, use->candidate->id) || !rule_same_dimensions(use->rule, use->candidate))
        return error_set(error, 65, "its canary counts by other dimensions: expected the same, or another id");
    return bytes_equal(use->rule->counts, use->candidate->counts) ||
           error_set(error, 65, "its canary counts something else: expected the same, or another id");
}

/* The work on one service. */
struct compiler {
    struct ruleset *ruleset;
    struct service *service;
    struct sheets sheets;
};

static bool compile_rule(const struct compiler *compiler, struct variant *variant, const struct rule *rule,
                         uint64_t epoch, struct error *error)
{
    struct joined joined;
    bool good = sheets_join(&compiler->sheets, compiler->service, rule, &joined)
                    ? variant_compile(compiler->ruleset, compiler->service, variant, &joined.rule, epoch, error)
                    : error_set(error, 71, "not enough memory");
    free(joined.overrides);
    return good;
}

static bool compile_version(const struct compiler *compiler, struct slot *slot, const struct rule_use *use,
                            bool candidate, struct error *error)
{
    struct service *service = compiler->service;
    const struct rule *rule = candidate ? use->candidate : use->rule;
    uint32_t share = !use->candidate ? 0 : use->share_millionths < MILLION ? use->share_millionths : MILLION;
    struct variant *variant = &service->variant[service->variant_count++];
    variant->slot = slot;
    variant->counter = slot->ruled.counter;
    variant->candidate = candidate;
    variant->has_canary = use->candidate != NULL;
    variant->select_from = candidate ? 0 : share;
    variant->select_below = candidate ? share : MILLION;
    if (!compile_rule(compiler, variant, rule, candidate ? use->candidate_epoch : use->epoch, error))
        return false;
    if (candidate)
        slot->ruled.candidate = &variant->version;
    else
        slot->ruled.stable = &variant->version;
    if (rule->mode != RULE_OFF)
        slot->variant[candidate] = variant;
    service->adaptive = service->adaptive || rule->adaptive_floor > 0;
    return true;
}

static bool compile_use(const struct compiler *compiler, const struct rule_use *use, struct error *error)
{
    struct service *service = compiler->service;
    struct slot *slot = &service->slot[service->slot_count];
    struct bytes id = rule_of(use)->id;
    if (service->slot_count > 0 && bytes_equal(slot[-1].ruled.id, id))
        return error_set(error, 65, "there are two rules of this id");
    if (!check_versions(use, error))
        return false;
    slot->ruled.service = service->name;
    slot->ruled.id = arena_copy(&service->arena, id);
    if (!slot->ruled.id.data)
        return error_set(error, 71, "not enough memory");
    slot->ruled.share_millionths = use->candidate ? use->share_millionths : 0;
    slot->ruled.epoch = use->epoch;
    slot->ruled.candidate_epoch = use->candidate_epoch;
    slot->canary = use->canary;
    service->slot_count++;
    return (!use->rule || compile_version(compiler, slot, use, false, error)) &&
           (!use->candidate || compile_version(compiler, slot, use, true, error));
}

static bool compile_uses(const struct compiler *compiler, const struct rule_use *const *uses, size_t count,
                         struct error *error)
{
    struct service *service = compiler->service;
    struct ruleset *ruleset = compiler->ruleset;
    struct error inner;
    for (size_t i = 0; i < count; i++) {
        assert(!uses[i]->rule || bytes_equal(uses[i]->rule->service, service->name));
        assert(!uses[i]->candidate || bytes_equal(uses[i]->candidate->service, service->name));
        if ((uses[i]->rule && !add_words(ruleset, service, uses[i]->rule, &inner)) ||
            (uses[i]->candidate && !add_words(ruleset, service, uses[i]->candidate, &inner)) ||
            !compile_use(compiler, uses[i], &inner))
            return of_rule(service->name, rule_of(uses[i])->id, &inner, error);
    }
    if (!sheets_check(&compiler->sheets, service) || !service_link(service, uses, count))
        return error_set(error, 71, "not enough memory for the rules");
    return service_plan(service, error);
}

/* Sheets have no canary: the version in force is the sheet. False: memory is short. */
static bool find_sheets(struct sheets *sheets, const struct rule_use *const *uses, size_t count)
{
    sheets->rule = malloc((count + 1) * sizeof(struct rule *));
    for (size_t i = 0; sheets->rule && i < count; i++)
        if (uses[i]->rule && uses[i]->rule->overrides_of.size > 0)
            sheets->rule[sheets->count++] = uses[i]->rule;
    return sheets->rule != NULL;
}

struct service *service_compile(struct ruleset *ruleset, struct bytes name, uint32_t scale,
                                const struct rule_use *uses, size_t count, struct error *error)
{
    assert(count > 0);
    const struct rule_use **sorted = malloc(count * sizeof(struct rule_use *));
    struct service *service = service_create(name);
    struct compiler compiler = {.ruleset = ruleset, .service = service};
    bool good = sorted && service;
    if (good) {
        service->scale = scale;
        service->slot = arena_take_lines(&service->arena, count, sizeof *service->slot);
        service->variant = arena_take_lines(&service->arena, 2 * count, sizeof *service->variant);
        good = service->slot && service->variant &&
               counters_take(&service->arena, ruleset->options.threads, service->slot, (uint32_t)count);
    }
    if (good) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = &uses[i];
        qsort(sorted, count, sizeof(struct rule_use *), by_id);
        good = find_sheets(&compiler.sheets, sorted, count)
                   ? compile_uses(&compiler, sorted, count, error)
                   : error_set(error, 71, "not enough memory for the rules");
    } else {
        (void)error_set(error, 71, "not enough memory for the rules");
    }
    free(compiler.sheets.rule);
    free(sorted);
    if (!good)
        service_destroy(&service);
    return service;
}
