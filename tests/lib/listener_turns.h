/*
 * listener_turns: a listener whose turns have little work, clients that ask for much work, and a
 * record of who was served when.
 *
 * The one idea: everything is counted in work and in turns of the loop, never in time.
 */
#ifndef HEADGATE_TESTS_LIB_LISTENER_TURNS_H
#define HEADGATE_TESTS_LIB_LISTENER_TURNS_H

#include "tests/lib/listener_scene.h"

enum { WORK = 100, LIGHT = 50 }; /* work of a turn, and of a light turn */

void turns_open_with(uint32_t clients, int *fd);

void close_all(uint32_t clients, const int *fd);

/* Sends `count` times `line` in one piece, without a turn of the loop. */
void put(int fd, const char *line, size_t count);

/*
 * The most work that was done in one turn after turn `after`, for the client `id`; 0: for any
 * client.
 */
uint64_t most_work(uint64_t id, uint64_t after);

/* The first turn in which that client was served, from call `from` on. */
uint64_t turn_of(uint64_t id, uint32_t from);

bool is_idle(void);

#endif
