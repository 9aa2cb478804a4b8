/*
 * plane_reach checks the rules in force against this node's present share, and against the members
 * that are gone for good. A rule is checked when it is set, with the shares and members of that
 * time. A member that joins or leaves changes shares, and afterwards this node may admit nothing
 * under the rule. One notice says so with each change of this node's share, and one with each
 * member that is gone.
 */
#include "cluster/plane/plane_reach.h"

#include "cluster/codec/effects.h"
#include "cluster/state/node_state.h"
#include "cluster/state/plane_state.h"
#include "cluster/state/share.h"
#include "limit/reach.h"

enum { OTHERS_BYTES = 32 };

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

/* How many rules a notice is about beside the one that it names. */
static void others_text(uint32_t rules, char text[OTHERS_BYTES])
{
    text[0] = '\0';
    if (rules > 1)
        (void)snprintf(text, OTHERS_BYTES, " and %u more", rules - 1);
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
    char others[OTHERS_BYTES];
    if (!first)
        return;
    others_text(unreached.rules, others);
    effects_notice(
        effects, NOTICE_WARNING,
        "with a share of %.2f%% this node admits no request under %s %.*s%s%.*s%s: expected a larger overshoot",
        (double)node->sharing.share * 100 / (double)SHARE_ONE, first->service.size > 0 ? "rule" : "limit",
        (int)first->service.size, first->service.data, first->service.size > 0 ? "/" : "", (int)first->id.size,
        first->id.data, others);
}

/* ---- homes that are gone ---- */

struct gone {
    const struct node *node;
    const struct ruled *first, *last;
    uint64_t home; /* of `first` */
    uint32_t rules;
};

/* The member that was the home, if it is gone for good. */
static const struct member *gone_daemon(const struct node *node, uint64_t home)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].used && node->member[i].share_freed && node->member[i].home == home)
            return &node->member[i];
    return NULL;
}

/* The region that is the home, if it has no member any more. */
static const char *gone_region(const struct node *node, uint64_t home)
{
    for (uint32_t i = 0; i < node->options.region_count; i++)
        if (node->sharing.homes[i].number == home && region_sharers(node, node->options.regions[i].region) == 0)
            return node->options.regions[i].region;
    return NULL;
}

static void look_at_home(void *context, const struct ruled *rule, uint16_t index)
{
    struct gone *gone = context;
    const uint64_t home = gone->node->limits.limit[index].home;
    if (!limit_home_is_one(home) || gone->last == rule || rule->service.size == 0 ||
        (!gone_daemon(gone->node, home) && !gone_region(gone->node, home)))
        return;
    gone->last = rule;
    if (gone->rules++ > 0)
        return;
    gone->first = rule;
    gone->home = home;
}

void plane_warn_of_homes(const struct node *node, struct effects *effects)
{
    struct gone gone = {.node = node};
    char others[OTHERS_BYTES];
    if (!node->plane || !node->plane->rules || node->sharing.share == 0)
        return;
    ruleset_visit_amounts(node->plane->rules, look_at_home, &gone);
    if (!gone.first)
        return;
    const struct member *daemon = gone_daemon(node, gone.home);
    others_text(gone.rules, others);
    effects_notice(effects, NOTICE_WARNING,
                   "rule %.*s/%.*s%s: the home %s%s%s is gone for good, and its requests are refused: expected another "
                   "home, or the rule set again",
                   (int)gone.first->service.size, gone.first->service.data, (int)gone.first->id.size,
                   gone.first->id.data, others, daemon ? daemon->region : gone_region(node, gone.home),
                   daemon ? "/" : "", daemon ? daemon->name : "");
}
