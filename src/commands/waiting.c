/*
 * waiting keeps places and queues in fixed arrays, with free ones in lists. A queue is found by its key in a small
 * hash table, and ends with its last request.
 */
#include "commands/waiting.h"

#include "base/number.h"

#include <assert.h>

_Static_assert(WAITING_MAX < UINT16_MAX, "tickets are numbers of 16 bits");

static uint16_t *bucket_of(struct waiting_room *room, struct key_id key)
{
    return &room->bucket[key.high & (WAITING_BUCKETS - 1)];
}

static uint16_t find(const struct waiting_room *room, struct key_id key)
{
    uint16_t at = room->bucket[key.high & (WAITING_BUCKETS - 1)];
    while (at > 0 && !key_id_equal(room->queue[at].key, key))
        at = room->queue[at].after;
    return at;
}

/* ---- places and queues ---- */

static uint16_t take_place(struct waiting_room *room)
{
    const uint16_t ticket = room->free_place;
    if (ticket == 0)
        return ++room->places_end;
    room->free_place = room->place[ticket].after;
    return ticket;
}

static uint16_t obtain_queue(struct waiting_room *room, struct key_id key)
{
    uint16_t at = find(room, key), *bucket = bucket_of(room, key);
    if (at > 0)
        return at;
    at = room->free_queue;
    if (at > 0)
        room->free_queue = room->queue[at].after;
    else
        at = ++room->queues_end;
    room->queue[at] = (struct waiting_queue){.key = key, .after = *bucket};
    *bucket = at;
    return at;
}

static void end_queue(struct waiting_room *room, uint16_t at)
{
    uint16_t *link = bucket_of(room, room->queue[at].key);
    while (*link != at)
        link = &room->queue[*link].after;
    *link = room->queue[at].after;
    room->queue[at].after = room->free_queue;
    room->free_queue = at;
}

uint32_t waiting_enter(struct waiting_room *room, struct key_id key, uint64_t tokens, uint64_t deadline_ns)
{
    assert(waiting_has_room(room));
    tokens = tokens > 0 ? tokens : 1; /* the sum of a queue is not 0 */
    const uint16_t ticket = take_place(room), at = obtain_queue(room, key);
    struct waiting_queue *queue = &room->queue[at];
    room->place[ticket] =
        (struct waiting_place){.tokens = tokens, .deadline_ns = deadline_ns, .queue = at, .before = queue->last};
    if (queue->last > 0)
        room->place[queue->last].after = ticket;
    else
        queue->first = ticket;
    queue->last = ticket;
    queue->tokens = number_sum(queue->tokens, tokens);
    room->count++;
    return ticket;
}

void waiting_leave(struct waiting_room *room, uint32_t ticket)
{
    struct waiting_place *place = &room->place[ticket];
    struct waiting_queue *queue = &room->queue[place->queue];
    assert(ticket > 0 && ticket <= room->places_end && place->queue > 0);
    *(place->before > 0 ? &room->place[place->before].after : &queue->first) = place->after;
    *(place->after > 0 ? &room->place[place->after].before : &queue->last) = place->before;
    queue->tokens -= place->tokens;
    if (queue->first == 0)
        end_queue(room, place->queue);
    *place = (struct waiting_place){.after = room->free_place};
    room->free_place = (uint16_t)ticket;
    room->count--;
}

/* ---- questions ---- */

uint64_t waiting_tokens(const struct waiting_room *room, struct key_id key)
{
    return room->count == 0 ? 0 : room->queue[find(room, key)].tokens; /* queue 0 is nobody's */
}

struct key_id waiting_key(const struct waiting_room *room, uint32_t ticket)
{
    return room->queue[room->place[ticket].queue].key;
}

/* The first of the queue that can still be served: a client that reads no answers is not tried at its deadline. */
static uint16_t first_of(const struct waiting_room *room, const struct waiting_queue *queue, uint32_t ticket,
                         uint64_t now_ns)
{
    uint16_t first = queue->first;
    while (first != ticket && room->place[first].deadline_ns <= now_ns && room->place[first].after > 0)
        first = room->place[first].after;
    return first;
}

uint64_t waiting_ahead(const struct waiting_room *room, uint32_t ticket, uint64_t now_ns)
{
    const struct waiting_queue *queue = &room->queue[room->place[ticket].queue];
    uint64_t tokens = 0;
    for (uint32_t at = first_of(room, queue, ticket, now_ns); at != ticket; at = room->place[at].after)
        tokens = number_sum(tokens, room->place[at].tokens);
    return tokens;
}

/* ---- rounds ---- */

void waiting_note_tried(struct waiting_room *room, uint32_t ticket, uint64_t now_ns, uint64_t stepped_ns,
                        uint64_t wait_ns)
{
    struct waiting_place *place = &room->place[ticket];
    place->seen_ns = stepped_ns;
    place->try_ns = number_sum(now_ns, wait_ns);
}

void waiting_begin_round(struct waiting_room *room)
{
    room->tries = WAITING_TRIES_MAX;
}

bool waiting_is_over(const struct waiting_room *room, uint32_t ticket, uint64_t now_ns)
{
    return room->ends || now_ns >= room->place[ticket].deadline_ns;
}

bool waiting_is_due(struct waiting_room *room, uint32_t ticket, uint64_t now_ns, uint64_t stepped_ns)
{
    const struct waiting_place *place = &room->place[ticket];
    assert(ticket > 0 && ticket <= room->places_end && place->queue > 0);
    if (waiting_is_over(room, ticket, now_ns))
        return true;
    if (room->tries == 0 || (place->seen_ns == stepped_ns && now_ns < place->try_ns) ||
        first_of(room, &room->queue[place->queue], ticket, now_ns) != ticket)
        return false;
    room->tries--;
    return true;
}
