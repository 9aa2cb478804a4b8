#include "tests/sim/key_limit.h"

#include "cluster/spend/grant.h"
#include "cluster/spend/limits.h"
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

int64_t units_under(int64_t units, const struct limit *from, const struct limit *to)
{
    __extension__ const __int128 product = (__int128)units * to->units_per_token;
    return (int64_t)(product / from->units_per_token) + (product % from->units_per_token > 0);
}

struct bucket bucket_under(const struct bucket *bucket, const struct limit *from, const struct limit *to)
{
    struct bucket under = *bucket;
    under.settled = to->capacity_units - units_under(from->capacity_units - bucket->settled, from, to);
    under.unsettled = units_under(bucket->unsettled, from, to);
    return under;
}

void key_limit_is_of_tiers(struct node *node, uint16_t limit, const struct limit_span *span)
{
    limit_span_note(span, &node->limits.limit[limit]);
    limits_note_named(node, limit, INHERIT_TIERS);
}
