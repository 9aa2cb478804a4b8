/*
 * weight_lists notes the weights of rules by the order of the regions in the options. A region that the options do not
 * have is left out: its part belongs to nobody here, nor anywhere else where daemons of one config decide.
 */
#include "cluster/spend/weight_lists.h"

#include "cluster/spend/limits.h"
#include "cluster/state/node_state.h"

#include <assert.h>
#include <stdlib.h>
#include <sysexits.h>

bool weight_lists_create(struct node *node, struct error *error)
{
    node->weight_lists.list = calloc(WEIGHT_LISTS_MAX, sizeof *node->weight_lists.list);
    return node->weight_lists.list || error_set(error, EX_OSERR, "not enough memory for weights of rules");
}

void weight_lists_destroy(struct node *node)
{
    free(node->weight_lists.list);
    node->weight_lists.list = NULL;
}

uint16_t weight_lists_place(const struct node *node, uint64_t number)
{
    const struct weight_lists *lists = &node->weight_lists;
    for (uint32_t i = 0; i < lists->end && number != 0; i++)
        if (lists->list[i].number == number)
            return (uint16_t)(i + 1);
    return 0;
}

/*
 * Where all places are in use, and nothing new is asked for, a sweep would free nothing. A text of rules needs places
 * for all of its lists beside those in force, so that unused ones go while half of the places are free.
 */
bool weight_lists_are_scarce(const struct node *node)
{
    const struct weight_lists *lists = &node->weight_lists;
    return lists->used >= WEIGHT_LISTS_MAX / 2 &&
           (lists->noted >= WEIGHT_LISTS_MAX / 4 || (lists->used == WEIGHT_LISTS_MAX && lists->noted > 0));
}

void weight_lists_sweep(struct node *node)
{
    struct weight_lists *lists = &node->weight_lists;
    bool used[WEIGHT_LISTS_MAX] = {false};
    for (uint32_t i = 0; i < node->limits.count; i++)
        if (limit_set_has(&node->limits, i) && node->by_limit.list[i] > 0)
            used[node->by_limit.list[i] - 1] = true;
    lists->used = 0;
    for (uint32_t i = 0; i < lists->end; i++) {
        lists->list[i].number = used[i] ? lists->list[i].number : 0;
        lists->used += used[i];
    }
}

static struct weight_list *free_place(struct node *node)
{
    struct weight_lists *lists = &node->weight_lists;
    for (uint32_t i = 0; i < lists->end; i++)
        if (lists->list[i].number == 0)
            return &lists->list[i];
    return lists->end < WEIGHT_LISTS_MAX ? &lists->list[lists->end++] : NULL;
}

static void fill(const struct node_options *options, const struct limit_weight *weights, uint32_t count,
                 struct weight_list *list)
{
    uint64_t left = LIMIT_WEIGHTS_WHOLE;
    for (uint32_t w = 0; w < count; w++) {
        assert(weights[w].billionths <= left);
        left -= weights[w].billionths;
        for (uint32_t i = 0; i < options->region_count; i++)
            if (bytes_equal(bytes_of(options->regions[i].region), weights[w].region))
                list->weight[i] = (weights[w].billionths << 32) / LIMIT_WEIGHTS_WHOLE;
    }
}

/* Peers may have told of limits with these weights before this node knew what they are. */
bool node_note_weights(struct node *node, const struct limit_weight *weights, uint32_t count, struct error *error)
{
    const uint64_t number = limit_weights_number(weights, count);
    if (weight_lists_place(node, number) > 0)
        return true;
    if (node->weight_lists.used == WEIGHT_LISTS_MAX)
        weight_lists_sweep(node);
    struct weight_list *list = free_place(node);
    node->weight_lists.noted++;
    if (!list)
        return error_set(
            error, EX_TEMPFAIL,
            "rules have %d different weights, or had them a moment ago: expected some of them to be alike",
            WEIGHT_LISTS_MAX);
    node->weight_lists.used++;
    *list = (struct weight_list){.number = number};
    fill(&node->options, weights, count, list);
    for (uint32_t i = 0; i < node->limits.count; i++)
        if (limit_set_has(&node->limits, i) && node->limits.limit[i].home == number)
            limits_refresh_budget(node, i);
    limits_refresh_share_min(node);
    return true;
}
