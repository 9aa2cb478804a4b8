/*
 * weights_auto measures what regions are asked for, and proposes weights by it. weights_set.c says whether they may be
 * set.
 */
#include "cluster/members/weights_auto.h"

#include "cluster/codec/effects.h"
#include "cluster/members/version.h"
#include "cluster/members/weights.h"
#include "cluster/members/weights_set.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

enum {
    FLOOR_PART = 20,
    OFF_PART = 5,         /* a region whose weight is off by less than this part of it is left alone */
    OPERATOR_PERIODS = 6, /* what an operator has set holds for so long */
    TOKENS_LEAST = 1000,  /* less says little: nothing follows from a handful of requests */
    THOUSANDTH = 1000000, /* in billionths: weights that people read */
    PIECE_BYTES = 192,    /* of one region in the log */
    PREFIX_BYTES = 48,    /* what stands before and behind all of them */
};

/* ---- arithmetic ---- */

void weights_auto_floors(uint32_t count, const struct region_weight *regions, uint64_t *floor)
{
    uint64_t left = WEIGHT_ONE_BILLIONTHS, without = 0;
    for (uint32_t i = 0; i < count; i++) {
        left -= regions[i].floor_billionths < left ? regions[i].floor_billionths : left;
        without += regions[i].floor_billionths == 0;
    }
    const uint64_t even = without > 0 ? left / (2 * without) : 0, part = WEIGHT_ONE_BILLIONTHS / FLOOR_PART;
    for (uint32_t i = 0; i < count; i++)
        floor[i] = regions[i].floor_billionths > 0 ? regions[i].floor_billionths : even < part ? even : part;
}

/* Lifts to their floors what is below, and takes that from the others in proportion, until nobody is below. */
static void lift(uint32_t count, double sum, const uint64_t *floor, double *wanted)
{
    for (uint32_t round = 0; round < count; round++) {
        double pinned = 0, free = 0;
        bool below = false;
        for (uint32_t i = 0; i < count; i++) {
            below |= wanted[i] < (double)floor[i];
            wanted[i] = fmax(wanted[i], (double)floor[i]);
            if (wanted[i] <= (double)floor[i])
                pinned += wanted[i];
            else
                free += wanted[i];
        }
        if (!below)
            return;
        for (uint32_t i = 0; i < count && free > 0; i++)
            if (wanted[i] > (double)floor[i])
                wanted[i] *= (sum - pinned) / free;
    }
}

bool weights_auto_next(uint32_t count, const uint64_t *weight, const uint64_t *floor, const double *asked,
                       uint64_t *next)
{
    double wanted[NODE_REGIONS_MAX], asked_all = 0;
    uint64_t sum = 0, floors = 0, left;
    uint32_t most = 0;
    bool off = false;
    for (uint32_t i = 0; i < count; i++) {
        sum += weight[i];
        floors += floor[i];
        asked_all += asked[i];
        most = asked[i] > asked[most] ? i : most;
    }
    sum = sum < WEIGHT_ONE_BILLIONTHS ? sum : WEIGHT_ONE_BILLIONTHS; /* weights of the config are rounded up */
    if (floors > sum || asked_all <= 0)
        return false;
    for (uint32_t i = 0; i < count; i++)
        wanted[i] = asked[i] / asked_all * (double)sum;
    lift(count, (double)sum, floor, wanted);
    for (uint32_t i = 0; i < count; i++) {
        off |= fabs(wanted[i] - (double)weight[i]) >= (double)weight[i] / OFF_PART;
        wanted[i] = (wanted[i] + (double)weight[i]) / 2;
    }
    lift(count, (double)sum, floor, wanted); /* weights that were set may be below */
    left = sum;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t whole = (uint64_t)wanted[i] / THOUSANDTH * THOUSANDTH;
        next[i] = whole > floor[i] ? whole : floor[i];
        next[i] = next[i] < left ? next[i] : left;
        left -= next[i];
    }
    next[most] += left;
    return off;
}

/* ---- who proposes, and when ---- */

bool weights_auto_proposes(const struct node *node)
{
    return node->options.weights_by_demand_ns > 0 && node->options.keeps_weights &&
           node->options.takeover_after_ns == 0 && node->options.region_count > 1;
}

/* Of those that would, the active one whose name is first; -1: none does. */
static int proposer(const struct node *node)
{
    int first = -1;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        const bool would = member->self ? weights_auto_proposes(node) && node->life.state == PEER_ACTIVE
                                        : member->used && member->state == PEER_ACTIVE && member->demand.proposes;
        if (would && (first < 0 || strcmp(member->name, node->member[first].name) < 0))
            first = (int)i;
    }
    return first;
}

/* True: all who have a share are heard, nothing waits, and so what members say of demand is whole. */
static bool is_calm(const struct node *node)
{
    if (node->weights.known.newest.stamp.number > 0 || !weights_are_at_rest(node) ||
        node->life.state != PEER_ACTIVE)
        return false;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_may_share(member) &&
            (member->silent || member->state != PEER_ACTIVE || member->incarnation == 0))
            return false;
    }
    return true;
}

