#include "limit/named_limit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

/* FNV-1a: names come from the operator, so that an unkeyed hash does; collisions are refused with the config. */
static uint32_t name_id(struct bytes name)
{
    uint32_t id = 2166136261u;
    for (size_t i = 0; i < name.size; i++)
        id = (id ^ (uint8_t)name.data[i]) * 16777619u;
    return id;
}

bool named_limit_init(struct named_limit *limit, struct bytes name, const struct limit_terms *terms,
                      struct error *error)
{
    struct limit tried;
    if (name.size == 0 || name.size >= LIMIT_NAME_BYTES)
        return error_set(error, EX_CONFIG, "name has %zu bytes: expected 1 to %d", name.size, LIMIT_NAME_BYTES - 1);
    if (memchr(name.data, 0, name.size))
        return error_set(error, EX_CONFIG, "name contains a zero byte: expected text");
    if (!limit_init(&tried, terms, error))
        return false;
    *limit = (struct named_limit){.id = name_id(name), .terms = *terms};
    memcpy(limit->name, name.data, name.size);
    return true;
}

int named_limit_find(const struct named_limits *limits, struct bytes name)
{
    for (int i = 0; i < limits->count; i++)
        if (bytes_equal(bytes_of(limits->limit[i].name), name))
            return i;
    return -1;
}

int named_limit_find_id(const struct named_limits *limits, uint32_t id)
{
    for (int i = 0; i < limits->count; i++)
        if (limits->limit[i].id == id)
            return i;
    return -1;
}

bool named_limits_equal(const struct named_limits *a, const struct named_limits *b)
{
    bool equal = a->count == b->count && a->by_default == b->by_default;
    for (uint16_t i = 0; i < a->count && equal; i++)
        equal = strcmp(a->limit[i].name, b->limit[i].name) == 0 &&
                limit_terms_equal(&a->limit[i].terms, &b->limit[i].terms) &&
                a->limit[i].patience_ms == b->limit[i].patience_ms;
    return equal;
}

uint64_t named_limits_digest(const struct named_limits *limits, const struct hash_key *key)
{
    char line[2 * LIMIT_NAME_BYTES + 200];
    uint64_t sum = 0;
    for (uint16_t i = 0; i < limits->count; i++) {
        const struct named_limit *named = &limits->limit[i];
        struct limit limit;
        struct error error;
        const bool sound = limit_init(&limit, &named->terms, &error);
        assert(sound);
        /* 100/s and 6000/m are the same; the derived units are equal for equal rates. */
        const int size =
            snprintf(line, sizeof line, "limit %s capacity %llu units %lld tick %lld per %llu ns overshoot %llu%s",
                     named->name, (unsigned long long)limit.capacity, (long long)limit.units_per_token,
                     (long long)limit.units_per_tick, (unsigned long long)limit.tick_ns,
                     (unsigned long long)limit.overshoot, i == limits->by_default ? " default" : "");
        sum += hash_64(key, line, (size_t)size);
    }
    return sum;
}
