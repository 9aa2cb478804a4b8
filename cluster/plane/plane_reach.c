/*
 * plane_reach checks the rules in force against this node's present share. A rule is checked when
 * it is set, with the shares of that time. A member that joins or leaves changes shares, and
 * afterwards this node may admit nothing under the rule. One notice says so with each change of
 * this node's share.
 */
#include "cluster/plane/plane_reach.h"

#include "cluster/codec/effects.h"
#include "cluster/state/node_state.h"
#include "cluster/state/plane_state.h"
#include "limit/reach.h"

struct unreached {
    const struct node *node;
    const struct ruled *first, *last;
    uint32_t rules;
};

static bool admits(const struct node *node, uint16_t index)
{
    const struct limit *limit = &node->limits.limit[index];
    const struct bucket full = {.settled = limit->capacity_units};
    const uint64_t share = limit->home == 0 ? node->sharing.share : node->by_limit.budget[index].share;
    /* who is not at home asks there, or does not: that was said when the rule was set */
    if (bucket_allows(&full, limit, &node->by_limit.budget[index], 1, 0) || (limit->home != 0 && share == 0))
        return true;
    const uint64_t shares[] = {share, SHARE_ONE - share};
    const struct reach_peers all = {2, shares, node->options.grants, NULL, false, NULL};
    const struct limit_terms terms = limit_terms_of(limit);
    return reach_count(&terms, 0, &all) == all.count;
}

/* Amounts of one rule are visited one after the other. */
static void look_at(void *context, const struct ruled *rule, uint16_t limit)
{
    struct unreached *unreached = context;
    if ((rule->stable ? rule->stable : rule->candidate)->central)
        return;
    if (unreached->last == rule || admits(unreached->node, limit))
        return;
    unreached->last = rule;
    if (unreached->rules++ == 0)
        unreached->first = rule;
}

void plane_warn_of_reach(const struct node *node, struct effects *effects)
{
    struct unreached unreached = {.node = node};
    const struct plane *plane = node->plane;
    if (!plane || !plane->rules || node->sharing.share == 0)
        return;
    ruleset_visit_amounts(plane->rules, look_at, &unreached);
    const struct ruled *first = unreached.first;
    if (!first)
        return;
    char others[48] = "";
    if (unreached.rules > 1)
        (void)snprintf(others, sizeof others, " and %u more", unreached.rules - 1);
    effects_notice(
        effects, NOTICE_WARNING,
        "with a share of %.2f%% this node admits no request under %s %.*s%s%.*s%s: expected a larger overshoot",
        (double)node->sharing.share * 100 / (double)SHARE_ONE, first->service.size > 0 ? "rule" : "limit",
        (int)first->service.size, first->service.data, first->service.size > 0 ? "/" : "", (int)first->id.size,
        first->id.data, others);
}
