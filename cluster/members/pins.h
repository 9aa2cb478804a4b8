/*
 * pins: the keys that names of members have here, and that the caller keeps over a restart.
 *
 * The one idea: a pin belongs to a name, and stays when the member leaves the list. With the key it keeps what tells
 * old messages from new ones after a restart: the key before, and the newest incarnation. This file does not judge
 * keys: proofs.c does.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_PINS_H
#define HEADGATE_CLUSTER_MEMBERS_PINS_H

#include "cluster/node_options.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct effects;
struct event;
struct node;
struct pin;

static inline bool same_key(const uint8_t *a, const uint8_t *b)
{
    return memcmp(a, b, NODE_KEY_BYTES) == 0;
}

/* NULL: that name has none. */
const struct pin *pins_find(struct node *node, const char *name);
/* A new key of a name forgets the former one; what is known of incarnations stays. */
void pins_put(struct node *node, const char *name, const uint8_t key[NODE_KEY_BYTES]);
/* Of a name that has a pin: its key before, and its newest incarnation. */
void pins_put_former(struct node *node, const char *name, const uint8_t former[NODE_KEY_BYTES]);
void pins_put_since(struct node *node, const char *name, uint64_t incarnation);
void pins_drop(struct node *node, const char *name);
/* What the caller has kept, in place of all that is known. */
void pins_restore(struct node *node, const struct event *event);
/* Gives the caller all pins, if they have changed. */
void pins_step(struct node *node, struct effects *effects);

#endif
