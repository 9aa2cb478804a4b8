/*
 * Draws and makes requests: the limits of nodes, the keys of rules, the requests, and the checks of their answers.
 *
 * A request draws some rules and a key of each rule. For every fourth request the node is first asked without
 * charging, and then with charging: both answers must agree. A request that is only asked, or refused, must charge
 * nothing. Admitted tokens are counted in the truth (ask_laws.c). ask_return.c has the returns of admitted tokens.
 */
#include "limit/kind.h"
#include "tests/sim/key_limit.h"
#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <string.h>

#define WALL_BASE_NS (UINT64_C(1) << 60)
#define CELL_MARGIN_NS UINT64_C(10000000000)

static uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static struct key_id id_of(unsigned rule, unsigned subject, uint64_t window)
{
    uint64_t high = mixed(UINT64_C(0x9e3779b97f4a7c15) * (1 + window) + rule * 64 + subject);
    return (struct key_id){high, mixed(high + 1)};
}

struct key_id ask_key(unsigned rule, unsigned subject)
{
    return id_of(rule, subject, 0);
}

static uint64_t wall_ns(const struct sim *sim, unsigned i)
{
    return world_local_ns(sim, i) + sim->asks.wall_offset_ns[i];
}

/* Rounds up to a multiple of 2^26 ns, the unit in which the cluster keeps expiries. */
static uint64_t expiry(uint64_t ns)
{
    uint64_t unit = UINT64_C(1) << 26;
    return (ns + unit - 1) / unit * unit;
}

uint64_t ask_margin_ns(const struct plan_rule *rule)
{
    return rule->window_ns < CELL_MARGIN_NS ? rule->window_ns : CELL_MARGIN_NS;
}

struct charge ask_charge(const struct sim *sim, unsigned i, struct ask_part *part, uint64_t cost)
{
    const struct plan_rule *rule = &sim->plan.asks.rule[part->rule];
    struct charge charge = {
        .cost = cost,
        .limit = sim->asks.limit[i][part->rule][part->subject][part->tier],
        .inherit = rule->tiers > 1 ? INHERIT_TIERS : INHERIT_KEEP,
        .on_isolation = rule->on_isolation,
        .shadow = rule->shadow,
    };
    part->window = 0;
    if (rule->algorithm == ASK_LEASE) {
        charge.lease = true;
        charge.cost = cost < 1 ? cost : 1;
    }
    if (rule->terms.kind == LIMIT_CELL) {
        uint64_t now_ns = wall_ns(sim, i), window_ns = rule->window_ns;
        part->window = now_ns / window_ns;
        charge.window_ns = window_ns;
        charge.window_end_ns = world_local_ns(sim, i) + window_ns - now_ns % window_ns;
        charge.sliding = rule->algorithm == ASK_SLIDING;
        charge.expires_ns = expiry(charge.window_end_ns + (charge.sliding ? window_ns : 0) + ask_margin_ns(rule));
        if (charge.sliding)
            charge.previous = id_of(part->rule, part->subject, part->window - 1);
    }
    charge.id = id_of(part->rule, part->subject, part->window);
    return charge;
}

struct charge ask_charge_of(const struct sim *sim, unsigned i, const struct ask_part *part)
{
    return (struct charge){.id = id_of(part->rule, part->subject, part->window),
                           .limit = sim->asks.limit[i][part->rule][part->subject][part->tier]};
}

uint64_t ask_window_now(const struct sim *sim, unsigned i, unsigned rule)
{
    const struct plan_rule *of = &sim->plan.asks.rule[rule];
    return of->terms.kind == LIMIT_CELL ? wall_ns(sim, i) / of->window_ns : 0;
}

uint64_t ask_keys(const struct sim *sim)
{
    uint64_t keys = 0;
    for (unsigned r = 0; r < sim->plan.asks.rules; r++) {
        const struct plan_rule *rule = &sim->plan.asks.rule[r];
        uint64_t windows = rule->terms.kind == LIMIT_CELL ? 2 + sim->now_ns / rule->window_ns : 1;
        keys += windows * rule->subjects;
    }
    return keys;
}

struct bucket ask_view(struct sim *sim, unsigned i, const struct ask_part *part, const struct charge *charge)
{
    struct node *node = sim->node[i].node;
    const bool many = ask_rule(sim, part->rule)->tiers > 1;
    const int held = many ? key_limit(node, charge->id) : -1;
    const uint16_t index = held >= 0 ? (uint16_t)held : charge->limit;
    const struct bucket bucket = node_bucket(node, charge->id, index, world_local_ns(sim, i));
    return many ? bucket_under(&bucket, node_limit(node, index), &ask_rule(sim, part->rule)->limit) : bucket;
}

