/*
 * Worlds in which operators change the limits of configs and reload daemons: all of them one after the other, some, one
 * whose change is taken back, two with different lists at once; with all faults, newcomers, nodes that start with what
 * their disks kept or without it, and nodes that are forgotten (cluster/members/limit_list.h). The lists are drawn in
 * lists_plan.c, the laws are in lists_laws.c and lists_truth.c.
 */
#include "tests/sim/laws.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <string.h>

enum { AGAIN_INTERVALS = 8 };

/* What a happening of kind HAPPENS_LIMITS is, its `value`. */
enum { NEXT_CHANGE, FILE_IS_READ, FILE_IS_WRITTEN, LAST_CHANGE };

/* ---- what operators do ---- */

static void post(struct sim *sim, uint64_t in_ns, struct happening happening)
{
    happening.kind = HAPPENS_LIMITS;
    happening.at_ns = sim->now_ns + in_ns;
    (void)queue_post(&sim->queue, happening);
}

static uint64_t draw_gap_ns(struct sim *sim)
{
    struct random *random = &sim->lists.random;
    return draw_one_in(random, 3) ? random_below(random, sim->plan.latency_max_ns + sim->plan.interval_ns)
                                  : 1 + random_below(random, 2 * sim->plan.lists.gap_ns);
}

void lists_begin(struct sim *sim)
{
    if (!sim->plan.lists.enabled)
        return;
    random_seed(&sim->lists.random, sim->plan.seed * 17 + 6);
    post(sim, draw_gap_ns(sim), (struct happening){.value = NEXT_CHANGE});
}

static bool is_there(const struct sim *sim, unsigned i)
{
    return world_is_up(sim, i) && sim->now_ns >= sim->node[i].paused_until_ns;
}

static bool is_odd_list(const struct sim *sim, unsigned list)
{
    return sim->plan.lists.has_odd && list + 1 == sim->plan.lists.count;
}

/* A daemon does not ask for a list that it took before, whatever is in force. */
static bool read_file(struct sim *sim, unsigned i)
{
    struct list_node *n = &sim->lists.node[i];
    if (!is_there(sim, i) || n->read == n->file)
        return false;
    sim->lists.asked = &n->file;
    world_event(sim, i,
                &(struct event){.kind = EVENT_LIMITS,
                                .wall_ms = 1 + sim->now_ns / 1000000,
                                .limits = &sim->plan.lists.list[n->file].named});
    sim->lists.asked = NULL;
    if (!world_is_up(sim, i))
        return false;
    const struct limits_result *result = node_limits_result(sim->node[i].node);
    story_tell(sim, sim->node[i].name, "reads list %u: %s", n->file,
               result->refused     ? result->error.text
               : result->unchanged ? "unchanged"
                                   : "done");
    sim->lists.refused += result->refused;
    n->read = result->refused ? n->read : n->file;
    sim->lists.adopted |= !result->refused && is_odd_list(sim, n->file) && i != sim->plan.lists.odd;
    return !result->refused;
}

/* Where one node is odd, no other has a list in its file that nobody has read: so most are of one config for sure. */
static bool may_write(const struct sim *sim, unsigned i)
{
    return !sim->plan.lists.has_odd || is_there(sim, i);
}

static bool reload(struct sim *sim, unsigned i, unsigned list)
{
    if (!may_write(sim, i))
        return false;
    sim->lists.node[i].file = list;
    const bool took = read_file(sim, i);
    return took;
}

static unsigned draw_node(struct sim *sim)
{
    return (unsigned)random_below(&sim->lists.random, sim->plan.nodes);
}

/* The last list is the odd node's. */
static unsigned draw_which(struct sim *sim)
{
    const struct plan_lists *lists = &sim->plan.lists;
    return (unsigned)random_below(&sim->lists.random, lists->count - (lists->has_odd && !sim->lists.adopted));
}

/* Files are written, and read one after the other. */
static void reload_many(struct sim *sim, unsigned most)
{
    const unsigned list = draw_which(sim), first = draw_node(sim);
    uint64_t in_ns = 0;
    for (unsigned n = 0; n < most; n++) {
        const unsigned i = (first + n) % sim->plan.nodes;
        if (may_write(sim, i))
            sim->lists.node[i].file = list;
        in_ns += random_below(&sim->lists.random, 2 * sim->plan.interval_ns);
        post(sim, in_ns, (struct happening){.value = FILE_IS_READ, .node = (uint8_t)i});
    }
}

static void reload_for_a_while(struct sim *sim)
{
    const unsigned i = draw_node(sim), before = sim->lists.node[i].file;
    (void)reload(sim, i, draw_which(sim));
    post(sim, draw_gap_ns(sim),
         (struct happening){.value = FILE_IS_WRITTEN, .node = (uint8_t)i, .key = (uint16_t)before});
}

/* The odd node's file changes while it is down; later another daemon makes a version of its list. */
static void be_odd(struct sim *sim)
{
    const unsigned odd = sim->plan.lists.odd, last = sim->plan.lists.count - 1;
    if (!sim->plan.lists.has_odd || sim->lists.adopted)
        return;
    if (sim->lists.node[odd].file != last && world_is_up(sim, odd)) {
        faults_crash(sim, odd);
        if (!world_is_up(sim, odd))
            sim->lists.node[odd].file = last;
    } else if (draw_one_in(&sim->lists.random, 4)) {
        (void)reload(sim, (odd + 1) % sim->plan.nodes, last);
    }
}

