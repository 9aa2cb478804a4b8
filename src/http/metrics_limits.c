#include "http/metrics_limits.h"

enum { BOUNDS_RULES_MAX = 100 }; /* rules with series of their own; further ones share those of "(others)" */

/* ---- the limits of the config ---- */

static uint64_t limit_capacity(const struct commands *commands, uint16_t index)
{
    return commands->limits->limit[index].terms.capacity;
}

static uint64_t limit_overshoot(const struct commands *commands, uint16_t index)
{
    return commands->limits->limit[index].terms.overshoot;
}

static uint64_t limit_debt(const struct commands *commands, uint16_t index)
{
    return node_worst_debt_tokens(commands->node, ruleset_named_limit(node_rules(commands->node), index));
}

static uint64_t limit_doubted(const struct commands *commands, uint16_t index)
{
    return node_doubted_tokens(commands->node, ruleset_named_limit(node_rules(commands->node), index));
}

static const struct {
    const char *name, *help;
    uint64_t (*value)(const struct commands *commands, uint16_t index);
} limit_metrics[] = {
    {"limit_capacity_tokens", "tokens of a full key of this limit of the config", limit_capacity},
    {"limit_overshoot_tokens", "tokens beyond the limit that the config declares", limit_overshoot},
    {"limit_worst_debt_tokens", "most tokens below zero that a key under these terms was seen at here", limit_debt},
    {"limit_doubted_tokens", "the part of doubted_tokens that keys under these terms have", limit_doubted},
};

void metrics_limits(struct metrics_page *page, const struct commands *commands)
{
    for (size_t i = 0; i < sizeof limit_metrics / sizeof limit_metrics[0]; i++) {
        page_head(page, limit_metrics[i].name, "gauge", limit_metrics[i].help);
        for (uint16_t k = 0; k < commands->limits->count; k++) {
            page_begin(page);
            page_name(page, limit_metrics[i].name);
            page_label(page, 0, "limit", bytes_of(commands->limits->limit[k].name));
            page_value(page, 1, limit_metrics[i].value(commands, k), 1);
            (void)page_end(page);
        }
    }
}

/* ---- declared and measured overshoot of rules ---- */

/* Of some amounts: the one that is nearest to its overshoot, or furthest beyond it. */
struct bound {
    uint64_t debt, overshoot;
    bool is_known;
};

static void take_worse(struct bound *bound, const struct bound *other)
{
    /* a - b > c - d, without a sign */
    if (!bound->is_known || other->debt + bound->overshoot > bound->debt + other->overshoot)
        *bound = *other;
}

struct bounds_page {
    struct metrics_page *page;
    const struct node *node;
    const char *name;         /* of the metric */
    bool debt;                /* what it tells */
    const struct ruled *rule; /* whose amounts are being visited */
    struct bound bound, others;
    uint32_t shown;
};

static void put_bound(const struct bounds_page *bounds, struct bytes service, struct bytes rule,
                      const struct bound *bound)
{
    page_name(bounds->page, bounds->name);
    page_label(bounds->page, 0, "service", service);
    page_label(bounds->page, 1, "rule", rule);
    page_value(bounds->page, 2, bounds->debt ? bound->debt : bound->overshoot, 1);
}

/* All amounts of the rule were visited. */
static void end_rule(struct bounds_page *bounds)
{
    if (bounds->rule == NULL)
        return;
    if (bounds->shown == BOUNDS_RULES_MAX) {
        take_worse(&bounds->others, &bounds->bound);
        return;
    }
    page_begin(bounds->page);
    put_bound(bounds, bounds->rule->service, bounds->rule->id, &bounds->bound);
    bounds->shown += page_end(bounds->page);
}

static void visit_amount(void *context, const struct ruled *rule, uint16_t index)
{
    struct bounds_page *bounds = context;
    const struct bound bound = {.debt = node_worst_debt_tokens(bounds->node, index),
                                .overshoot = node_limit(bounds->node, index)->overshoot,
                                .is_known = true};
    if (rule->service.size == 0) /* a limit of the config */
        return;
    if (bounds->rule != rule) {
        end_rule(bounds);
        bounds->rule = rule;
        bounds->bound.is_known = false;
    }
    take_worse(&bounds->bound, &bound);
}

static void put_bounds(struct metrics_page *page, struct node *node, const char *name, const char *help, bool debt)
{
    struct bounds_page bounds = {.page = page, .node = node, .name = name, .debt = debt};
    page_head(page, name, "gauge", help);
    ruleset_visit_amounts(node_rules(node), visit_amount, &bounds);
    end_rule(&bounds);
    if (!bounds.others.is_known)
        return;
    page_begin(page);
    put_bound(&bounds, bytes_of(METRICS_OTHERS), bytes_of(METRICS_OTHERS), &bounds.others);
    (void)page_end(page);
}

void metrics_bounds(struct metrics_page *page, struct node *node)
{
    put_bounds(page, node, "rule_overshoot_tokens", "tokens beyond its limit that the rule declares", false);
    put_bounds(page, node, "rule_worst_debt_tokens",
               "most tokens below zero that a key under the terms of the rule was seen at here", true);
}
