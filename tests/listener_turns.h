/*
 * listener_turns: a listener whose turns have little work, clients that ask for much of it, and who was served when.
 *
 * All is counted in work and in turns of the loop, never in time.
 */
#ifndef HEADGATE_TESTS_LISTENER_TURNS_H
#define HEADGATE_TESTS_LISTENER_TURNS_H

#include "tests/listener_scene.h"

enum { WORK = 100, LIGHT = 50 }; /* of a turn, and of one that is light */

__attribute__((unused)) static void open_with(uint32_t clients, int *fd)
{
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.turn_work = WORK;
    options.light_work = LIGHT;
    options.visit_work = 1;
    open_listener(&options);
    for (uint32_t i = 0; i < clients; i++)
        fd[i] = dial();
    TURN_UNTIL(listener.stats.connected_clients == clients);
}

__attribute__((unused)) static void close_all(uint32_t clients, const int *fd)
{
    for (uint32_t i = 0; i < clients; i++)
        (void)close(fd[i]);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    OK_U64(listener.stats.buffer_bytes, 0, "no buffer is held any more");
    close_listener();
}

/* So many such lines, in one piece and without a turn of the loop. */
__attribute__((unused)) static void put(int fd, const char *line, size_t count)
{
    static char text[8192];
    const size_t size = strlen(line);
    assert(size * count <= sizeof text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * size, line, size);
    ssize_t sent = send(fd, text, size * count, MSG_NOSIGNAL);
    assert(sent == (ssize_t)(size * count));
}

/* Of all calls in turns after `after`: the most work that was done in one turn, for one client (0: for any). */
__attribute__((unused)) static uint64_t most_work(uint64_t id, uint64_t after)
{
    uint64_t most = 0;
    assert(seen.served < ORDER_MAX);
    for (uint32_t i = 0; i < seen.served; i++) {
        uint64_t work = 0;
        for (uint32_t j = i; j < seen.served && seen.turn_of[j] == seen.turn_of[i]; j++)
            work += id == 0 || seen.id_of[j] == id ? seen.work_of[j] : 0;
        most = work > most && seen.turn_of[i] > after ? work : most;
    }
    return most;
}

/* The first turn in which that client was served from call `from` on. */
__attribute__((unused)) static uint64_t turn_of(uint64_t id, uint32_t from)
{
    for (uint32_t i = from; i < seen.served; i++)
        if (seen.id_of[i] == id)
            return seen.turn_of[i];
    return 0;
}

__attribute__((unused)) static bool is_idle(void)
{
    for (unsigned weight = 0; weight < LISTENER_WEIGHTS; weight++)
        if (!list_empty(&listener.aside[weight]))
            return false;
    return !uv_is_active((const uv_handle_t *)&listener.busy);
}

#endif
