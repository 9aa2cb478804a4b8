#include "edge/central/central_slots.h"

#include "base/metric.h"

#include <assert.h>

struct slot *slots_at(struct central *central, uint32_t ticket)
{
    assert(ticket > 0 && (ticket <= central->slots_end || ticket == PROBE));
    return &central->slot[ticket];
}

uint16_t slots_take(struct central *central)
{
    uint16_t at = central->free_slot;
    if (at > 0)
        central->free_slot = central->slot[at].next;
    else if (central->slots_end < CENTRAL_ASKS_MAX)
        at = ++central->slots_end;
    else
        return 0;
    struct slot *slot = &central->slot[at];
    slot->state = CENTRAL_WAITS;
    slot->purpose = FOR_REQUEST;
    slot->owned = true;
    slot->in_flight = slot->granted = slot->used = slot->calls = false;
    slot->rest = 0;
    return at;
}

void slots_free(struct central *central, uint16_t at)
{
    if (at == PROBE)
        return;
    central->slot[at].next = central->free_slot;
    central->free_slot = at;
}

void slots_leave_deadlines(struct central *central, uint16_t at)
{
    uint16_t before = 0;
    for (uint16_t i = central->first; i != at; i = central->slot[i].next)
        before = i;
    const uint16_t next = central->slot[at].next;
    *(before > 0 ? &central->slot[before].next : &central->first) = next;
    central->last = central->last == at ? before : central->last;
    central->slot[at].next = 0;
}

void slots_tell(const struct central *central)
{
    if (central->wire.news)
        central->wire.news(central->wire.context);
}

bool slots_send(struct central *central, uint16_t at)
{
    struct slot *slot = &central->slot[at];
    slot->in_flight =
        central->wire.send(central->wire.context, at, (enum central_way)slot->way, slot->charge, slot->count);
    return slot->in_flight;
}

bool slots_send_by_deadline(struct central *central, uint16_t at, uint64_t now_ns)
{
    struct slot *slot = &central->slot[at];
    if (!slots_send(central, at))
        return false;
    slot->sent_ns = now_ns;
    slot->next = 0;
    *(central->last > 0 ? &central->slot[central->last].next : &central->first) = at;
    central->last = at;
    return true;
}

void slots_give_back(struct central *central, uint16_t at)
{
    struct slot *slot = &central->slot[at];
    if (slot->used)
        slot->charge[0].cost = slot->rest;
    else
        slot->charge[0].cost += slot->rest;
    for (uint32_t i = 0; i < slot->count; i++)
        slot->charge[i].stamp = slot->answer.figures[i].stamp;
    slot->granted = false;
    slot->purpose = FOR_RETURN;
    slot->way = CENTRAL_RETURN;
    slot->state = CENTRAL_WAITS;
    if (central->connected && slots_send(central, at)) {
        metric_add(&central->stats.returned, 1);
        return;
    }
    metric_add(&central->stats.lost, 1);
    slots_free(central, at);
}

void slots_settle(struct central *central, uint16_t at)
{
    const struct slot *slot = &central->slot[at];
    if (slot->owned || slot->in_flight)
        return;
    if (slot->granted && (!slot->used || slot->rest > 0))
        slots_give_back(central, at);
    else
        slots_free(central, at);
}

void slots_end_call(struct central *central, struct slot *slot)
{
    if (!slot->calls)
        return;
    slot->calls = false;
    lease_failed(&central->leases, slot->charge);
    slots_tell(central);
}
