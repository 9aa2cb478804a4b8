#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

static bool load_is_on(const struct sim *sim)
{
    return sim->phase == PHASE_SAFETY || sim->phase == PHASE_WARM_UP || sim->phase == PHASE_MEASURE;
}

static unsigned busiest_node(const struct sim *sim)
{
    return sim->plan.nodes > 0 ? (unsigned)(sim->plan.seed % sim->plan.nodes) : 0;
}

/* The mean time between two clients at a node, or 0 for none. */
static uint64_t gap_ns(const struct sim *sim, unsigned i)
{
    const struct plan *plan = &sim->plan;
    unsigned busiest = busiest_node(sim);
    if (sim->phase != PHASE_SAFETY)
        return plan->interval_ns / 8;
    switch (plan->shape) {
    case LOAD_EVEN:
        return plan->arrival_gap_ns;
    case LOAD_SKEWED:
        return i == busiest ? plan->arrival_gap_ns : plan->arrival_gap_ns * plan->nodes * 2;
    case LOAD_ONE_REGION:
        return plan->node[i].region == plan->node[busiest].region ? plan->arrival_gap_ns : 0;
    case LOAD_SHAPES:
        break;
    }
    return 0;
}

static void post_arrival(struct sim *sim, unsigned i)
{
    uint64_t gap = gap_ns(sim, i);
    uint64_t in_ns =
        gap > 0 && load_is_on(sim) ? 1 + random_below(&sim->load_random, 2 * gap) : sim->plan.interval_ns;
    (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_ARRIVAL,
                                                     .at_ns = sim->now_ns + in_ns,
                                                     .node = (uint8_t)i,
                                                     .value = gap > 0 && load_is_on(sim)});
}

static void post_listed(struct sim *sim)
{
    if (sim->arrival_next == sim->arrival_count)
        return;
    const struct arrival *next = &sim->arrivals[sim->arrival_next++];
    (void)queue_post(&sim->queue,
                     (struct happening){.kind = HAPPENS_ARRIVAL, .at_ns = next->at_ns, .node = next->node});
}

static void post_burst(struct sim *sim)
{
    uint64_t in_ns = sim->plan.interval_ns * draw_between(&sim->load_random, 1, 40);
    (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_BURST, .at_ns = sim->now_ns + in_ns});
}

void load_begin(struct sim *sim)
{
    if (sim->arrivals != NULL) {
        post_listed(sim);
        return;
    }
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        post_arrival(sim, i);
    if (sim->plan.bursts)
        post_burst(sim);
}

static uint64_t evictions(const struct node *node)
{
    struct table_stats stats;
    node_table_stats(node, &stats);
    return stats.evicted_harmful_keys;
}

/*
 * Every now and then, an admission is checked against the question that takes nothing. Making room for the key
 * may evict one that owes more, and then the new one starts from there: the only excuse for another answer.
 */
static bool admit_checked(struct sim *sim, unsigned i, const struct charge *charge, uint64_t now_ns)
{
    struct node *node = sim->node[i].node;
    uint64_t evicted = evictions(node);
    sim->looks_stand = true;
    struct verdict asked = node_ask(node, charge, false, now_ns);
    struct verdict given = node_ask(node, charge, true, now_ns);
    struct verdict after = node_ask(node, charge, false, now_ns);
    sim->looks_stand = false;
    /* of the last two nobody tells who only asks */
    if (evictions(node) != evicted || given.reason == VERDICT_LOG_FULL || given.reason == VERDICT_KEYS_FULL)
        return given.allowed;
    if (asked.allowed != given.allowed)
        sim_fail(sim, "verdict: %s says %s to a cost of %llu when asked, and %s when it counts", sim->node[i].name,
                 asked.allowed ? "yes" : "no", (unsigned long long)charge->cost, given.allowed ? "yes" : "no");
    else if (given.allowed && given.available_tokens > asked.available_tokens)
        sim_fail(sim, "verdict: %s has more tokens left after admitting than before", sim->node[i].name);
    else if (after.available_tokens != given.available_tokens)
        sim_fail(sim, "verdict: %s has %llu tokens left, says %llu", sim->node[i].name,
                 (unsigned long long)after.available_tokens, (unsigned long long)given.available_tokens);
    else if (given.allowed != (given.reason == VERDICT_ALLOWED) || (given.allowed && given.retry_after_ns != 0))
        sim_fail(sim, "verdict: %s contradicts itself", sim->node[i].name);
    return given.allowed;
}

