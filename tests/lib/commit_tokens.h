/*
 * commit_tokens: the end of a reservation whose request used as many tokens of each key, for tests without costs.
 */
#ifndef HEADGATE_TESTS_LIB_COMMIT_TOKENS_H
#define HEADGATE_TESTS_LIB_COMMIT_TOKENS_H

#include "cluster/node.h"

/* *charged (may be NULL): the least that was charged to any key without a lease; `actual` if all have leases. */
static inline enum reserve_status commit_tokens(struct node *node, struct reservation_id id, uint64_t actual,
                                                uint64_t now_ns, uint64_t *charged)
{
    struct used_cost cost = {.tokens = actual};
    const enum reserve_status status = node_commit(node, id, &cost, 1, now_ns);
    if (charged && status == RESERVE_DONE)
        *charged = cost.charged;
    return status;
}

#endif
