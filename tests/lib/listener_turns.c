#include "tests/lib/listener_turns.h"

void turns_open_with(uint32_t clients, int *fd)
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

void close_all(uint32_t clients, const int *fd)
{
    for (uint32_t i = 0; i < clients; i++)
        (void)close(fd[i]);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    OK_U64(listener.stats.buffer_bytes, 0, "no buffer is held any more");
    close_listener();
}

void put(int fd, const char *line, size_t count)
{
    static char text[8192];
    const size_t size = strlen(line);
    assert(size * count <= sizeof text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * size, line, size);
    ssize_t sent = send(fd, text, size * count, MSG_NOSIGNAL);
    assert(sent == (ssize_t)(size * count));
}

uint64_t most_work(uint64_t id, uint64_t after)
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

uint64_t turn_of(uint64_t id, uint32_t from)
{
    for (uint32_t i = from; i < seen.served; i++)
        if (seen.id_of[i] == id)
            return seen.turn_of[i];
    return 0;
}

bool is_idle(void)
{
    for (unsigned weight = 0; weight < LISTENER_WEIGHTS; weight++)
        if (!list_empty(&listener.aside[weight]))
            return false;
    return !uv_is_active((const uv_handle_t *)&listener.busy);
}
