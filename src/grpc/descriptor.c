#include "grpc/descriptor.h"

#include "rules/rule.h"

#include <stdio.h>
#include <string.h>

static const char *const options[] = {"endpoint", "tier", "priority", "rule", "drain", "alternative"};
enum { OPTIONS = sizeof options / sizeof options[0], ENDPOINT = 0, DRAIN = 4, ALTERNATIVE = 5, NUMBER_BYTES = 4 };
_Static_assert((int)COMMAND_SELECTOR_MAX_BYTES > (int)RULE_ENDPOINT_MAX_BYTES, "what is cut equals no pattern");
#define COST_PREFIX "cost."
#define COST_MAX_TEXT "1000000000000" /* COMMAND_COST_MAX */
_Static_assert(COMMAND_COST_MAX == 1000000000000u, "as the text says");
/* It cannot be written in a rule. */
static const struct command_id_words stand_in = {{"*", 1}, {"*", 1}};

void grpc_descriptor_begin(struct grpc_descriptor *descriptor, enum path_spelling spelling)
{
    command_query_clear(&descriptor->query);
    descriptor->spelling = spelling;
    descriptor->said = 0;
    descriptor->alternative = descriptor->has_stand_in_id = false;
    descriptor->error[0] = '\0';
}

static bool fail(struct grpc_descriptor *descriptor, const char *error)
{
    (void)snprintf(descriptor->error, sizeof descriptor->error, "%s", error);
    return false;
}

static bool out_of_room(struct grpc_descriptor *descriptor)
{
    return fail(descriptor, "the request needs too much memory to be read");
}

static bool spell(struct grpc_descriptor *descriptor, struct bytes *path, struct grpc_arena *arena)
{
    char *room = grpc_arena_take(arena, PATH_ROOM_BYTES);
    if (room == NULL)
        return out_of_room(descriptor);
    *path = path_spell(*path, descriptor->spelling, room);
    return true;
}

static bool say_flag(struct grpc_descriptor *descriptor, struct bytes value, bool *flag)
{
    *flag = bytes_equal(value, bytes_of("true"));
    return *flag || bytes_equal(value, bytes_of("false")) || fail(descriptor, "expected true or false");
}

static bool say(struct grpc_descriptor *descriptor, unsigned option, struct bytes value, struct grpc_arena *arena)
{
    if ((descriptor->said & 1u << option) != 0)
        return fail(descriptor, "said twice: expected it once");
    descriptor->said |= 1u << option;
    if (option == DRAIN || option == ALTERNATIVE)
        return say_flag(descriptor, value, option == DRAIN ? &descriptor->query.drain : &descriptor->alternative);
    if (option == ENDPOINT && !spell(descriptor, &value, arena))
        return false;
    return value.size == 0 ||
           command_query_set(&descriptor->query, bytes_of(options[option]), value, 0, descriptor->error);
}

static bool is_named_cost(struct bytes key)
{
    return key.size >= sizeof COST_PREFIX - 1 && memcmp(key.data, COST_PREFIX, sizeof COST_PREFIX - 1) == 0;
}

static bool say_cost(struct grpc_descriptor *descriptor, struct bytes key, struct bytes value)
{
    const size_t prefix = sizeof COST_PREFIX - 1;
    uint64_t tokens;
    if (!word_number(value, COMMAND_COST_MAX, &tokens))
        value = bytes_of(COST_MAX_TEXT);
    return command_query_add_cost(&descriptor->query, (struct bytes){key.data + prefix, key.size - prefix}, value,
                                  descriptor->error);
}

static bool shorten(struct bytes *value, const struct hash_key *hash_key, struct grpc_arena *arena)
{
    char *text = grpc_arena_take(arena, COMMAND_HASHED_BYTES);
    if (text == NULL)
        return false;
    command_value_shorten(value, hash_key, text);
    return true;
}

static uint32_t times_named(const struct command_query *query, struct bytes key)
{
    uint32_t times = 0;
    for (uint32_t i = 0; i < query->id_count; i++) {
        const struct bytes dimension = query->id[i].dimension;
        times += dimension.size >= key.size && memcmp(dimension.data, key.data, key.size) == 0 &&
                 (dimension.size == key.size || dimension.data[key.size] == '.');
    }
    return times;
}

static bool is_named(const struct command_query *query, struct bytes key)
{
    for (uint32_t i = 0; i < query->id_count; i++)
        if (bytes_equal(query->id[i].dimension, key))
            return true;
    return false;
}

/* A key that stands there again is the dimension key.2, and so on: a query names each dimension once. */
static bool number(const struct command_query *query, struct bytes *key, struct grpc_arena *arena)
{
    char *text = grpc_arena_take(arena, key->size + NUMBER_BYTES);
    if (text == NULL)
        return false;
    const int size = snprintf(text, key->size + NUMBER_BYTES, "%.*s.%u", (int)key->size, key->data,
                              (times_named(query, *key) + 1) % 10);
    *key = (struct bytes){text, (size_t)size};
    return true;
}

bool grpc_descriptor_add(struct grpc_descriptor *descriptor, struct bytes key, struct bytes value,
                         const struct hash_key *hash_key, struct grpc_arena *arena)
{
    struct command_query *query = &descriptor->query;
    if (key.size == 0)
        return fail(descriptor, "an entry has no key");
    if (value.size == 0)
        return true;
    for (unsigned i = 0; i < OPTIONS; i++)
        if (bytes_equal(key, bytes_of(options[i])))
            return say(descriptor, i, value, arena);
    if (is_named_cost(key))
        return say_cost(descriptor, key, value);
    if (value.size > COMMAND_VALUE_MAX_BYTES && !shorten(&value, hash_key, arena))
        return out_of_room(descriptor);
    if (key.size <= COMMAND_DIMENSION_MAX_BYTES && is_named(query, key) && !number(query, &key, arena))
        return out_of_room(descriptor);
    return command_query_add_id(query, key, value, descriptor->error);
}

void grpc_descriptor_end(struct grpc_descriptor *descriptor)
{
    struct command_query *query = &descriptor->query;
    descriptor->has_stand_in_id = query->id_count == 0;
    if (descriptor->has_stand_in_id)
        query->id[query->id_count++] = stand_in;
}

bool grpc_descriptor_is_endpoint(struct bytes key)
{
    return bytes_equal(key, bytes_of(options[ENDPOINT]));
}

bool grpc_descriptor_is_manner(struct bytes key)
{
    return bytes_equal(key, bytes_of(options[DRAIN])) || bytes_equal(key, bytes_of(options[ALTERNATIVE]));
}