/* What node i answered to a request of key k. */
static void note_answer(struct sim *sim, unsigned i, unsigned k, uint64_t cost, bool allowed)
{
    const struct limit *limit = sim_limit(sim, k);
    struct sim_node *n = &sim->node[i];
    sim_hash_u64(sim, (uint64_t)i << 1 | allowed);
    if (sim->healing != NULL)
        healing_note(sim, allowed);
    if (!allowed) {
        sim->refusals++;
        return;
    }
    sim->admissions++;
    if (sim->plan.has_odd && sim->plan.odd == i)
        sim_fail(sim, "config: %s admits by a config that others do not have", n->name);
    n->admitted_tokens += cost;
    n->life_tokens[k] += cost;
    n->admitted_requests++;
    truth_now(sim, k);
    truth_spend(&sim->truth[k], limit, cost);
    if (n->unawaited)
        truth_refund(&sim->truth[k], limit, (int64_t)cost * limit->units_per_token);
    if (sim->trace)
        story_admission(sim, i, k, cost);
    lists_after_admit(sim, i, k);
    laws_after_admit(sim, i, k);
}

/* Soon after something was admitted, but more may come before. */
static void wake_if_wanted(struct sim *sim, unsigned i)
{
    const struct sim_node *n = &sim->node[i];
    if (node_wants_step(n->node))
        (void)queue_post(&sim->queue,
                         (struct happening){.kind = HAPPENS_WAKE,
                                            .at_ns = sim->now_ns + random_below(&sim->load_random, 100000),
                                            .node = (uint8_t)i,
                                            .life = n->lives,
                                            .value = 1});
}

bool load_admit(struct sim *sim, unsigned i, unsigned k, uint64_t cost)
{
    struct node *node = sim->node[i].node;
    uint64_t now_ns = world_local_ns(sim, i);
    world_change_thread(sim);
    const struct charge charge = sim_request(sim, i, k, cost);
    bool allowed =
        sim->admissions % 16 == 0 ? admit_checked(sim, i, &charge, now_ns) : node_takes(node, &charge, now_ns);
    note_answer(sim, i, k, cost, allowed);
    if (allowed || sim->arrival_count > 0) /* worlds of seeds stay what they were */
        wake_if_wanted(sim, i);
    return allowed;
}

/* ---- pipelines: requests that arrive together, decided as the served ones are, in runs ---- */

enum { PIPELINE_MAX = 16, PIPELINE_CHARGES_MAX = 3, PIPELINE_KEYS_MAX = PIPELINE_MAX * PIPELINE_CHARGES_MAX };

struct pipeline {
    uint32_t charge_count, request_count;
    struct charge charge[PIPELINE_CHARGES_MAX];
    unsigned key[PIPELINE_KEYS_MAX]; /* as `ids`: of the first request, one for each charge, and so on */
    struct key_id id[PIPELINE_KEYS_MAX];
    struct verdict verdict[PIPELINE_KEYS_MAX];
};

/* A key under that limit which is not among the `count` keys of the same request; false: none was found. */
static bool draw_key_under(struct sim *sim, uint16_t limit, const unsigned *keys, uint32_t count, unsigned *key)
{
    bool fits = false;
    *key = (unsigned)random_below(&sim->load_random, sim->plan.keys);
    for (unsigned tries = 0; tries < sim->plan.keys && !fits; tries++) {
        *key = (*key + 1) % sim->plan.keys;
        fits = sim->plan.key[*key].limit == limit;
        for (uint32_t i = 0; i < count; i++)
            fits &= keys[i] != *key;
    }
    return fits;
}

/* Requests like one of key k, and perhaps of more keys: the limits of the first one's are those of all. */
static void draw_pipeline(struct sim *sim, unsigned k, uint64_t cost, struct pipeline *pipeline)
{
    struct random *random = &sim->load_random;
    uint32_t at = 0;
    pipeline->charge_count = draw_one_in(random, 2) ? 1 : (uint32_t)draw_between(random, 2, PIPELINE_CHARGES_MAX);
    assert(sim->plan.keys > 0);
    if (pipeline->charge_count > sim->plan.keys)
        pipeline->charge_count = 1;
    for (uint32_t i = 0; i < pipeline->charge_count; i++, k = (k + 1) % sim->plan.keys)
        pipeline->charge[i] = (struct charge){.limit = sim->plan.key[k].limit, .cost = cost};
    pipeline->request_count = 0;
    for (uint32_t left = (uint32_t)draw_between(random, 2, PIPELINE_MAX); left > 0; left--) {
        bool fits = true;
        for (uint32_t i = 0; i < pipeline->charge_count; i++)
            fits &= draw_key_under(sim, pipeline->charge[i].limit, &pipeline->key[at], i, &pipeline->key[at + i]);
        at += fits ? pipeline->charge_count : 0;
        pipeline->request_count += fits;
    }
    for (uint32_t i = 0; i < at; i++)
        pipeline->id[i] = sim->plan.key[pipeline->key[i]].id;
}

