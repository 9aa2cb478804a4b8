#include "limit/named_limit.h"

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
