/*
 * The side of those who ask. central_calls.c has the side of the link.
 */
#include "edge/central/central.h"

#include "base/metric.h"
#include "edge/central/central_slots.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct central *central_create(const struct central_wire *wire, uint64_t timeout_ns)
{
    struct central *central = calloc(1, sizeof *central);
    if (central) {
        central->wire = *wire;
        central->timeout_ns = timeout_ns;
    }
    return central;
}

void central_destroy(struct central **central)
{
    free(*central);
    *central = NULL;
}

uint32_t central_ask(struct central *central, enum central_way way, const struct central_charge *charges,
                     uint32_t count, uint64_t now_ns)
{
    assert(count >= 1 && count <= CHARGES_MAX && way != CENTRAL_RETURN);
    if (!central->up || central->stopped)
        return 0;
    const uint16_t at = slots_take(central);
    if (at == 0) {
        metric_add(&central->stats.crowded, 1);
        return 0;
    }
    struct slot *slot = &central->slot[at];
    slot->way = (uint8_t)way;
    slot->count = count;
    memcpy(slot->charge, charges, count * sizeof *charges);
    if (!slots_send_by_deadline(central, at, now_ns)) {
        slots_free(central, at);
        return 0;
    }
    slot->calls = charges->extra > 0;
    if (slot->calls)
        lease_called(&central->leases, charges);
    metric_add(&central->stats.asked, 1);
    metric_add(&central->stats.waiting, 1);
    return at;
}

/* ---- leases ---- */

/* Gives back tokens that are in hand no more. */
static void give_rest(struct central *central, const struct central_charge *rest)
{
    const uint16_t at = central->connected ? slots_take(central) : 0;
    if (at == 0) {
        metric_add(&central->stats.lost, 1);
        return;
    }
    struct slot *slot = &central->slot[at];
    slot->owned = false;
    slot->count = 1;
    slot->charge[0] = *rest;
    slot->answer.figures[0].stamp = rest->stamp;
    slots_give_back(central, at);
}

enum lease_outcome central_decide(struct central *central, struct central_charge *charge, bool again,
                                  uint64_t now_ns, struct central_figures *figures, uint32_t *ticket)
{
    struct central_charge rest;
    uint32_t place;
    const enum lease_outcome outcome =
        lease_decide(&central->leases, charge, again, now_ns, figures, &place, &rest);
    if (rest.cost > 0)
        give_rest(central, &rest);
    if (outcome == LEASE_ALLOWED || outcome == LEASE_REFUSED)
        metric_add(&central->stats.spared, 1);
    if (outcome != LEASE_WAIT)
        return outcome;
    metric_add(&central->stats.waiting, 1);
    *ticket = place | LEASE_TICKET;
    return outcome;
}

void central_put_back(struct central *central, const struct central_charge *charge)
{
    lease_put_back(&central->leases, charge);
}

void central_sweep(struct central *central, uint64_t now_ns)
{
    struct central_charge rest;
    for (uint32_t place = 0; lease_sweep(&central->leases, &place, now_ns, &rest);)
        give_rest(central, &rest);
}

/* ---- for those who ask ---- */

static enum central_state look_at_lease(const struct central *central, uint32_t place)
{
    switch (lease_look(&central->leases, place)) {
    case LEASE_CALLS:
        return CENTRAL_WAITS;
    case LEASE_CALL_ANSWERED:
        return CENTRAL_OVER;
    case LEASE_CALL_FAILED:
        break;
    }
    return CENTRAL_FAILED;
}

enum central_state central_look(const struct central *central, uint32_t ticket,
                                const struct central_answer **answer)
{
    *answer = NULL;
    if ((ticket & LEASE_TICKET) != 0)
        return look_at_lease(central, ticket & ~LEASE_TICKET);
    assert(ticket > 0 && ticket <= central->slots_end && central->slot[ticket].owned);
    const struct slot *slot = &central->slot[ticket];
    *answer = slot->state == CENTRAL_ANSWERED ? &slot->answer : NULL;
    return (enum central_state)slot->state;
}

static bool is_same(const struct central_charge *a, const struct central_charge *b)
{
    return key_id_equal(a->id, b->id) && a->cost == b->cost && a->floor_tokens == b->floor_tokens &&
           a->capacity == b->capacity && a->window_us == b->window_us && a->from_first == b->from_first &&
           a->coarse.units_per_token == b->coarse.units_per_token &&
           a->coarse.units_per_tick == b->coarse.units_per_tick && a->coarse.tick_us == b->coarse.tick_us;
}

bool central_is_of(const struct central *central, uint32_t ticket, enum central_way way,
                   const struct central_charge *charges, uint32_t count)
{
    assert(ticket > 0 && ticket <= central->slots_end && central->slot[ticket].owned);
    const struct slot *slot = &central->slot[ticket];
    bool same = slot->way == way && slot->count == count;
    for (uint32_t i = 0; i < count && same; i++)
        same = is_same(&slot->charge[i], &charges[i]);
    return same;
}

void central_end(struct central *central, uint32_t ticket, bool used)
{
    metric_add(&central->stats.waiting, UINT64_MAX);
    if ((ticket & LEASE_TICKET) != 0)
        return;
    struct slot *slot = slots_at(central, ticket);
    assert(slot->owned);
    slot->owned = false;
    slot->used = used;
    slots_settle(central, (uint16_t)ticket);
}

bool central_is_up(const struct central *central)
{
    return central->up && !central->stopped;
}

void central_stop(struct central *central)
{
    central->stopped = true;
    while (central->first > 0) {
        struct slot *slot = &central->slot[central->first];
        slots_leave_deadlines(central, central->first);
        slot->state = CENTRAL_FAILED;
        slots_end_call(central, slot);
    }
}

/* ---- one store after the other ---- */

void central_retire(struct central *central)
{
    central->retired = true;
    central->up = false;
    metric_set(&central->stats.connections, 0);
    metric_set(&central->stats.changing, 0);
    central_sweep(central, UINT64_MAX);
}

bool central_is_idle(const struct central *central)
{
    bool idle = metric_get(&central->stats.waiting) == 0;
    for (uint32_t at = 1; at <= central->slots_end && idle; at++)
        idle = !central->slot[at].in_flight;
    return idle;
}

void central_inherit(struct central *central, const struct central *before)
{
#define X(name, help) metric_add(&central->stats.name, metric_get(&before->stats.name));
    CENTRAL_STATS(X)
#undef X
}

void central_note_changing(struct central *central, bool changing)
{
    metric_set(&central->stats.changing, changing);
}

const struct central_stats *central_stats(const struct central *central)
{
    return &central->stats;
}

const char *central_error(const struct central *central)
{
    if (central->error[0] != '\0' || central->up)
        return central->error;
    return central->was_up ? "the connection was lost" : "it has not answered yet";
}
