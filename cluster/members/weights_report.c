/*
 * weights_report says which weights a node has in force, which version waits and for whom, and what an
 * operator can do about that. It changes nothing.
 */
#include "cluster/members/weights.h"
#include "cluster/members/weights_auto.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <string.h>

const char *weights_wait_name(enum weights_wait wait)
{
    static const char *const names[] = {"unheard", "left", "silent", "unaware", "news", "settling", "storing"};
    return names[wait];
}

const char *weights_wait_advice(enum weights_wait wait)
{
    static const char *const advice[] = {
        "it has never been heard, and would begin with its config's weights: start it, or forget it",
        "it has left, and may come back where nobody hears it: start it, or forget it",
        "it is silent: wait until it is heard, or forget it if it will not come back",
        "it keeps no weights over a restart: upgrade it, or give it a state_dir",
        "it has not said yet that it has heard them",
        "what it spent by a larger weight has not been acknowledged by all",
        "its store has not written them yet",
    };
    return advice[wait];
}

static void report_rows(const struct node *node, struct weights_report *report)
{
    const struct weights_known *known = &node->weights.known;
    report->own_row = report->region_count = node->options.region_count;
    for (uint32_t i = 0; i < report->region_count; i++) {
        struct weights_row *row = &report->row[i];
        const struct region_weight *config = &node->options.regions[i];
        row->region = config->region;
        row->in_force_billionths = weights_billionths(node->weights.in_force[i]);
        row->base_billionths = known->base.stamp.number > 0 ? weights_of_region(&known->base, config->region)
                                                            : weights_billionths(config->weight);
        row->pending_billionths =
            report->pending ? weights_of_region(report->pending, config->region) : row->base_billionths;
        for (uint32_t m = 0; m < node->member_end; m++)
            if (node->member[m].used && strcmp(node->member[m].region, config->region) == 0) {
                row->demand_tokens_per_s += node->member[m].demand_tokens_per_s;
                row->wanted_tokens_per_s += node->member[m].wanted_tokens_per_s;
            }
        if (strcmp(config->region, node->options.region) == 0)
            report->own_row = i;
    }
}

static enum weights_wait why_waits(const struct member *member)
{
    if (member->incarnation == 0)
        return WEIGHTS_WAIT_UNHEARD;
    if (member->state == PEER_LEFT)
        return WEIGHTS_WAIT_LEFT;
    if (member->silent)
        return WEIGHTS_WAIT_SILENT;
    return member->weights.message > 0 && !weights_are_kept_by(member) ? WEIGHTS_WAIT_UNAWARE : WEIGHTS_WAIT_NEWS;
}

static void add_wait(struct weights_report *report, const char *name, enum weights_wait why)
{
    report->wait[report->wait_count++] = (struct weights_waiting){name, why};
}

static void report_waits(const struct node *node, struct weights_report *report)
{
    const struct weights *weights = &node->weights;
    if (!report->pending)
        return;
    if (!node->options.keeps_weights)
        add_wait(report, node->options.name, WEIGHTS_WAIT_UNAWARE);
    else if (!weights->heard)
        add_wait(report, node->options.name, weights->settled ? WEIGHTS_WAIT_STORING : WEIGHTS_WAIT_SETTLING);
    for (uint32_t i = 0; i < node->member_end; i++)
        if (weights_wait_for(node, &node->member[i]))
            add_wait(report, node->member[i].name, why_waits(&node->member[i]));
}

const struct weights_result *node_weights_result(const struct node *node)
{
    return &node->weights.result;
}

uint64_t node_weights_number(const struct node *node)
{
    return node->weights.known.base.stamp.number;
}

void node_weights(const struct node *node, struct weights_report *report)
{
    const struct weights_known *known = &node->weights.known;
    memset(report, 0, sizeof *report);
    report->base = &known->base;
    report->pending = known->newest.stamp.number > 0 ? &known->newest : NULL;
    report_rows(node, report);
    report_waits(node, report);
    weights_auto_report(node, report);
    for (uint32_t i = known->past_count; i > 0; i--)
        report->past[report->past_count++] = &known->past[i - 1];
}
