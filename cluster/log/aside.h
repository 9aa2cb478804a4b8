/*
 * aside: what refill has paid off of spends that are told late, remembered while somebody may be late.
 *
 * The one idea: of each key's refill every member has its part set aside, as large as its share. What a member spends
 * is its debt, which its own part pays off from the moment on when it was made, whenever it is told. A bucket that is
 * charged with all of that in time holds at least the capacity less the sum of all debts: so much need not be charged
 * once more. docs/accounting.md, "What is set aside", says why. A side table of fixed size that steps alone use; keys
 * that find no place in it are charged in full.
 */
#ifndef HEADGATE_CLUSTER_LOG_ASIDE_H
#define HEADGATE_CLUSTER_LOG_ASIDE_H

#include "limit/table.h"

#include <stdbool.h>
#include <stdint.h>

struct node;
struct spend;

void aside_close(struct node *node);
/* Begins and ends it; to be called in each step, after members were looked at. */
void aside_step(struct node *node);
/* All is forgotten: buckets were lowered by more than batches. */
void aside_forget(struct node *node);
/* An own spend of the key is told: from now on its refill is set aside. */
void aside_note(struct node *node, const struct entry *entry);
/*
 * The entry's bucket, which was as `before`, was charged with tokens that the member spent by at_ns. Raises it to what
 * it holds at least if all are charged in time, but to no more than it held.
 */
void aside_spare(struct node *node, struct entry *entry, const struct bucket *before, uint32_t member,
                 uint64_t tokens, uint64_t at_ns);
/*
 * By how much settling these own spends of the entry's key would lower its bucket, in units, as far as that is known:
 * else INT64_MAX. They stand in order; `expires_ns` says by when each was made.
 */
int64_t aside_lowers(const struct node *node, const struct entry *entry, const struct spend *own, uint32_t count);

#endif
