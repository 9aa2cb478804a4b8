/*
 * end_times: which of a fixed number of slots ends first.
 *
 * The one idea: a heap of slots by the time when each ends, in which each slot knows its place. So a slot whose end
 * changes moves, and is not looked for. No clock, no allocation after creation. It knows nothing of what a slot is.
 */
#ifndef HEADGATE_LIMIT_END_TIMES_H
#define HEADGATE_LIMIT_END_TIMES_H

#include <stdbool.h>
#include <stdint.h>

struct end_times;

/* Room for slots 0..room - 1, none of which has an end; NULL without memory. */
struct end_times *end_times_create(uint32_t room);
void end_times_destroy(struct end_times **times);

/* The slot, which may have an end already, ends at that time. */
void end_times_set(struct end_times *times, uint32_t slot, uint64_t ends_ns);
/* The slot, which has an end, has none any more. */
void end_times_remove(struct end_times *times, uint32_t slot);

/* True: the slot has an end. */
bool end_times_has(const struct end_times *times, uint32_t slot);
/* The end of a slot that has one. */
uint64_t end_times_of(const struct end_times *times, uint32_t slot);
/* How many slots have an end. */
uint32_t end_times_count(const struct end_times *times);
/* The slots that have an end, by number from 0 to end_times_count() - 1, in no order. */
uint32_t end_times_slot(const struct end_times *times, uint32_t number);
/* The slot that ends first; false: no slot has an end. */
bool end_times_first(const struct end_times *times, uint32_t *slot);

/* Asserts every invariant: for tests and the simulator. */
void end_times_check(const struct end_times *times);

#endif
