/*
 * table_tags: finding a key's slot by tags, in line; shared by the files of table.h and by nobody else.
 *
 * The one idea: all tags of a group are compared with one tag at once; the result has a bit for each slot of the group.
 * table_slots.h says where slots and tags lie.
 */
#ifndef HEADGATE_LIMIT_TABLE_TAGS_H
#define HEADGATE_LIMIT_TABLE_TAGS_H

#include "limit/table_slots.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline uint8_t tag_of(struct key_id id)
{
    uint8_t tag = (uint8_t)(id.low >> 56);
    return tag == 0 ? 1 : tag;
}

/* A bit for each of the 16 tags that equals `tag`. */
static inline uint32_t group_match(const uint8_t *tags, uint8_t tag)
{
#ifdef __SSE2__
    __m128i group = _mm_load_si128((const __m128i *)(const void *)tags);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(group, _mm_set1_epi8((char)tag)));
#else
    uint32_t mask = 0;
    for (unsigned i = 0; i < GROUP; i++)
        mask |= (uint32_t)(tags[i] == tag) << i;
    return mask;
#endif
}

static inline struct entry *lookup(const struct table *table, struct key_id id)
{
    uint64_t first = home_of(table, id) * GROUP;
    uint8_t tag = tag_of(id);
    for (uint64_t slot = first; slot < first + WINDOW * GROUP; slot += GROUP) {
        for (uint32_t mask = group_match(table->tags + slot, tag); mask != 0; mask &= mask - 1) {
            struct entry *entry = &table->entries[slot + (uint64_t)__builtin_ctz(mask)];
            if (key_id_equal(entry->id, id))
                return entry;
        }
    }
    return NULL;
}

/*
 * The key's entry if the hint is right; else NULL. Only the key's home group is read: others may belong to another
 * stripe.
 */
static inline struct entry *lookup_hinted(const struct table *table, uint64_t slot_hint, struct key_id id)
{
    const uint64_t slot = slot_hint - 1; /* no hint: in no group */
    if (slot / GROUP != home_of(table, id))
        return NULL;
    struct entry *entry = &table->entries[slot];
    return key_id_equal(entry->id, id) && table->tags[slot] != 0 ? entry : NULL;
}

/* The slot of a group where a key is put if that slot is empty. */
static inline unsigned preferred_slot(struct key_id id)
{
    return (unsigned)(id.low % GROUP);
}

/* The first of `slots` (not 0) from the preferred one on, around the group. */
static inline uint64_t nearest_of(uint32_t slots, unsigned preferred)
{
    uint32_t behind = slots >> preferred << preferred;
    return (uint64_t)__builtin_ctz(behind != 0 ? behind : slots);
}

#endif
