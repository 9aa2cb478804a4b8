#include "base/prefetch.h"
#include "limit/table_tags.h"

#include <string.h>

/* Prefetches for several lookups before the first of them. Nothing here changes what a lookup finds. */

/* group_match of tags that another thread may be writing: for hints. */
static inline uint32_t group_match_unlocked(const uint8_t *tags, uint8_t tag)
{
    typedef uint64_t __attribute__((may_alias)) half;
    const half *halves = (const half *)(const void *)tags;
    uint64_t both[2] = {__atomic_load_n(halves, __ATOMIC_RELAXED), __atomic_load_n(halves + 1, __ATOMIC_RELAXED)};
#ifdef __SSE2__
    __m128i group = _mm_set_epi64x((long long)both[1], (long long)both[0]);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(group, _mm_set1_epi8((char)tag)));
#else
    uint8_t copy[GROUP];
    memcpy(copy, both, sizeof copy);
    return group_match(copy, tag);
#endif
}

/* An owner may mark the entry. */
static inline void ask_for_mark(const struct table *table, uint64_t slot)
{
    if (table->owner.keeps)
        prefetch_write(marks_of(table, slot));
}

void table_prefetch_tags(const struct table *table, struct key_id id)
{
    uint64_t home = home_of(table, id);
    prefetch_read(table->tags + home * GROUP);
    if (table->shared) { /* another thread may have held the lock last */
        prefetch_write(stripe_of(table, home));
        prefetch_write(stripe_of(table, home + WINDOW + REACH - 1));
    }
}

/*
 * Tags are a fiftieth of the table and mostly in a cache: they are read now, to prefetch the entry that they point
 * at, or else the slot that the key will take.
 */
uint64_t table_prefetch(const struct table *table, struct key_id id)
{
    uint64_t slot = home_of(table, id) * GROUP;
    uint32_t mask = group_match_unlocked(table->tags + slot, tag_of(id));
    if (mask == 0) { /* only the whole window, which may end in the next line, says that the key is absent */
        prefetch_read(table->tags + slot + WINDOW * GROUP - 1);
        mask = group_match_unlocked(table->tags + slot, 0) | 1u << (GROUP - 1);
    }
    slot += nearest_of(mask, preferred_slot(id));
    ask_for_mark(table, slot);
    const struct entry *entry = &table->entries[slot];
    prefetch_far(entry);
    prefetch_far((const char *)(entry + 1) - 1);
    return slot + 1;
}

enum { TAIL_AT = sizeof(struct entry) - sizeof(uint64_t) }; /* the offset of the bit fields in an entry */
_Static_assert(TAIL_AT == offsetof(struct entry, bucket) + sizeof(struct bucket), "open_index is in the tail");

bool table_peek_open(const struct table *table, uint64_t slot_hint, uint32_t *open_index)
{
    const uint64_t slot = slot_hint - 1;
    assert(slot_hint != 0 && table->marks);
    const uint64_t *marks = marks_of(table, slot);
    if (((peek_racy(&marks[0]) | peek_racy(&marks[1])) & mark_of(slot)) != 0)
        return false;
    const uint64_t tail = peek_racy((const char *)&table->entries[slot] + TAIL_AT);
    struct entry seen = {0};
    memcpy((char *)&seen + TAIL_AT, &tail, sizeof tail);
    *open_index = seen.open_index;
    return true;
}
