/*
 * listener_turns: a listener whose turns have little work, clients that ask for much of it, and who was served when.
 *
 * All is counted in work and in turns of the loop, never in time.
 */
#ifndef HEADGATE_TESTS_LIB_LISTENER_TURNS_H
#define HEADGATE_TESTS_LIB_LISTENER_TURNS_H

#include "tests/lib/listener_scene.h"

enum { WORK = 100, LIGHT = 50 }; /* of a turn, and of one that is light */

void turns_open_with(uint32_t clients, int *fd);

void close_all(uint32_t clients, const int *fd);

/* So many such lines, in one piece and without a turn of the loop. */
void put(int fd, const char *line, size_t count);

/* Of all calls in turns after `after`: the most work that was done in one turn, for one client (0: for any). */
uint64_t most_work(uint64_t id, uint64_t after);

/* The first turn in which that client was served from call `from` on. */
uint64_t turn_of(uint64_t id, uint32_t from);

bool is_idle(void);

#endif
