/*
 * waiting: what waits of a key to be paid off (see pay.c), in its entry: how many tokens, how often it was looked at,
 * and how many of the tokens had waited at the last look.
 *
 * The one idea: that note has six bits that are free while a key waits. It says a little less than what waited, never
 * more, and what it leaves out is noted before anything that came later. Only for pay.c, and only of entries that are
 * marked.
 */
#ifndef HEADGATE_CLUSTER_SPEND_WAITING_H
#define HEADGATE_CLUSTER_SPEND_WAITING_H

#include "cluster/codec/batch.h"
#include "cluster/state/lane_state.h"
#include "limit/table.h"

enum {
    LOOKS_BITS = 3, /* of entry.open_index, the lowest: what is left there when marks are forgotten stays small */
    LOOKS_MAX = (1 << LOOKS_BITS) - 1,
    KEEPS_UP = 1 << LOOKS_BITS, /* the next bit: see waiting_forget_noted */
    TOKENS_SHIFT = LOOKS_BITS + 1,
    WAITING_TOKENS_MAX = OPEN_INDEX_MAX >> TOKENS_SHIFT,
    NOTE_NONE = BATCH_TRACES + 1, /* of entry.own_batch: from here on it is a note, and no trace */
    NOTE_BITS = 2,                /* of a number behind its first */
    NOTE_EXACT_MAX = (2 << NOTE_BITS) - 1,
};

static inline uint32_t waiting_looks(const struct entry *entry)
{
    return entry->open_index & LOOKS_MAX;
}

static inline uint64_t waiting_tokens(const struct entry *entry)
{
    return entry->open_index >> TOKENS_SHIFT;
}

/* Nothing, so far; whatever was left when marks were forgotten. */
static inline void waiting_begin(struct entry *entry)
{
    entry->open_index = 0;
    if (entry->own_batch >= NOTE_NONE)
        entry->own_batch = 0;
}

/* The sum is in 0..WAITING_TOKENS_MAX. */
static inline void waiting_add(struct entry *entry, int64_t tokens)
{
    entry->open_index = (uint32_t)(entry->open_index + tokens * (1 << TOKENS_SHIFT)) & OPEN_INDEX_MAX;
}

/* Not above LOOKS_MAX. */
static inline void waiting_count_look(struct entry *entry)
{
    entry->open_index = (entry->open_index + 1) & OPEN_INDEX_MAX;
}

/* Up to NOTE_EXACT_MAX it is what was noted, above it four fifths of that at least; 0: nothing is known. */
static inline uint64_t waiting_noted(const struct entry *entry)
{
    if (entry->own_batch < NOTE_NONE)
        return 0;
    unsigned note = entry->own_batch - NOTE_NONE;
    unsigned shift = note > NOTE_EXACT_MAX ? (note >> NOTE_BITS) - 1 : 0;
    return (uint64_t)(note - (shift << NOTE_BITS)) << shift;
}

static inline void waiting_note(struct entry *entry)
{
    uint64_t tokens = waiting_tokens(entry);
    unsigned shift = 0;
    while (tokens >> shift > NOTE_EXACT_MAX)
        shift++;
    entry->own_batch = (uint8_t)(NOTE_NONE + (shift << NOTE_BITS) + (unsigned)(tokens >> shift));
}

/* At a look that forgets nothing. */
static inline void waiting_note_all(struct entry *entry)
{
    entry->open_index &= OPEN_INDEX_MAX - KEEPS_UP;
    waiting_note(entry);
}

static inline void waiting_unnote(struct entry *entry)
{
    entry->open_index &= OPEN_INDEX_MAX - KEEPS_UP;
    if (entry->own_batch >= NOTE_NONE)
        entry->own_batch = NOTE_NONE;
}

/*
 * What was noted at the last look waits no more; what is left is noted. Of what had waited then, less than a quarter
 * of the note is left, and it is the oldest of what is noted now, if that is as much. Then all that is left after the
 * next look was spent after the last one: of the two looks at it, the first is not counted (see visits_of).
 */
static inline void waiting_forget_noted(struct entry *entry)
{
    uint64_t noted = waiting_noted(entry);
    uint32_t looks = (entry->open_index & KEEPS_UP) != 0 ? 0 : waiting_looks(entry);
    uint64_t tokens = waiting_tokens(entry) - noted;
    entry->open_index = (uint32_t)(tokens << TOKENS_SHIFT | looks) & OPEN_INDEX_MAX;
    waiting_note(entry);
    if (noted > 0 && waiting_noted(entry) >= noted / 4)
        entry->open_index |= KEEPS_UP;
}

#endif
