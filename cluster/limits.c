#include "cluster/parts.h"
#include "limit/events.h"
#include "rules/ruleset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum { SWEEP_GAP_INTERVALS = 64 };

bool limits_create(struct node *node, struct error *error)
{
    const struct node_options *options = &node->options;
    uint32_t room = options->limits_max > 0 ? options->limits_max : NODE_LIMITS_DEFAULT;
    uint32_t events = options->events_max > 0 ? options->events_max : NODE_EVENTS_DEFAULT;
    if (room < options->limits->count || room > LIMITS_MAX)
        return error_set(error, EX_CONFIG, "limits_max is %u: expected %u to %d", room, options->limits->count,
                         LIMITS_MAX);
    node->events = events_create(events);
    bool made = limit_set_init(&node->limits, room, node->events);
    node->budget = calloc(room, sizeof *node->budget);
    node->early_units = calloc(room, sizeof *node->early_units);
    node->soon_units = calloc(room, sizeof *node->soon_units);
    node->worst_debt_units = calloc(room, sizeof *node->worst_debt_units);
    node->doubted_tokens = calloc(room, sizeof *node->doubted_tokens);
    if (!made || !node->budget || !node->early_units || !node->soon_units || !node->worst_debt_units ||
        !node->doubted_tokens)
        return error_set(error, EX_OSERR, "not enough memory for %u limits", room);
    for (uint32_t i = 0; i < options->limits->count; i++) {
        int index = node_intern_limit(node, &options->limits->limit[i].terms, error);
        if (index < 0)
            return false;
        node->config_limits = (uint32_t)index + 1 > node->config_limits ? (uint32_t)index + 1 : node->config_limits;
    }
    return true;
}

void limits_destroy(struct node *node)
{
    limit_set_close(&node->limits);
    events_destroy(&node->events);
    free(node->budget);
    free(node->early_units);
    free(node->soon_units);
    free(node->worst_debt_units);
    free(node->doubted_tokens);
}

int node_intern_limit(struct node *node, const struct limit_terms *terms, struct error *error)
{
    int known = limit_set_find(&node->limits, terms);
    int index = known >= 0 ? known : limit_set_intern(&node->limits, terms, error);
    if (known < 0 && index >= 0) {
        node->limits_added++;
        node->worst_debt_units[index] = 0;
        node->doubted_tokens[index] = 0;
        membership_refresh_budget(node, (uint32_t)index);
    }
    return index;
}

int node_intern_guest_limit(struct node *node, const struct limit_terms *terms, struct error *error)
{
    if (node->limits.used >= node->limits.room / 2 && limit_set_find(&node->limits, terms) < 0) {
        (void)error_set(error, EX_TEMPFAIL, "%u different limits are in use: more of them are for rules",
                        node->limits.used);
        return -1;
    }
    return node_intern_limit(node, terms, error);
}

int node_find_limit(const struct node *node, const struct limit_terms *terms)
{
    return limit_set_find(&node->limits, terms);
}

const struct limit *node_limit(const struct node *node, uint16_t index)
{
    assert(limit_set_has(&node->limits, index));
    return &node->limits.limit[index];
}

/* ---- which are in use ---- */

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
    for (struct list *at = batches->next; at != batches; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
        for (uint32_t i = 0; i < batch->spend_count; i++)
            use(usage, batch->spend[i].limit);
    }
}

/* Many are in use, and more than a few of them were not when it was last looked. */
static bool is_sweep_due(const struct node *node)
{
    uint32_t room = node->limits.room, used = node->limits.used;
    return used >= room / 4 * 3 || (used >= room / 8 * 3 && node->limits_added >= room / 8);
}

/* What a reservation holds is looked up by its entry, whose limit counts. */
void limits_sweep(struct node *node)
{
    uint64_t gap_ns = SWEEP_GAP_INTERVALS * node->options.interval_ns;
    if (!is_sweep_due(node) || (node->swept_ns > 0 && node->now_ns - node->swept_ns < gap_ns))
        return;
    struct usage *usage = calloc(1, sizeof *usage);
    if (!usage)
        return;
    tell_gathered(node);
    node->swept_ns = node->now_ns;
    node->limits_added = 0;
    for (uint32_t i = 0; i < node->config_limits; i++)
        use(usage, (uint16_t)i);
    untold_visit(node, use_spend, usage);
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        if (node->origin[slot].uid)
            use_batches(usage, &node->origin[slot].log);
    use_batches(usage, &node->inbox);
    table_visit(node->table, 0, 0, use_entry, usage);
    ruleset_visit_limits(node_rules(node), use, usage);
    limit_set_sweep(&node->limits, in_use, usage);
    free(usage);
}
