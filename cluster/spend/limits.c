/*
 * limits gives numbers to the terms of limits and keeps the figures of each number: budget,
 * thresholds of urgency and waiting, worst debt. Terms of the config come first, then those of
 * rules, peers and requests. It does not decide how large the share of this node is:
 * members/shares.c does.
 */
#include "cluster/spend/limits.h"

#include "cluster/spend/deferred.h"
#include "cluster/spend/weight_lists.h"
#include "cluster/state/node_state.h"
#include "cluster/state/share.h"
#include "limit/events.h"

#include <assert.h>
#include <stdlib.h>
#include <sysexits.h>

bool limits_create(struct node *node, struct error *error)
{
    const struct node_options *options = &node->options;
    uint32_t room = options->limits_max > 0 ? options->limits_max : NODE_LIMITS_DEFAULT;
    uint32_t events = options->events_max > 0 ? options->events_max : NODE_EVENTS_DEFAULT;
    if (room < options->limits->count || room > LIMITS_MAX)
        return error_set(error, EX_CONFIG, "limits_max is %u: expected %u to %d", room, options->limits->count,
                         LIMITS_MAX);
    node->by_limit.events = events_create(events);
    bool made = limit_set_init(&node->limits, room, node->by_limit.events);
    node->by_limit.budget = calloc(room, sizeof *node->by_limit.budget);
    node->by_limit.list = calloc(room, sizeof *node->by_limit.list);
    node->by_limit.soon_units = calloc(room, sizeof *node->by_limit.soon_units);
    node->by_limit.worst_debt_units = calloc(room, sizeof *node->by_limit.worst_debt_units);
    node->by_limit.doubted_tokens = calloc(room, sizeof *node->by_limit.doubted_tokens);
    node->by_limit.named = calloc(room, sizeof *node->by_limit.named);
    if (!weight_lists_create(node, error))
        return false;
    if (!made || !node->by_limit.named || !node->by_limit.budget || !node->by_limit.list ||
        !node->by_limit.soon_units || !node->by_limit.worst_debt_units || !node->by_limit.doubted_tokens)
        return error_set(error, EX_OSERR, "not enough memory for %u limits", room);
    for (uint32_t i = 0; i < options->limits->count; i++) {
        int index = node_intern_limit(node, &options->limits->limit[i].terms, error);
        if (index < 0)
            return false;
        node->by_limit.config_count =
            (uint32_t)index + 1 > node->by_limit.config_count ? (uint32_t)index + 1 : node->by_limit.config_count;
    }
    return true;
}

void limits_destroy(struct node *node)
{
    limit_set_close(&node->limits);
    events_destroy(&node->by_limit.events);
    weight_lists_destroy(node);
    free(node->by_limit.budget);
    free(node->by_limit.list);
    free(node->by_limit.soon_units);
    free(node->by_limit.worst_debt_units);
    free(node->by_limit.doubted_tokens);
    free(node->by_limit.named);
}

int node_intern_limit(struct node *node, const struct limit_terms *terms, struct error *error)
{
    int known = limit_set_find(&node->limits, terms);
    int index = known >= 0 ? known : limit_set_intern(&node->limits, terms, error);
    if (known < 0 && index >= 0) {
        node->by_limit.added_count++;
        node->by_limit.worst_debt_units[index] = 0;
        node->by_limit.doubted_tokens[index] = 0;
        node->by_limit.named[index] = 0;
        limits_refresh_budget(node, (uint32_t)index);
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

/* Times of steps, of which each has at most one version of a rule; and how its keys go over to it. */
enum { NAMED_SHIFT = 2 };
_Static_assert(INHERIT_TIERS < 1 << NAMED_SHIFT, "how a key goes over has its place");

void limits_note_named(struct node *node, uint16_t index, enum bucket_inherit how)
{
    node->by_limit.named[index] = (node->now_ns + 1) << NAMED_SHIFT | (uint64_t)how;
}

bool limits_go_over(const struct node *node, uint16_t from, uint16_t to, enum bucket_inherit *how)
{
    const uint64_t was = node->by_limit.named[from], is = node->by_limit.named[to];
    const struct limit *limit = node->limits.limit;
    *how = (enum bucket_inherit)(is & ((1 << NAMED_SHIFT) - 1));
    const bool to_and_fro = *how == INHERIT_TIERS && limit[from].of_tiers && limit[to].of_tiers;
    return is > 0 && (to_and_fro || is >> NAMED_SHIFT >= was >> NAMED_SHIFT);
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

const char *node_home(const struct node *node, uint16_t index)
{
    const uint64_t home = node_limit(node, index)->home;
    for (uint32_t i = 0; i < node->options.region_count; i++)
        if (home != 0 && node->sharing.homes[i].number == home)
            return node->options.regions[i].region;
    return NULL;
}

bool node_is_home(const struct node *node, uint16_t index)
{
    const uint64_t home = node_limit(node, index)->home;
    return home != 0 && (home == node->sharing.home || home == node->member[node->me].home);
}

void limits_refresh_budget(struct node *node, uint32_t index)
{
    const struct limit *limit = &node->limits.limit[index];
    struct budget *budget = &node->by_limit.budget[index];
    const struct takeover *takeover = &node->takeover;
    node->by_limit.list[index] = limit_home_is_list(limit->home) ? weight_lists_place(node, limit->home) : 0;
    const uint64_t share = own_share_of(node, limit);
    budget_init(budget, limit, share, node->sharing.alone);
    if (takeover->owed_weight > 0)
        budget_lower(budget, limit, takeover->owed_weight);
    if (takeover->stops)
        budget_stop(budget, limit);
    node->by_limit.soon_units[index] = takeover->stops ? -1 : soon_paid_units(node, limit, share);
    deferred_note_limit(node, index);
}

/* A share of 0 pays nothing off, so it is not counted: nothing is unsettled by it (table_remember_evicted). */
void limits_refresh_share_min(struct node *node)
{
    uint64_t least = node->sharing.share;
    for (uint32_t i = 0; i < node->weight_lists.end; i++) {
        const uint64_t share = own_share_by_list(node, &node->weight_lists.list[i]);
        least = share > 0 && share < least ? share : least;
    }
    table_set_share_min(node->table, least);
}
