#include "cluster/state.h"

#include <assert.h>

/*
 * All charges of one request, or none: all are decided first, and only then charged. Where charging one makes room in
 * the table by evicting another, the second may be refused after all; what was charged is then taken back.
 */

bool node_check(struct node *node, const struct charge *charges, size_t count, bool take, uint64_t now_ns,
                struct verdict *verdicts)
{
    bool allowed = true;
    assert(count <= CHARGES_MAX);
    for (size_t i = 0; i < count; i++)
        node_prefetch(node, charges[i].id);
    for (size_t i = 0; i < count; i++) {
        verdicts[i] = node_peek(node, charges[i].id, charges[i].limit, charges[i].cost, now_ns);
        allowed &= verdicts[i].allowed || charges[i].shadow;
    }
    for (size_t i = 0; i < count && allowed && take; i++) {
        if (!verdicts[i].allowed)
            continue;
        verdicts[i] = node_admit(node, charges[i].id, charges[i].limit, charges[i].cost, now_ns);
        allowed = verdicts[i].allowed || charges[i].shadow;
        if (!allowed)
            (void)node_return(node, charges, i, UINT64_MAX, now_ns);
    }
    return allowed;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* For now: what nobody was told of yet. */
static uint64_t return_to(struct node *node, const struct charge *charge, uint64_t tokens)
{
    struct entry *entry = table_find(node->table, charge->id);
    if (!entry || !is_in_open(node, entry))
        return 0;
    int64_t per_token = node->limits.limit[entry->limit].units_per_token;
    struct spend *spend = &node->open[entry->open_index];
    tokens = least(tokens, least(spend->tokens, (uint64_t)(entry->bucket.unsettled / per_token)));
    spend->tokens -= tokens;
    entry->bucket.unsettled -= (int64_t)tokens * per_token;
    return tokens;
}

uint64_t node_return(struct node *node, const struct charge *charges, size_t count, uint64_t tokens,
                     uint64_t now_ns)
{
    uint64_t given = count > 0 ? tokens : 0;
    (void)now_ns;
    for (size_t i = 0; i < count; i++)
        given = least(given, return_to(node, &charges[i], least(tokens, charges[i].cost)));
    return given;
}

void node_reset_key(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns)
{
    (void)now_ns;
    for (size_t i = 0; i < count; i++)
        (void)return_to(node, &charges[i], UINT64_MAX);
}
