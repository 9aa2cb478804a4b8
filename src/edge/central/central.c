/*
 * central keeps one slot for each call. A slot is free again when its owner has ended it and the store has answered it,
 * so that a late grant is known for what it is.
 */
#include "edge/central/central.h"

#include "base/metric.h"
#include "base/number.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum purpose { FOR_REQUEST, FOR_RETURN, FOR_PROBE };

/* The last slot, which probes always have. */
enum { PROBE = CENTRAL_ASKS_MAX + 1 };

struct slot {
    uint8_t state;   /* enum central_state */
    uint8_t purpose; /* enum purpose */
    uint8_t way;     /* enum central_way */
    bool owned;      /* somebody has its ticket */
    bool in_flight;  /* the store has not answered it */
    bool granted;    /* the answer said so, and nothing was given back */
    bool used;       /* by the owner, who has ended it */
    uint16_t next;   /* in the order of deadlines, or the next free slot; 0: none */
    uint32_t count;
    uint64_t sent_ns;
    struct central_charge charge[CHARGES_MAX];
    struct central_answer answer;
};

struct central {
    struct central_wire wire;
    uint64_t timeout_ns;
    bool connected, up, stopped;
    uint32_t failures; /* in a row */
    uint16_t free_slot, slots_end;
    uint16_t first, last; /* of those whose deadline is not over */
    struct central_stats stats;
    char error[CENTRAL_ERROR_BYTES];
    struct slot slot[CENTRAL_ASKS_MAX + 2];
};

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

/* ---- slots ---- */

static struct slot *slot_of(struct central *central, uint32_t ticket)
{
    assert(ticket > 0 && (ticket <= central->slots_end || ticket == PROBE));
    return &central->slot[ticket];
}

/* For a request. 0: there is none. */
static uint16_t take_slot(struct central *central)
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
    slot->in_flight = slot->granted = slot->used = false;
    return at;
}

static void free_slot(struct central *central, uint16_t at)
{
    if (at == PROBE)
        return;
    central->slot[at].next = central->free_slot;
    central->free_slot = at;
}

static void leave_deadlines(struct central *central, uint16_t at)
{
    uint16_t before = 0;
    for (uint16_t i = central->first; i != at; i = central->slot[i].next)
        before = i;
    const uint16_t next = central->slot[at].next;
    *(before > 0 ? &central->slot[before].next : &central->first) = next;
    central->last = central->last == at ? before : central->last;
    central->slot[at].next = 0;
}

/* ---- the breaker ---- */

static void tell(struct central *central)
{
    if (central->wire.news)
        central->wire.news(central->wire.context);
}

