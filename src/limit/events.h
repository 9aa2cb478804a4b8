/*
 * events: lists of spends by time, in a pool of memory fixed at creation.
 *
 * The one idea: each LOG bucket has the two ends of a list, oldest first; the pool has the events. An event is a
 * number of tokens at a moment; all spends of one moment are one event. A part of the pool is kept for spends of
 * other peers, which cannot be refused. When even that part is used up, such a spend is merged into the neighbour
 * that ends later, and counted. Each event says how many of its tokens this peer spent itself, since only the peer
 * that spent a token gives it back. Reservations hold some of these, and only the reservation gives them back.
 * Sums, periods and `settled` are the bucket's. No clock, no allocation after creation.
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
    uint32_t tokens;  /* > 0: of all peers */
    uint32_t own;     /* of `tokens`: spent here and held by no reservation */
    uint32_t held;    /* of `tokens`: spent here and held by reservations; own + held <= tokens */
    uint32_t held_ms; /* from at_ns to the end of the last of those reservations, rounded up; 0: held == 0 */
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

enum { EVENTS_TOKENS_MAX = 1 << 30 }; /* of one event; tokens beyond are not listed */

/* A pool of `room` events, 1..2^31. Memory is reserved but not touched. NULL without memory. */
struct events *events_create(uint32_t room);
void events_destroy(struct events **events);

/*
 * From now on several threads use the pool; at most one thread uses a list at a time. A short lock covers taking an
 * event from the pool and giving it back; everything else in a list belongs to the thread that uses the list.
 */
void events_share(struct events *events);

/* True: an own spend can be listed, unless other threads list theirs first. */
bool events_have_room(const struct events *events);

/* Lists an own spend of now: the newest one, but for what counts from later on. False: no room. */
bool events_append(struct events *events, struct event_list *list, uint32_t tokens, uint64_t now_ns);
/* Takes the newest own tokens out, which were appended by mistake. Returns how many. */
uint64_t events_take_back(struct events *events, struct event_list *list, uint64_t tokens);
/*
 * Lists a spend of others at its place in time. Returns the tokens listed: fewer only when the pool is used up or
 * `tokens` is out of range. When the pool is used up, tokens of others may count for longer than they should. Own
 * tokens keep their time, or cannot be given back any more.
 */
uint64_t events_insert(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns);

/*
 * Each takes tokens out and returns how many: those of all events up to `until_ns`; the oldest `tokens`; all. Of an
 * event of which a part stays, the tokens of others go first.
 */
uint64_t events_expire(struct events *events, struct event_list *list, uint64_t until_ns);
uint64_t events_remove_oldest(struct events *events, struct event_list *list, uint64_t tokens);
uint64_t events_clear(struct events *events, struct event_list *list);

/* ---- own, held, and others' tokens ---- */

/* The time of the oldest event with own tokens; UINT64_MAX: there is none. */
uint64_t events_oldest_own_ns(const struct events *events, const struct event_list *list);
/* Takes out own tokens, the oldest first. Returns how many. */
uint64_t events_remove_own(struct events *events, struct event_list *list, uint64_t tokens);
/* How many listed tokens others spent. */
uint64_t events_others(const struct events *events, const struct event_list *list);
/* Takes out tokens that others spent at `since_ns` or later, the oldest first. Returns how many. */
uint64_t events_remove_others(struct events *events, struct event_list *list, uint64_t tokens, uint64_t since_ns);
/*
 * A reservation holds `tokens` own tokens of the newest event that has as many, until `ends_ns`. Returns the time of
 * the event: the functions below find the held tokens by it.
 */
uint64_t events_hold(struct events *events, struct event_list *list, uint64_t tokens, uint64_t ends_ns);
/* The same of the event at `at_ns`, which has as many. */
void events_hold_at(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns,
                    uint64_t ends_ns);
/* How many of `tokens` that were held at `at_ns` are still listed. */
uint64_t events_held(const struct events *events, const struct event_list *list, uint64_t tokens, uint64_t at_ns);
/* Takes out tokens that were held at `at_ns` (release), or makes them own tokens (unhold). Returns how many. */
uint64_t events_release(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns);
uint64_t events_unhold(struct events *events, struct event_list *list, uint64_t tokens, uint64_t at_ns);
/* When the last reservation of the event ends, unless it is renewed: at most at_ns + period_ns. */
uint64_t events_held_end_ns(const struct log_event *event, uint64_t period_ns);
/* True: no event of any list is held. */
bool events_hold_nothing(const struct events *events);

/* ---- lists as a few parts, for other peers ---- */

/* Tokens that count as spent at that moment: that of the newest of them. */
struct events_part {
    uint64_t at_ns, tokens;
};

/*
 * The list in at most `room` parts, 1 or more, newest first. No part is longer than a `room`th of the list's time.
 * Returns how many there are.
 */
uint32_t events_parts(const struct events *events, const struct event_list *list, uint32_t room,
                      struct events_part *parts);

/* What another peer says of a list. */
struct events_told {
    const struct events_part *parts; /* newest first; of them all, own tokens are not told from others' */
    uint32_t count;
    uint64_t kept_own, kept_others; /* the newest tokens here of each kind that the other peer lacks */
    uint64_t others_most;           /* tokens of others that may be listed, without those kept */
};

/*
 * Lists the tokens of others anew, except the kept ones. Of each moment, as many are listed since then as here before,
 * and as many as the parts have and own tokens do not make up for, but `others_most` at most: the newest ones stay.
 * Own and held tokens stay at their time: a return tells it. Returns by how many tokens the list has grown: fewer than
 * none where the pool is used up.
 */
int64_t events_list_others(struct events *events, struct event_list *list, const struct events_told *told);

/*
 * Multiplies every event's tokens by numerator / denominator; the sum is rounded up, at its newest end. Returns the
 * sum.
 */
uint64_t events_scale(struct events *events, struct event_list *list, uint64_t numerator, uint64_t denominator);

/* The event with that index, which must not be 0; valid until the list changes. */
const struct log_event *events_at(const struct events *events, uint32_t index);

/*
 * How many events the calling thread has looked at in walks along lists, since it began: whoever shares out work
 * compares two answers. A walk outside the functions of this header adds its own.
 */
uint64_t events_looked(void);
void events_add_looked(uint32_t count);
/* Once events_looked() has reached `from`, this thread begins no walk that only tells a time. At first: UINT64_MAX. */
void events_spare_from(uint64_t from);
bool events_are_spared(void);

void events_stats(const struct events *events, struct events_stats *stats);

/* Asserts that the list is sound. Returns the sum of its tokens; *count becomes its number of events. */
uint64_t events_check(const struct events *events, const struct event_list *list, uint64_t *count);

#endif
