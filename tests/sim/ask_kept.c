/*
 * Reservations that go on over an orderly restart. A node that has left says which ones, and its next start is told of
 * them. The truth never counts what they hold as given back in between. What the next life gives back of them is its
 * own. Requests that find no place here end as all do with their node.
 */
#include "base/number.h"
#include "tests/sim/laws.h"
#include "tests/sim/world.h"

#include <string.h>

/* A time of the former life's clock, by that of the new one. 0 is none. */
static uint64_t moved_ns(uint64_t time_ns, uint64_t then_ns, uint64_t now_ns, uint64_t passed_ns)
{
    if (time_ns == 0 || time_ns == UINT64_MAX)
        return time_ns;
    const int64_t moved = (int64_t)(time_ns - then_ns) + (int64_t)(now_ns - passed_ns);
    return moved > 0 ? (uint64_t)moved : NODE_FIRST_NS;
}

static struct ask_held *held_of(struct sim *sim, unsigned i, const struct reservation_id *id)
{
    for (unsigned h = 0; h < ASK_HELD_MAX; h++) {
        struct ask_held *held = &sim->asks.held[h];
        if (held->used && held->reserved && held->node == i && memcmp(&held->id, id, sizeof *id) == 0)
            return held;
    }
    return NULL;
}

void ask_keep(struct sim *sim, unsigned i)
{
    struct ask_kept *kept = &sim->asks.kept[i];
    uint32_t place = 0;
    *kept = (struct ask_kept){.at_ns = sim->now_ns, .local_ns = world_local_ns(sim, i)};
    if (sim->node[i].stays_away || !node_keeps_reservations(sim->node[i].node))
        return;
    while (kept->count < ASK_KEPT_MAX &&
           node_keep_reservation(sim->node[i].node, &place, kept->local_ns, &kept->former[kept->count])) {
        struct ask_held *held = held_of(sim, i, &kept->former[kept->count].kept.id);
        if (held == NULL) {
            sim_fail(sim, "reservations: %s keeps one that nobody has made", sim->node[i].name);
            return;
        }
        kept->held[kept->count++] = *held;
        held->used = false;
    }
}

static void move_former(struct node_reservation *former, uint64_t then_ns, uint64_t now_ns, uint64_t passed_ns)
{
    former->kept.expires_ns = moved_ns(former->kept.expires_ns, then_ns, now_ns, passed_ns);
    for (size_t c = 0; c < former->kept.count; c++) {
        struct charge *charge = &former->kept.charge[c];
        charge->expires_ns = moved_ns(charge->expires_ns, then_ns, now_ns, passed_ns);
        charge->window_end_ns = moved_ns(charge->window_end_ns, then_ns, now_ns, passed_ns);
        charge->spent_ns = moved_ns(charge->spent_ns, then_ns, now_ns, passed_ns);
        former->key[c].expires_ns = moved_ns(former->key[c].expires_ns, then_ns, now_ns, passed_ns);
        if (former->key[c].terms.kind == LIMIT_BUCKET)
            former->key[c].number -= number_least(former->key[c].number, passed_ns);
    }
}

static void move_held(struct sim *sim, struct ask_held *held, uint64_t then_ns, uint64_t now_ns, uint64_t passed_ns)
{
    held->made_ns = moved_ns(held->made_ns, then_ns, now_ns, passed_ns);
    held->ends_ns = moved_ns(held->ends_ns, then_ns, now_ns, passed_ns);
    held->life = sim->node[held->node].lives;
    held->is_former = true;
    for (unsigned c = 0; c < held->count; c++) {
        struct ask_part *part = &held->part[c];
        struct charge *charge = &held->charge[c];
        struct ask_renewal *renewal = &held->renewal[c];
        charge->limit = ask_charge_of(sim, held->node, part).limit;
        charge->expires_ns = moved_ns(charge->expires_ns, then_ns, now_ns, passed_ns);
        charge->window_end_ns = moved_ns(charge->window_end_ns, then_ns, now_ns, passed_ns);
        renewal->known.made_ns = moved_ns(renewal->known.made_ns, then_ns, now_ns, passed_ns);
        renewal->begun.made_ns = moved_ns(renewal->begun.made_ns, then_ns, now_ns, passed_ns);
        ask_right_gained(sim, held->node, part, part->taken);
    }
}

void ask_recall(struct sim *sim, unsigned i)
{
    struct ask_kept *kept = &sim->asks.kept[i];
    const uint64_t now_ns = world_local_ns(sim, i), passed_ns = sim->now_ns - kept->at_ns;
    for (unsigned k = 0; k < kept->count; k++) {
        struct ask_held *held = ask_free_slot(sim);
        if (held == NULL)
            break;
        move_former(&kept->former[k], kept->local_ns, now_ns, passed_ns);
        if (!node_recall_reservation(sim->node[i].node, &kept->former[k], now_ns)) {
            sim_fail(sim, "reservations: %s has no room for one of its former life", sim->node[i].name);
            return;
        }
        *held = kept->held[k];
        move_held(sim, held, kept->local_ns, now_ns, passed_ns);
        sim->asks.recalled++;
        story_tell(sim, sim->node[i].name, "has reservation %u of its former life",
                   (unsigned)(held - sim->asks.held));
        ask_follow_up_in(sim, held, 1 + sim->plan.asks.hold_max_ns / 2);
    }
    kept->count = 0;
}
