#include "rules/match_alike.h"

#include "limit/key.h"
#include "rules/ruleset_state.h"

#include <assert.h>
#include <string.h>

_Static_assert(REQUEST_IDS_MAX <= 8 && REQUEST_IDS_MAX % HASH_SIDE_MAX == 0, "a bit each; as many side by side");

/* Which of the request's identifiers are of these dimensions, one each. False: one is missing. */
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
    for (uint32_t i = 0; i < alike->part_count; i += HASH_SIDE_MAX) {
        const uint32_t left = alike->part_count - i, count = left < HASH_SIDE_MAX ? left : HASH_SIDE_MAX;
        const struct bytes *data[HASH_SIDE_MAX];
        for (uint32_t k = 0; k < HASH_SIDE_MAX; k++)
            data[k] = &values[alike->part[i + k]];
        hash_side(&alike->dimension_keys[i / HASH_SIDE_MAX], data, count, &part[i]);
    }
}

/* The number of the identifier among those that are hashed. */
static uint32_t part_of(const struct service *service, const struct request *request, uint32_t id,
                        struct alike *alike)
{
    for (uint32_t i = 0; i < alike->part_count; i++)
        if (alike->part[i] == id)
            return i;
    const uint32_t part = alike->part_count++;
    int bit = word_find(service->dimension, service->dimension_count, request->id[id].dimension);
    alike->part[part] = (uint8_t)id;
    hash_side_set(&alike->dimension_keys[part / HASH_SIDE_MAX], part % HASH_SIDE_MAX, &service->dimension_key[bit]);
    return part;
}

static void note_charge(const struct service *service, const struct request *request, uint32_t charge,
                        struct alike *alike)
{
    const struct variant *variant = variant_of(&alike->match.rule[charge]);
    uint8_t ids;
    bool found = find_ids(service, request, variant->dimensions, &ids);
    assert(found && variant->plain);
    alike->of[charge] = 0;
    for (uint32_t left = ids; left; left &= left - 1)
        alike->of[charge] |= (uint8_t)(1u << part_of(service, request, (uint32_t)__builtin_ctz(left), alike));
    alike->salt[charge] = variant->salt;
}

/* Made of its own values, it is what it was made of. */
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
    alike->part_count = 0;
    memset(alike->part, 0, sizeof alike->part);
    memset(alike->dimension_keys, 0, sizeof alike->dimension_keys);
    alike->match = *match;
    for (uint32_t i = 0; i < match->count; i++)
        note_charge(service, request, i, alike);
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
