/*
 * places: which places of an array are taken, and by which hash they are found.
 *
 * The one idea: the places of one hash are a chain, oldest first, and places that were given back are taken again
 * before others. So an array touches as much memory as it ever needs at once, and whoever visits it stops at `end`. The
 * array itself is its owner's. All zero: no place may be taken, until `room` is set.
 */
#ifndef HEADGATE_CLUSTER_STATE_PLACES_H
#define HEADGATE_CLUSTER_STATE_PLACES_H

#include <stdint.h>

enum { PLACES_MAX = 4096, PLACE_NONE = PLACES_MAX };

struct places {
    uint32_t room;              /* at most so many are taken, at most PLACES_MAX */
    uint32_t count;             /* so many are taken */
    uint32_t end;               /* places from here on are free */
    uint16_t free;              /* the first free place before `end`, and 1; 0: there is none */
    uint16_t first[PLACES_MAX]; /* of the chain of each hash, likewise */
    uint16_t next[PLACES_MAX];  /* of a chain, or of the free ones, likewise */
};

/* The first place of the hash, or the next one; PLACE_NONE: there is no more. Others of the chain have other hashes. */
static inline uint32_t places_first(const struct places *places, uint64_t hash)
{
    const uint32_t first = places->first[hash % PLACES_MAX];
    return first > 0 ? first - 1 : PLACE_NONE;
}

static inline uint32_t places_next(const struct places *places, uint32_t place)
{
    return places->next[place] > 0 ? places->next[place] - 1u : PLACE_NONE;
}

/* The place whose turn it is after this one, where all places before `end` are visited in turn. */
static inline uint32_t places_turn(const struct places *places, uint32_t place)
{
    return place + 1 < places->end ? place + 1 : 0;
}

/* Takes a free place for the hash, the last one of its chain. PLACE_NONE: none is free. */
uint32_t places_take(struct places *places, uint64_t hash);
/* Gives back a place that was taken for the hash. */
void places_give_back(struct places *places, uint64_t hash, uint32_t place);
/* Gives back all places. */
void places_clear(struct places *places);

#endif