static bool is_by_operator(const struct weights_version *version)
{
    return version->stamp.number > 0 && strcmp(version->author, WEIGHTS_AUTO_AUTHOR) != 0;
}

static uint64_t needed_ns(const struct node *node)
{
    const uint64_t periods = is_by_operator(&node->weights.known.base) ? OPERATOR_PERIODS : 1;
    return periods * node->options.weights_by_demand_ns;
}

static void measure_demand(struct node *node, uint64_t elapsed_ns)
{
    struct weights_measure *measure = &node->weights.measure;
    measure->measured_ns += elapsed_ns;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        for (uint32_t r = 0; r < node->options.region_count && member->used; r++)
            if (strcmp(member->region, node->options.regions[r].region) == 0)
                measure->asked[r] += (double)member->demand_tokens + (double)member->wanted_tokens;
    }
}

/* ---- proposing ---- */

static void tell(const struct node *node, uint64_t number, const uint64_t *before,
                 const struct weights_change *change, struct effects *effects)
{
    const struct weights_measure *measure = &node->weights.measure;
    char line[NODE_NOTICE_BYTES] = "", piece[PIECE_BYTES];
    size_t size = 0;
    for (uint32_t i = 0; i < change->count; i++) {
        const int length =
            snprintf(piece, sizeof piece, "%s%s %.3f to %.3f (asked for %.1f/s)", i > 0 ? ", " : "",
                     change->part[i].region, weight_number(before[i]), weight_number(change->part[i].billionths),
                     measure->asked[i] * 1e9 / (double)measure->measured_ns);
        if (size + (size_t)length + PREFIX_BYTES > sizeof line) {
            memcpy(line + size, ", ...", sizeof ", ...");
            break;
        }
        memcpy(line + size, piece, (size_t)length + 1);
        size += (size_t)length;
    }
    effects_notice(effects, NOTICE_INFO, "weights %" PRIu64 " by demand: %s", number, line);
}

static void begin_anew(struct weights_measure *measure)
{
    measure->measured_ns = 0; /* the next look is a period away, whatever came of this one */
    memset(measure->asked, 0, sizeof measure->asked);
}

static void propose(struct node *node, struct effects *effects)
{
    struct weights_measure *measure = &node->weights.measure;
    const uint32_t count = node->options.region_count;
    uint64_t weight[NODE_REGIONS_MAX] = {0}, floor[NODE_REGIONS_MAX] = {0}, next[NODE_REGIONS_MAX] = {0};
    struct weights_change *change = &node->weights.proposed;
    struct weights_result result = {0};
    double asked_all = 0;
    weights_auto_floors(count, node->options.regions, floor);
    for (uint32_t i = 0; i < count; i++) {
        weight[i] = weights_before(node, i);
        asked_all += measure->asked[i];
    }
    const uint64_t least =
        node->options.weights_tokens_least > 0 ? node->options.weights_tokens_least : TOKENS_LEAST;
    const bool moves = asked_all >= (double)least && weights_auto_next(count, weight, floor, measure->asked, next);
    *change = (struct weights_change){.count = count, .author = bytes_of(WEIGHTS_AUTO_AUTHOR)};
    for (uint32_t i = 0; i < count && moves; i++) {
        memcpy(change->part[i].region, node->options.regions[i].region, NODE_NAME_BYTES);
        change->part[i].billionths = next[i];
    }
    if (moves && weights_make(node, change, node->clocks.wall_ms, &result))
        tell(node, result.number, weight, change, effects);
}

void weights_auto_tick(struct node *node, struct effects *effects)
{
    struct weights_measure *now = &node->weights.measure;
    const bool was_calm = now->calm;
    if (!weights_auto_proposes(node))
        return;
    if (version_compare(&now->base, &node->weights.known.base.stamp) != 0)
        *now = (struct weights_measure){.base = node->weights.known.base.stamp};
    now->calm = is_calm(node);
    if (!now->calm || !was_calm) /* what is heard after a silence was asked for in all of it */
        return;
    measure_demand(node, node->now_ns - node->publishing.demand_ns);
    if (now->measured_ns < needed_ns(node))
        return;
    if (proposer(node) == (int)node->me || node->options.weights_all_propose)
        propose(node, effects);
    begin_anew(now); /* at all others, too: whoever proposes next has measured as long as this one */
}

/* ---- what operators see ---- */

void weights_auto_report(const struct node *node, struct weights_report *report)
{
    const int first = proposer(node);
    const uint64_t needed = needed_ns(node), measured = node->weights.measure.measured_ns;
    report->by_demand = weights_auto_proposes(node);
    report->proposer = first < 0 ? "" : node->member[first].name;
    report->looks_in_s = needed > measured ? (needed - measured + SECOND_NS - 1) / SECOND_NS : 0;
    uint64_t floor[NODE_REGIONS_MAX] = {0};
    if (report->by_demand)
        weights_auto_floors(report->region_count, node->options.regions, floor);
    for (uint32_t i = 0; i < report->region_count; i++)
        report->row[i].floor_billionths = floor[i];
}
