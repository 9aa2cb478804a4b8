#include "tests/sim/sim.h"

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

static uint64_t wall_ns(const struct sim *sim, unsigned i)
{
    return world_local_ns(sim, i) + sim->asks.wall_offset_ns[i];
}

/* Up to whole 2^26 ns, as the cluster has expiries. */
static uint64_t expiry(uint64_t ns)
{
    uint64_t unit = UINT64_C(1) << 26;
    return (ns + unit - 1) / unit * unit;
}

struct charge ask_charge(const struct sim *sim, unsigned i, struct ask_part *part, uint64_t cost)
{
    const struct plan_rule *rule = &sim->plan.asks.rule[part->rule];
    struct charge charge = {
        .cost = cost,
        .limit = sim->asks.limit[i][part->rule],
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
        uint64_t margin_ns = window_ns < CELL_MARGIN_NS ? window_ns : CELL_MARGIN_NS;
        part->window = now_ns / window_ns;
        charge.window_ns = window_ns;
        charge.window_end_ns = world_local_ns(sim, i) + window_ns - now_ns % window_ns;
        charge.sliding = rule->algorithm == ASK_SLIDING;
        charge.expires_ns = expiry(charge.window_end_ns + (charge.sliding ? window_ns : 0) + margin_ns);
        if (charge.sliding)
            charge.previous = id_of(part->rule, part->subject, part->window - 1);
    }
    charge.id = id_of(part->rule, part->subject, part->window);
    return charge;
}

struct charge ask_charge_of(const struct sim *sim, unsigned i, const struct ask_part *part)
{
    return (struct charge){.id = id_of(part->rule, part->subject, part->window),
                           .limit = sim->asks.limit[i][part->rule]};
}

uint64_t ask_window_now(const struct sim *sim, unsigned i, unsigned rule)
{
    const struct plan_rule *of = &sim->plan.asks.rule[rule];
    return of->terms.kind == LIMIT_CELL ? wall_ns(sim, i) / of->window_ns : 0;
}

struct bucket ask_view(struct sim *sim, unsigned i, const struct charge *charge)
{
    return node_bucket(sim->node[i].node, charge->id, charge->limit, world_local_ns(sim, i));
}

static int64_t left_of(struct sim *sim, unsigned i, const struct charge *charge)
{
    struct bucket bucket = ask_view(sim, i, charge);
    return bucket.settled - bucket.unsettled;
}

/* Of keys whose views may have changed by it: a full one that is forgotten begins with what an evicted one may owe. */
static uint64_t evictions(const struct node *node)
{
    struct table_stats stats;
    node_table_stats(node, &stats);
    uint64_t harmful = stats.evicted_harmful_keys;
    return harmful == 0 ? 0 : harmful + stats.evicted_harmless_keys + stats.expired_keys;
}

/* ---- a node's life ---- */

/* How far apart the wall clocks are. */
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
    for (unsigned r = 0; r < sim->plan.asks.rules; r++) {
        int index = node_intern_limit(sim->node[i].node, &sim->plan.asks.rule[r].terms, &error);
        if (index < 0) {
            sim_fail(sim, "limits: %s refuses one: %s", sim->node[i].name, error.text);
            return;
        }
        asks->limit[i][r] = (uint16_t)index;
    }
    asks->wall_offset_ns[i] =
        WALL_BASE_NS + sim->now_ns + (uint64_t)sim->plan.asks.skew_ns[i] - world_local_ns(sim, i);
}

/* Whatever it held may have been given back or not, and if so, somebody may have heard or not. */
static void let_go(struct sim *sim, struct ask_held *held)
{
    for (unsigned c = 0; c < held->count; c++) {
        const struct limit *limit = &sim->plan.asks.rule[held->part[c].rule].limit;
        ask_given_back(sim, held->node, &held->part[c], held, 0,
                       (int64_t)held->part[c].taken * limit->units_per_token);
    }
    held->used = false;
}

void ask_before_step(struct sim *sim, unsigned i)
{
    for (unsigned h = 0; h < ASK_HELD_MAX; h++) {
        struct ask_held *held = &sim->asks.held[h];
        if (held->used && held->reserved && held->node == i && world_local_ns(sim, i) >= held->ends_ns) {
            story_tell(sim, sim->node[i].name, "reservation %u ends by itself", h);
            let_go(sim, held);
        }
    }
}

