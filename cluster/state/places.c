/*
 * places keeps the chains and the free places. Nothing is searched but the chain of one hash, from its oldest place on:
 * a new place is the last one.
 */
#include "cluster/state/places.h"

#include <assert.h>
#include <string.h>

/* The link that names the place of the chain; of PLACE_NONE, the link at the end of the chain. */
static uint16_t *link_to(struct places *places, uint64_t hash, uint32_t place)
{
    uint16_t *link = &places->first[hash % PLACES_MAX];
    while (*link > 0 && *link - 1u != place)
        link = &places->next[*link - 1];
    return link;
}

uint32_t places_take(struct places *places, uint64_t hash)
{
    if (places->count == places->room)
        return PLACE_NONE;
    const uint32_t place = places->free > 0 ? places->free - 1u : places->end++;
    if (places->free > 0)
        places->free = places->next[place];
    places->next[place] = 0;
    *link_to(places, hash, PLACE_NONE) = (uint16_t)(place + 1);
    places->count++;
    return place;
}

void places_give_back(struct places *places, uint64_t hash, uint32_t place)
{
    uint16_t *link = link_to(places, hash, place);
    assert(*link > 0);
    *link = places->next[place];
    places->next[place] = places->free;
    places->free = (uint16_t)(place + 1);
    if (--places->count == 0)
        places->end = places->free = 0;
}

void places_clear(struct places *places)
{
    memset(places->first, 0, sizeof places->first);
    places->count = places->end = places->free = 0;
}
