/*
 * waits: spends that need not be told as long as refill will soon pay them off, key by key.
 *
 * The one idea: the key's entry is marked and says how many tokens wait; nothing else is written
 * down. Rounds through the table (pay.h) end what waits.
 */
#ifndef HEADGATE_CLUSTER_SPEND_WAITS_H
#define HEADGATE_CLUSTER_SPEND_WAITS_H

#include <stdbool.h>
#include <stdint.h>

struct entry;
struct limit;
struct node;

/* What that share of the refill pays off within an interval: so much waits instead of being told; -1: nothing does. */
int64_t soon_paid_units(const struct node *node, const struct limit *limit, uint64_t share);
/* What may be spent of that limit has changed: spends of it may wait now. Alone, as the next. */
void wait_note_limit(struct node *node, uint32_t index);
/* What refill pays off in some time is not what it was: each key that waits by now is looked at. */
void wait_carefully(struct node *node);
/* Something of the key waits. */
bool wait_has(const struct node *node, const struct entry *entry);
/* So much more was spent of the key: it waits. False: it has to be told, with what of the key waits already. */
bool wait_more(struct node *node, struct entry *entry, uint64_t tokens);
/* Of what waits, so much was not spent after all. */
void wait_less(struct entry *entry, uint64_t tokens);
/* The entry of a key that waits has another place in the table. */
void wait_moved(struct entry *entry);
/* When what waits of the key began to, at the earliest. */
uint64_t wait_since_ns(const struct node *node, const struct entry *entry);
/* The key waits no more. Returns how many tokens did. */
uint64_t wait_end(struct node *node, struct entry *entry);
/* How many keys wait. Alone, as what follows. */
uint32_t wait_count(const struct node *node);
/* Since when the oldest of them does, at the earliest. */
uint64_t wait_oldest_ns(const struct node *node);
/* When what was visited so often since it began to wait did so; the last visit may have been in this round. */
uint64_t wait_began_ns(const struct node *node, uint32_t visits);
void wait_check(const struct node *node);

#endif
