/*
 * aside: the part of late spends that refill has paid off, remembered while some member may be
 * late.
 *
 * The one idea: each member has a part of each key's refill set aside, as large as its share. The
 * spends of a member are its debt. Its own part of the refill pays the debt off from the moment of
 * each spend, however late the spend is told. A bucket that is charged with all spends in time
 * holds at least the capacity less the sum of all debts, so a charge need not lower a bucket
 * further. docs/accounting.md, "What is set aside", has the argument. A side table of fixed size
 * that only steps use; keys without a place in it are charged in full.
 */
#ifndef HEADGATE_CLUSTER_LOG_ASIDE_H
#define HEADGATE_CLUSTER_LOG_ASIDE_H

#include "limit/table.h"

#include <stdbool.h>
#include <stdint.h>

struct node;
struct spend;

void aside_close(struct node *node);
/* Turns the table on and off. Each step must call this after it has looked at members. */
void aside_step(struct node *node);
/* Forgets all debts: to be called when something else than batches has lowered buckets. */
void aside_forget(struct node *node);
/* An own spend of the key is told: the refill of the key is set aside from now on. */
void aside_note(struct node *node, const struct entry *entry);
/*
 * The entry's bucket, `before` until now, was charged with tokens that the member spent by at_ns.
 * Raises the bucket to the level that it holds at least if all spends are charged in time, but
 * never above its level before. Returns the units by which it did.
 */
int64_t aside_spare(struct node *node, struct entry *entry, const struct bucket *before, uint32_t member,
                 uint64_t tokens, uint64_t at_ns);
/*
 * The first half of that: notes the debt, and charges nothing. The tokens must be charged later, with aside_raise after
 * that. False: the debt has no place, so the tokens must be charged now.
 */
bool aside_owe(struct node *node, const struct entry *entry, uint32_t member, uint64_t tokens, uint64_t at_ns);
/*
 * The second half: the entry's bucket, `before` until now, was charged with tokens whose debts are noted. They are not
 * noted any more if aside_epoch has changed since: then nothing may be raised. Returns the units.
 */
int64_t aside_raise(struct node *node, struct entry *entry, const struct bucket *before);
/* Changes when all debts are forgotten. */
uint32_t aside_epoch(const struct node *node);
/*
 * The units by which settling these own spends of the entry's key would lower its bucket;
 * INT64_MAX: not known. The spends must stand in order; `expires_ns` of each says by when it was
 * made.
 */
int64_t aside_lowers(const struct node *node, const struct entry *entry, const struct spend *own, uint32_t count);

#endif
