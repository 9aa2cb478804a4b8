/*
 * deferred_mark: the note in a key's entry about its waiting spends: how many tokens wait, how often the
 * key was looked at, and how many of the tokens were there at the last look.
 *
 * The one idea: the last figure has six bits, which are free while a key waits. The noted figure
 * may be a little less than the real one, never more; the missing tokens are noted before any later
 * ones. Only for deferred_round.c and deferred.c, and only for marked entries.
 */
#ifndef HEADGATE_CLUSTER_SPEND_DEFERRED_MARK_H
#define HEADGATE_CLUSTER_SPEND_DEFERRED_MARK_H

#include "cluster/codec/batch.h"
#include "cluster/state/thread_state.h"
#include "limit/table.h"

enum {
    /* of entry.open_index, the lowest: the index stays small when marks are forgotten */
    LOOKS_BITS = 3,
    LOOKS_MAX = (1 << LOOKS_BITS) - 1,
    KEEPS_UP = 1 << LOOKS_BITS, /* the next bit: see deferred_mark_forget_noted */
    TOKENS_SHIFT = LOOKS_BITS + 1,
    WAITING_TOKENS_MAX = OPEN_INDEX_MAX >> TOKENS_SHIFT,
    /* of entry.own_batch: a note from this value on, a trace below */
    NOTE_NONE = BATCH_TRACES + 1,
    NOTE_BITS = 2, /* of a number after its first one */
    NOTE_EXACT_MAX = (2 << NOTE_BITS) - 1,
};

static inline uint32_t deferred_mark_looks(const struct entry *entry)
{
    return entry->open_index & LOOKS_MAX;
}

static inline uint64_t deferred_mark_tokens(const struct entry *entry)
{
    return entry->open_index >> TOKENS_SHIFT;
}

/* Begins with no tokens; bits that forgotten marks left are cleared. */
static inline void deferred_mark_begin(struct entry *entry)
{
    entry->open_index = 0;
    if (entry->own_batch >= NOTE_NONE)
        entry->own_batch = 0;
}

/* The sum must be in 0..WAITING_TOKENS_MAX. */
static inline void deferred_mark_add(struct entry *entry, int64_t tokens)
{
    entry->open_index = (uint32_t)(entry->open_index + tokens * (1 << TOKENS_SHIFT)) & OPEN_INDEX_MAX;
}

/* Must not go above LOOKS_MAX. */
static inline void deferred_mark_count_look(struct entry *entry)
{
    entry->open_index = (entry->open_index + 1) & OPEN_INDEX_MAX;
}

/*
 * The noted tokens: exact up to NOTE_EXACT_MAX, above it at least four fifths of the real figure;
 * 0: none are known.
 */
static inline uint64_t deferred_mark_noted(const struct entry *entry)
{
    if (entry->own_batch < NOTE_NONE)
        return 0;
    unsigned note = entry->own_batch - NOTE_NONE;
    unsigned shift = note > NOTE_EXACT_MAX ? (note >> NOTE_BITS) - 1 : 0;
    return (uint64_t)(note - (shift << NOTE_BITS)) << shift;
}

static inline void deferred_mark_note(struct entry *entry)
{
    uint64_t tokens = deferred_mark_tokens(entry);
    unsigned shift = 0;
    while (tokens >> shift > NOTE_EXACT_MAX)
        shift++;
    entry->own_batch = (uint8_t)(NOTE_NONE + (shift << NOTE_BITS) + (unsigned)(tokens >> shift));
}

/* At a look that forgets no tokens. */
static inline void deferred_mark_note_all(struct entry *entry)
{
    entry->open_index &= OPEN_INDEX_MAX - KEEPS_UP;
    deferred_mark_note(entry);
}

static inline void deferred_mark_unnote(struct entry *entry)
{
    entry->open_index &= OPEN_INDEX_MAX - KEEPS_UP;
    if (entry->own_batch >= NOTE_NONE)
        entry->own_batch = NOTE_NONE;
}

/*
 * The tokens noted at the last look wait no more; the rest is noted. Of the tokens that were there
 * at that look, less than a quarter of the note is left. They are the oldest ones of the new note,
 * if the new note is as large. Then all tokens that are left after the next look were spent after
 * the last one, so the first of their two looks does not count (see visits_of).
 */
static inline void deferred_mark_forget_noted(struct entry *entry)
{
    uint64_t noted = deferred_mark_noted(entry);
    uint32_t looks = (entry->open_index & KEEPS_UP) != 0 ? 0 : deferred_mark_looks(entry);
    uint64_t tokens = deferred_mark_tokens(entry) - noted;
    entry->open_index = (uint32_t)(tokens << TOKENS_SHIFT | looks) & OPEN_INDEX_MAX;
    deferred_mark_note(entry);
    if (noted > 0 && deferred_mark_noted(entry) >= noted / 4)
        entry->open_index |= KEEPS_UP;
}

#endif