static void set_up(struct central *central, bool up)
{
    if (central->up == up)
        return;
    central->up = up;
    central->failures = 0;
    metric_set(&central->stats.connections, up);
    if (!up)
        metric_add(&central->stats.opened, 1);
    tell(central);
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

/* ---- sending ---- */

static bool send_slot(struct central *central, uint16_t at)
{
    struct slot *slot = &central->slot[at];
    slot->in_flight =
        central->wire.send(central->wire.context, at, (enum central_way)slot->way, slot->charge, slot->count);
    return slot->in_flight;
}

static bool send_by_deadline(struct central *central, uint16_t at, uint64_t now_ns)
{
    struct slot *slot = &central->slot[at];
    if (!send_slot(central, at))
        return false;
    slot->sent_ns = now_ns;
    slot->next = 0;
    *(central->last > 0 ? &central->slot[central->last].next : &central->first) = at;
    central->last = at;
    return true;
}

uint32_t central_ask(struct central *central, enum central_way way, const struct central_charge *charges,
                     uint32_t count, uint64_t now_ns)
{
    assert(count >= 1 && count <= CHARGES_MAX && way != CENTRAL_RETURN);
    if (!central->up || central->stopped)
        return 0;
    const uint16_t at = take_slot(central);
    if (at == 0) {
        metric_add(&central->stats.crowded, 1);
        return 0;
    }
    struct slot *slot = &central->slot[at];
    slot->way = (uint8_t)way;
    slot->count = count;
    memcpy(slot->charge, charges, count * sizeof *charges);
    if (!send_by_deadline(central, at, now_ns)) {
        free_slot(central, at);
        return 0;
    }
    metric_add(&central->stats.asked, 1);
    metric_add(&central->stats.waiting, 1);
    return at;
}

/* The slot's grant is not used. The slot itself carries it back; it is free then, or when that is answered. */
static void give_back(struct central *central, uint16_t at)
{
    struct slot *slot = &central->slot[at];
    slot->granted = false;
    slot->purpose = FOR_RETURN;
    slot->way = CENTRAL_RETURN;
    slot->state = CENTRAL_WAITS;
    for (uint32_t i = 0; i < slot->count; i++)
        slot->charge[i].stamp = slot->answer.figures[i].stamp;
    if (central->connected && send_slot(central, at)) {
        metric_add(&central->stats.returned, 1);
        return;
    }
    metric_add(&central->stats.lost, 1);
    free_slot(central, at);
}

static void settle(struct central *central, uint16_t at)
{
    const struct slot *slot = &central->slot[at];
    if (slot->owned || slot->in_flight)
        return;
    if (slot->granted && !slot->used)
        give_back(central, at);
    else
        free_slot(central, at);
}

/* ---- for those who ask ---- */

enum central_state central_look(const struct central *central, uint32_t ticket,
                                const struct central_answer **answer)
{
    assert(ticket > 0 && ticket <= central->slots_end && central->slot[ticket].owned);
    const struct slot *slot = &central->slot[ticket];
    *answer = slot->state == CENTRAL_ANSWERED ? &slot->answer : NULL;
    return (enum central_state)slot->state;
}

static bool is_same(const struct central_charge *a, const struct central_charge *b)
{
    return key_id_equal(a->id, b->id) && a->cost == b->cost && a->floor_tokens == b->floor_tokens &&
           a->capacity == b->capacity && a->window_us == b->window_us &&
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
    struct slot *slot = slot_of(central, ticket);
    assert(slot->owned);
    slot->owned = false;
    slot->used = used;
    metric_add(&central->stats.waiting, UINT64_MAX);
    settle(central, (uint16_t)ticket);
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
        leave_deadlines(central, central->first);
        slot->state = CENTRAL_FAILED;
    }
}

const struct central_stats *central_stats(const struct central *central)
{
    return &central->stats;
}

const char *central_error(const struct central *central)
{
    return central->error;
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
        (void)send_by_deadline(central, PROBE, now_ns);
    return 0;
}

/* The store has said something of the call, or never will. */
static void end_flight(struct central *central, uint32_t ticket, bool answered)
{
    struct slot *slot = slot_of(central, ticket);
    assert(slot->in_flight);
    const bool was_late = slot->state == CENTRAL_FAILED;
    slot->in_flight = false;
    if (!was_late) {
        if (slot->purpose != FOR_RETURN)
            leave_deadlines(central, (uint16_t)ticket);
        slot->state = answered ? CENTRAL_ANSWERED : CENTRAL_FAILED;
        if (slot->purpose == FOR_REQUEST && !answered)
            metric_add(&central->stats.failed, 1);
    } else if (answered) {
        metric_add(&central->stats.late, 1);
    }
    if (slot->purpose == FOR_REQUEST && slot->owned)
        tell(central);
    settle(central, (uint16_t)ticket);
}

void central_answered(struct central *central, uint32_t ticket, const struct central_answer *answer)
{
    struct slot *slot = slot_of(central, ticket);
    const bool in_time = slot->state == CENTRAL_WAITS;
    slot->granted = slot->purpose == FOR_REQUEST && slot->way == CENTRAL_TAKE && answer->allowed;
    if (slot->purpose == FOR_REQUEST)
        slot->answer = *answer;
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
    const bool sent = send_slot(central, (uint16_t)ticket);
    slot_of(central, ticket)->in_flight = true; /* until the caller says that it failed */
    return sent;
}

void central_failed(struct central *central, uint32_t ticket, const char *why)
{
    if (slot_of(central, ticket)->state == CENTRAL_WAITS)
        note_failure(central, why);
    end_flight(central, ticket, false);
}

uint64_t central_expire(struct central *central, uint64_t now_ns)
{
    while (central->first > 0) {
        struct slot *slot = &central->slot[central->first];
        const uint64_t due_ns = number_sum(slot->sent_ns, central->timeout_ns);
        if (due_ns > now_ns)
            return due_ns;
        leave_deadlines(central, central->first);
        slot->state = CENTRAL_FAILED;
        if (slot->purpose == FOR_REQUEST) {
            metric_add(&central->stats.failed, 1);
            tell(central);
        }
        note_failure(central, "no answer in time");
    }
    return UINT64_MAX;
}
