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
    atomic_bool locked;       /* held around each access if `shared` */
    uint64_t forgotten_count; /* accounts that were forgotten to make room for others */
};

/*
 * Makes at least one account for every four keys of a table. `shared`: several threads use the
 * accounts. False: no memory.
 */
bool refundable_init(struct refundable *refundable, uint64_t keys, bool shared);
void refundable_close(struct refundable *refundable);

/* A caller should call this some time before refundable_settle for the same key. */
void refundable_prefetch(const struct refundable *refundable, struct key_id id);
/*
 * All peers know `tokens` more tokens that this peer spent. No spend of their batch was made before
 * `since_ns`. At least `fresh` of the tokens were not given back yet.
 */
void refundable_settle(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t fresh,
                       uint64_t since_ns, uint64_t now_ns);
/*
 * This peer gives back `tokens` settled tokens, the newest ones that it has: a time since when all of them were spent;
 * 0: that is not known. The caller must call refundable_return as well.
 */
uint64_t refundable_take_newest(struct refundable *refundable, struct key_id id, uint64_t tokens);
/* The balance of the key; 0 if the balance is negative. */
uint64_t refundable_tokens(struct refundable *refundable, struct key_id id);
int64_t refundable_balance(struct refundable *refundable, struct key_id id);
/* This peer gave back `tokens` tokens, unsettled tokens included. */
void refundable_return(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t now_ns);
/*
 * The same for a return that no batch tells. The returned tokens may have no account, so the
 * balance never becomes negative.
 */
void refundable_return_untold(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t now_ns);
/*
 * All tokens that were spent of the key until now leave its account, and never come to an account
 * later.
 */
void refundable_forget(struct refundable *refundable, struct key_id id, uint64_t now_ns);

#endif
