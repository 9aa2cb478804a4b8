/*
 * Matches requests of the service "default" by a limit of the config, where no rule is about them.
 */
#include "limit/key.h"
#include "rules/match.h"
#include "rules/ruleset_state.h"

/* Limits of the config have neither windows nor floors. */
static struct charge charge_by_config(const struct variant *variant)
{
    return (struct charge){
        .limit = variant->base.limit,
        .inherit = variant->inherit,
        .on_isolation = variant->on_isolation,
        .patience_ms = variant->patience_ms,
    };
}

bool match_config(const struct ruleset *ruleset, const struct request *request, const struct slot *named,
                  struct match *match)
{
    const struct variant *variant = named->variant[0];
    const struct request_id *first = &request->id[0];
    struct charge *charge = &match->charge[match->count];
    struct hash_key dimension_key = ruleset->default_key;
    if (!bytes_equal(first->dimension, bytes_of(RULE_DEFAULT_DIMENSION)))
        key_of_dimension(&dimension_key, &ruleset->hash_key, first->dimension);
    *charge = charge_by_config(variant);
    charge->id = key_join(variant->salt, key_part(&dimension_key, first->value));
    charge->cost = request->cost;
    charge->tenant = match->tenant;
    match->rule[match->count++] = (struct matched){
        .rule = &variant->slot->ruled,
        .counter = variant->counter + (size_t)request->thread * ruleset->named_count,
        .version = &variant->version,
        .limit_tokens = variant->base.capacity,
        .why = WHY_CONFIG,
    };
    return true;
}