static void decide_pipeline(struct sim *sim, unsigned i, unsigned k, uint64_t cost)
{
    struct pipeline pipeline;
    draw_pipeline(sim, k, cost, &pipeline);
    const uint32_t count = pipeline.charge_count;
    const bool figures = count > 1 || draw_one_in(&sim->load_random, 2);
    struct run run = {.charge = pipeline.charge,
                      .charge_count = count,
                      .request_count = pipeline.request_count,
                      .take = true,
                      .verdicts = figures ? pipeline.verdict : NULL};
    if (pipeline.request_count == 0)
        return;
    for (uint32_t at = 0; at < count * pipeline.request_count; at++)
        pipeline.charge[at % count] = sim_request(sim, i, pipeline.key[at], cost);
    world_change_thread(sim);
    node_decide(sim->node[i].node, &run, 1, pipeline.id, world_local_ns(sim, i));
    for (uint32_t r = 0; r < pipeline.request_count; r++)
        for (uint32_t c = 0; c < count; c++) {
            const uint32_t at = r * count + c;
            const bool allowed = run.allowed >> r & 1;
            if (allowed && figures && !pipeline.verdict[at].allowed)
                sim_fail(sim, "verdict: %s allows a request of which it denies a key", sim->node[i].name);
            note_answer(sim, i, pipeline.key[at], cost, allowed);
        }
    if (run.allowed != 0)
        wake_if_wanted(sim, i);
}

/* Takes all that the node would give for a key, or a part, in one or in many requests. */
static void take_all(struct sim *sim, unsigned i, unsigned k)
{
    const struct charge charge = sim_request(sim, i, k, 1);
    uint64_t left = node_ask(sim->node[i].node, &charge, false, world_local_ns(sim, i)).available_tokens;
    if (left > 0 && draw_one_in(&sim->load_random, 3))
        left = 1 + random_below(&sim->load_random, left);
    for (uint64_t parts = draw_between(&sim->load_random, 1, 4); left > 0 && parts > 0; parts--) {
        uint64_t cost = (left + parts - 1) / parts;
        if (!load_admit(sim, i, k, cost))
            return;
        left -= cost;
    }
}

static void sip(struct sim *sim, unsigned i, unsigned k)
{
    const struct plan_key *key = &sim->plan.key[k];
    uint64_t now_ns = world_local_ns(sim, i);
    struct bucket bucket = node_bucket(sim->node[i].node, key->id, key->limit, now_ns);
    uint64_t left = node_peek(sim->node[i].node, key->id, key->limit, 1, now_ns).available_tokens;
    if (bucket.unsettled == 0 && bucket.settled >= sim->plan.limits.limit[key->limit].capacity_units / 4 * 3 &&
        left >= 3)
        (void)load_admit(sim, i, k, left / 3);
}

/*
 * Of a key that is full, as much as refill may pay off within an interval, and mostly at one node: what several tell
 * each other of, they all tell. In a rush, which is the same for all, everything.
 */
static void trickle(struct sim *sim, unsigned i, unsigned k)
{
    const struct plan_key *key = &sim->plan.key[k];
    const struct limit *limit = &sim->plan.limits.limit[key->limit];
    struct random *random = &sim->load_random;
    if (sim->now_ns < sim->rush_until_ns) {
        take_all(sim, i, k);
        return;
    }
    if (k % sim->plan.nodes != i && !draw_one_in(random, 32))
        return;
    if (draw_one_in(random, 300))
        sim->rush_until_ns = sim->now_ns + sim->plan.interval_ns * draw_between(random, 1, 12);
    struct bucket bucket = node_bucket(sim->node[i].node, key->id, key->limit, world_local_ns(sim, i));
    uint64_t most = limit->rate * sim->plan.interval_ns / limit->period_ns / sim->plan.nodes;
    if (bucket.settled == limit->capacity_units && (bucket.unsettled == 0 || draw_one_in(random, 4)))
        (void)load_admit(sim, i, k, draw_between(random, 1, most > 1 ? most : 1));
}

