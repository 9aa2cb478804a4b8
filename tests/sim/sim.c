#include "tests/sim/by_demand.h"
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

#include <string.h>

enum { SAMPLE_INTERVALS = 4 };

/* FNV-1a, eight bytes at a time: quick, and the same everywhere. */
void sim_hash_u64(struct sim *sim, uint64_t value)
{
    sim->hash = (sim->hash ^ value) * UINT64_C(0x100000001b3);
    sim->hash ^= sim->hash >> 29;
}

void sim_hash(struct sim *sim, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    sim_hash_u64(sim, size);
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word = 0;
        for (int b = 0; b < 8; b++)
            word |= (uint64_t)bytes[b] << (8 * b);
        sim_hash_u64(sim, word);
    }
    for (; size > 0; bytes++, size--)
        sim_hash_u64(sim, *bytes);
}

/* The longest that a measured bucket takes to fill, or 0 if none is measured. */
static uint64_t longest_refill_ns(const struct sim *sim)
{
    uint64_t longest_ns = 0;
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        const struct limit *limit = sim_limit(sim, k);
        uint64_t ns = sim->measured[k] ? limit_refill_ns(limit, limit->capacity_units) : 0;
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    return longest_ns;
}

static void note_rested(struct sim *sim)
{
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        const struct limit *limit = sim_limit(sim, k);
        truth_now(sim, k);
        sim->rested[k] = sim->truth[k].low == limit->capacity_units;
        for (unsigned i = 0; i < sim->plan.nodes && sim->rested[k]; i++)
            if (world_is_up(sim, i)) {
                struct bucket bucket = sim_bucket(sim, i, k);
                sim->rested[k] = bucket_is_full(&bucket, limit);
            }
    }
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t phase_ns(const struct sim *sim, enum phase phase)
{
    uint64_t refill_ns = longest_refill_ns(sim);
    switch (phase) {
    case PHASE_SAFETY:
        return sim->plan.safety_ns;
    case PHASE_AGREE:
        return laws_agree_ns(sim);
    case PHASE_REST:
        return later(refill_ns == 0 ? 0 : 2 * refill_ns + 2 * sim->plan.interval_ns, ask_drain_ns(sim));
    case PHASE_WARM_UP:
        return laws_warm_up_ns(sim, refill_ns);
    case PHASE_MEASURE:
        return refill_ns == 0 ? 0 : laws_measure_ns(sim);
    case PHASE_SETTLE:
        /* load in all regions leaves keys at home nearly full: spends there may wait to be paid off */
        return laws_settle_ns(sim) + (sim->plan.homes ? LAWS_WAITS_INTERVALS_MAX * sim->plan.interval_ns : 0);
    case PHASE_OVER:
        return 0;
    }
    return 0;
}

static void begin_phase(struct sim *sim, enum phase phase)
{
    sim->phase = phase;
    sim->phase_ends_ns = sim->now_ns + phase_ns(sim, phase);
    story_tell(sim, "phase", "%s", phase_name(phase));
    story_views(sim);
    bool looks = phase == PHASE_AGREE || phase == PHASE_SETTLE; /* over as soon as all agree */
    (void)queue_post(&sim->queue,
                     (struct happening){.kind = HAPPENS_PHASE,
                                        .at_ns = looks ? sim->now_ns + sim->plan.interval_ns : sim->phase_ends_ns});
}

/* Who held tokens when load paused still spends and gives back, and that has its own time to settle. */
static uint64_t agreed_by_ns(const struct sim *sim)
{
    const uint64_t waits_ns = LAWS_WAITS_INTERVALS_MAX * sim->plan.interval_ns;
    return later(sim->phase_ends_ns,
                 sim->asks.acted_ns > 0 ? sim->asks.acted_ns + laws_settle_ns(sim) + waits_ns : 0);
}

/* True if something is still under way and may be. */
static bool wait_on(struct sim *sim)
{
    char text[256];
    if ((sim->phase != PHASE_AGREE && sim->phase != PHASE_SETTLE) || sim->now_ns >= agreed_by_ns(sim))
        return false;
    if (laws_are_settled(sim, text, sizeof text)) {
        story_tell(sim, "phase", "all agree after %.3f s", (double)(sim->now_ns - sim->healed_ns) / 1e9);
        return false;
    }
    (void)queue_post(&sim->queue,
                     (struct happening){.kind = HAPPENS_PHASE, .at_ns = sim->now_ns + sim->plan.interval_ns});
    return true;
}

/* A spend reaches everyone once it is told, within an interval, the way there, and a lost race for the way back. */
static uint64_t calm_lateness_ns(const struct sim *sim)
{
    return 2 * sim->plan.interval_ns + 4 * sim->plan.latency_max_ns + laws_untold_ns(sim);
}

static void next_phase(struct sim *sim)
{
    if (wait_on(sim))
        return;
    switch (sim->phase) {
    case PHASE_SAFETY:
        if (!sim->plan.liveness) {
            sim->phase = PHASE_OVER;
            return;
        }
        sim->healed_ns = sim->now_ns;
        begin_phase(sim, PHASE_AGREE);
        edit_heal(sim);
        faults_heal(sim);
        weights_heal(sim);
        lists_heal(sim);
        return;
    case PHASE_AGREE:
        lists_end(sim);
        tiers_end(sim);
        laws_agree(sim, 0);
        ask_laws_agree(sim);
        edit_laws_agree(sim);
        begin_phase(sim, PHASE_REST);
        return;
    case PHASE_REST:
        note_rested(sim);
        ask_laws_drained(sim);
        begin_phase(sim, PHASE_WARM_UP);
        return;
    case PHASE_WARM_UP:
        laws_measuring_begins(sim);
        begin_phase(sim, PHASE_MEASURE);
        return;
    case PHASE_MEASURE:
        laws_utilisation(sim);
        sim->healed_ns = sim->now_ns;
        begin_phase(sim, longest_refill_ns(sim) > 0 ? PHASE_SETTLE : PHASE_OVER);
        return;
    case PHASE_SETTLE:
        laws_agree(sim, calm_lateness_ns(sim));
        sim->phase = PHASE_OVER;
        return;
    case PHASE_OVER:
        return;
    }
}

