/*
 * held_keys: for each key, how many tokens all reservations hold together.
 *
 * The one idea: one record for each key with held tokens, found by the key's id, in memory fixed at creation. A record
 * counts tokens and nothing else: reservation.h keeps the charges. One thread at a time.
 */
#ifndef HEADGATE_LIMIT_HELD_KEYS_H
#define HEADGATE_LIMIT_HELD_KEYS_H

#include "base/hash.h"

#include <stdint.h>

struct held_keys;

/* Room for `room` keys, above 0. NULL without memory. */
struct held_keys *held_keys_create(uint32_t room);
void held_keys_destroy(struct held_keys **keys);

/* One more charge holds `tokens` of the key. At most `room` keys may have charges. */
void held_keys_add(struct held_keys *keys, struct key_id id, uint64_t tokens);
/* A charge that was added with the same `tokens` holds them no more. */
void held_keys_remove(struct held_keys *keys, struct key_id id, uint64_t tokens);

/* The tokens of the key that all charges hold. */
uint64_t held_keys_tokens(const struct held_keys *keys, struct key_id id);
/* The number of keys with charges. */
uint32_t held_keys_count(const struct held_keys *keys);

#endif
