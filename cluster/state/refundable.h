/*
 * refundable: how many tokens of a key this peer spent and may still give back, once everybody knows of the spends.
 *
 * The one idea: a token is given back once, by the peer that spent it. Of spends that are unsettled the table knows.
 * When a batch settles, its tokens go to the key's account here, and every return is taken off it. A return of
 * unsettled tokens makes a balance negative until their batch settles. Accounts stand in sets that are found by the
 * key's id, in memory fixed at creation. A full set forgets the account that was not used for longest: its tokens can
 * no longer be given back, which is the safe side. If its balance was negative, no batch that may have tokens of that
 * time goes to any account of the set.
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

/* An account for every four keys of a table, or more. `shared`: several threads use it. False without memory. */
bool refundable_init(struct refundable *refundable, uint64_t keys, bool shared);
void refundable_close(struct refundable *refundable);

/* refundable_settle will follow for that key. */
void refundable_prefetch(const struct refundable *refundable, struct key_id id);
/* So many of this peer's tokens are known everywhere. Nothing of their batch was spent before `since_ns`. */
void refundable_settle(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t since_ns,
                       uint64_t now_ns);
/* The balance; 0 if it is negative. */
uint64_t refundable_tokens(struct refundable *refundable, struct key_id id);
/* So many tokens were given back, unsettled ones included. */
void refundable_return(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t now_ns);
/* The same of a return that no batch will tell, of tokens that may have no account: no balance becomes negative. */
void refundable_return_untold(struct refundable *refundable, struct key_id id, uint64_t tokens, uint64_t now_ns);
/* What was spent of the key until now is in no account any more, and comes to none. */
void refundable_forget(struct refundable *refundable, struct key_id id, uint64_t now_ns);

#endif
