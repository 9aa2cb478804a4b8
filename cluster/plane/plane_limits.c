/*
 * plane_limits checks what a reload asks for, has members/limit_list.c make a version of it, and puts the newest
 * version into the ruleset. It also reports which list is in force.
 */
#include "cluster/plane/plane_limits.h"

#include "cluster/codec/effects.h"
#include "cluster/members/limit_list.h"
#include "cluster/members/limit_list_text.h"
#include "cluster/members/version.h"
#include "cluster/spend/limits.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <inttypes.h>
#include <sysexits.h>

bool plane_limits_intern(struct node *node, const struct named_limits *limits,
                         struct ruleset_named named[NAMED_LIMITS_MAX], struct error *error)
{
    for (uint32_t i = 0; i < limits->count; i++) {
        const int index = node_intern_limit(node, &limits->limit[i].terms, error);
        if (index < 0)
            return false;
        limits_note_named(node, (uint16_t)index, INHERIT_KEEP);
        named[i] = (struct ruleset_named){.name = bytes_of(limits->limit[i].name),
                                          .id = limits->limit[i].id,
                                          .limit = (uint16_t)index,
                                          .capacity = limits->limit[i].terms.capacity,
                                          .patience_ms = limits->limit[i].patience_ms};
    }
    return true;
}

/* What was granted of limits that have other terms now, or no name, is lost. */
static void drop_vouchers(struct node *node, const struct named_limits *before, const struct named_limits *now)
{
    for (uint32_t i = 0; i < before->count; i++) {
        const int at = named_limit_find(now, bytes_of(before->limit[i].name));
        const int limit = node_find_limit(node, &before->limit[i].terms);
        if (limit >= 0 && (at < 0 || node_find_limit(node, &now->limit[at].terms) != limit))
            voucher_drop_limit(node, (uint16_t)limit);
    }
}

static bool put_in_force(struct node *node, const struct named_limits *limits, struct error *error)
{
    struct ruleset_named named[NAMED_LIMITS_MAX];
    if (!plane_limits_intern(node, limits, named, error))
        return false;
    if (!ruleset_set_named(node_rules(node), named, limits->count, limits->by_default))
        return error_set(error, EX_OSERR, "not enough memory for the limits");
    drop_vouchers(node, &node->limit_lists.in_force, limits);
    node->limit_lists.in_force = *limits;
    node->limit_lists.in_force_hash = limit_list_hash(limits);
    return true;
}

/* ---- a reload ---- */

static bool may_change(const struct node *node, struct error *error)
{
    if (node->life.superseded || node->life.stopping || node->life.state != PEER_ACTIVE)
        return error_set(error, EX_TEMPFAIL, "%s is %s: reload when it is active", node->options.name,
                         peer_state_name(node->life.superseded ? PEER_LEFT : node->life.state));
    if (node->accord.told_out)
        return error_set(error, EX_TEMPFAIL, "the config of %s is not in use: reload a daemon whose config is",
                         node->options.name);
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].used && limit_list_is_beyond(&node->member[i]))
            return error_set(error, EX_CONFIG, "%s is of a release that takes limits from its config alone",
                             node->member[i].name);
    if (node->limit_lists.highest >= LIMITS_NUMBER_MAX)
        return error_set(error, EX_DATAERR, "no version can follow %" PRIu64, node->limit_lists.highest);
    return true;
}

void plane_limits_change(struct node *node, const struct named_limits *limits, uint64_t wall_ms,
                         struct effects *effects)
{
    struct limit_lists *lists = &node->limit_lists;
    struct limits_result *result = &lists->result;
    *result = (struct limits_result){.asked = result->asked + 1};
    if (named_limits_equal(limits, &lists->known.limits)) {
        result->unchanged = true;
        limit_list_note_file(node, limits);
        return;
    }
    result->refused = !may_change(node, &result->error) || !put_in_force(node, limits, &result->error);
    if (result->refused)
        return;
    limit_list_make(node, limits, wall_ms);
    lists->in_force_stamp = lists->known.stamp;
    effects_notice(effects, NOTICE_INFO, "limits %" PRIu64 " of %s are in force, and go to all peers",
                   lists->known.stamp.number, node->options.name);
}

void plane_limits_step(struct node *node, struct effects *effects)
{
    struct limit_lists *lists = &node->limit_lists;
    struct error error;
    if (version_compare(&lists->known.stamp, &lists->in_force_stamp) != 0) {
        if (put_in_force(node, &lists->known.limits, &error)) {
            lists->in_force_stamp = lists->known.stamp;
            todo_add(&node->todo, DO_ANSWER);
        } else if (!lists->unfit_told) {
            effects_notice(effects, NOTICE_WARNING, "limits %" PRIu64 " of %s are not in force here: %s",
                           lists->known.stamp.number, lists->known.author, error.text);
            lists->unfit_told = true;
        }
    }
    limit_list_step(node, effects);
}

/* ---- reports ---- */

const struct limits_result *node_limits_result(const struct node *node)
{
    return &node->limit_lists.result;
}

const struct named_limits *node_named_limits(const struct node *node)
{
    return &node->limit_lists.in_force;
}

void node_limits_report(const struct node *node, struct limits_report *report)
{
    const struct limit_lists *lists = &node->limit_lists;
    const struct limit_list *known = &lists->known;
    *report = (struct limits_report){.stamp = lists->in_force_stamp,
                                     .author = known->author,
                                     .wall_ms = known->wall_ms,
                                     .file_differs = lists->in_force_hash != lists->file};
}
