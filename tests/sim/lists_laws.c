/*
 * What must hold where limits of the config change (lists.c), besides overshoot and reach:
 *
 *   version  a node's version never goes back within one life, nor over a restart that finds it on the disk; a version
 *            is one list, everywhere and for ever, and some reload made it.
 *   config   a node with a list of which no other knows admits nothing.
 *   joins    who becomes active among others has what all of them had long before.
 *   agree    when faults are over, the list that an operator gives to all last is in force everywhere.
 *
 * The truth is that of lists_truth.c.
 */
#include "tests/sim/laws.h"
#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 12 /* of news, until the last list is in force everywhere */ };

/* ---- versions ---- */

static int compare(const struct version_stamp *a, const struct version_stamp *b)
{
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->maker > b->maker) - (a->maker < b->maker);
}

static int list_of(const struct sim *sim, const struct named_limits *named)
{
    for (unsigned l = 0; l < sim->plan.lists.count; l++)
        if (named_limits_equal(named, &sim->plan.lists.list[l].named))
            return (int)l;
    return -1;
}

static const struct list_version *version_of(const struct sim *sim, const struct version_stamp *stamp)
{
    for (unsigned v = 0; v < sim->lists.version_count; v++)
        if (compare(&sim->lists.version[v].stamp, stamp) == 0)
            return &sim->lists.version[v];
    return NULL;
}

static void check_version(struct sim *sim, unsigned i, const struct version_stamp *stamp, unsigned list)
{
    const struct list_node *n = &sim->lists.node[i];
    const struct list_version *known = version_of(sim, stamp);
    if (stamp->number == 0 && list != n->began)
        sim_fail(sim, "version: %s has list %u in force, which no version has, and began with %u",
                 sim->node[i].name, list, n->began);
    if (stamp->number == 0)
        return;
    if (known == NULL && (sim->lists.asked != &n->file || *sim->lists.asked != list))
        sim_fail(sim, "version: %s has limits %" PRIu64 " in force, list %u, which nobody made", sim->node[i].name,
                 stamp->number, list);
    else if (known == NULL && sim->lists.version_count < LISTS_VERSIONS_MAX)
        sim->lists.version[sim->lists.version_count++] = (struct list_version){*stamp, list};
    else if (known != NULL && known->list != list)
        sim_fail(sim, "version: limits %" PRIu64 " are list %u at %s, and list %u elsewhere", stamp->number, list,
                 sim->node[i].name, known->list);
}

static void note_in_force(struct sim *sim, unsigned i)
{
    struct list_node *n = &sim->lists.node[i];
    struct limits_report report;
    node_limits_report(sim->node[i].node, &report);
    if (n->is_known && compare(&report.stamp, &n->stamp) == 0)
        return;
    const int list = list_of(sim, node_named_limits(sim->node[i].node));
    if (list < 0) {
        sim_fail(sim, "version: %s has a list in force that nobody wrote", sim->node[i].name);
        return;
    }
    if (n->is_known && compare(&report.stamp, &n->stamp) < 0)
        sim_fail(sim, "version: %s goes back from limits %" PRIu64 " to %" PRIu64, sim->node[i].name,
                 n->stamp.number, report.stamp.number);
    if (!n->is_known && n->restored && compare(&report.stamp, &n->disk[0].stamp) < 0)
        sim_fail(sim, "version: %s begins with limits %" PRIu64 ", and its disk has %" PRIu64, sim->node[i].name,
                 report.stamp.number, n->disk[0].stamp.number);
    check_version(sim, i, &report.stamp, (unsigned)list);
    n->is_known = true;
    n->stamp = report.stamp;
    n->since_ns = sim->now_ns;
    n->force = (unsigned)list;
    lists_truth_widens(sim, n->force);
}

static void note_disk(struct sim *sim, unsigned i)
{
    const struct bytes text = sim->effects.limits_text;
    struct list_node *n = &sim->lists.node[i];
    if (text.size == 0)
        return;
    struct list_disk *waiting = &n->disk[1];
    assert(text.size <= sizeof waiting->text);
    memcpy(waiting->text, text.data, text.size);
    waiting->size = text.size;
    waiting->number = sim->effects.limits_number;
    waiting->stamp = n->stamp;
    waiting->list = n->force;
    waiting->file = sim->lists.asked == &n->file ? n->file : n->read;
    (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_LIMITS_KEPT,
                                                     .at_ns = sim->now_ns + random_below(&sim->lists.random,
                                                                                         4 * sim->plan.interval_ns),
                                                     .node = (uint8_t)i,
                                                     .life = sim->node[i].lives,
                                                     .value = waiting->number});
}