void ask_node_ends(struct sim *sim, unsigned i)
{
    for (unsigned h = 0; h < ASK_HELD_MAX; h++) {
        struct ask_held *held = &sim->asks.held[h];
        if (held->used && held->node == i && held->reserved && sim->node[i].life == LIFE_LEAVING)
            let_go(sim, held);
        else if (held->node == i)
            held->used = false;
    }
}

/* ---- requests ---- */

static struct ask_held *free_slot(struct sim *sim)
{
    for (unsigned h = 0; h < ASK_HELD_MAX; h++)
        if (!sim->asks.held[h].used)
            return &sim->asks.held[h];
    return NULL;
}

static void post_follow_up(struct sim *sim, const struct ask_held *held, uint64_t in_ns)
{
    (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_FOLLOW_UP,
                                                     .at_ns = sim->now_ns + in_ns,
                                                     .node = held->node,
                                                     .key = (uint16_t)(held - sim->asks.held),
                                                     .life = held->life});
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
        request->charge[c] = ask_charge(sim, i, part, request->cost);
        if (draw_one_in(random, 16))
            request->charge[c].floor_tokens = random_below(random, plan->rule[part->rule].terms.capacity);
    }
    if (plan->greedy && draw_one_in(random, 3)) { /* all that is left of the first */
        struct verdict verdicts[ASK_CHARGES_MAX];
        (void)node_check(sim->node[i].node, request->charge, 1, false, world_local_ns(sim, i), verdicts);
        request->cost = verdicts[0].remaining_tokens;
        for (unsigned c = 0; c < request->count; c++)
            request->charge[c] = ask_charge(sim, i, &request->part[c], request->cost);
    }
}

/* What was refused, or only asked for, has charged nothing, of whichever rule. */
static void check_nothing_charged(struct sim *sim, unsigned i, const struct ask_held *request,
                                  const struct bucket *before, const char *what)
{
    for (unsigned c = 0; c < request->count; c++) {
        struct bucket after = ask_view(sim, i, &request->charge[c]);
        if (after.settled != before[c].settled || after.unsettled != before[c].unsettled)
            sim_fail(sim,
                     "all or nothing: %s %s, and yet its charge %u of a %s went from %" PRId64 " - %" PRId64
                     " to %" PRId64 " - %" PRId64,
                     sim->node[i].name, what, c,
                     ask_algorithm_name(sim->plan.asks.rule[request->part[c].rule].algorithm), before[c].settled,
                     before[c].unsettled, after.settled, after.unsettled);
    }
}

/* The answer is that of its parts, and each part's agrees with itself. */
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

static void wake_soon(struct sim *sim, unsigned i)
{
    if (node_wants_step(sim->node[i].node))
        (void)queue_post(&sim->queue,
                         (struct happening){.kind = HAPPENS_WAKE,
                                            .at_ns = sim->now_ns + random_below(&sim->asks.random, 100000),
                                            .node = (uint8_t)i,
                                            .life = sim->node[i].lives,
                                            .value = 1});
}

/* Asks, and asks again for good; a reservation if it is one. True if allowed, with the truth told. */
static bool decide(struct sim *sim, unsigned i, struct ask_held *request, uint64_t ttl_ns)
{
    struct node *node = sim->node[i].node;
    struct verdict asked[ASK_CHARGES_MAX], given[ASK_CHARGES_MAX];
    struct bucket before[ASK_CHARGES_MAX];
    uint64_t now_ns = world_local_ns(sim, i), evicted = evictions(node);
    bool compare = sim->asks.asked++ % 4 == 0, would = true;
    world_change_lane(sim);
    for (unsigned c = 0; c < request->count && compare; c++)
        before[c] = ask_view(sim, i, &request->charge[c]);
    if (compare) {
        would = node_check(node, request->charge, request->count, false, now_ns, asked);
        check_verdicts(sim, i, request, would, asked);
        check_nothing_charged(sim, i, request, before, "was only asked");
    }
    bool allowed = ttl_ns > 0
                       ? node_reserve(node, request->charge, request->count, ttl_ns, now_ns, given, &request->id)
                       : node_check(node, request->charge, request->count, true, now_ns, given);
    sim_hash_u64(sim, (uint64_t)i << 1 | allowed);
    bool overload = false;
    for (unsigned c = 0; c < request->count && !allowed; c++)
        overload |= given[c].reason == VERDICT_OVERLOAD;
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
    wake_soon(sim, i);
    return true;
}

