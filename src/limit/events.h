/*
 * events: lists of spends by time, in a pool of memory fixed at creation.
 *
 * The one idea: each LOG bucket has the ends of a list, oldest first; the pool has the rest. An event is a number of
 * tokens at a moment; what was spent at one moment is one event. A part of the pool is kept for spends that were
 * made elsewhere: they cannot be refused. When even that is used up, such a spend is merged into the neighbour that
 * ends later, and counted. Each event says how many of its tokens this peer spent itself: only the peer that spent a
 * token gives it back. Some of those are held by a reservation, and only the reservation gives them back. Sums, periods
 * and what is settled are the bucket's. No clock, no allocation later.
 */
#ifndef HEADGATE_LIMIT_EVENTS_H
#define HEADGATE_LIMIT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct events;

/* Indices into the pool; 0: none. All zero is an empty list. */
struct event_list {
    uint32_t oldest, newest;
};

struct log_event {
    uint64_t at_ns;
    uint32_t tokens;  /* > 0: of everybody */
    uint32_t own;     /* of these: spent here, and held by no reservation */
    uint32_t held;    /* of these: spent here, and held by reservations; own + held <= tokens */
    uint32_t held_ms; /* the last of those reservations ends so long after at_ns, rounded up; 0: none is */
    uint32_t newer, older;
};
_Static_assert(sizeof(struct log_event) == 32, "two to a cache line");

struct events_stats {
    uint64_t room, used; /* now */
    uint64_t bytes;
    uint64_t refused; /* own spends, because the pool was full */
    uint64_t merged;  /* spends of others that count for longer than they should, because the pool was full */
    uint64_t lost;    /* spends of others that do not count, because the pool was full and their list empty */
};

enum { EVENTS_TOKENS_MAX = 1 << 30 }; /* of one event; what is beyond is not listed */

/* Room for that many events, 1..2^31. Memory is reserved but not touched. NULL without memory. */
struct events *events_create(uint32_t room);
void events_destroy(struct events **events);

/*
 * From now on several threads use the pool, of each list one at a time. A short lock is around taking an event and
 * giving it back; the rest of a list is its holder's own.
 */
void events_share(struct events *events);

/* Own spends at so many different moments can be listed; unless other threads list theirs first. */
bool events_have_room(const struct events *events, uint32_t count);

/* Lists an own spend of now (later than any other one, or as the newest). False: no room. */
bool events_append(struct events *events, struct event_list *list, uint32_t tokens, uint64_t now_ns);
/* Takes the newest own tokens out, which were appended by mistake. How many. */
uint64_t events_take_back(struct events *events, struct event_list *list, uint64_t tokens);
/* Lists a spend in its place; how many tokens were listed: fewer only when the pool is used up, or of nonsense. */
uint64_t events_insert(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns);

/*
 * Each takes tokens out and says how many: those of events up to a moment; the oldest so many; all. Of an event that
 * stays, what others spent goes first.
 */
uint64_t events_expire(struct events *events, struct event_list *list, uint64_t until_ns);
uint64_t events_remove_oldest(struct events *events, struct event_list *list, uint64_t tokens);
uint64_t events_clear(struct events *events, struct event_list *list);

/* ---- whose they are ---- */

/* The oldest event with own tokens: when it was; UINT64_MAX: there is none. */
uint64_t events_oldest_own_ns(const struct events *events, const struct event_list *list);
/* Takes out own tokens, the oldest first. How many. */
uint64_t events_remove_own(struct events *events, struct event_list *list, uint64_t tokens);
/* Takes out what others spent at `since_ns` or later, the oldest first. How many. */
uint64_t events_remove_others(struct events *events, struct event_list *list, uint64_t tokens, uint64_t since_ns);
/*
 * The newest event has so many own tokens, which a reservation holds from now on, until `ends_ns`. When the event was:
 * the functions below know what is held by that.
 */
uint64_t events_hold(struct events *events, struct event_list *list, uint64_t tokens, uint64_t ends_ns);
/* How many of `tokens` that were held at that moment are listed still. */
uint64_t events_held(const struct events *events, const struct event_list *list, uint64_t tokens, uint64_t at_ns);
/* Takes out tokens that were held at that moment; or makes own tokens of them. How many. */
uint64_t events_release(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns);
uint64_t events_unhold(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns);
/* When what is held of the event is over, if nobody renews it: no later than at_ns + period_ns. */
uint64_t events_held_end_ns(const struct log_event *event, uint64_t period_ns);
/* No event of any list is held: nobody need look. */
bool events_hold_nothing(const struct events *events);

/* The oldest tokens, at most so many, count as spent now, by whom they were spent. How many are listed so. */
uint64_t events_renew(struct events *events, struct event_list *list, uint64_t tokens, uint64_t now_ns,
                      uint64_t *renewed);

/* Every event's tokens times numerator / denominator; the sum is rounded up, at its newest end. How many there are. */
uint64_t events_scale(struct events *events, struct event_list *list, uint64_t numerator, uint64_t denominator);

/* The event of an index that is not 0; valid until the list changes. */
const struct log_event *events_at(const struct events *events, uint32_t index);

void events_stats(const struct events *events, struct events_stats *stats);

/* Asserts that the list is sound; the sum of its tokens, and how many events it has. */
uint64_t events_check(const struct events *events, const struct event_list *list, uint64_t *count);

#endif
