/*
 * The limits of the config in a ruleset. They have an arena of their own: a new list is built beside the one in use and
 * replaces it at once, and a limit that keeps its name keeps its counts. Which keys a name has does not depend on its
 * terms, so keys keep what they have spent.
 */
#include "rules/ruleset_state.h"

#include <assert.h>

bool counters_take(struct arena *arena, uint32_t threads, struct slot *slots, uint32_t count)
{
    struct rule_counter *counter = arena_take_lines(arena, (size_t)threads * count, sizeof *counter);
    for (uint32_t i = 0; counter && i < count; i++) {
        slots[i].ruled.counter = &counter[i];
        slots[i].ruled.threads = threads;
        slots[i].ruled.counter_stride = count;
    }
    return counter != NULL;
}

/* False: memory is short. */
static bool compile(const struct ruleset *ruleset, const struct ruleset_named *named, struct slot *slot,
                    struct arena *arena)
{
    struct variant *variant = arena_take_lines(arena, 1, sizeof *variant);
    slot->ruled.id = arena_copy(arena, named->name);
    if (!variant || !slot->ruled.id.data)
        return false;
    slot->ruled.service = (struct bytes){"", 0};
    slot->ruled.stable = &variant->version;
    slot->variant[0] = variant;
    variant->slot = slot;
    variant->counter = slot->ruled.counter;
    variant->salt = key_id_of(&ruleset->hash_key, named->id, (struct bytes){"", 0}, (struct bytes){"", 0});
    variant->base = (struct amount){.capacity = named->capacity, .limit = named->limit};
    variant->select_below = MILLION;
    variant->inherit = INHERIT_KEEP;
    variant->patience_ms = named->patience_ms;
    variant->version =
        (struct ruled_version){.endpoint = bytes_of(RULE_ANY_ENDPOINT), .by = {"", 0}, .counts = {"", 0}};
    return true;
}

static void keep_counts(const struct ruleset *ruleset, struct slot *slot)
{
    for (uint32_t i = 0; i < ruleset->named_count; i++) {
        const struct ruled *before = &ruleset->named[i].ruled;
        if (!bytes_equal(before->id, slot->ruled.id))
            continue;
        for (uint32_t thread = 0; thread < before->threads; thread++)
            slot->ruled.counter[(size_t)thread * slot->ruled.counter_stride] =
                before->counter[(size_t)thread * before->counter_stride];
    }
}

bool ruleset_set_named(struct ruleset *ruleset, const struct ruleset_named *named, uint32_t count,
                       uint32_t by_default)
{
    struct arena arena;
    assert(count <= RULESET_NAMED_MAX && (count == 0 || by_default < count));
    arena_init(&arena);
    struct slot *slots = arena_take_lines(&arena, count, sizeof *slots);
    bool good = slots != NULL && counters_take(&arena, ruleset->options.threads, slots, count);
    for (uint32_t i = 0; i < count && good; i++)
        good = compile(ruleset, &named[i], &slots[i], &arena);
    if (!good) {
        arena_close(&arena);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        keep_counts(ruleset, &slots[i]);
    arena_close(&ruleset->arena);
    ruleset->arena = arena;
    ruleset->named = slots;
    ruleset->named_count = count;
    ruleset->named_by_default = by_default;
    ruleset->edition++;
    return true;
}