/* Spends of a log end by themselves: a reservation does not hold them for longer. */
static uint64_t end_ns(const struct sim *sim, const struct ask_held *held, uint64_t ttl_ns)
{
    for (unsigned c = 0; c < held->count; c++) {
        const struct limit_terms *terms = &sim->plan.asks.rule[held->part[c].rule].terms;
        bool counts = terms->kind == LIMIT_LOG && held->part[c].passed;
        ttl_ns = counts && terms->period_ns < ttl_ns ? terms->period_ns : ttl_ns;
    }
    return world_local_ns(sim, held->node) + ttl_ns;
}

static void one_request(struct sim *sim, unsigned i)
{
    struct random *random = &sim->asks.random;
    struct ask_held *slot = free_slot(sim), here;
    struct ask_held *request = slot != NULL ? slot : &here;
    draw_request(sim, i, request);
    bool holds = slot != NULL && request->cost < 1000000 && random_below(random, 8) < sim->plan.asks.holds_in_8;
    uint64_t ttl_ns =
        holds && draw_one_in(random, 2) ? 1 + random_below(random, 2 * sim->plan.asks.hold_max_ns) : 0;
    bool allowed = decide(sim, i, request, ttl_ns);
    if (!allowed || !holds)
        return;
    request->used = true;
    request->reserved = ttl_ns > 0;
    request->ends_ns = end_ns(sim, request, ttl_ns);
    sim->asks.reservations += request->reserved;
    if (!request->reserved || !draw_one_in(random, 6)) /* else nobody ever asks for it again */
        post_follow_up(sim, request, 1 + random_below(random, sim->plan.asks.hold_max_ns));
}