static bool is_silent_to(const struct sim *sim, unsigned i, unsigned j)
{
    static struct peer_report reports[NODE_PEERS_MAX];
    const size_t count = node_peers(sim->node[i].node, world_local_ns(sim, i), reports);
    for (size_t r = 0; r < count; r++)
        if (strcmp(reports[r].name, sim->node[j].name) == 0)
            return reports[r].heard_ago_ns > sim->plan.silent_after_ns;
    return true;
}

/*
 * Whoever begins alone, or with a list that others do not know, cannot know. Nor can anybody know what only those have
 * who are silent: nobody waits for their word.
 */
static void check_joining(struct sim *sim, unsigned i)
{
    struct list_node *n = &sim->lists.node[i];
    const uint64_t long_ns = sim->plan.silent_after_ns + faults_longest_way_ns(sim) + sim->plan.interval_ns;
    const struct version_stamp *oldest = NULL;
    struct node_status status;
    node_status(sim->node[i].node, &status);
    if (n->was_active || status.state != PEER_ACTIVE)
        return;
    n->was_active = true;
    if (n->snapshots == 0 || status.config_state != CONFIG_SAME)
        return;
    for (unsigned j = 0; j < sim->plan.nodes; j++) {
        const struct list_node *other = &sim->lists.node[j];
        if (j == i || !world_is_up(sim, j) || !other->was_active || is_silent_to(sim, i, j))
            continue;
        if (sim->now_ns - other->since_ns < long_ns)
            return;
        oldest = oldest == NULL || compare(&other->stamp, oldest) < 0 ? &other->stamp : oldest;
    }
    if (oldest != NULL && compare(&n->stamp, oldest) < 0)
        sim_fail(sim, "joins: %s is active with limits %" PRIu64 ", and all others have %" PRIu64,
                 sim->node[i].name, n->stamp.number, oldest->number);
}

/* All others have left, or are about to, or never ran. */
static bool is_alone(const struct sim *sim, unsigned i)
{
    bool alone = true;
    for (unsigned j = 0; j < sim->plan.nodes; j++)
        alone = alone && (j == i || sim->node[j].life != LIFE_UP);
    return alone;
}

void lists_after_step(struct sim *sim, unsigned i)
{
    const struct plan_lists *lists = &sim->plan.lists;
    if (!lists->enabled)
        return;
    sim->lists.odd_was_alone |= lists->has_odd && i == lists->odd && is_alone(sim, i);
    note_in_force(sim, i);
    note_disk(sim, i);
    lists_truth_after_step(sim, i);
    check_joining(sim, i);
}

void lists_after_admit(struct sim *sim, unsigned i, unsigned key)
{
    const struct plan_lists *lists = &sim->plan.lists;
    if (lists->enabled)
        lists_truth_spent(sim, key);
    if (!lists->enabled || !lists->has_odd || i != lists->odd || sim->lists.adopted || sim->lists.odd_was_alone)
        return;
    if (sim->lists.node[i].began + 1 == lists->count)
        sim_fail(sim, "config: %s admits, and no other knows the limits that it began with", sim->node[i].name);
}

/* ---- the end ---- */

uint64_t lists_agree_ns(const struct sim *sim)
{
    return sim->plan.lists.enabled ? 2 * ROUNDS * (sim->plan.interval_ns + laws_settle_ns(sim)) : 0;
}

bool lists_are_over(struct sim *sim, unsigned i, char *text, size_t room)
{
    const struct list_node *n = &sim->lists.node[i];
    struct limits_report report;
    struct node_status status;
    if (!sim->plan.lists.enabled)
        return true;
    node_limits_report(sim->node[i].node, &report);
    node_status(sim->node[i].node, &status);
    if (n->force == sim->lists.last && !report.file_differs && status.decides && status.config_state == CONFIG_SAME)
        return true;
    (void)snprintf(text, room, "%s has list %u in force, limits %" PRIu64 ", not list %u; its file %s, config %s",
                   sim->node[i].name, n->force, report.stamp.number, sim->lists.last,
                   report.file_differs ? "differs" : "is as that", config_state_name(status.config_state));
    return false;
}

void lists_tell(const struct sim *sim)
{
    struct node_status status;
    for (unsigned i = 0; sim->plan.lists.enabled && i < sim->plan.nodes; i++) {
        const struct list_node *n = &sim->lists.node[i];
        if (!world_is_up(sim, i))
            continue;
        node_status(sim->node[i].node, &status);
        story_tell(sim, sim->node[i].name,
                   "began with list %u, has %u in force, limits %" PRIu64 "; %s, config %s, %s", n->began, n->force,
                   n->stamp.number, peer_state_name(status.state), config_state_name(status.config_state),
                   status.decides ? "decides" : "decides nothing");
    }
}