/*
 * The number of evictions that may have changed views. After a harmful eviction, a full key that is forgotten
 * begins with the debt of the evicted key, so forgotten keys count as well.
 */
static uint64_t evictions(const struct node *node)
{
    struct table_stats stats;
    node_table_stats(node, &stats);
    uint64_t harmful = stats.evicted_harmful_keys;
    return harmful == 0 ? 0 : harmful + stats.evicted_harmless_keys + stats.expired_keys;
}

/* ---- a node's life ---- */

/* Notes the largest distance between wall clocks of running nodes. */
void ask_note_skew(struct sim *sim)
{
    int64_t most = INT64_MIN, least = INT64_MAX;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        int64_t ahead = (int64_t)(wall_ns(sim, i) - WALL_BASE_NS - sim->now_ns);
        if (!world_is_up(sim, i))
            continue;
        most = ahead > most ? ahead : most;
        least = ahead < least ? ahead : least;
    }
    if (most > least && (uint64_t)(most - least) > sim->asks.skew_max_ns)
        sim->asks.skew_max_ns = (uint64_t)(most - least);
}

void ask_node_starts(struct sim *sim, unsigned i)
{
    struct error error = {0};
    struct asks *asks = &sim->asks;
    ask_rights_end(sim, i); /* rights end with the last life */
    struct homes homes;
    homes_of_node(&sim->plan, i, &homes);
    for (unsigned r = 0; r < sim->plan.asks.rules; r++)
        for (unsigned s = 0; s < ASK_SUBJECTS_MAX; s++) {
            struct limit_terms terms = sim->plan.asks.rule[r].terms;
            terms.home = homes_choice(&sim->plan, &homes, r, s);
            int index = node_intern_limit(sim->node[i].node, &terms, &error);
            if (index < 0) {
                sim_fail(sim, "limits: %s refuses one: %s", sim->node[i].name, error.text);
                return;
            }
            asks->limit[i][r][s][0] = (uint16_t)index;
            if (!ask_tiers_node_starts(sim, i, r, s, &error)) {
                sim_fail(sim, "limits: %s refuses a tier: %s", sim->node[i].name, error.text);
                return;
            }
        }
    asks->wall_offset_ns[i] =
        WALL_BASE_NS + sim->now_ns + (uint64_t)sim->plan.asks.skew_ns[i] - world_local_ns(sim, i);
}

/* ---- requests ---- */

struct ask_held *ask_free_slot(struct sim *sim)
{
    for (unsigned h = 0; h < ASK_HELD_MAX; h++)
        if (!sim->asks.held[h].used)
            return &sim->asks.held[h];
    return NULL;
}

static void draw_request(struct sim *sim, unsigned i, struct ask_held *request)
{
    const struct plan_asks *plan = &sim->plan.asks;
    struct random *random = &sim->asks.random;
    unsigned most = plan->rules < ASK_CHARGES_MAX ? plan->rules : ASK_CHARGES_MAX;
    unsigned first = (unsigned)random_below(random, plan->rules);
    memset(request, 0, sizeof *request);
    request->node = (uint8_t)i;
    request->life = sim->node[i].lives;
    request->count = (unsigned)draw_between(random, 1, most);
    request->cost = draw_between(random, 1, plan->rule[first].cost_max);
    if (draw_one_in(random, 64))
        request->cost = draw_one_in(random, 2) ? 0 : random_u64(random);
    for (unsigned c = 0; c < request->count; c++) {
        struct ask_part *part = &request->part[c];
        part->rule = (first + c) % plan->rules;
        part->subject = (unsigned)random_below(random, plan->rule[part->rule].subjects);
        part->tier = ask_tier(sim, i, part->rule);
        request->charge[c] = ask_charge(sim, i, part, request->cost);
        if (draw_one_in(random, 16))
            request->charge[c].floor_tokens = random_below(random, plan->rule[part->rule].terms.capacity);
    }
    if (plan->greedy && draw_one_in(random, 3)) { /* take all that is left of the first charge */
        struct verdict verdicts[ASK_CHARGES_MAX];
        (void)node_check(sim->node[i].node, request->charge, 1, false, world_local_ns(sim, i), verdicts);
        request->cost = verdicts[0].available_tokens;
        for (unsigned c = 0; c < request->count; c++)
            request->charge[c] = ask_charge(sim, i, &request->part[c], request->cost);
    }
}

