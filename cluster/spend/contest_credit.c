/*
 * contest_credit: a credit grows by the node's part of the refill, up to the part of two seconds and some requests. A
 * key keeps its place while it is watched.
 */
#include "cluster/spend/contest_credit.h"

#include "base/number.h"
#include "cluster/node.h"
#include "cluster/spend/contest.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

enum {
    PROBES = 8,
    COSTS_KEPT = 4,  /* the credit that is kept is a part of two seconds, and so many requests */
    PART_PART = 64,  /* of a part: left for those who were short */
    BEGINS_PART = 4, /* of the credit that is kept, what a key begins with */
};

/* ---- credits ---- */

bool contest_has_parts(const struct node *node, const struct limit *limit)
{
    return node->rights.shared && kind_refills(limit->kind) && (limit->flags & LIMIT_SPLIT) == 0 &&
           !limit_home_is_one(limit->home);
}

int64_t contest_part_units(const struct node *node, uint16_t limit_index, uint64_t ns)
{
    const struct limit *limit = &node->limits.limit[limit_index];
    const uint64_t ticks = ns / limit->tick_ns;
    uint64_t units;
    if (__builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &units) ||
        units > (uint64_t)limit->capacity_units)
        units = (uint64_t)limit->capacity_units;
    const int64_t part = units_times((int64_t)units, node->by_limit.budget[limit_index].share);
    return part - part / PART_PART;
}

int64_t contest_cost_units(const struct node *node, uint16_t limit_index, uint64_t tokens)
{
    return units_of_full_at_most(&node->limits.limit[limit_index], tokens);
}

int64_t contest_credit_most(const struct node *node, const struct contest *contest)
{
    return contest_part_units(node, contest->limit, CONTEST_CREDIT_NS) +
           contest_cost_units(node, contest->limit, COSTS_KEPT * contest->cost);
}

int64_t contest_credit_begins(const struct node *node, const struct contest *contest)
{
    return contest_credit_most(node, contest) / BEGINS_PART;
}

void contest_add_credit(const struct node *node, struct contest *contest, uint64_t now_ns)
{
    const uint64_t tick_ns = node->limits.limit[contest->limit].tick_ns;
    const uint64_t since_ns = number_minus(now_ns, contest->credited_ns);
    const int64_t most = contest_credit_most(node, contest),
                  units = contest->credit_units + contest_part_units(node, contest->limit, since_ns);
    contest->credit_units = units < most ? units : most;
    contest->credited_ns += since_ns - since_ns % tick_ns;
}

/* ---- places ---- */

struct contest *contest_find(struct node *node, struct key_id id, uint16_t limit)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct contest *contest = &node->contests.contest[(id.high + i) % CONTESTS_MAX];
        if (contest->until_ns > 0 && key_id_equal(contest->id, id))
            return contest->limit == limit ? contest : NULL;
    }
    return NULL;
}

struct contest *contest_obtain(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns)
{
    struct contest *place = NULL;
    for (uint32_t i = 0; i < PROBES; i++) {
        struct contest *contest = &node->contests.contest[(id.high + i) % CONTESTS_MAX];
        if (contest->until_ns > 0 && key_id_equal(contest->id, id)) {
            place = contest;
            break;
        }
        if (!place && contest->until_ns <= now_ns)
            place = contest;
    }
    if (!place)
        return NULL;
    if (place->until_ns == 0 || place->limit != limit || !key_id_equal(place->id, id)) {
        *place = (struct contest){.id = id, .limit = limit, .credited_ns = now_ns, .cost = cost};
        place->credit_units = contest_credit_begins(node, place);
        atomic_fetch_or_explicit(contest_word(node, id), (uint64_t)1 << (id.low & 63), memory_order_relaxed);
        atomic_store_explicit(&node->contests.some, true, memory_order_relaxed);
    }
    place->cost = cost > place->cost ? cost : place->cost;
    return place;
}

void contest_watch_until(struct contest *contest, uint64_t ns)
{
    contest->until_ns = ns > contest->until_ns ? ns : contest->until_ns;
}

void contest_sweep(struct node *node)
{
    uint64_t marks[CONTEST_MARKS] = {0};
    bool some = false, speaks = false;
    for (uint32_t i = 0; i < CONTESTS_MAX; i++) {
        struct contest *contest = &node->contests.contest[i];
        if (contest->until_ns <= node->now_ns)
            *contest = (struct contest){0};
        else
            marks[contest->id.low >> 6 & (CONTEST_MARKS - 1)] |= (uint64_t)1 << (contest->id.low & 63);
        some |= contest->until_ns > 0;
        speaks |= contest->short_ns > 0;
    }
    for (uint32_t i = 0; i < CONTEST_MARKS; i++)
        atomic_store_explicit(&node->contests.mark[i], marks[i], memory_order_relaxed);
    atomic_store_explicit(&node->contests.some, some, memory_order_relaxed);
    atomic_store_explicit(&node->contests.speaks, speaks, memory_order_relaxed);
}
