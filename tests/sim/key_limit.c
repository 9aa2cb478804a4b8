#include "tests/sim/key_limit.h"

#include "cluster/spend/grant.h"
#include "cluster/spend/voucher_left.h"
#include "cluster/spend/voucher_places.h"
#include "cluster/state/node_state.h"

int key_limit(const struct node *node, struct key_id id)
{
    const struct entry *entry = table_find(node->table, id);
    return entry != NULL ? (int)entry->limit : -1;
}

uint64_t key_voucher_tokens(struct node *node, struct key_id id, uint64_t now_ns)
{
    const struct voucher *voucher = voucher_of_key(node, id);
    if (voucher == NULL)
        return 0;
    return (uint64_t)(voucher_units(node, voucher, now_ns) / node->limits.limit[voucher->limit].units_per_token) +
           1;
}

uint64_t key_granted_tokens(const struct node *node, struct key_id id)
{
    uint64_t tokens;
    (void)grants_concern(node, id, &tokens);
    return tokens;
}

void key_limit_is_of_tiers(struct node *node, uint16_t limit, const struct limit_span *span)
{
    limit_span_note(span, &node->limits.limit[limit]);
}
