#include "tests/sim/key_limit.h"

#include "cluster/state/node_state.h"

int key_limit(const struct node *node, struct key_id id)
{
    const struct entry *entry = table_find(node->table, id);
    return entry != NULL ? (int)entry->limit : -1;
}
