/*
 * Reads how a rule behaves: sync, overshoot, isolation, mode, patience, priority floors, adaptive.
 */
#include "base/units.h"
#include "limit/limit.h"
#include "rules/rule_builder.h"

#include <stdio.h>

/* NULL, or why a field has no effect on a rule with this sync. */
static const char *without_effect(const struct rule *rule, enum rule_field field)
{
    if (rule->sync == RULE_BUDGET && field == RULE_FIELD_OVERSHOOT)
        return "which never exceeds the limit";
    if (rule->sync == RULE_BUDGET && field == RULE_FIELD_PATIENCE)
        return "whose shares never move";
    if (rule->sync == RULE_CENTRAL && field == RULE_FIELD_OVERSHOOT)
        return "which never exceeds the limit";
    if (rule->sync == RULE_CENTRAL && field == RULE_FIELD_PATIENCE)
        return "where requests wait for the store alone";
    if (rule->sync == RULE_CENTRAL && field == RULE_FIELD_ON_ISOLATION)
        return "where when_down says what counts without the store";
    return NULL;
}

static bool check_effect(const struct rule_builder *builder, enum rule_field field)
{
    const struct rule *rule = builder->rule;
    const struct yaml_node *node = builder->field[field];
    const char *why = node ? without_effect(rule, field) : NULL;
    return !why || rule_fail(&builder->reader, node->line, "%s makes no sense with sync: %s, %s",
                             rule_field_names[field], rule_syncs.name[rule->sync], why);
}

static bool read_overshoot(struct rule_builder *builder)
{
    const struct yaml_node *node = builder->field[RULE_FIELD_OVERSHOOT];
    struct rule *rule = builder->rule;
    rule->overshoot_relative = rule->sync == RULE_GOSSIP;
    rule->overshoot = rule->sync == RULE_GOSSIP ? RULE_OVERSHOOT_DEFAULT : 0;
    if (!check_effect(builder, RULE_FIELD_OVERSHOOT))
        return false;
    if (!node)
        return true;
    uint64_t value;
    bool relative = node->kind == YAML_TEXT && units_parse_percent(node->text, &value);
    bool absolute = node->kind == YAML_TEXT && !relative && units_parse_count(node->text, &value);
    if ((!relative && !absolute) || value > (relative ? RULE_OVERSHOOT_MAX : LIMIT_CAPACITY_MAX))
        return rule_wrong(&builder->reader, node, "overshoot",
                          "a part of the limit from 0% to 1000%, or tokens from 0 to 1000000000000");
    rule->overshoot = value;
    rule->overshoot_relative = relative && value > 0;
    return true;
}

static bool read_patience(struct rule_builder *builder)
{
    return check_effect(builder, RULE_FIELD_PATIENCE) &&
           rule_read_duration(&builder->reader, builder->field[RULE_FIELD_PATIENCE], "patience", 1000000,
                              PATIENCE_MAX_MS * UINT64_C(1000000), &builder->rule->patience_ns);
}

/* What a central store can count. */
static bool check_central(const struct rule_builder *builder)
{
    const struct rule *rule = builder->rule;
    const struct yaml_node *sync = builder->field[RULE_FIELD_SYNC], *down = builder->field[RULE_FIELD_WHEN_DOWN];
    if (rule->sync != RULE_CENTRAL && rule->begins == RULE_BEGINS_FIRST_REQUEST)
        return rule_wrong(&builder->reader, builder->field[RULE_FIELD_BEGINS], "begins",
                          "clock, or sync: central beside it, since regions cannot agree on such a begin "
                          "without a store; algorithm: sliding_log keeps its promise without one");
    if (rule->sync != RULE_CENTRAL)
        return !down || rule_fail(&builder->reader, down->line,
                                  "when_down makes no sense without sync: central, whose store may be down");
    if (!rule_has_trait(rule->algorithm, ALGORITHM_CENTRAL))
        return rule_wrong(&builder->reader, sync, "sync",
                          "gossip or budget, since a central store counts token_bucket, leaky_bucket and "
                          "fixed_window alone");
    if (rule->mode == RULE_SOFT || rule->mode == RULE_SHADOW)
        return rule_wrong(&builder->reader, sync, "sync",
                          "gossip or budget, since what a central store decides is enforced, or off");
    if (rule->inherit == RULE_PROPORTIONAL)
        return rule_wrong(&builder->reader, builder->field[RULE_FIELD_INHERIT], "inherit",
                          "keep or reset with sync: central, whose store keeps what is used");
    return check_effect(builder, RULE_FIELD_ON_ISOLATION);
}