static void sample(struct sim *sim)
{
    laws_sample(sim);
    story_sample(sim);
    demand_watch_sample(sim);
    (void)queue_post(&sim->queue,
                     (struct happening){.kind = HAPPENS_SAMPLE,
                                        .at_ns = sim->now_ns + SAMPLE_INTERVALS * sim->plan.interval_ns});
}

/* True if the node sleeps: what arrives waits with it or is lost. */
static bool put_off(struct sim *sim, struct happening *happening)
{
    struct sim_node *n = &sim->node[happening->node];
    if (sim->now_ns >= n->paused_until_ns || n->node == NULL || happening->life != n->lives)
        return false;
    if (happening->kind != HAPPENS_WAKE && n->pause_drops) {
        payload_release(happening->payload);
        return true;
    }
    bool in_force = happening->kind == HAPPENS_WAKE && happening->order == n->wake_order;
    struct happening later = *happening;
    later.at_ns = n->paused_until_ns;
    uint64_t order = queue_post(&sim->queue, later);
    if (in_force)
        n->wake_order = order;
    return true;
}

static void happen(struct sim *sim, struct happening *happening)
{
    node_use_thread(0);
    switch (happening->kind) {
    case HAPPENS_WAKE:
        if (!put_off(sim, happening))
            world_wake(sim, happening);
        break;
    case HAPPENS_MESSAGE:
    case HAPPENS_REQUEST:
    case HAPPENS_RESPONSE:
        if (put_off(sim, happening))
            break;
        network_deliver(sim, happening);
        payload_release(happening->payload);
        break;
    case HAPPENS_ARRIVAL:
        load_arrive(sim, happening);
        break;
    case HAPPENS_CLIENT:
        load_client(sim, happening);
        break;
    case HAPPENS_BURST:
        load_burst(sim);
        break;
    case HAPPENS_ASK:
        ask_arrive(sim, happening);
        break;
    case HAPPENS_FOLLOW_UP:
        sim->asks.acted_ns = sim->now_ns;
        ask_follow_up(sim, happening);
        break;
    case HAPPENS_TIDE:
        tide_turn(sim, happening);
        break;
    case HAPPENS_EDIT:
        edit_arrive(sim);
        break;
    case HAPPENS_WEIGHTS:
        weights_arrive(sim, happening);
        break;
    case HAPPENS_WEIGHTS_KEPT:
        weights_kept(sim, happening);
        break;
    case HAPPENS_LIMITS:
        lists_arrive(sim, happening);
        break;
    case HAPPENS_LIMITS_KEPT:
        lists_kept(sim, happening);
        break;
    case HAPPENS_FAULT:
        faults_strike(sim);
        break;
    case HAPPENS_FORGET:
        faults_forget(sim, happening);
        break;
    case HAPPENS_LOOK:
        faults_look(sim, happening);
        break;
    case HAPPENS_START:
        world_start(sim, happening->node);
        break;
    case HAPPENS_CLOCK_GOES:
        faults_clock_goes(sim, happening);
        break;
    case HAPPENS_SAMPLE:
        sample(sim);
        break;
    case HAPPENS_PHASE:
        next_phase(sim);
        break;
    }
}

void sim_clear(struct sim *sim)
{
    memset(sim, 0, offsetof(struct sim, queue));
}

static void init(struct sim *sim)
{
    uint64_t seed = sim->plan.seed;
    random_seed(&sim->network_random, seed * 4 + 1);
    random_seed(&sim->fault_random, seed * 4 + 2);
    random_seed(&sim->load_random, seed * 4 + 3);
    random_seed(&sim->thread_random, seed * 8 + 1);
    random_seed(&sim->apart_random, seed * 9 + 6);
    random_seed(&sim->newer_random, seed * 10 + 7);
    random_seed(&sim->liar_random, seed * 10 + 8);
    random_seed(&sim->look_random, seed * 10 + 9);
    random_seed(&sim->donor_random, seed * 11 + 10);
    random_seed(&sim->tier_random, seed * 19 + 8);
    sim->now_ns = 0;
    sleepless_begin(sim);
    sim->hash = UINT64_C(0xcbf29ce484222325);
    queue_init(&sim->queue);
    effects_init(&sim->effects);
    effects_init(&sim->newer);
    effects_init(&sim->lie);
    lists_init(sim);
    laws_begin(sim);
    world_init(sim);
}

bool sim_run(struct sim *sim)
{
    struct happening happening;
    init(sim);
    story_plan(sim);
    begin_phase(sim, PHASE_SAFETY);
    load_begin(sim);
    ask_begin(sim);
    edit_begin(sim);
    weights_begin(sim);
    lists_begin(sim);
    faults_begin(sim);
    sample(sim);
    while (sim->phase != PHASE_OVER && sim->failure[0] == '\0' && queue_take(&sim->queue, &happening)) {
        sim->now_ns = happening.at_ns;
        happen(sim, &happening);
    }
    laws_sample(sim);
    story_sample(sim);
    if (sim->failure[0] != '\0')
        story_views(sim);
    edit_close(sim);
    world_close(sim);
    queue_close(&sim->queue);
    effects_close(&sim->effects);
    effects_close(&sim->newer);
    effects_close(&sim->lie);
    return sim->failure[0] == '\0';
}