/* A request that was refused, or only asked, must have charged no key of any rule. */
static void check_nothing_charged(struct sim *sim, unsigned i, const struct ask_held *request,
                                  const struct bucket *before, const char *what)
{
    for (unsigned c = 0; c < request->count; c++) {
        struct bucket after = ask_view(sim, i, &request->part[c], &request->charge[c]);
        const struct plan_rule *rule = ask_rule(sim, request->part[c].rule);
        if (ask_change(rule, after.settled - before[c].settled) != 0 ||
            ask_change(rule, after.unsettled - before[c].unsettled) != 0)
            sim_fail(sim,
                     "all or nothing: %s %s, and yet its charge %u of a %s went from %" PRId64 " - %" PRId64
                     " to %" PRId64 " - %" PRId64,
                     sim->node[i].name, what, c, ask_algorithm_name(rule->algorithm), before[c].settled,
                     before[c].unsettled, after.settled, after.unsettled);
    }
}

/* The answer must follow from the verdicts of the charges, and each verdict must not contradict itself. */
static void check_verdicts(struct sim *sim, unsigned i, const struct ask_held *request, bool allowed,
                           const struct verdict *verdicts)
{
    bool all = true;
    for (unsigned c = 0; c < request->count; c++) {
        const struct verdict *verdict = &verdicts[c];
        all &= verdict->allowed || request->charge[c].shadow;
        if (verdict->allowed != (verdict->reason == VERDICT_ALLOWED) ||
            (verdict->allowed && verdict->retry_after_ns != 0))
            sim_fail(sim, "verdict: %s contradicts itself about a %s", sim->node[i].name,
                     ask_algorithm_name(sim->plan.asks.rule[request->part[c].rule].algorithm));
    }
    if (all != allowed)
        sim_fail(sim, "all or nothing: %s %s a request of which %s", sim->node[i].name,
                 allowed ? "allows" : "refuses", all ? "no part was refused" : "a part was refused");
}

static void spend_parts(struct sim *sim, unsigned i, struct ask_held *request, const struct verdict *verdicts)
{
    request->fast_ns = clock_read(&sim->fast, sim->now_ns);
    request->slow_ns = clock_read(&sim->slow, sim->now_ns);
    request->made_ns = world_local_ns(sim, i);
    for (unsigned c = 0; c < request->count; c++) {
        request->part[c].passed = verdicts[c].allowed;
        request->part[c].taken = verdicts[c].allowed ? request->charge[c].cost : 0;
        if (verdicts[c].allowed)
            ask_spent(sim, i, &request->charge[c], &request->part[c], request->part[c].taken);
    }
}

void ask_wake_soon(struct sim *sim, unsigned i)
{
    if (node_wants_step(sim->node[i].node))
        (void)queue_post(&sim->queue,
                         (struct happening){.kind = HAPPENS_WAKE,
                                            .at_ns = sim->now_ns + random_below(&sim->asks.random, 100000),
                                            .node = (uint8_t)i,
                                            .life = sim->node[i].lives,
                                            .value = 1});
}

/* Of a bucket of which the node has a share; else 0. */
static int64_t shared_voucher_units(struct sim *sim, unsigned i, const struct ask_held *request, unsigned c)
{
    const struct limit *limit = &ask_rule(sim, request->part[c].rule)->limit;
    const struct charge *charge = &request->charge[c];
    return kind_refills(limit->kind) && homes_begin_anew(sim, i, charge, &request->part[c])
               ? rights_units(sim, i, charge->id, charge->limit, limit)
               : 0;
}

/*
 * Decides a request, as a reservation if `ttl_ns` is not 0. Every fourth request is first only asked. True: the
 * request was allowed, and the truth has its tokens.
 */
