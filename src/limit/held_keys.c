#include "limit/held_keys.h"

#include <assert.h>
#include <stdlib.h>

/* A hash table with chains of records. Stored indices are one too high, so that zeroed memory is an empty table. */
struct held_key {
    struct key_id id;
    uint64_t tokens;
    uint32_t charges;
    uint32_t next; /* the next record in the chain, or the next free one */
};

struct held_keys {
    uint32_t room, count, touched, free;
    uint64_t mask;
    uint32_t *head;
    struct held_key *key;
};

struct held_keys *held_keys_create(uint32_t room)
{
    assert(room > 0 && room < UINT32_MAX);
    struct held_keys *keys = calloc(1, sizeof *keys);
    if (!keys)
        return NULL;
    uint64_t heads = 1;
    while (heads < room)
        heads *= 2;
    keys->room = room;
    keys->mask = heads - 1;
    keys->head = calloc(heads, sizeof *keys->head);
    keys->key = calloc(room, sizeof *keys->key);
    if (!keys->head || !keys->key)
        held_keys_destroy(&keys);
    return keys;
}

void held_keys_destroy(struct held_keys **keys)
{
    if (!*keys)
        return;
    free((*keys)->head);
    free((*keys)->key);
    free(*keys);
    *keys = NULL;
}

static struct held_key *key_at(const struct held_keys *keys, uint32_t place)
{
    return &keys->key[place - 1];
}

/* The link to the key's record, or the empty link where the record would be. */
static uint32_t *link_of(const struct held_keys *keys, struct key_id id)
{
    uint32_t *link = &keys->head[id.low & keys->mask];
    while (*link && !key_id_equal(key_at(keys, *link)->id, id))
        link = &key_at(keys, *link)->next;
    return link;
}

static uint32_t take_place(struct held_keys *keys)
{
    uint32_t place = keys->free;
    assert(keys->count < keys->room);
    keys->count++;
    if (!place)
        return ++keys->touched;
    keys->free = key_at(keys, place)->next;
    return place;
}

void held_keys_add(struct held_keys *keys, struct key_id id, uint64_t tokens)
{
    uint32_t *link = link_of(keys, id);
    if (!*link) {
        *link = take_place(keys);
        *key_at(keys, *link) = (struct held_key){.id = id};
    }
    struct held_key *key = key_at(keys, *link);
    key->tokens += tokens;
    key->charges++;
}

void held_keys_remove(struct held_keys *keys, struct key_id id, uint64_t tokens)
{
    uint32_t *link = link_of(keys, id), place = *link;
    assert(place);
    struct held_key *key = key_at(keys, place);
    assert(key->charges > 0 && key->tokens >= tokens);
    key->tokens -= tokens;
    if (--key->charges > 0)
        return;
    assert(key->tokens == 0);
    *link = key->next;
    key->next = keys->free;
    keys->free = place;
    keys->count--;
}

uint64_t held_keys_tokens(const struct held_keys *keys, struct key_id id)
{
    uint32_t place = *link_of(keys, id);
    return place ? key_at(keys, place)->tokens : 0;
}

uint32_t held_keys_count(const struct held_keys *keys)
{
    return keys->count;
}