static void change(struct sim *sim)
{
    struct random *random = &sim->lists.random;
    unsigned i = draw_node(sim);
    switch (random_below(random, 8)) {
    case 0:
    case 1:
        reload_many(sim, sim->plan.nodes);
        break;
    case 2:
        reload_many(sim, (unsigned)draw_between(random, 1, sim->plan.nodes));
        break;
    case 3:
        reload_for_a_while(sim);
        break;
    case 4: /* two operators, who know nothing of each other */
        (void)reload(sim, i, draw_which(sim));
        (void)reload(sim, (i + 1) % sim->plan.nodes, draw_which(sim));
        break;
    case 5:
        (void)reload(sim, i, draw_which(sim));
        if ((sim->plan.faults & 1u << FAULT_CRASH) != 0)
            faults_crash(sim, i);
        break;
    case 6:
        be_odd(sim);
        break;
    default:
        (void)reload(sim, i, draw_which(sim));
        break;
    }
}

/* ---- the end ---- */

/* A list with which a daemon began, and of which no other knows, becomes a version. */
static void adopt(struct sim *sim, unsigned stranger)
{
    struct node_status status;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        if (i == stranger || !is_there(sim, i))
            continue;
        node_status(sim->node[i].node, &status);
        if (status.decides && reload(sim, i, sim->lists.node[stranger].began))
            return;
    }
}

static void change_last(struct sim *sim)
{
    struct node_status status;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        if (!is_there(sim, i))
            continue;
        node_status(sim->node[i].node, &status);
        if (status.state == PEER_ACTIVE && !status.decides && status.config_state != CONFIG_SAME)
            adopt(sim, i);
    }
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        const struct list_node *n = &sim->lists.node[i];
        if (is_there(sim, i) && n->force != sim->lists.last && n->read == sim->lists.last)
            (void)reload(sim, i, (sim->lists.last + 1) % sim->plan.lists.count); /* it is not as before any more */
        (void)reload(sim, i, sim->lists.last);
    }
    if (sim->phase == PHASE_AGREE)
        post(sim, AGAIN_INTERVALS * sim->plan.interval_ns, (struct happening){.value = LAST_CHANGE});
}

void lists_heal(struct sim *sim)
{
    if (!sim->plan.lists.enabled)
        return;
    sim->lists.last = draw_which(sim);
    post(sim, 1, (struct happening){.value = LAST_CHANGE});
}

void lists_arrive(struct sim *sim, const struct happening *happening)
{
    const bool is_over = sim->now_ns >= sim->plan.safety_ns;
    switch (happening->value) {
    case NEXT_CHANGE:
        if (is_over)
            break;
        change(sim);
        post(sim, draw_gap_ns(sim), (struct happening){.value = NEXT_CHANGE});
        break;
    case FILE_IS_READ:
        if (!is_over)
            (void)read_file(sim, happening->node);
        break;
    case FILE_IS_WRITTEN:
        if (!is_over)
            (void)reload(sim, happening->node, happening->key);
        break;
    case LAST_CHANGE:
        change_last(sim);
        break;
    }
}

/* ---- disks ---- */

static void write(struct list_node *n)
{
    if (n->disk[1].size == 0)
        return;
    n->disk[0] = n->disk[1];
    n->disk[1].size = 0;
}

void lists_kept(struct sim *sim, const struct happening *happening)
{
    struct list_node *n = &sim->lists.node[happening->node];
    if (happening->life == sim->node[happening->node].lives && happening->value == n->disk[1].number)
        write(n);
}

/* Who ends in peace writes what waits; a disk may be lost. */
void lists_node_ends(struct sim *sim, unsigned i, bool crashes)
{
    struct list_node *n = &sim->lists.node[i];
    if (!sim->plan.lists.enabled)
        return;
    if (!crashes)
        write(n);
    n->disk[1].size = 0;
    n->is_known = false;
    if (sim->plan.lists.has_odd && i != sim->plan.lists.odd)
        n->file = 0; /* it begins with the config that most have */
    if (random_below(&sim->lists.random, 8) < sim->plan.lists.lost_in_8 && n->disk[0].size > 0) {
        story_tell(sim, sim->node[i].name, "loses its disk");
        n->disk[0].size = 0;
    }
}

void lists_restore(struct sim *sim, unsigned i)
{
    struct list_node *n = &sim->lists.node[i];
    const struct list_disk *kept = &n->disk[0];
    if (!sim->plan.lists.enabled)
        return;
    n->began = n->read = n->file;
    n->is_known = n->was_active = false;
    n->snapshots = 0;
    memset(sim->lists.lacks[i], 0, sizeof sim->lists.lacks[i]);
    n->restored = kept->size > 0 && (kept->file == n->file || kept->list == n->file);
    story_tell(sim, sim->node[i].name, "has list %u in its file, and %s", n->file,
               kept->size == 0 ? "nothing kept"
               : n->restored   ? "a version kept"
                               : "a version kept of before");
    if (kept->size == 0)
        return;
    const struct event event = {.kind = EVENT_RESTORE,
                                .now_ns = world_local_ns(sim, i),
                                .limits_text = {kept->text, kept->size},
                                .limits_number = kept->number};
    node_step(sim->node[i].node, &event, &sim->effects);
}
