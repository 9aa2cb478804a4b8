/*
 * Reservations that end by themselves: a node gives them back in some step after their end, and says only how many are
 * left. So the truth counts what each of them held as possibly given back, in the order in which they ended.
 */
#include "tests/sim/laws.h"
#include "tests/sim/world.h"

/*
 * Counts all that the reservation held as possibly given back: the node may have returned it, and others may have
 * heard.
 */
static void let_go(struct sim *sim, struct ask_held *held, uint64_t batches)
{
    for (unsigned c = 0; c < held->count; c++) {
        const struct limit *limit = &sim->plan.asks.rule[held->part[c].rule].limit;
        ask_given_back(sim, held->node, &held->part[c], held, 0,
                       (int64_t)held->part[c].taken * limit->units_per_token, batches);
    }
}

void ask_before_step(struct sim *sim, unsigned i)
{
    for (unsigned h = 0; h < ASK_HELD_MAX; h++) {
        struct ask_held *held = &sim->asks.held[h];
        if (held->used && held->reserved && !held->ending && held->node == i &&
            world_local_ns(sim, i) >= held->ends_ns) {
            story_tell(sim, sim->node[i].name, "reservation %u ends by itself", h);
            held->ending = true;
        }
    }
}

/* Of the ended reservations that node i has not given back, the one that ended first; NULL: there is none. */
static struct ask_held *first_ending(struct sim *sim, unsigned i)
{
    struct ask_held *first = NULL;
    for (unsigned h = 0; h < ASK_HELD_MAX; h++) {
        struct ask_held *held = &sim->asks.held[h];
        if (held->used && held->ending && held->node == i && (first == NULL || held->ends_ns < first->ends_ns))
            first = held;
    }
    return first;
}

/*
 * A lease of a former life ends with the step that takes it over, if others have lost it meanwhile. Returns how many
 * did.
 */
static uint32_t end_lost(struct sim *sim, unsigned i, uint64_t batches)
{
    uint32_t lost = 0;
    for (unsigned h = 0; h < ASK_HELD_MAX; h++) {
        struct ask_held *held = &sim->asks.held[h];
        if (!held->used || !held->is_former || held->node != i || held->ending ||
            reservation_is_open(sim->node[i].node, held->id))
            continue;
        story_tell(sim, sim->node[i].name, "has lost reservation %u, which others do not count any more", h);
        let_go(sim, held, batches);
        held->used = false;
        lost++;
    }
    return lost;
}

/*
 * A node gives ended reservations back in the order in which they ended. Of several that ended in one moment, the
 * node may have given back any.
 */
void ask_after_step(struct sim *sim, unsigned i)
{
    const struct step_figures *before = &sim->node[i].before;
    uint32_t left = open_reservations(sim->node[i].node);
    struct ask_held *held;
    left += end_lost(sim, i, before->batches_closed);
    for (uint32_t count = before->reservations; count > left && (held = first_ending(sim, i)) != NULL; count--) {
        let_go(sim, held, before->batches_closed);
        for (unsigned c = 0; c < held->count; c++)
            ask_right_used(sim, i, &held->part[c], held->part[c].taken);
        held->used = false;
        for (unsigned h = 0; h < ASK_HELD_MAX && count == left + 1; h++) {
            struct ask_held *other = &sim->asks.held[h];
            if (other->used && other->ending && other->node == i && other->ends_ns == held->ends_ns)
                let_go(sim, other, before->batches_closed);
        }
    }
}

void ask_node_ends(struct sim *sim, unsigned i)
{
    for (unsigned h = 0; h < ASK_HELD_MAX; h++) {
        struct ask_held *held = &sim->asks.held[h];
        if (held->used && held->node == i && held->reserved && sim->node[i].life == LIFE_LEAVING)
            let_go(sim, held, batches_closed(sim->node[i].node));
        if (held->node == i)
            held->used = false;
    }
}
