#include "base/hitters.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(HITTERS_MAX < UINT8_MAX && (HITTERS_INDEX & (HITTERS_INDEX - 1)) == 0, "a place fits the index");

/* ---- the index: open addressing ---- */

static uint32_t home_of(uint64_t key)
{
    return (uint32_t)key & (HITTERS_INDEX - 1);
}

/* Where the index has the key, or the free place where the index would have it. */
static uint32_t slot_of(const struct hitters *hitters, uint64_t key)
{
    uint32_t slot = home_of(key);
    while (hitters->index[slot] != 0 && hitters->at[hitters->index[slot] - 1].key != key)
        slot = (slot + 1) & (HITTERS_INDEX - 1);
    return slot;
}

/* Takes a key out, and moves the keys behind it so that no search ends too early. */
static void index_remove(struct hitters *hitters, uint64_t key)
{
    uint32_t hole = slot_of(hitters, key), slot = hole;
    hitters->index[hole] = 0;
    for (;;) {
        slot = (slot + 1) & (HITTERS_INDEX - 1);
        if (hitters->index[slot] == 0)
            return;
        const uint32_t home = home_of(hitters->at[hitters->index[slot] - 1].key);
        if (((slot - home) & (HITTERS_INDEX - 1)) < ((slot - hole) & (HITTERS_INDEX - 1)))
            continue;
        hitters->index[hole] = hitters->index[slot];
        hitters->index[slot] = 0;
        hole = slot;
    }
}

/* ---- places ---- */

/* The first place whose count is not above `count`. */
static uint32_t first_of(const struct hitters *hitters, uint64_t count)
{
    uint32_t low = 0, high = hitters->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (hitters->at[middle].count > count)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Counts the key at `place` once more: it swaps places with the first of those that have its count. */
static void raise(struct hitters *hitters, uint32_t place, uint32_t slot)
{
    const uint32_t first = first_of(hitters, hitters->at[place].count);
    if (first != place) {
        const struct hitter moved = hitters->at[first];
        const uint32_t moved_slot = slot_of(hitters, moved.key);
        hitters->at[first] = hitters->at[place];
        hitters->at[place] = moved;
        hitters->index[moved_slot] = (uint8_t)(place + 1);
        hitters->index[slot] = (uint8_t)(first + 1);
    }
    hitters->at[first].count++;
}

void hitters_add(struct hitters *hitters, uint64_t key)
{
    uint32_t slot = slot_of(hitters, key), place;
    hitters->total++;
    if (hitters->index[slot] != 0) {
        raise(hitters, hitters->index[slot] - 1u, slot);
        return;
    }
    if (hitters->count < HITTERS_MAX) {
        place = hitters->count++;
        hitters->at[place] = (struct hitter){.key = key}; /* a place was always free: nothing was missed */
    } else {
        place = HITTERS_MAX - 1;
        const uint64_t count = hitters->at[place].count;
        index_remove(hitters, hitters->at[place].key);
        hitters->missed = count > hitters->missed ? count : hitters->missed;
        hitters->at[place] = (struct hitter){.key = key, .count = count, .error = count};
        slot = slot_of(hitters, key); /* the removal may have moved keys */
    }
    hitters->index[slot] = (uint8_t)(place + 1);
    raise(hitters, place, slot);
}

const struct hitter *hitters_find(const struct hitters *hitters, uint64_t key)
{
    const uint8_t place = hitters->index[slot_of(hitters, key)];
    return place != 0 ? &hitters->at[place - 1] : NULL;
}

/* ---- merging ---- */

static int falling(const void *a, const void *b)
{
    const struct hitter *one = a, *two = b;
    if (one->count != two->count)
        return one->count > two->count ? -1 : 1;
    return (one->key > two->key) - (one->key < two->key);
}

/* Adds what `other` can say of the key. */
static struct hitter with_other(struct hitter hitter, const struct hitters *other)
{
    const struct hitter *its = hitters_find(other, hitter.key);
    hitter.count += its != NULL ? its->count : other->missed;
    hitter.error += its != NULL ? its->error : other->missed;
    return hitter;
}

void hitters_merge(struct hitters *hitters, const struct hitters *other)
{
    struct hitter both[2 * HITTERS_MAX];
    uint32_t count = 0;
    uint64_t missed = hitters->missed + other->missed;
    for (uint32_t i = 0; i < hitters->count; i++)
        both[count++] = with_other(hitters->at[i], other);
    for (uint32_t i = 0; i < other->count; i++)
        if (hitters_find(hitters, other->at[i].key) == NULL)
            both[count++] = with_other(other->at[i], hitters);
    qsort(both, count, sizeof both[0], falling);
    if (count > HITTERS_MAX) {
        missed = both[HITTERS_MAX].count > missed ? both[HITTERS_MAX].count : missed;
        count = HITTERS_MAX;
    }
    const uint64_t total = hitters->total + other->total;
    memset(hitters, 0, sizeof *hitters);
    hitters->total = total;
    hitters->missed = missed;
    for (uint32_t i = 0; i < count; i++) {
        hitters->at[i] = both[i];
        hitters->index[slot_of(hitters, both[i].key)] = (uint8_t)(i + 1);
        hitters->count++;
    }
}

bool hitters_check(const struct hitters *hitters)
{
    uint32_t indexed = 0;
    for (uint32_t i = 0; i < HITTERS_INDEX; i++)
        indexed += hitters->index[i] != 0;
    bool good = hitters->count <= HITTERS_MAX && indexed == hitters->count &&
                hitters->missed <= hitters->total / HITTERS_MAX;
    for (uint32_t i = 0; i < hitters->count; i++) {
        const struct hitter *hitter = &hitters->at[i];
        good = good && hitters_find(hitters, hitter->key) == hitter && hitter->error < hitter->count &&
               hitter->error <= hitters->total / HITTERS_MAX &&
               (i == 0 || hitter->count <= hitters->at[i - 1].count);
    }
    return good;
}
