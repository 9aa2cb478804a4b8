/*
 * await: which refused requests may wait.
 *
 * The one idea: tokens are left of the whole limit, so that a request which only this node's share refuses can be
 * admitted as soon as rights come: a grant, refill, or a batch that settles. The node keeps no such request. It says
 * that the request may wait, and its caller asks again. Before a request that waits, no later one gets tokens of its
 * key. This file decides nothing about tokens.
 */
#ifndef HEADGATE_CLUSTER_SPEND_AWAIT_H
#define HEADGATE_CLUSTER_SPEND_AWAIT_H

#include "cluster/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True: the request was held before, so that what it lacks is noted already. */
static inline bool await_is_again(const struct await *await)
{
    return await && await->waiting_tokens > 0;
}

/* True: requests that came before wait for the charge's key, whatever it has. */
static inline bool await_is_behind(const struct await *await, const struct charge *charge)
{
    return await && await->ahead_tokens > 0 && key_id_equal(charge->id, await->ahead);
}

/*
 * The request is refused, with the verdicts of its charges. True: it may wait, and `await` says for what. The
 * caller has locked the keys.
 */
bool await_hold(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
                struct verdict *verdicts, struct await *await);

#endif
