#include "base/touch.h"
#include "limit/table_slots.h"

void table_mark(struct table *table, const struct entry *entry)
{
    uint64_t slot = (uint64_t)(entry - table->entries);
    table->marks[slot / MARKS] |= (uint64_t)1 << slot % MARKS;
}

void table_unmark(struct table *table, const struct entry *entry)
{
    uint64_t slot = (uint64_t)(entry - table->entries);
    table->marks[slot / MARKS] &= ~((uint64_t)1 << slot % MARKS);
}

uint64_t table_places(const struct table *table)
{
    return table->groups * GROUP;
}

size_t table_find_marked(const struct table *table, uint64_t *from, uint64_t end, struct entry **entries,
                         size_t most)
{
    size_t count = 0;
    uint64_t slot = *from;
    assert(end <= table_places(table));
    while (count < most && slot < end) {
        uint64_t word = table->marks[slot / MARKS] >> slot % MARKS;
        if (word == 0) {
            slot = (slot / MARKS + 1) * MARKS;
            continue;
        }
        slot += (uint64_t)__builtin_ctzll(word);
        if (slot >= end)
            break;
        struct entry *entry = entries[count++] = &table->entries[slot++];
        ask_to_write(entry);
        ask_to_write((const char *)(entry + 1) - 1);
    }
    *from = count == most && slot < end ? slot : end;
    return count;
}
