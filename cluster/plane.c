#include "cluster/plane.h"

#include "cluster/state.h"

struct ruleset *node_rules(struct node *node)
{
    (void)node;
    return NULL;
}

const struct rulebook *node_rulebook(const struct node *node)
{
    (void)node;
    return NULL;
}
