/*
 * How nodes come to be: their names and clocks when a world begins, their options, and each start of one. The lives
 * that follow are in world.c.
 */
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const region_names[SIM_NODES_MAX] = {"east", "west", "south", "north", "coast", "isle", "hill"};

static void copy_text(char *to, size_t room, const char *from)
{
    int size = snprintf(to, room, "%s", from);
    assert(size >= 0 && (size_t)size < room);
}

void world_node_name(const struct plan *plan, unsigned i, char *name, size_t room)
{
    unsigned number = 1;
    for (unsigned j = 0; j < i; j++)
        number += plan->node[j].region == plan->node[i].region;
    (void)snprintf(name, room, "%s-%u", region_names[plan->node[i].region], number);
}

static void name_node(struct sim *sim, unsigned i)
{
    struct sim_node *n = &sim->node[i];
    world_node_name(&sim->plan, i, n->name, sizeof n->name);
    (void)snprintf(n->gossip_address, sizeof n->gossip_address, "10.0.0.%u:7071", i + 1);
    (void)snprintf(n->snapshot_address, sizeof n->snapshot_address, "10.0.0.%u:7072", i + 1);
}

void world_init(struct sim *sim)
{
    int32_t fastest_ppm = 0, slowest_ppm = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        int32_t ppm = sim->plan.node[i].drift_ppm;
        name_node(sim, i);
        fastest_ppm = ppm > fastest_ppm ? ppm : fastest_ppm;
        slowest_ppm = ppm < slowest_ppm ? ppm : slowest_ppm;
        sim->node[i].life = LIFE_DOWN;
        sim->node[i].cold = true;
        sim->node[i].incarnation = 1 + i;
        clock_init(&sim->node[i].clock, 0, sim->plan.node[i].clock_ns, ppm);
        (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_START,
                                                         .at_ns = sim->plan.node[i].start_ns,
                                                         .node = (uint8_t)i});
    }
    clock_init(&sim->fast, 0, 0, fastest_ppm);
    clock_init(&sim->slow, 0, 0, slowest_ppm);
    for (unsigned k = 0; k < sim->plan.keys; k++)
        truth_init(&sim->truth[k], sim_limit(sim, k), 0, 0);
    disks_begin(sim);
}

const char *world_region_name(unsigned region)
{
    return region_names[region];
}

static void add_peer(struct node_options *options, const struct sim *sim, unsigned peer)
{
    struct node_peer_options *to = &options->peers[options->peer_count++];
    copy_text(to->name, sizeof to->name, sim->node[peer].name);
    copy_text(to->region, sizeof to->region, region_names[sim->plan.node[peer].region]);
    copy_text(to->gossip_address, sizeof to->gossip_address, sim->node[peer].gossip_address);
    copy_text(to->snapshot_address, sizeof to->snapshot_address, sim->node[peer].snapshot_address);
}

/* The operator adds to the file who joined, and takes out who is gone for good. */
static bool operator_names(const struct sim *sim, unsigned i, unsigned peer)
{
    bool joined = !sim->plan.node[peer].unnamed || sim->node[peer].lives > 0;
    return joined && sim->node[peer].life != LIFE_FORGOTTEN && (!sim->plan.seeds_only || peer == 0 || i == 0);
}

static void fill_options(struct node_options *options, const struct sim *sim, unsigned i)
{
    const struct plan *plan = &sim->plan;
    const struct sim_node *n = &sim->node[i];
    memset(options, 0, sizeof *options);
    copy_text(options->name, sizeof options->name, n->name);
    copy_text(options->region, sizeof options->region, region_names[plan->node[i].region]);
    copy_text(options->gossip_address, sizeof options->gossip_address, n->gossip_address);
    copy_text(options->snapshot_address, sizeof options->snapshot_address, n->snapshot_address);
    for (unsigned r = 0; r < plan->regions; r++) {
        copy_text(options->regions[r].region, sizeof options->regions[r].region, region_names[r]);
        options->regions[r].weight = plan->weight[r];
    }
    options->region_count = plan->regions;
    for (unsigned j = 0; j < plan->nodes; j++)
        if (j != i && operator_names(sim, i, j))
            add_peer(options, sim, j);
    options->unlisted_max = plan->takeover_after_ns > 0 ? 0 : SIM_NODES_MAX;
    options->takeover_after_ns = plan->takeover_after_ns;
    options->interval_ns = plan->interval_ns;
    options->silent_after_ns = plan->silent_after_ns;
    /* Going on alone is only for those whose share everybody reserves. */
    options->join_timeout_ns = plan->seeds_only || plan->node[i].unnamed ? 0 : plan->join_timeout_ns;
    options->forget_after_ns = plan->forget_after_ns;
    options->leave_timeout_ns = plan->leave_timeout_ns;
    options->table_keys = plan->table_keys;
    options->log_keys_max = plan->log_keys_max;
    options->events_max = SIM_EVENTS_MAX;
    options->tell_pace = plan->tell_pace;
    options->untold_max = plan->untold_max;
    options->threads = plan->threads;
    options->grants = plan->grants;
    options->keeps_weights = plan->weights;
    weights_auto_options(plan, options);
    options->grants_eager = plan->grants_eager;
    options->sleepless_ns = sleepless_ns;
    options->step_keys = plan->step_keys;
    options->message_max_bytes = plan->message_max_bytes;
    options->reservations_max = plan->asks.rules > 0 ? ASK_HELD_MAX : 0;
    options->incarnation = n->incarnation;
    options->seed = plan->seed * 31 + i;
    hash_key_from_secret(&options->hash_key, "secret", 6);
    bool odd = plan->has_odd && plan->odd == i;
    options->limits = odd ? &plan->odd_limits.named : &plan->limits.named;
    options->config_digest = odd ? 2 : 1;
    liars_options(sim, i, options);
    homes_options(sim, i, options);
    lists_options(sim, i, options);
}

void world_start(struct sim *sim, unsigned i)
{
    struct sim_node *n = &sim->node[i];
    static struct node_options options; /* large, and only needed here */
    struct error error = {0};
    if (n->life == LIFE_LEAVING) { /* not before it is gone */
        (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_START,
                                                         .at_ns = sim->now_ns + sim->plan.interval_ns,
                                                         .node = (uint8_t)i});
        return;
    }
    if (n->node != NULL || n->life == LIFE_FORGOTTEN)
        return;
    fill_options(&options, sim, i);
    n->node = node_create(&options, &error);
    if (n->node == NULL) {
        sim_fail(sim, "node_create refused its options: %s", error.text);
        return;
    }
    story_tell(sim, n->name, "starts, incarnation %" PRIu64, n->incarnation);
    n->life = LIFE_UP;
    n->lives++;
    n->was_joining = true;
    n->paused_until_ns = 0;
    n->wake_order = 0;
    n->acked_ns = clock_read(&sim->fast, sim->now_ns);
    memset(n->hears, 0, sizeof n->hears);
    memset(n->life_tokens, 0, sizeof n->life_tokens);
    n->was = (struct step_figures){0};
    rights_node_starts(sim, i);
    tiers_node_starts(sim, i);
    rule_weights_node_starts(sim, i);
    ask_node_starts(sim, i);
    edit_restore(sim, i);
    disks_restore(sim, i);
    weights_restore(sim, i);
    lists_restore(sim, i);
    liars_restore(sim, i);
    world_step(sim, i, EVENT_START, (struct bytes){0}, NULL);
    if (n->node != NULL && n->life == LIFE_UP)
        ask_recall(sim, i);
}
