/*
 * sweep frees the numbers of limits that are not used any more, when few numbers are left. A limit
 * is in use while the config, a rule, a key of the table, or a spend in a ring, a log or the inbox
 * names it. One sweep visits all of these at once, so sweeps are rare.
 */
#include "cluster/sweep.h"

#include "cluster/apply/uncharged.h"
#include "cluster/log/gather.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/weight_lists.h"
#include "cluster/state/node_state.h"
#include "rules/ruleset.h"

#include <stdlib.h>

enum { SWEEP_GAP_INTERVALS = 64 };

struct usage {
    uint64_t bit[LIMITS_MAX / 64 + 1];
};

static void use(void *context, uint16_t index)
{
    struct usage *usage = context;
    usage->bit[index / 64] |= (uint64_t)1 << (index % 64);
}

static void use_entry(void *context, const struct entry *entry)
{
    use(context, entry->limit);
}

static void use_spend(void *context, const struct spend *spend)
{
    use(context, spend->limit);
}

static bool in_use(void *context, uint16_t index)
{
    const struct usage *usage = context;
    return (usage->bit[index / 64] >> (index % 64) & 1) != 0;
}

static void use_batches(struct usage *usage, struct list *batches)
{
    LIST_EACH(const struct batch, batch, batches, link)
        for (uint32_t i = 0; i < batch->spend_count; i++)
            use(usage, batch->spend[i].limit);
}

/* True if many numbers are in use, and more than a few of them are new since the last sweep. */
static bool is_sweep_due(const struct node *node)
{
    uint32_t room = node->limits.room, used = node->limits.used;
    return weight_lists_are_scarce(node) || used >= room / 4 * 3 ||
           (used >= room / 8 * 3 && node->by_limit.added_count >= room / 8);
}

/* A reservation looks its key up by the entry, and the entry's limit is visited. */
void sweep_limits(struct node *node)
{
    uint64_t gap_ns = SWEEP_GAP_INTERVALS * node->options.interval_ns;
    if (!is_sweep_due(node) || (node->by_limit.swept_ns > 0 && node->now_ns - node->by_limit.swept_ns < gap_ns))
        return;
    struct usage *usage = calloc(1, sizeof *usage);
    if (!usage)
        return;
    tell_gathered(node);
    uncharged_charge(node);
    node->by_limit.swept_ns = node->now_ns;
    node->by_limit.added_count = 0;
    node->weight_lists.noted = 0;
    for (uint32_t i = 0; i < node->by_limit.config_count; i++)
        use(usage, (uint16_t)i);
    outbox_visit(node, use_spend, usage);
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        if (node->origin[slot].uid)
            use_batches(usage, &node->origin[slot].log);
    use_batches(usage, &node->inbox.list);
    for (uint32_t i = 0; i < node->rights.voucher_places.end; i++)
        use(usage, node->rights.voucher[i].limit);
    for (uint32_t i = 0; i < CONTESTS_MAX; i++)
        use(usage, node->contests.contest[i].limit);
    table_visit(node->table, 0, 0, use_entry, usage);
    ruleset_visit_limits(node_rules(node), use, usage);
    limit_set_sweep(&node->limits, in_use, usage);
    weight_lists_sweep(node);
    free(usage);
}
