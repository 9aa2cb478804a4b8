#include "limit/events_pool.h"

#include <assert.h>

/*
 * The tokens of an event are this peer's own, held by this peer's reservations, or of other peers. Own tokens are given
 * back by bucket_return, held ones by their reservation, others' by the peer that spent them.
 */

static _Thread_local uint64_t looked, spared_from = UINT64_MAX;

uint64_t events_looked(void)
{
    return looked;
}

void events_add_looked(uint32_t count)
{
    looked += count;
}

void events_spare_from(uint64_t from)
{
    spared_from = from;
}

bool events_are_spared(void)
{
    return looked >= spared_from;
}

uint64_t events_oldest_own_ns(const struct events *events, const struct event_list *list)
{
    for (uint32_t index = list->oldest; index; index = events->event[index].newer, looked++)
        if (events->event[index].own > 0)
            return events->event[index].at_ns;
    return UINT64_MAX;
}

/* From `index` on, towards the newest event or the oldest one. */
static uint64_t remove_own(struct events *events, struct event_list *list, uint32_t index, bool to_newest,
                           uint64_t tokens)
{
    uint64_t removed = 0;
    for (uint32_t next; index && removed < tokens; index = next, looked++) {
        struct log_event *event = &events->event[index];
        uint32_t part = events_least(tokens - removed, event->own);
        next = to_newest ? event->newer : event->older;
        event->own -= part;
        removed += part;
        if (part > 0)
            events_lower(events, list, index, part);
    }
    return removed;
}

uint64_t events_remove_own(struct events *events, struct event_list *list, uint64_t tokens)
{
    return remove_own(events, list, list->oldest, true, tokens);
}

uint64_t events_take_back(struct events *events, struct event_list *list, uint64_t tokens)
{
    return remove_own(events, list, list->newest, false, tokens);
}

/*
 * The first event at that moment or later; 0: none. Searches from both ends: most returned tokens were spent lately,
 * and of reservations that end by themselves the oldest one ends first.
 */
static uint32_t first_since(const struct events *events, const struct event_list *list, uint64_t since_ns)
{
    uint32_t first = 0, older = list->oldest;
    for (uint32_t newer = list->newest; newer && events->event[newer].at_ns >= since_ns; looked += 2) {
        if (events->event[older].at_ns >= since_ns)
            return older;
        older = events->event[older].newer;
        first = newer;
        newer = events->event[newer].older;
    }
    return first;
}

uint64_t events_others(const struct events *events, const struct event_list *list)
{
    uint64_t tokens = 0;
    for (uint32_t index = list->oldest; index; index = events->event[index].newer) {
        const struct log_event *event = &events->event[index];
        tokens += event->tokens - event->own - event->held;
    }
    return tokens;
}

uint64_t events_remove_others(struct events *events, struct event_list *list, uint64_t tokens, uint64_t since_ns)
{
    uint64_t removed = 0;
    for (uint32_t index = first_since(events, list, since_ns), newer; index && removed < tokens; index = newer) {
        struct log_event *event = &events->event[index];
        uint32_t part = events_least(tokens - removed, event->tokens - event->own - event->held);
        newer = event->newer;
        removed += part;
        if (part > 0)
            events_lower(events, list, index, part);
    }
    return removed;
}

static uint32_t ms_until(uint64_t from_ns, uint64_t ends_ns)
{
    const uint64_t ms_ns = 1000000;
    uint64_t ns = ends_ns > from_ns ? ends_ns - from_ns : 0, ms = ns / ms_ns + (ns % ms_ns != 0);
    return ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

static void note_end(struct log_event *event, uint64_t ends_ns)
{
    uint32_t ms = ms_until(event->at_ns, ends_ns);
    event->held_ms = ms > event->held_ms ? ms : event->held_ms;
}

static void hold(struct events *events, struct log_event *event, uint64_t tokens, uint64_t ends_ns)
{
    uint32_t part = events_least(tokens, event->own);
    event->own -= part;
    events_set_held(events, event, event->held + part);
    if (part > 0)
        note_end(event, ends_ns);
}

uint64_t events_hold(struct events *events, struct event_list *list, uint64_t tokens, uint64_t ends_ns)
{
    assert(list->newest);
    uint32_t index = list->newest;
    while (events->event[index].own < tokens && events->event[index].older != 0)
        index = events->event[index].older;
    hold(events, &events->event[index], tokens, ends_ns);
    return events->event[index].at_ns;
}

void events_hold_at(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns,
                    uint64_t ends_ns)
{
    uint32_t index = first_since(events, list, at_ns);
    assert(index && events->event[index].at_ns == at_ns);
    hold(events, &events->event[index], tokens, ends_ns);
}

/*
 * Goes through the first events since that moment: tokens held then are there, or later if the pool was used up.
 * `change` changes `tokens` held tokens of an event.
 */
static uint64_t visit_held(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns,
                           void (*change)(struct events *events, struct event_list *list, uint32_t index,
                                          uint32_t tokens))
{
    uint64_t done = 0;
    for (uint32_t index = first_since(events, list, at_ns), newer; index && done < tokens; index = newer) {
        struct log_event *event = &events->event[index];
        uint32_t part = events_least(tokens - done, event->held);
        newer = event->newer;
        done += part;
        if (part == 0)
            continue;
        events_set_held(events, event, event->held - part);
        change(events, list, index, part);
    }
    return done;
}

static void make_own(struct events *events, struct event_list *list, uint32_t index, uint32_t tokens)
{
    (void)list;
    events->event[index].own += tokens;
}

uint64_t events_held(const struct events *events, const struct event_list *list, uint64_t tokens, uint64_t at_ns)
{
    uint64_t held = 0;
    for (uint32_t index = first_since(events, list, at_ns); index && held < tokens;
         index = events->event[index].newer)
        held += events_least(tokens - held, events->event[index].held);
    return held;
}

uint64_t events_release(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns)
{
    return visit_held(events, list, tokens, at_ns, events_lower);
}

uint64_t events_unhold(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns)
{
    return visit_held(events, list, tokens, at_ns, make_own);
}

uint64_t events_held_end_ns(const struct log_event *event, uint64_t period_ns)
{
    uint64_t held_ns = (uint64_t)event->held_ms * 1000000;
    return event->at_ns + (held_ns < period_ns ? held_ns : period_ns);
}

bool events_hold_nothing(const struct events *events)
{
    return __atomic_load_n(&events->held, __ATOMIC_RELAXED) == 0;
}
