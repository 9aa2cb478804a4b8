/*
 * Learns which identifiers each key is made of, from one request and its match, and makes the ids
 * for other values. is_itself proves what was learned: the ids of the request's own values must
 * come out.
 */
#include "rules/match_shape.h"

#include "rules/ruleset_state.h"

#include <assert.h>

_Static_assert(REQUEST_IDS_MAX <= 8, "a bit each");

/* Finds the request's identifier for each of these dimensions. False: one is missing. */
static bool find_ids(const struct service *service, const struct request *request, uint32_t dimensions, uint8_t *of)
{
    uint32_t found = 0;
    *of = 0;
    for (uint32_t i = 0; i < request->id_count; i++) {
        int bit = word_find(service->dimension, service->dimension_count, request->id[i].dimension);
        if (bit < 0 || !(dimensions >> bit & 1))
            continue;
        found |= (uint32_t)1 << bit;
        *of |= (uint8_t)(1u << i);
    }
    return found == dimensions;
}

/* A limit of the config counts by the first identifier, whatever its dimension. */
static void note_charge(const struct service *service, const struct request *request, uint32_t charge,
                        struct shape_match *shape)
{
    const struct matched *matched = &shape->match.rule[charge];
    const struct variant *variant = variant_of_version(matched->version);
    bool found = true;
    if (matched->why == WHY_CONFIG)
        shape->of[charge] = 1;
    else
        found = service && variant->plain && find_ids(service, request, variant->dimensions, &shape->of[charge]);
    assert(found);
    const bool is_one = shape->of[charge] != 0 && (shape->of[charge] & (shape->of[charge] - 1)) == 0;
    shape->distinct = shape->distinct && is_one && (shape->counted & shape->of[charge]) == 0;
    shape->counted |= shape->of[charge];
    shape->salt[charge] = variant->salt;
}

/* True if the request's own values give the ids of its own match. */
static bool is_itself(const struct shape_match *shape, const struct request *request)
{
    struct bytes values[REQUEST_IDS_MAX];
    struct key_id ids[SHAPE_CHARGES_MAX];
    for (uint32_t i = 0; i < request->id_count; i++)
        values[i] = request->id[i].value;
    shape_match_ids(shape, values, ids);
    for (uint32_t i = 0; i < shape->match.count; i++)
        if (!key_id_equal(ids[i], shape->match.charge[i].id))
            return false;
    return true;
}

bool shape_match_of(const struct ruleset *ruleset, const struct request *request, const struct match *match,
                    struct shape_match *shape)
{
    const struct bytes name = request->service.size > 0 ? request->service : bytes_of(RULE_DEFAULT_SERVICE);
    const struct service *service = ruleset_service(ruleset, name);
    if (!match->plain || match->count == 0 || match->count > SHAPE_CHARGES_MAX)
        return false;
    shape->id_count = request->id_count;
    shape->counted = 0;
    shape->distinct = true;
    shape->match = *match;
    for (uint32_t i = 0; i < match->count; i++)
        note_charge(service, request, i, shape);
    for (uint32_t left = shape->counted; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        key_of_dimension(&shape->dimension_key[i], &ruleset->hash_key, request->id[i].dimension);
    }
    assert(is_itself(shape, request));
    return true;
}

uint64_t ruleset_edition(const struct ruleset *ruleset)
{
    return ruleset->edition;
}

/* noinline: keeps its frame off the way of shapes whose charges are distinct. */
__attribute__((noinline)) static void join_ids(const struct shape_match *shape, const struct bytes *values,
                                               struct key_id *ids)
{
    struct key_id part[REQUEST_IDS_MAX];
    for (uint32_t left = shape->counted; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        part[i] = key_part(&shape->dimension_key[i], values[i]);
    }
    for (uint32_t i = 0; i < shape->match.count; i++) {
        ids[i] = shape->salt[i];
        for (uint32_t left = shape->of[i]; left; left &= left - 1)
            ids[i] = key_join(ids[i], part[__builtin_ctz(left)]);
    }
}

void shape_match_ids(const struct shape_match *shape, const struct bytes *values, struct key_id *ids)
{
    if (!shape->distinct) {
        join_ids(shape, values, ids);
        return;
    }
    for (uint32_t i = 0; i < shape->match.count; i++) {
        const uint32_t at = (uint32_t)__builtin_ctz(shape->of[i]);
        ids[i] = shape_match_id(shape, i, at, values[at]);
    }
}