void ask_exactly(struct sim *sim, unsigned i, uint64_t cost, uint64_t in_ns)
{
    struct ask_held *slot = free_slot(sim), here;
    struct ask_held *request = in_ns > 0 && slot != NULL ? slot : &here;
    struct verdict verdict;
    memset(request, 0, sizeof *request);
    request->node = (uint8_t)i;
    request->life = sim->node[i].lives;
    request->count = 1;
    request->charge[0] = ask_charge(sim, i, &request->part[0], 1);
    (void)node_check(sim->node[i].node, request->charge, 1, false, world_local_ns(sim, i), &verdict);
    request->cost = cost < UINT64_MAX ? cost : verdict.remaining_tokens;
    request->charge[0].cost = request->cost;
    if (request->cost == 0 || !decide(sim, i, request, 0) || request != slot)
        return;
    request->used = true;
    post_follow_up(sim, request, in_ns);
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

/* ---- giving back ---- */

/* A key may have been evicted, or others for it: where it starts from again is not what it had. */
static bool views_may_jump(const struct sim *sim)
{
    return sim->plan.table_keys <= SIM_KEYS_MAX;
}

/* What a node's view of a charge gained is what was given back, or (if it lost, and may have) spent. */
static void note_change(struct sim *sim, unsigned i, struct ask_held *held, unsigned c, int64_t before,
                        bool may_spend)
{
    struct ask_part *part = &held->part[c];
    const struct limit *limit = &sim->plan.asks.rule[part->rule].limit;
    int64_t gained = left_of(sim, i, &held->charge[c]) - before, per_token = limit->units_per_token;
    if (gained > 0) {
        int64_t tokens = (gained + per_token - 1) / per_token;
        if (views_may_jump(sim) && (uint64_t)tokens < part->taken)
            tokens = (int64_t)part->taken;
        ask_given_back(sim, i, part, held, views_may_jump(sim) ? 0 : gained, tokens * per_token);
        part->taken = (uint64_t)tokens < part->taken ? part->taken - (uint64_t)tokens : 0;
    } else if (gained < 0 && may_spend) {
        if (gained % per_token != 0 && !views_may_jump(sim))
            sim_fail(sim, "reservation: %s took %" PRId64 " units of rule %u, %" PRId64 " to a token",
                     sim->node[i].name, -gained, part->rule, per_token);
        part->taken += (uint64_t)(-gained / per_token);
        ask_spent(sim, i, &held->charge[c], part, (uint64_t)(-gained / per_token));
    }
}

/* A refund knows nothing of the request and goes by the window of now: honest clients give back what it holds. */
static void refund(struct sim *sim, struct ask_held *held)
{
    unsigned i = held->node;
    uint64_t now_ns = world_local_ns(sim, i), most = UINT64_MAX;
    uint64_t tokens =
        draw_one_in(&sim->asks.random, 3) ? 1 + random_below(&sim->asks.random, held->cost + 1) : held->cost;
    int64_t before[ASK_CHARGES_MAX];
    unsigned count = 0;
    for (unsigned c = 0; c < held->count; c++) {
        struct ask_part part = held->part[c];
        const struct limit_terms *terms = &sim->plan.asks.rule[part.rule].terms;
        bool ends_soon = terms->kind == LIMIT_LOG && now_ns - held->made_ns > terms->period_ns / 4 * 3;
        if (part.taken == 0 || ends_soon) /* a shadow that would have denied; too late to be sure whose it was */
            continue;
        held->charge[count] = ask_charge(sim, i, &part, held->cost);
        if (part.window != held->part[c].window) /* it would give back what others took in this window */
            continue;
        held->part[count] = part;
        before[count] = left_of(sim, i, &held->charge[count]);
        count++;
    }
    held->count = count;
    held->used = false;
    uint64_t given = node_return(sim->node[i].node, held->charge, count, tokens, now_ns);
    for (unsigned c = 0; c < count; c++) {
        const struct limit *limit = &sim->plan.asks.rule[held->part[c].rule].limit;
        int64_t gained = left_of(sim, i, &held->charge[c]) - before[c];
        uint64_t part = gained < 0 ? 0 : (uint64_t)((gained + limit->units_per_token - 1) / limit->units_per_token);
        if (!views_may_jump(sim) && (gained < 0 || part > tokens || part > held->charge[c].cost))
            sim_fail(sim, "refund: %s gives %" PRIu64 " tokens of a %s back, of %" PRIu64, sim->node[i].name, part,
                     ask_algorithm_name(sim->plan.asks.rule[held->part[c].rule].algorithm), tokens);
        most = part < most ? part : most;
        if (sim->trace)
            story_tell(sim, sim->node[i].name,
                       "refund of %" PRIu64 ": rule %u, key %u gains %" PRId64 " units of %" PRId64
                       " a token, cost %" PRIu64,
                       tokens, held->part[c].rule, held->part[c].subject, gained, limit->units_per_token,
                       held->charge[c].cost);
        note_change(sim, i, held, c, before[c], !views_may_jump(sim));
    }
    if (count > 0 && given != most && !views_may_jump(sim))
        sim_fail(sim, "refund: %s says that %" PRIu64 " tokens came back, it was %" PRIu64, sim->node[i].name,
                 given, most);
    sim->asks.given_back += given;
}

static enum reserve_status commit(struct sim *sim, struct ask_held *held, uint64_t *charged, uint64_t *actual)
{
    *actual = random_below(&sim->asks.random, 2 * held->cost + 2);
    return node_commit(sim->node[held->node].node, held->id, *actual, world_local_ns(sim, held->node), charged);
}

/* A commit charges no more than was held or used. (What the refill made good meanwhile need not come back.) */
static void check_committed(struct sim *sim, const struct ask_held *held, uint64_t actual, uint64_t charged)
{
    if (charged > actual && charged > held->cost)
        sim_fail(sim, "reservation: %s charged %" PRIu64 " where %" PRIu64 " was held and %" PRIu64 " used",
                 sim->node[held->node].name, charged, held->cost, actual);
}

/*
 * Of what nothing else gives back, all that was held comes back; unless there is no room to tell of it. (Where a clock
 * jumped, a log's spends ended early, and what others returned of those took off later ones.)
 */
static void check_cancelled(struct sim *sim, const struct ask_held *held, unsigned c, int64_t before)
{
    const struct plan_rule *rule = &sim->plan.asks.rule[held->part[c].rule];
    int64_t gained = left_of(sim, held->node, &held->charge[c]) - before;
    bool may_differ = views_may_jump(sim) || sim->plan.log_keys_max < 16384 || rule->terms.kind == LIMIT_BUCKET;
    may_differ |= rule->terms.kind == LIMIT_CELL && held->charge[c].expires_ns <= world_local_ns(sim, held->node);
    may_differ |= rule->terms.kind == LIMIT_LOG && (sim->plan.faults & (1u << FAULT_JUMP | 1u << FAULT_STALL)) != 0;
    if (!may_differ && gained != (int64_t)held->part[c].taken)
        sim_fail(sim, "reservation: %s gives %" PRId64 " tokens of a %s back, of %" PRIu64,
                 sim->node[held->node].name, gained, ask_algorithm_name(rule->algorithm), held->part[c].taken);
}

static void renew(struct sim *sim, struct ask_held *held)
{
    unsigned i = held->node;
    uint64_t ttl_ns = 1 + random_below(&sim->asks.random, 2 * sim->plan.asks.hold_max_ns);
    enum reserve_status status = node_renew(sim->node[i].node, held->id, ttl_ns, world_local_ns(sim, i));
    if (status == RESERVE_UNKNOWN)
        sim_fail(sim, "reservation: %s does not know one that it could renew", sim->node[i].name);
    if (status != RESERVE_DONE)
        return;
    held->ends_ns = end_ns(sim, held, ttl_ns);
    struct ask_held old = *held;
    held->fast_ns = clock_read(&sim->fast, sim->now_ns);
    held->slow_ns = clock_read(&sim->slow, sim->now_ns);
    for (unsigned c = 0; c < held->count; c++) { /* spent anew */
        const struct ask_part *part = &held->part[c];
        if (sim->plan.asks.rule[part->rule].terms.kind != LIMIT_LOG || part->taken == 0)
            continue;
        ask_given_back(sim, i, part, &old, (int64_t)part->taken, (int64_t)part->taken);
        ask_spent(sim, i, &held->charge[c], part, part->taken);
    }
    post_follow_up(sim, held, 1 + random_below(&sim->asks.random, sim->plan.asks.hold_max_ns));
}

static uint64_t admitted_tokens(const struct sim *sim, unsigned i)
{
    struct node_stats stats;
    node_stats(sim->node[i].node, &stats);
    return stats.admitted_tokens;
}

/* How many tokens lower the node's views of the charges are. */
static uint64_t lost_tokens(struct sim *sim, unsigned i, const struct ask_held *held, const int64_t *before)
{
    uint64_t lost = 0;
    for (unsigned c = 0; c < held->count; c++) {
        int64_t per_token = sim->plan.asks.rule[held->part[c].rule].limit.units_per_token;
        int64_t units = before[c] - left_of(sim, i, &held->charge[c]);
        lost += units > 0 ? (uint64_t)(units / per_token) : 0;
    }
    return lost;
}

static void end_reservation(struct sim *sim, struct ask_held *held)
{
    unsigned i = held->node;
    uint64_t now_ns = world_local_ns(sim, i), actual = 0, charged = 0;
    int64_t before[ASK_CHARGES_MAX];
    for (unsigned c = 0; c < held->count; c++)
        before[c] = left_of(sim, i, &held->charge[c]);
    uint64_t admitted = admitted_tokens(sim, i);
    bool commits = draw_one_in(&sim->asks.random, 2);
    enum reserve_status status =
        commits ? commit(sim, held, &charged, &actual) : node_cancel(sim->node[i].node, held->id, now_ns);
    if (status != RESERVE_DONE) {
        sim_fail(sim, "reservation: %s does not know one that should be there", sim->node[i].name);
        return;
    }
    admitted = admitted_tokens(sim, i) - admitted;
    bool spends = !views_may_jump(sim) || lost_tokens(sim, i, held, before) == admitted;
    for (unsigned c = 0; c < held->count; c++) {
        if (!commits)
            check_cancelled(sim, held, c, before[c]);
        note_change(sim, i, held, c, before[c], spends);
    }
    if (commits)
        check_committed(sim, held, actual, charged);
    if (node_cancel(sim->node[i].node, held->id, now_ns) != RESERVE_UNKNOWN)
        sim_fail(sim, "reservation: %s ends one twice", sim->node[i].name);
    held->used = false;
}

void ask_follow_up(struct sim *sim, const struct happening *happening)
{
    struct ask_held *held = &sim->asks.held[happening->key];
    const struct sim_node *n = &sim->node[happening->node];
    if (!held->used || held->node != happening->node || held->life != happening->life ||
        n->lives != happening->life || n->node == NULL)
        return;
    if (sim->now_ns < n->paused_until_ns) {
        post_follow_up(sim, held, n->paused_until_ns - sim->now_ns);
        return;
    }
    ask_note_skew(sim);
    if (!held->reserved) {
        refund(sim, held);
    } else if (world_local_ns(sim, held->node) >= held->ends_ns) {
        if (node_cancel(n->node, held->id, world_local_ns(sim, held->node)) != RESERVE_UNKNOWN)
            sim_fail(sim, "reservation: %s knows one that has ended", n->name);
    } else if (sim->phase == PHASE_SAFETY && draw_one_in(&sim->asks.random, 4)) {
        renew(sim, held);
    } else {
        end_reservation(sim, held);
    }
    if (n->node != NULL)
        wake_soon(sim, held->node);
}
