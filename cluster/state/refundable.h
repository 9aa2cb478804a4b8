/*
 * refundable: the settled tokens of each key that this peer spent and may still give back.
 *
 * The one idea: a token is given back once, by the peer that spent it. The table knows unsettled
 * spends. A batch that settles adds its tokens to the accounts of its keys here, and each return is
 * taken off. A return of unsettled tokens makes a balance negative until their batch settles.
 * Accounts are in sets found by id, in fixed memory. A full set forgets the account unused for
 * longest: its tokens cannot be given back any more, the safe side. If its balance was negative,
 * batches with tokens of that time go to no account of the set.
 */
#ifndef HEADGATE_CLUSTER_STATE_REFUNDABLE_H
#define HEADGATE_CLUSTER_STATE_REFUNDABLE_H

#include "base/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct refundable_set;

struct refundable {
    struct refundable_set *set;
    unsigned shift;
    bool shared;
    atomic_bool locked;       /* if shared */
    uint64_t forgotten_count; /* accounts, to make room for others */
};

/*
 * At least one account for every four keys of a table. `shared`: several threads use them. False:
 * no memory.
 */
bool refundable_init(struct refundable *refundable, uint64_t keys, bool shared);
void refundable_close(struct refundable *refundable);

/* To be called some time before refundable_settle for that key. */
void refundable_prefetch(const struct refundable *refundable, struct key_id id);
/*
 * So many of this peer's tokens are known to all peers. No spend of their batch was made before
 * `since_ns`.
 */
void refundable_settle(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t since_ns,
                       uint64_t now_ns);
/* The balance; 0 if it is negative. */
uint64_t refundable_tokens(struct refundable *refundable, struct key_id id);
/* So many tokens were given back, unsettled ones included. */
void refundable_return(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t now_ns);
/*
 * The same for a return that no batch tells, of tokens that may have no account: no balance becomes
 * negative.
 */
void refundable_return_untold(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t now_ns);
/* All tokens spent of the key until now leave their account, and come to none later. */
void refundable_forget(struct refundable *refundable, struct key_id id, uint64_t now_ns);

#endif
