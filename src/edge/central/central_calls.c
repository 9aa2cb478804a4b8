/*
 * What the link tells of calls and of its connection, and the breaker: whether the store can be asked.
 */
#include "base/metric.h"
#include "base/number.h"
#include "edge/central/central_slots.h"

#include <assert.h>
#include <stdio.h>

/* ---- the breaker ---- */

static void set_up(struct central *central, bool up)
{
    if (central->up == up || central->retired)
        return;
    central->up = up;
    central->was_up |= up;
    central->failures = 0;
    metric_set(&central->stats.connections, up);
    if (!up)
        metric_add(&central->stats.opened, 1);
    slots_tell(central);
}

static void note_failure(struct central *central, const char *why)
{
    central_set_error(central, why);
    if (++central->failures >= CENTRAL_FAILURES_MAX)
        set_up(central, false);
}

void central_set_error(struct central *central, const char *why)
{
    (void)snprintf(central->error, sizeof central->error, "%s", why);
}

/* ---- for the link ---- */

void central_connected(struct central *central, bool connected)
{
    central->connected = connected;
    if (!connected)
        set_up(central, false);
}

uint64_t central_probe(struct central *central, uint64_t now_ns)
{
    struct slot *slot = &central->slot[PROBE];
    if (slot->in_flight)
        return now_ns - slot->sent_ns;
    /* All daemons write one key: a store that can only be read is of no use. */
    *slot = (struct slot){.state = CENTRAL_WAITS, .purpose = FOR_PROBE, .way = CENTRAL_TAKE, .count = 1};
    slot->charge[0] = (struct central_charge){.cost = 1, .capacity = LIMIT_CAPACITY_MAX, .window_us = 1000000};
    if (central->connected && !central->stopped)
        (void)slots_send_by_deadline(central, PROBE, now_ns);
    return 0;
}

/* The store has said something of the call, or never will. */
static void end_flight(struct central *central, uint32_t ticket, bool answered)
{
    struct slot *slot = slots_at(central, ticket);
    assert(slot->in_flight);
    const bool was_late = slot->state == CENTRAL_FAILED;
    slot->in_flight = false;
    slots_end_call(central, slot);
    if (!was_late) {
        if (slot->purpose != FOR_RETURN)
            slots_leave_deadlines(central, (uint16_t)ticket);
        slot->state = answered ? CENTRAL_ANSWERED : CENTRAL_FAILED;
        if (slot->purpose == FOR_REQUEST && !answered)
            metric_add(&central->stats.failed, 1);
    } else if (answered) {
        metric_add(&central->stats.late, 1);
    }
    if (slot->purpose == FOR_REQUEST && slot->owned)
        slots_tell(central);
    slots_settle(central, (uint16_t)ticket);
}

/* What the store says of one charge is kept with its lease, with the tokens that it gave in advance. */
static void note_lease(struct central *central, struct slot *slot, uint64_t now_ns)
{
    const struct central_figures *figures = slot->answer.figures;
    const bool in_time = slot->state == CENTRAL_WAITS;
    const bool in_hand = in_time && lease_answered(&central->leases, slot->charge, figures, slot->sent_ns, now_ns);
    if (in_hand)
        metric_add(&central->stats.leased_tokens, figures->extra);
    else
        slot->rest = figures->extra;
    if (!in_time || !slot->calls)
        return;
    slot->calls = false;
    slots_tell(central);
}

void central_answered(struct central *central, uint32_t ticket, const struct central_answer *answer,
                      uint64_t now_ns)
{
    struct slot *slot = slots_at(central, ticket);
    const bool in_time = slot->state == CENTRAL_WAITS;
    slot->granted = slot->purpose == FOR_REQUEST && slot->way == CENTRAL_TAKE && answer->allowed;
    if (slot->purpose == FOR_REQUEST) {
        slot->answer = *answer;
        if (slot->count == 1 && slot->way == CENTRAL_TAKE)
            note_lease(central, slot, now_ns);
    }
    if (in_time)
        central->failures = 0;
    if (in_time && slot->purpose == FOR_PROBE && central->connected)
        set_up(central, true);
    end_flight(central, ticket, true);
}

uint32_t central_count(const struct central *central, uint32_t ticket)
{
    return central->slot[ticket].count;
}

bool central_again(struct central *central, uint32_t ticket)
{
    const bool sent = slots_send(central, (uint16_t)ticket);
    slots_at(central, ticket)->in_flight = true; /* until the caller says that it failed */
    return sent;
}

void central_failed(struct central *central, uint32_t ticket, const char *why)
{
    if (slots_at(central, ticket)->state == CENTRAL_WAITS)
        note_failure(central, why);
    end_flight(central, ticket, false);
}

/* Returns when the next deadline is. */
static uint64_t expire_calls(struct central *central, uint64_t now_ns)
{
    while (central->first > 0) {
        struct slot *slot = &central->slot[central->first];
        const uint64_t due_ns = number_sum(slot->sent_ns, central->timeout_ns);
        if (due_ns > now_ns)
            return due_ns;
        slots_leave_deadlines(central, central->first);
        slot->state = CENTRAL_FAILED;
        slots_end_call(central, slot);
        if (slot->purpose == FOR_REQUEST) {
            metric_add(&central->stats.failed, 1);
            slots_tell(central);
        }
        note_failure(central, "no answer in time");
    }
    return UINT64_MAX;
}

uint64_t central_expire(struct central *central, uint64_t now_ns)
{
    const uint64_t call_ns = expire_calls(central, now_ns);
    central_sweep(central, now_ns);
    return number_least(call_ns, lease_due_ns(&central->leases));
}
