/*
 * held_keys: how many tokens of each key reservations hold, together.
 *
 * The one idea: one record for each key of which something is held, found by its id, in memory fixed at creation. It
 * counts tokens and nothing else: the charges themselves are kept by reservation.h. One thread at a time.
 */
#ifndef HEADGATE_LIMIT_HELD_KEYS_H
#define HEADGATE_LIMIT_HELD_KEYS_H

#include "base/hash.h"

#include <stdint.h>

struct held_keys;

/* Room for so many keys, above 0. NULL without memory. */
struct held_keys *held_keys_create(uint32_t room);
void held_keys_destroy(struct held_keys **keys);

/* One more charge holds so many tokens of the key. There is room, unless as many keys as that have charges already. */
void held_keys_add(struct held_keys *keys, struct key_id id, uint64_t tokens);
/* A charge that was added, with as many tokens, holds them no more. */
void held_keys_remove(struct held_keys *keys, struct key_id id, uint64_t tokens);

/* All of them; 0: nobody holds any. */
uint64_t held_keys_tokens(const struct held_keys *keys, struct key_id id);
/* Of how many keys something is held. */
uint32_t held_keys_count(const struct held_keys *keys);

#endif
