#include "base/number.h"
#include "limit/events_pool.h"

#include "base/spin.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

enum { KEPT_PART = 16 }; /* 1/16 of the pool is kept for spends of other peers */

struct events *events_create(uint32_t room)
{
    assert(room >= 1 && room <= (uint32_t)1 << 31);
    struct events *events = calloc(1, sizeof *events + ((size_t)room + 1) * sizeof(struct log_event));
    if (!events)
        return NULL;
    events->room = room;
    events->kept = room / KEPT_PART;
    return events;
}

void events_destroy(struct events **events)
{
    free(*events);
    *events = NULL;
}

void events_share(struct events *events)
{
    events->shared = true;
}

static inline void lock(struct events *events)
{
    if (events->shared)
        spin_lock(&events->locked);
}

static inline void unlock(struct events *events)
{
    if (events->shared)
        spin_unlock(&events->locked);
}

bool events_have_room(const struct events *events)
{
    assert(events);
    return __atomic_load_n(&events->used, __ATOMIC_RELAXED) < events->room - events->kept;
}

const struct log_event *events_at(const struct events *events, uint32_t index)
{
    assert(index >= 1 && index <= __atomic_load_n(&events->touched, __ATOMIC_RELAXED));
    return &events->event[index];
}

/* ---- single events ---- */

/* Takes an event from the pool while fewer than `most` are used; 0: there is none, which is counted. */
static uint32_t take_event(struct events *events, uint32_t most, uint64_t *without)
{
    uint32_t index = 0;
    lock(events);
    if (events->used >= most) {
        ++*without;
    } else if (events->free) {
        index = events->free;
        events->free = events->event[index].newer;
    } else {
        index = events->touched + 1;
        __atomic_store_n(&events->touched, index, __ATOMIC_RELAXED);
    }
    if (index)
        __atomic_store_n(&events->used, events->used + 1, __ATOMIC_RELAXED);
    unlock(events);
    assert(index <= events->room);
    return index;
}

static void give_event(struct events *events, uint32_t index)
{
    lock(events);
    assert(events->used > 0);
    events->event[index] = (struct log_event){.newer = events->free};
    events->free = index;
    __atomic_store_n(&events->used, events->used - 1, __ATOMIC_RELAXED);
    unlock(events);
}

/* The new event stands between two neighbours, each of which may be 0. */
static void link_between(struct events *events, struct event_list *list, uint32_t older, uint32_t newer,
                         uint32_t index, const struct log_event *made)
{
    events->event[index] = *made;
    events->event[index].newer = newer;
    events->event[index].older = older;
    *(older ? &events->event[older].newer : &list->oldest) = index;
    *(newer ? &events->event[newer].older : &list->newest) = index;
}

static void join_neighbours(struct events *events, struct event_list *list, uint32_t index)
{
    const struct log_event *event = &events->event[index];
    *(event->older ? &events->event[event->older].newer : &list->oldest) = event->newer;
    *(event->newer ? &events->event[event->newer].older : &list->newest) = event->older;
}

static void unlink_event(struct events *events, struct event_list *list, uint32_t index)
{
    assert(events->event[index].held == 0);
    join_neighbours(events, list, index);
    give_event(events, index);
}

/* How many of `tokens` fit into the event. */
static uint64_t add_tokens(struct log_event *event, uint64_t tokens)
{
    uint64_t room = EVENTS_TOKENS_MAX - event->tokens, added = tokens < room ? tokens : room;
    event->tokens += (uint32_t)added;
    return added;
}

void events_lower(struct events *events, struct event_list *list, uint32_t index, uint32_t tokens)
{
    struct log_event *event = &events->event[index];
    event->tokens -= tokens;
    assert(event->own + (uint64_t)event->held <= event->tokens);
    if (event->tokens == 0)
        unlink_event(events, list, index);
}

/* Takes up to `tokens` from one event: tokens of others first, held tokens last. */
static uint64_t remove_tokens(struct events *events, struct event_list *list, uint32_t index, uint64_t tokens)
{
    struct log_event *event = &events->event[index];
    uint32_t removed = events_least(tokens, event->tokens), left = event->tokens - removed;
    events_set_held(events, event, events_least(event->held, left));
    event->own = events_least(event->own, left - event->held);
    events_lower(events, list, index, removed);
    return removed;
}

/* ---- lists ---- */

bool events_append(struct events *events, struct event_list *list, uint32_t tokens, uint64_t now_ns)
{
    assert(events && tokens <= EVENTS_TOKENS_MAX);
    uint32_t older = list->newest, newer = 0;
    if (tokens == 0)
        return true;
    while (older && events->event[older].at_ns > now_ns) { /* few: see GRANTED_STEP_NS */
        newer = older;
        older = events->event[older].older;
    }
    struct log_event *last = older ? &events->event[older] : NULL;
    if (last && last->at_ns == now_ns && last->tokens <= EVENTS_TOKENS_MAX - tokens) {
        last->tokens += tokens;
        last->own += tokens;
        return true;
    }
    uint32_t index = take_event(events, events->room - events->kept, &events->refused);
    if (!index)
        return false;
    const struct log_event made = {.at_ns = now_ns, .tokens = tokens, .own = tokens};
    link_between(events, list, older, newer, index, &made);
    return true;
}

/* The newest event that has tokens of other peers alone; 0: none has. */
static uint32_t newest_of_others(const struct events *events, const struct event_list *list)
{
    uint32_t index = list->newest;
    while (index && events->event[index].own + (uint64_t)events->event[index].held > 0)
        index = events->event[index].older;
    return index;
}

