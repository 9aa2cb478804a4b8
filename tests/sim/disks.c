/*
 * A common start: every node starts anew, and some have on their disks what had been spent before. Whatever any disk
 * knows counts as spent from the beginning: so the law of overshoot says that all nodes together admit no more than the
 * capacity and the overshoot less what is known on any disk, and the law of agreement that all come to know it.
 */
#include "tests/sim/world.h"

/* Tokens that had been spent from a key: often all of them. */
static uint64_t draw_spent(struct random *random, const struct limit *limit)
{
    return draw_one_in(random, 3) ? limit->capacity : draw_between(random, 0, limit->capacity);
}

/* A disk may lack what was spent in the last interval, or have nothing. */
static void draw_disk(struct plan *plan, struct random *random, unsigned node, const uint64_t *spent)
{
    bool lags = draw_one_in(random, 2);
    for (unsigned k = 0; k < plan->keys; k++)
        plan->kept_tokens[node][k] = lags ? random_below(random, spent[k] + 1) : spent[k];
}

void disks_draw(struct plan *plan)
{
    struct random random;
    uint64_t spent[SIM_KEYS_MAX];
    random_seed(&random, plan->seed * 9 + 7);
    ask_keep_only(plan, "-");
    for (uint16_t l = 0; l < plan->limits.count; l++) {
        plan->limits.limit[l].flags |= LIMIT_PERSISTENT;
        plan->limits.named.limit[l].terms.flags |= LIMIT_PERSISTENT;
    }
    for (unsigned k = 0; k < plan->keys; k++)
        spent[k] = draw_spent(&random, &plan->limits.limit[plan->key[k].limit]);
    unsigned whole = (unsigned)random_below(&random, plan->nodes);
    for (unsigned i = 0; i < plan->nodes; i++)
        if (i == whole || draw_one_in(&random, 2))
            draw_disk(plan, &random, i, spent);
    /* Nobody begins before all have met; and a disk must not be gone before anybody was told what is on it. */
    plan->disks = true;
    plan->seeds_only = false;
    plan->join_timeout_ns = 0;
    plan->table_keys = 1024;
    plan->faults &= ~(1u << FAULT_CRASH | 1u << FAULT_LEAVE | 1u << FAULT_FORGET);
    for (unsigned i = 0; i < plan->nodes; i++)
        plan->node[i].unnamed = false;
}

static int64_t units_of(const struct limit *limit, uint64_t tokens)
{
    return (int64_t)tokens * limit->units_per_token;
}

void disks_begin(struct sim *sim)
{
    for (unsigned k = 0; k < sim->plan.keys && sim->plan.disks; k++) {
        uint64_t most = 0;
        for (unsigned i = 0; i < sim->plan.nodes; i++)
            most = sim->plan.kept_tokens[i][k] > most ? sim->plan.kept_tokens[i][k] : most;
        struct truth *truth = &sim->truth[k];
        truth->high -= units_of(sim_limit(sim, k), most);
        truth->low = truth->worst = truth->high;
    }
}

/* The disk has the time at which the bucket would be full: refill goes on while nobody is up. */
static struct counter counter_of(const struct sim *sim, unsigned i, unsigned key)
{
    const struct limit *limit = sim_limit(sim, key);
    uint64_t full_ns = limit_refill_ns(limit, units_of(limit, sim->plan.kept_tokens[i][key]));
    return (struct counter){.id = sim->plan.key[key].id,
                            .terms = limit_terms_of(limit),
                            .number = full_ns > sim->now_ns ? full_ns - sim->now_ns : 0};
}

void disks_restore(struct sim *sim, unsigned i)
{
    struct counter counter[SIM_KEYS_MAX];
    size_t count = 0;
    for (unsigned k = 0; k < sim->plan.keys && sim->plan.disks && sim->node[i].cold; k++)
        if (sim->plan.kept_tokens[i][k] > 0)
            counter[count++] = counter_of(sim, i, k);
    if (count == 0)
        return;
    const struct event event = {.kind = EVENT_RESTORE,
                                .now_ns = world_local_ns(sim, i),
                                .counters = counter,
                                .counter_count = count};
    node_step(sim->node[i].node, &event, &sim->effects);
}
