/*
 * takeover_right finds the end of this node's right among the leases of others, and derives from it what budgets,
 * settling and requests ask: the right itself, and the weight of those whose spends may be unknown.
 */
#include "cluster/members/takeover_right.h"

#include "cluster/members/takeover.h"

static uint64_t leased_until(const struct takeover *takeover, uint64_t at_ns)
{
    uint64_t weight = takeover->peer[takeover->me].weight;
    for (uint32_t i = 0; i < takeover->count; i++)
        weight +=
            takeover_is_other(takeover, i) && takeover->peer[i].lease_ns >= at_ns ? takeover->peer[i].weight : 0;
    return weight;
}

uint64_t takeover_right_ends_ns(const struct takeover *takeover)
{
    uint64_t ends_ns = 0;
    if (takeover_is_majority(takeover, takeover->peer[takeover->me].weight))
        return UINT64_MAX;
    for (uint32_t i = 0; i < takeover->count; i++) {
        const uint64_t lease_ns = takeover_is_other(takeover, i) ? takeover->peer[i].lease_ns : 0;
        if (lease_ns > ends_ns && takeover_is_majority(takeover, leased_until(takeover, lease_ns)))
            ends_ns = lease_ns;
    }
    return ends_ns;
}

bool takeover_acts(const struct takeover *takeover)
{
    return takeover->after_ns == 0 || (takeover->acted && !takeover->lapsed);
}

void takeover_derive(struct takeover *takeover)
{
    const bool acts = takeover_acts(takeover);
    bool someone_is_taken = false;
    takeover->owed_weight = 0;
    for (uint32_t i = 0; i < takeover->count; i++) {
        takeover->owed_weight += takeover->peer[i].owed ? takeover->peer[i].weight : 0;
        someone_is_taken |= takeover->peer[i].taken;
    }
    takeover->stops = !acts;
    takeover->settles = acts || takeover->is_ready || !someone_is_taken;
    takeover->right_ends_ns = acts && takeover->after_ns > 0 ? takeover_right_ends_ns(takeover) : UINT64_MAX;
}

void takeover_lapse(struct takeover *takeover)
{
    takeover->lapsed = true;
    for (uint32_t i = 0; i < takeover->count; i++)
        takeover->peer[i].then = takeover->peer[i].incarnation;
}
