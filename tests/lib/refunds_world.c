#include "tests/lib/refunds_world.h"

const struct algorithm *algorithm;

struct charge refunds_charge(unsigned i, uint64_t cost)
{
    struct charge charge = charge_at(i, "alice", &algorithm->terms, cost);
    charge.sliding = algorithm->sliding;
    if (charge.sliding)
        charge.previous = key_of("alice before", 0);
    return charge;
}

bool refunds_take(unsigned i, uint64_t cost)
{
    struct verdict verdict;
    struct charge charge = refunds_charge(i, cost);
    return node_check(world.host[i].node, &charge, 1, true, world.now_ns, &verdict);
}

uint64_t refunds_give(unsigned i, uint64_t tokens)
{
    struct charge charge = refunds_charge(i, tokens);
    return node_return(world.host[i].node, &charge, 1, tokens, world.now_ns);
}

int64_t refunds_left(unsigned i)
{
    struct charge charge = refunds_charge(i, 0);
    struct bucket bucket = node_bucket(world.host[i].node, charge.id, charge.limit, world.now_ns);
    return (bucket.settled - bucket.unsettled) / limit_made(&algorithm->terms).units_per_token;
}