static bool decide(struct sim *sim, unsigned i, struct ask_held *request, uint64_t ttl_ns)
{
    struct node *node = sim->node[i].node;
    struct verdict asked[ASK_CHARGES_MAX], given[ASK_CHARGES_MAX];
    struct bucket before[ASK_CHARGES_MAX] = {{0}};
    uint64_t now_ns = world_local_ns(sim, i), evicted = evictions(node);
    bool compare = sim->asks.asked++ % 4 == 0, would = true;
    int64_t vouchers[ASK_CHARGES_MAX] = {0};
    world_change_thread(sim);
    sim->looks_stand = compare;
    for (unsigned c = 0; c < request->count && ttl_ns > 0; c++)
        vouchers[c] = shared_voucher_units(sim, i, request, c);
    for (unsigned c = 0; c < request->count && compare; c++)
        before[c] = ask_view(sim, i, &request->part[c], &request->charge[c]);
    if (compare) {
        would = node_check(node, request->charge, request->count, false, now_ns, asked);
        check_verdicts(sim, i, request, would, asked);
        check_nothing_charged(sim, i, request, before, "was only asked");
    }
    bool allowed = ttl_ns > 0
                       ? node_reserve(node, request->charge, request->count, ttl_ns, now_ns, given, &request->id)
                       : node_check(node, request->charge, request->count, true, now_ns, given);
    sim->looks_stand = false;
    sim_hash_u64(sim, (uint64_t)i << 1 | allowed);
    bool overload = false;
    for (unsigned c = 0; c < request->count && !allowed; c++)
        overload |= given[c].reason == VERDICT_LOG_FULL || given[c].reason == VERDICT_KEYS_FULL;
    if (allowed || !overload)
        check_verdicts(sim, i, request, allowed, given);
    if (compare && evictions(node) == evicted) {
        if (!allowed)
            check_nothing_charged(sim, i, request, before, "refuses");
        if (would != allowed && !overload)
            sim_fail(sim, "verdict: %s says %s to %u charges when asked, and %s when it counts", sim->node[i].name,
                     would ? "yes" : "no", request->count, allowed ? "yes" : "no");
    }
    if (!allowed) {
        sim->refusals++;
        return false;
    }
    sim->admissions++;
    sim->asks.allowed++;
    spend_parts(sim, i, request, given);
    for (unsigned c = 0; c < request->count && ttl_ns > 0; c++)
        request->part[c].granted = shared_voucher_units(sim, i, request, c) < vouchers[c];
    ask_wake_soon(sim, i);
    return true;
}

static void one_request(struct sim *sim, unsigned i)
{
    struct random *random = &sim->asks.random;
    struct ask_held *slot = ask_free_slot(sim), here;
    struct ask_held *request = slot != NULL ? slot : &here;
    draw_request(sim, i, request);
    bool holds = slot != NULL && request->cost < 1000000 && random_below(random, 8) < sim->plan.asks.holds_in_8;
    uint64_t ttl_ns =
        holds && draw_one_in(random, 2) ? 1 + random_below(random, 2 * sim->plan.asks.hold_max_ns) : 0;
    if (decide(sim, i, request, ttl_ns) && holds)
        ask_hold(sim, request, ttl_ns);
}

void ask_exactly(struct sim *sim, unsigned i, uint64_t cost, uint64_t in_ns)
{
    struct ask_held *slot = ask_free_slot(sim), here;
    struct ask_held *request = in_ns > 0 && slot != NULL ? slot : &here;
    struct verdict verdict;
    memset(request, 0, sizeof *request);
    request->node = (uint8_t)i;
    request->life = sim->node[i].lives;
    request->count = 1;
    request->part[0].tier = ask_tier(sim, i, 0);
    request->charge[0] = ask_charge(sim, i, &request->part[0], 1);
    (void)node_check(sim->node[i].node, request->charge, 1, false, world_local_ns(sim, i), &verdict);
    request->cost = cost < UINT64_MAX ? cost : verdict.available_tokens;
    request->charge[0].cost = request->cost;
    if (request->cost == 0 || !decide(sim, i, request, 0) || request != slot)
        return;
    request->used = true;
    ask_follow_up_in(sim, request, in_ns);
}

static void post_arrival(struct sim *sim, unsigned i)
{
    uint64_t in_ns = sim->phase == PHASE_SAFETY ? 1 + random_below(&sim->asks.random, 2 * sim->plan.asks.gap_ns)
                                                : sim->plan.interval_ns;
    if (sim->phase == PHASE_SAFETY)
        (void)queue_post(&sim->queue,
                         (struct happening){.kind = HAPPENS_ASK, .at_ns = sim->now_ns + in_ns, .node = (uint8_t)i});
}

void ask_begin(struct sim *sim)
{
    random_seed(&sim->asks.random, sim->plan.seed * 8 + 6);
    random_seed(&sim->asks.strangers, sim->plan.seed * 9 + 6);
    ask_truths_begin(sim);
    if (sim->plan.asks.tides && sim->plan.asks.rules > 0)
        tide_begin(sim);
    for (unsigned i = 0; i < sim->plan.nodes && sim->plan.asks.rules > 0 && !sim->plan.asks.tides; i++)
        post_arrival(sim, i);
}

void ask_arrive(struct sim *sim, const struct happening *happening)
{
    unsigned i = happening->node;
    const struct sim_node *n = &sim->node[i];
    if (n->life == LIFE_UP && sim->now_ns >= n->paused_until_ns && sim->phase == PHASE_SAFETY) {
        ask_note_skew(sim);
        one_request(sim, i);
    }
    post_arrival(sim, i);
}
