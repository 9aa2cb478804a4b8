/*
 * Learns which identifiers each key is made of, from one request and its match, and makes the ids
 * for other values. is_itself proves what was learned: the ids of the request's own values must
 * come out.
 */
#include "rules/match_alike.h"

#include "limit/key.h"
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

static const struct variant *variant_of(const struct matched *matched)
{
    const char *version = (const char *)matched->version;
    return (const void *)(version - offsetof(struct variant, version));
}

static struct key_id joined(const struct alike *alike, uint32_t charge, const struct key_id *part)
{
    struct key_id id = alike->salt[charge];
    for (uint32_t left = alike->of[charge]; left; left &= left - 1)
        id = key_join(id, part[__builtin_ctz(left)]);
    return id;
}

static void hash_values(const struct alike *alike, const struct bytes *values, struct key_id *part)
{
    for (uint32_t left = alike->counted; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        part[i] = key_part(&alike->dimension_key[i], values[i]);
    }
}

static void note_charge(const struct service *service, const struct request *request, uint32_t charge,
                        struct alike *alike)
{
    const struct variant *variant = variant_of(&alike->match.rule[charge]);
    bool found = find_ids(service, request, variant->dimensions, &alike->of[charge]);
    assert(found && variant->plain);
    alike->counted |= alike->of[charge];
    alike->salt[charge] = variant->salt;
}

/* True if the request's own values give the ids of its own match. */
static bool is_itself(const struct alike *alike, const struct request *request)
{
    struct bytes values[REQUEST_IDS_MAX];
    struct key_id ids[ALIKE_CHARGES_MAX];
    for (uint32_t i = 0; i < request->id_count; i++)
        values[i] = request->id[i].value;
    alike_ids(alike, values, ids);
    for (uint32_t i = 0; i < alike->match.count; i++)
        if (!key_id_equal(ids[i], alike->match.charge[i].id))
            return false;
    return true;
}

bool alike_of(const struct ruleset *ruleset, const struct request *request, const struct match *match,
              struct alike *alike)
{
    const struct bytes name = request->service.size > 0 ? request->service : bytes_of(RULE_DEFAULT_SERVICE);
    const struct service *service = ruleset_service(ruleset, name);
    if (!service || !match->plain || match->count == 0 || match->count > ALIKE_CHARGES_MAX)
        return false;
    alike->id_count = request->id_count;
    alike->counted = 0;
    alike->match = *match;
    for (uint32_t i = 0; i < match->count; i++)
        note_charge(service, request, i, alike);
    for (uint32_t left = alike->counted; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        int bit = word_find(service->dimension, service->dimension_count, request->id[i].dimension);
        alike->dimension_key[i] = service->dimension_key[bit];
    }
    assert(is_itself(alike, request));
    return true;
}

uint64_t alike_edition(const struct ruleset *ruleset)
{
    return ruleset->edition;
}

void alike_ids(const struct alike *alike, const struct bytes *values, struct key_id *ids)
{
    struct key_id part[REQUEST_IDS_MAX];
    hash_values(alike, values, part);
    for (uint32_t i = 0; i < alike->match.count; i++)
        ids[i] = joined(alike, i, part);
}