bool rule_read_choices(struct rule_builder *builder)
{
    struct rule *rule = builder->rule;
    int sync = RULE_GOSSIP, isolation = ISOLATION_BUDGET, mode = RULE_ENFORCE, inherit = RULE_KEEP;
    int persist = rule_has_trait(rule->algorithm, ALGORITHM_KEEPS), when_down = ISOLATION_BUDGET;
    if (!rule_read_choice(&builder->reader, builder->field[RULE_FIELD_SYNC], "sync", &rule_syncs, &sync) ||
        !rule_read_choice(&builder->reader, builder->field[RULE_FIELD_ON_ISOLATION], "on_isolation",
                          &rule_isolations, &isolation) ||
        !rule_read_choice(&builder->reader, builder->field[RULE_FIELD_WHEN_DOWN], "when_down", &rule_isolations,
                          &when_down) ||
        !rule_read_choice(&builder->reader, builder->field[RULE_FIELD_MODE], "mode", &rule_modes, &mode) ||
        !rule_read_choice(&builder->reader, builder->field[RULE_FIELD_PERSIST], "persist", &rule_booleans,
                          &persist) ||
        !rule_read_choice(&builder->reader, builder->field[RULE_FIELD_INHERIT], "inherit", &rule_inherits,
                          &inherit))
        return false;
    rule->sync = (enum rule_sync)sync;
    rule->on_isolation = (enum isolation)isolation;
    rule->when_down = (enum isolation)when_down;
    rule->mode = (enum rule_mode)mode;
    rule->inherit = (enum rule_inherit)inherit;
    rule->persist = persist == 1;
    return check_central(builder) && read_overshoot(builder) && read_patience(builder);
}

/* An absent level gets the floor of the level above it. */
bool rule_read_floors(struct rule_builder *builder)
{
    const struct yaml_node *map = builder->field[RULE_FIELD_PRIORITY_FLOOR];
    const struct yaml_node *level[RULE_PRIORITIES] = {NULL};
    if (!map)
        return true;
    for (const struct yaml_node *node = yaml_first(map); node; node = yaml_next(builder->reader.tree, map, node)) {
        int priority = rule_choice(&rule_priorities, node->key);
        if (priority < 0 || priority == RULE_PRIORITY_CRITICAL)
            return rule_unknown(&builder->reader, node, "priority_floor.", rule_priorities.name,
                                RULE_PRIORITY_CRITICAL, "low, normal and high");
        level[priority] = node;
    }
    uint64_t floor = 0;
    for (int i = RULE_PRIORITY_HIGH; i >= RULE_PRIORITY_LOW; i--) {
        char field[40];
        (void)snprintf(field, sizeof field, "priority_floor.%s", rule_priorities.name[i]);
        if (!rule_read_percent(&builder->reader, level[i], field, floor, 999999, &floor))
            return false;
        builder->rule->priority_floor[i] = (uint32_t)floor;
    }
    return true;
}

bool rule_read_adaptive(struct rule_builder *builder)
{
    static const char *const names[] = {"floor", "latency"};
    const struct yaml_node *map = builder->field[RULE_FIELD_ADAPTIVE];
    struct rule *rule = builder->rule;
    if (!map)
        return true;
    uint64_t floor = RULE_ADAPTIVE_FLOOR_DEFAULT;
    for (const struct yaml_node *node = yaml_first(map); node; node = yaml_next(builder->reader.tree, map, node)) {
        bool good;
        if (bytes_equal(node->key, bytes_of("floor")))
            good = rule_read_percent(&builder->reader, node, "adaptive.floor", 10000, 1000000, &floor);
        else if (bytes_equal(node->key, bytes_of("latency")))
            good = rule_read_duration(&builder->reader, node, "adaptive.latency", 1000000, 3600000000000,
                                      &rule->adaptive_latency_ns);
        else
            good = rule_unknown(&builder->reader, node, "adaptive.", names, 2, "floor and latency");
        if (!good)
            return false;
    }
    rule->adaptive_floor = (uint32_t)floor;
    return true;
}