static void one_client(struct sim *sim, unsigned i, unsigned k)
{
    const struct plan_key *key = &sim->plan.key[k];
    if (random_below(&sim->load_random, 65536) < key->skip && !sim->plan.sips && !sim->plan.trickles)
        return;
    uint64_t cost = draw_between(&sim->load_random, 1, key->cost_max);
    if (draw_one_in(&sim->load_random, 64))
        cost = draw_one_in(&sim->load_random, 2) ? 0 : random_u64(&sim->load_random);
    struct sim_node *n = &sim->node[i];
    if (sim->now_ns < n->paused_until_ns) {
        if (!n->pause_drops)
            (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_CLIENT,
                                                             .at_ns = n->paused_until_ns,
                                                             .node = (uint8_t)i,
                                                             .key = (uint16_t)k,
                                                             .life = n->lives,
                                                             .value = cost});
        return;
    }
    if (sim->plan.trickles)
        trickle(sim, i, k);
    else if (sim->plan.sips && i != busiest_node(sim))
        sip(sim, i, k);
    else if (sim->plan.sips)
        take_all(sim, i, k);
    else if (sim->plan.greedy && draw_one_in(&sim->load_random, 4))
        take_all(sim, i, k);
    else if (sim->plan.pipelines && draw_one_in(&sim->load_random, 8))
        decide_pipeline(sim, i, k, cost);
    else if (!load_admit(sim, i, k, cost) && sim->plan.rushes_one)
        rights_come_again(sim, i, k, cost);
}

/* Three times the rate in all, evenly, for the keys whose utilisation is measured. */
static void measured_clients(struct sim *sim, unsigned i)
{
    unsigned nodes_up = 0;
    for (unsigned j = 0; j < sim->plan.nodes; j++)
        nodes_up += sim->node[j].life == LIFE_UP;
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        const struct limit *limit = sim_limit(sim, k);
        if (!sim->measured[k])
            continue;
        double wanted = 3.0 * (double)limit->rate / (double)limit->period_ns * (double)gap_ns(sim, i) / nodes_up;
        double whole = wanted < 1 ? (random_unit(&sim->load_random) < wanted ? 1 : 0) : wanted;
        if (whole >= 1)
            (void)load_admit(sim, i, k, (uint64_t)whole);
    }
}

/* Few keys get many of the clients, many keys few. */
static unsigned draw_key(struct sim *sim)
{
    uint64_t a = random_below(&sim->load_random, sim->plan.keys),
             b = random_below(&sim->load_random, sim->plan.keys);
    return (unsigned)(a < b ? a : b);
}

static void idle_now_and_then(struct sim *sim)
{
    if (sim->plan.gaps && draw_one_in(&sim->load_random, 200))
        sim->idle_until_ns = sim->now_ns + sim->plan.interval_ns * draw_between(&sim->load_random, 2, 30);
}

void load_arrive(struct sim *sim, const struct happening *happening)
{
    unsigned i = happening->node;
    sim->node[i].arrived_requests++;
    if (sim->arrivals != NULL) {
        if (world_is_up(sim, i))
            (void)load_admit(sim, i, 0, 1);
        post_listed(sim);
        return;
    }
    if (happening->value != 0 && load_is_on(sim) && sim->node[i].life == LIFE_UP) {
        if (sim->phase != PHASE_SAFETY)
            measured_clients(sim, i);
        else if (sim->now_ns >= sim->idle_until_ns || (sim->plan.sips && i != busiest_node(sim)))
            one_client(sim, i, draw_key(sim));
    }
    idle_now_and_then(sim);
    post_arrival(sim, i);
}

void load_client(struct sim *sim, const struct happening *happening)
{
    const struct sim_node *n = &sim->node[happening->node];
    if (sim->phase == PHASE_SAFETY && n->node != NULL && n->lives == happening->life &&
        sim->now_ns >= n->paused_until_ns)
        (void)load_admit(sim, happening->node, happening->key, happening->value);
}

void load_burst(struct sim *sim)
{
    if (sim->phase != PHASE_SAFETY)
        return;
    unsigned k = draw_key(sim);
    if (sim->plan.rushes_one)
        rights_burst(sim, k);
    for (unsigned i = 0; i < sim->plan.nodes && !sim->plan.rushes_one; i++)
        for (unsigned count = 0; count < 16 && sim->failure[0] == '\0'; count++)
            if (sim->node[i].life == LIFE_UP)
                one_client(sim, i, k);
    post_burst(sim);
}
