#include "base/bits.h"
#include "base/prefetch.h"
#include "limit/table_slots.h"

enum { SIDE_BY_SIDE = 16 }; /* the least number of entries that are prefetched together */

static uint64_t slot_of(const struct table *table, const struct entry *entry)
{
    return (uint64_t)(entry - table->entries);
}

struct table_mark table_mark_of(const struct table *table, const struct entry *entry)
{
    uint64_t slot = slot_of(table, entry);
    assert(table->marks);
    return (struct table_mark){marks_of(table, slot), mark_of(slot)};
}

void table_unmark(struct table *table, const struct entry *entry)
{
    const struct table_mark mark = table_mark_of(table, entry);
    uint64_t *marks = mark.marks;
    marks[0] &= ~mark.bit;
    marks[1] &= ~mark.bit;
}

bool table_is_marked(const struct table *table, const struct entry *entry)
{
    return table->marks && table_mark_is_set(table_mark_of(table, entry));
}

bool table_is_marked_long(const struct table *table, const struct entry *entry)
{
    const struct table_mark mark = table_mark_of(table, entry);
    return (mark.marks[1] & mark.bit) != 0;
}

uint64_t table_places(const struct table *table)
{
    return table->groups * GROUP;
}

struct entry *table_find_marked(const struct table *table, uint64_t *from, uint64_t end)
{
    uint64_t slot = *from;
    assert(end <= table_places(table));
    *from = end;
    while (slot < end) {
        const uint64_t *marks = marks_of(table, slot), word = (marks[0] | marks[1]) >> slot % MARKS;
        slot = word == 0 ? (slot / MARKS + 1) * MARKS : slot + (uint64_t)__builtin_ctzll(word);
        if (word == 0 || slot >= end)
            continue;
        *from = slot + 1;
        return &table->entries[slot];
    }
    return NULL;
}

void table_visit_marked(const struct table *table, uint64_t prefix, unsigned prefix_bits,
                        void (*visit)(void *context, struct entry *entry), void *context)
{
    struct key_id first, last;
    struct entry *entry;
    assert(table->marks);
    prefix_range(prefix, prefix_bits, &first, &last);
    uint64_t place = home_of(table, first) * GROUP, end = (home_of(table, last) + WINDOW) * GROUP;
    while ((entry = table_find_marked(table, &place, end)) != NULL)
        if (entry->id.high >= first.high && entry->id.high <= last.high)
            visit(context, entry);
}

/* `word` has a bit for each slot that is found. */
static void find(const struct table *table, uint64_t slot, uint64_t word, struct table_aged *aged)
{
    for (; word != 0; word &= word - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(word);
        struct entry *entry = &table->entries[slot + bit];
        prefetch_write(&entry->bucket);
        prefetch_write((const char *)(entry + 1) - 1);
        aged->entry[aged->count++] = entry;
    }
}

void table_age_marks(struct table *table, uint64_t *from, uint64_t end, enum table_aging aging,
                     struct table_aged *aged)
{
    uint64_t slot = *from;
    assert(table->marks && slot <= end && end <= table_places(table));
    assert((slot % MARKS == 0 || slot == end) && (end % MARKS == 0 || end == table_places(table)));
    aged->count = 0;
    aged->forgotten = aged->young = 0;
    for (; slot < end && aged->count < SIDE_BY_SIDE; slot += MARKS) {
        uint64_t *marks = marks_of(table, slot), anew = marks[0], before = marks[1];
        if ((anew | before) == 0)
            continue;
        uint64_t found = aging == AGING_FORGET ? before & anew : aging == AGING_OLD ? before : before | anew;
        if (aged->count + bits_count(found) > TABLE_MARKS)
            break;
        find(table, slot, found, aged);
        marks[1] = anew | found;
        marks[0] = 0;
        aged->forgotten += bits_count(before & ~found & ~anew);
        aged->young += bits_count(anew & ~before);
    }
    *from = slot < end ? slot : end;
}
