/*
 * events: lists of spends by time, in a pool of memory fixed at creation.
 *
 * The one idea: each LOG bucket has the ends of a list, oldest first; the pool has the rest. An event is a number of
 * tokens at a moment; what was spent at one moment is one event. A part of the pool is kept for spends that were
 * made elsewhere: they cannot be refused. When even that is used up, such a spend is merged into the neighbour that
 * ends later, and counted. Sums, periods and what is settled are the bucket's. No clock, no allocation later.
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
    uint32_t tokens; /* > 0 */
    uint32_t newer, older;
};

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
/* Lists a spend in its place; how many tokens were listed: fewer only when the pool is used up, or of nonsense. */
uint64_t events_insert(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns);

/* Each takes tokens out and says how many: those of events up to a moment; the oldest or newest so many; all. */
uint64_t events_expire(struct events *events, struct event_list *list, uint64_t until_ns);
uint64_t events_remove_oldest(struct events *events, struct event_list *list, uint64_t tokens);
uint64_t events_remove_newest(struct events *events, struct event_list *list, uint64_t tokens);
uint64_t events_clear(struct events *events, struct event_list *list);

/* Every event's tokens times numerator / denominator; the sum is rounded up, at its newest end. How many there are. */
uint64_t events_scale(struct events *events, struct event_list *list, uint64_t numerator, uint64_t denominator);

/* The event of an index that is not 0; valid until the list changes. */
const struct log_event *events_at(const struct events *events, uint32_t index);

void events_stats(const struct events *events, struct events_stats *stats);

/* Asserts that the list is sound; the sum of its tokens, and how many events it has. */
uint64_t events_check(const struct events *events, const struct event_list *list, uint64_t *count);

#endif