/*
 * The event becomes the newest, of that moment. A return tells when its tokens were spent, and own
 * tokens have lost that moment: they count on, and can not be given back. Held tokens can: their
 * reservation knows it.
 */
static void move_to_newest(struct events *events, struct event_list *list, uint32_t index, uint64_t at_ns)
{
    const uint64_t ms_ns = 1000000;
    struct log_event moved = events->event[index];
    uint64_t later_ms = (at_ns - moved.at_ns) / ms_ns;
    moved.held_ms = moved.held_ms > later_ms ? moved.held_ms - (uint32_t)later_ms : 0;
    moved.own = 0;
    moved.at_ns = at_ns;
    join_neighbours(events, list, index);
    link_between(events, list, list->newest, 0, index, &moved);
}

/*
 * The pool is used up: the next event, which ends later, takes the tokens. If there is none, an
 * earlier event takes them and becomes newer, if possible one without own tokens.
 */
static uint64_t merge_into(struct events *events, struct event_list *list, uint32_t newer,
                           const struct log_event *made)
{
    if (newer)
        return add_tokens(&events->event[newer], made->tokens);
    uint32_t heir = newest_of_others(events, list);
    heir = heir ? heir : list->newest;
    if (!heir)
        return 0;
    move_to_newest(events, list, heir, made->at_ns);
    return add_tokens(&events->event[heir], made->tokens);
}

uint64_t events_insert(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns)
{
    uint32_t older = list->newest, newer = 0;
    if (tokens == 0)
        return 0;
    while (older && events->event[older].at_ns > at_ns) {
        newer = older;
        older = events->event[older].older;
    }
    if (older && events->event[older].at_ns == at_ns)
        return add_tokens(&events->event[older], tokens);
    const struct log_event made = {.at_ns = at_ns,
                                   .tokens = (uint32_t)(tokens < EVENTS_TOKENS_MAX ? tokens : EVENTS_TOKENS_MAX)};
    uint32_t index = take_event(events, events->room, older || newer ? &events->merged : &events->lost);
    if (!index)
        return merge_into(events, list, newer, &made);
    link_between(events, list, older, newer, index, &made);
    return made.tokens;
}

uint64_t events_expire(struct events *events, struct event_list *list, uint64_t until_ns)
{
    uint64_t removed = 0;
    while (list->oldest && events->event[list->oldest].at_ns <= until_ns)
        removed += remove_tokens(events, list, list->oldest, UINT64_MAX);
    return removed;
}

uint64_t events_remove_oldest(struct events *events, struct event_list *list, uint64_t tokens)
{
    uint64_t removed = 0;
    while (list->oldest && removed < tokens)
        removed += remove_tokens(events, list, list->oldest, tokens - removed);
    return removed;
}

uint64_t events_clear(struct events *events, struct event_list *list)
{
    return events_remove_oldest(events, list, UINT64_MAX);
}

/* Own and held tokens shrink with the rest, and never grow. */
static void scale_own(struct events *events, struct log_event *event, uint32_t tokens)
{
    uint64_t held = (uint64_t)event->held * tokens / event->tokens;
    event->own = (uint32_t)((uint64_t)event->own * tokens / event->tokens);
    events_set_held(events, event, (uint32_t)held);
}

/* Running sums are scaled, from the newest event on: a token that is rounded up counts for as long as possible. */
uint64_t events_scale(struct events *events, struct event_list *list, uint64_t numerator, uint64_t denominator)
{
    uint64_t before = 0, after = 0;
    assert(denominator > 0);
    for (uint32_t index = list->newest, older; index; index = older) {
        struct log_event *event = &events->event[index];
        older = event->older;
        before += event->tokens;
        uint128 scaled = ((uint128)before * numerator + denominator - 1) / denominator - after;
        uint32_t tokens = scaled < EVENTS_TOKENS_MAX ? (uint32_t)scaled : EVENTS_TOKENS_MAX;
        if (tokens < event->tokens)
            scale_own(events, event, tokens);
        event->tokens = tokens;
        after += event->tokens;
        if (event->tokens == 0)
            unlink_event(events, list, index);
    }
    return after;
}

/* ---- reading ---- */

void events_stats(const struct events *events, struct events_stats *stats)
{
    *stats = (struct events_stats){
        .room = events->room,
        .used = events->used,
        .bytes = sizeof *events + ((uint64_t)events->room + 1) * sizeof(struct log_event),
        .refused = events->refused,
        .merged = events->merged,
        .lost = events->lost,
    };
}

uint64_t events_check(const struct events *events, const struct event_list *list, uint64_t *count)
{
    uint64_t sum = 0;
    uint32_t older = 0;
    *count = 0;
    for (uint32_t index = list->oldest; index; index = events->event[index].newer) {
        const struct log_event *event = events_at(events, index);
        assert(event->tokens > 0 && event->tokens <= EVENTS_TOKENS_MAX && event->older == older);
        assert(event->own + (uint64_t)event->held <= event->tokens && (event->held > 0 || event->held_ms == 0));
        assert(older == 0 || events->event[older].at_ns <= event->at_ns);
        assert(++*count <= events->used);
        sum += event->tokens;
        older = index;
    }
    assert(list->newest == older && events->used <= events->room && events->touched <= events->room);
    return sum;
}
