#include "limit/limit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

bool limit_set_init(struct limit_set *set, uint32_t room, struct events *events)
{
    assert(room >= 1 && room <= LIMITS_MAX);
    uint32_t slots = 2;
    while (slots < 2 * room)
        slots *= 2;
    *set = (struct limit_set){.room = room, .events = events, .tick_max_ns = 1, .slot_mask = slots - 1};
    set->limit = calloc(room, sizeof *set->limit);
    set->slot = calloc(slots, sizeof *set->slot);
    set->free = calloc(room, sizeof *set->free);
    if (set->limit && set->slot && set->free)
        return true;
    limit_set_close(set);
    return false;
}

void limit_set_close(struct limit_set *set)
{
    free(set->limit);
    free(set->slot);
    free(set->free);
    *set = (struct limit_set){0};
}

/* The slot of the terms, or the empty slot where they would be put. */
static uint32_t slot_of(const struct limit_set *set, const struct limit_terms *terms, uint32_t hash)
{
    for (uint32_t slot = hash & set->slot_mask;; slot = (slot + 1) & set->slot_mask) {
        if (set->slot[slot] == 0)
            return slot;
        const struct limit *limit = &set->limit[set->slot[slot] - 1];
        const struct limit_terms known = limit_terms_of(limit);
        if (limit->hash == hash && limit_terms_equal(&known, terms))
            return slot;
    }
}

int limit_set_find(const struct limit_set *set, const struct limit_terms *terms)
{
    return (int)set->slot[slot_of(set, terms, limit_terms_hash(terms))] - 1;
}

int limit_set_intern(struct limit_set *set, const struct limit_terms *terms, struct error *error)
{
    struct limit made;
    uint32_t slot = slot_of(set, terms, limit_terms_hash(terms));
    if (set->slot[slot] != 0)
        return set->slot[slot] - 1;
    if (!limit_init(&made, terms, error))
        return -1;
    if (made.kind == LIMIT_LOG && !set->events) {
        (void)error_set(error, EX_CONFIG, "there is no room for events: a log of spends cannot be kept");
        return -1;
    }
    if (set->used == set->room) {
        (void)error_set(error, EX_CONFIG, "%u different limits are in use: expected at most so many", set->room);
        return -1;
    }
    uint32_t index = set->free_count > 0 ? set->free[--set->free_count] : set->count++;
    made.events = made.kind == LIMIT_LOG ? set->events : NULL;
    set->limit[index] = made;
    set->slot[slot] = (uint16_t)(index + 1);
    set->used++;
    if (made.tick_ns > set->tick_max_ns)
        set->tick_max_ns = made.tick_ns;
    return (int)index;
}

void limit_set_sweep(struct limit_set *set, bool (*in_use)(void *context, uint16_t index), void *context)
{
    memset(set->slot, 0, ((size_t)set->slot_mask + 1) * sizeof *set->slot);
    for (uint32_t i = 0; i < set->count; i++) {
        struct limit *limit = &set->limit[i];
        if (limit->capacity == 0)
            continue;
        if (in_use(context, (uint16_t)i)) {
            const struct limit_terms terms = limit_terms_of(limit);
            set->slot[slot_of(set, &terms, limit->hash)] = (uint16_t)(i + 1);
        } else {
            *limit = (struct limit){0};
            set->free[set->free_count++] = (uint16_t)i;
            set->used--;
        }
    }
}
