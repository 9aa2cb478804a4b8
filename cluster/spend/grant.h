/*
 * grant: tokens that this node spends on behalf of a peer, who asked for them (voucher.h).
 *
 * The one idea: a grant is an ordinary spend, within this node's own allowance, told in an ordinary batch
 * that also says whom it is for. So all that holds of spends holds of it. An ask is answered once.
 * Granted tokens are nobody's to give back: not this node's, whose clients did not spend them, nor, as far
 * as a bucket seems to have room because of them, any other's. This file closes no batches.
 */
#ifndef HEADGATE_CLUSTER_SPEND_GRANT_H
#define HEADGATE_CLUSTER_SPEND_GRANT_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

struct ask_record;
struct batch;
struct batch_grant;
struct bucket;
struct entry;
struct limit;
struct node;
struct spend;

/* Answers the ask of a member, as far as this node's rights go. `index`: the limit of its terms. In a step. */
void grant_answer(struct node *node, uint32_t member, const struct ask_record *ask, uint16_t index);
/*
 * Grants at most so many units of the key, which has that level, to this node itself, as a part of what its ask brings.
 * Returns how many. In a step.
 */
int64_t grant_own(struct node *node, struct entry *entry, const struct bucket *level, int64_t units, uint64_t ask);
/*
 * The grants that no batch tells yet and whose keys are among these spends, which are sorted: writes at
 * most BATCH_GRANTS_MAX and returns their number. Batch `sequence` of this node tells them.
 */
uint32_t grants_tell(struct node *node, const struct spend *spends, uint32_t count, uint64_t sequence,
                     struct batch_grant *grants);
/*
 * Where a batch of the spends from..end - 1 must end, so that it can tell all grants of its keys. It has at least one
 * spend, whose grants beyond BATCH_GRANTS_MAX are lost.
 */
uint32_t grants_end(const struct node *node, const struct spend *spends, uint32_t from, uint32_t end);
/* The batch of an own former incarnation, which told grants, is told anew: as batch `sequence` of that origin. */
void grants_move(struct node *node, const struct batch *batch, uint32_t origin_uid, uint64_t sequence);
/* Frees the places of grants that have settled; of many places a part. In a step. */
void grants_sweep(struct node *node);
/*
 * True: among the key's unsettled tokens there were granted ones, which no client of this node spent. Adds up
 * those that are not settled.
 */
bool grants_concern(const struct node *node, struct key_id id, uint64_t *tokens);

/*
 * The batch, of any origin, is applied or made here: remembers the keys of its grants. Own ones are remembered since
 * they were made, and are now for as long as those who hear of them may use them.
 */
void granted_note(struct node *node, const struct batch *batch, bool is_own);
/* From now on the key may have had any grants that this node does not know of, for as long as vouchers last. */
void granted_unknown_of(struct node *node, struct key_id id);
/* From now on any key may have had grants that this node does not know of. */
void granted_unknown(struct node *node);
/*
 * Tokens of the key that may be in vouchers, as of the last step; UINT64_MAX: nobody knows how many. `used`: so many
 * are in no voucher any more, since a client here used them so long ago.
 */
uint64_t granted_tokens(const struct node *node, struct key_id id, uint64_t used, uint64_t used_age_ns);

#endif
