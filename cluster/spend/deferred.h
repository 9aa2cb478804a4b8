/*
 * deferred: spends that need not be told while refill will soon pay them off, key by key.
 *
 * The one idea: the key's entry is marked and says how many tokens wait; there is no other record.
 * Rounds through the table (deferred_round.h) end the wait.
 */
#ifndef HEADGATE_CLUSTER_SPEND_DEFERRED_H
#define HEADGATE_CLUSTER_SPEND_DEFERRED_H

#include <stdbool.h>
#include <stdint.h>

struct entry;
struct limit;
struct node;

/*
 * The units that this share of the refill pays off within an interval: so many may wait instead of
 * being told; -1: none may.
 */
int64_t soon_paid_units(const struct node *node, const struct limit *limit, uint64_t share);
/*
 * To be called when the share of that limit has changed: its spends may wait from now on. Alone,
 * like the next.
 */
void deferred_note_limit(struct node *node, uint32_t index);
/*
 * To be called when refill pays off at another rate than before: each waiting key is looked at once
 * more.
 */
void deferred_carefully(struct node *node);
/* True if spends of the key wait. */
bool deferred_has(const struct node *node, const struct entry *entry);
/*
 * More tokens of the key were spent: they wait. False: they must be told, together with the key's
 * waiting tokens.
 */
bool deferred_more(struct node *node, struct entry *entry, uint64_t tokens);
/* Some of the waiting tokens were not spent after all. */
void deferred_less(struct entry *entry, uint64_t tokens);
/* The earliest time at which the key may have begun to wait. */
uint64_t deferred_since_ns(const struct node *node, const struct entry *entry);
/* Ends the wait of the key. Returns how many tokens waited. */
uint64_t deferred_end(struct node *node, struct entry *entry);
/* The number of waiting keys. Alone, like the following. */
uint32_t deferred_count(const struct node *node);
/* The earliest time at which the oldest of them may have begun to wait. */
uint64_t deferred_oldest_ns(const struct node *node);
/*
 * When a key with so many visits since began to wait; the last visit may have been in this round.
 */
uint64_t deferred_began_ns(const struct node *node, uint32_t visits);
void deferred_check(const struct node *node);

#endif
