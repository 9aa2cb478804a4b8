/*
 * Silence: half requests, clients that do not say who they are, and clients that say nothing, have deadlines; where
 * there are as many connections as there may be, the longest silent one makes room.
 */
#include "tests/lib/listener_scene.h"

enum { LONG_MS = 3600000, NEWCOMER_MS = 1000000, QUIET_MS = 2000000 };

static struct listener_options options;

static struct connection *connection_of(uint64_t id)
{
    for (struct list *at = listener.connections.next; at != &listener.connections; at = at->next) {
        struct connection *connection = LIST_OWNER(at, struct connection, link);
        const struct visit *visit = (const void *)connection->session;
        if (visit->id == id)
            return connection;
    }
    abort();
}

/* As if it had been heard, or accepted, so much earlier; its deadline comes so much sooner. */
static void age(uint64_t id, uint64_t ms)
{
    struct connection *connection = connection_of(id);
    connection->heard_ms -= ms;
    connection->deadline_ms -= ms;
}

static int dial_next(void)
{
    const uint64_t before = listener.stats.connected_clients;
    int fd = dial();
    TURN_UNTIL(listener.stats.connected_clients == before + 1);
    return fd;
}

static void test_half_requests(void)
{
    options = LISTENER_OPTIONS_DEFAULT;
    options.request_timeout_ms = LONG_MS;
    open_listener(&options);
    int fd = dial_next(), other = dial_next();
    scene_say(fd, "hal", 3);
    TURN_UNTIL(listener.stats.buffer_bytes > 0);
    age(1, LONG_MS - 60000);
    scene_say(fd, "f", 1);
    TURN_UNTIL(listener.stats.total_net_input_bytes == 4);
    age(1, 60000);
    TURN_UNTIL(listener.stats.closed_unfinished == 1);
    OK_U64(listener.stats.closed_unfinished, 1, "a request that does not become whole ends its connection");
    OK(hears(fd, "-ERR the request is not whole after clients.request_timeout\r\n") && hears_end(fd),
       "which is told so");
    scene_say(other, "one\nhal", 7);
    OK(hears(other, "one\n"), "a request");
    age(2, LONG_MS - 60000);
    scene_say(other, "f\nnext", 6);
    OK(hears(other, "half\n"), "each has its own time");
    age(2, 60000);
    scene_say(other, "\n", 1);
    OK(hears(other, "next\n") && list_empty(&listener.begun), "and none where nothing is begun");
    (void)close(fd);
    (void)close(other);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    close_listener();
}

static void test_strangers(void)
{
    options = LISTENER_OPTIONS_DEFAULT;
    options.stranger_timeout_ms = LONG_MS;
    open_listener(&options);
    seen.asks_who = true;
    int fd = dial_next(), other = dial_next();
    scene_say(other, "who\n", 4);
    OK(hears(other, "who\n"), "one says who it is");
    scene_say(fd, "me\n", 3);
    OK(hears(fd, "me\n"), "one something else");
    age(2, LONG_MS);
    age(1, LONG_MS - 60000);
    scene_say(fd, "me\n", 3);
    OK(hears(fd, "me\n"), "as often as it likes");
    age(1, 60000);
    TURN_UNTIL(listener.stats.closed_strangers == 1);
    OK(hears(fd, "-NOAUTH no password came within clients.auth_timeout\r\n") && hears_end(fd), "it is closed");
    OK(listener.stats.closed_strangers == 1 && listener.stats.connected_clients == 1, "and the other one is not");
    (void)close(fd);
    (void)close(other);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    close_listener();
}

static void test_idle(void)
{
    options = LISTENER_OPTIONS_DEFAULT;
    options.idle_timeout_ms = LONG_MS;
    open_listener(&options);
    int fd = dial_next(), other = dial_next(), third = dial_next();
    scene_say(fd, "a\n", 2);
    scene_say(other, "b\n", 2);
    OK(hears(fd, "a\n") && hears(other, "b\n"), "two that ask, and one that never does");
    age(1, LONG_MS - 60000);
    age(2, LONG_MS - 60000);
    age(3, LONG_MS + LISTENER_HEARD_STEP_MS);
    scene_say(other, "b\n", 2);
    OK(hears(other, "b\n"), "one asks again");
    OK(hears_end(third), "silence from the start ends");
    scene_say(fd, "wait\n", 5);
    TURN_UNTIL(listener_waits(&listener));
    age(1, 60000 + LONG_MS + LISTENER_HEARD_STEP_MS);
    age(2, 60000);
    for (int i = 0; i < 150; i++) {
        (void)uv_run(&scene_loop, UV_RUN_NOWAIT);
        (void)poll(NULL, 0, 2);
    }
    OK_U64(listener.stats.closed_idle, 1, "one that waits for its answer is not silent, nor one that was heard");
    seen.known = true;
    listener_resume(&listener);
    OK(hears(fd, "known\n"), "it is answered");
    (void)close(other);
    TURN_UNTIL(listener.stats.connected_clients == 1);
    age(1, LONG_MS + LISTENER_HEARD_STEP_MS);
    OK(hears_end(fd), "when it is silent for long it is closed");
    OK_U64(listener.stats.closed_idle, 2, "and counted");
    (void)close(fd);
    (void)close(third);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    close_listener();
}

static void test_room(void)
{
    options = LISTENER_OPTIONS_DEFAULT;
    options.connections_max = 4;
    options.newcomer_ms = NEWCOMER_MS;
    options.quiet_ms = QUIET_MS;
    open_listener(&options);
    int fd[4];
    for (uint32_t i = 0; i < 4; i++)
        fd[i] = dial_next();
    for (uint32_t i = 0; i < 2; i++) {
        scene_say(fd[i], "hi\n", 3);
        OK(hears(fd[i], "hi\n"), "two of four say something");
    }
    int more = dial();
    OK(hears(more, "-ERR max number of clients reached\r\n") && hears_end(more),
       "while all are new, one more is refused");
    (void)close(more);
    age(1, QUIET_MS + 5000);
    age(2, QUIET_MS - 5000);
    connection_of(3)->heard_ms = connection_of(4)->heard_ms = uv_now(&scene_loop);
    more = dial();
    TURN_UNTIL(listener.stats.closed_for_room == 1);
    OK(listener.stats.closed_for_room == 1 && hears_end(fd[0]),
       "the longest silent one makes room where strangers are new");
    age(3, NEWCOMER_MS);
    int next = dial();
    TURN_UNTIL(listener.stats.closed_for_room == 2);
    OK(hears_end(fd[2]), "one that never said anything before those that did");
    scene_say(more, "in\n", 3);
    scene_say(next, "in\n", 3);
    OK(hears(more, "in\n") && hears(next, "in\n"), "who came is served");
    scene_say(fd[1], "still\n", 6);
    OK(hears(fd[1], "still\n"), "and who was heard is not closed");
    OK(listener.stats.rejected_connections == 1 && listener.stats.connected_clients == 4,
       "nobody else was refused");
    (void)close(more);
    (void)close(next);
    for (uint32_t i = 0; i < 4; i++)
        (void)close(fd[i]);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    close_listener();
}

/* One address has all the places, and says nothing; others come in, and stay while it comes again and again. */
static void test_crowd(void)
{
    enum { PLACES = 40, OTHERS = 3 };
    options = LISTENER_OPTIONS_DEFAULT;
    options.connections_max = PLACES;
    options.newcomer_ms = NEWCOMER_MS;
    open_listener(&options);
    const uint16_t port = listener_port(&listener, 0);
    int crowd[3 * PLACES], other[OTHERS];
    for (uint32_t i = 0; i < PLACES; i++)
        crowd[i] = dial_next();
    for (uint32_t i = 0; i < OTHERS; i++) {
        other[i] = dial_from(INADDR_LOOPBACK + 1, port);
        TURN_UNTIL(listener.stats.closed_crowds == i + 1);
        OK(hears_end(crowd[i]), "another address takes the place of the oldest, though that is new");
    }
    for (uint32_t i = PLACES; i < 3 * PLACES; i++) {
        crowd[i] = dial();
        TURN_UNTIL(listener.stats.closed_crowds == OTHERS + 1 + i - PLACES);
    }
    OK(listener.stats.closed_for_room == listener.stats.closed_crowds && listener.stats.rejected_connections == 0,
       "whoever crowds takes the places of its own");
    for (uint32_t i = 0; i < OTHERS; i++) {
        scene_say(other[i], "slow\n", 5);
        OK(hears(other[i], "slow\n"), "and those who are slow have theirs");
    }
    for (uint32_t i = 0; i < 3 * PLACES; i++)
        (void)close(crowd[i]);
    TURN_UNTIL(listener.stats.connected_clients == OTHERS);
    uint32_t strangers = 0;
    for (uint32_t i = 0; i < LISTENER_PLACES; i++)
        strangers += listener.place[i].count;
    OK_U64(strangers, 0, "who was served is no stranger");
    for (uint32_t i = 0; i < OTHERS; i++)
        (void)close(other[i]);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    close_listener();
}

static void test_delay(void)
{
    options = LISTENER_OPTIONS_DEFAULT;
    open_listener(&options);
    int fd = dial_next(), other = dial_next();
    seen.known = true;
    uint64_t begun_ms = uv_now(&scene_loop);
    scene_say(fd, "one\ndelay\ntwo\n", 14);
    OK(hears(fd, "one\n"), "what came before is answered");
    scene_say(other, "me\n", 3);
    OK(hears(other, "me\n"), "others are served");
    char byte;
    OK(recv(fd, &byte, 1, 0) < 0 && errno == EAGAIN, "while the answer waits");
    OK(hears(fd, "known\ntwo\n"), "then it comes, and what was asked behind it");
    OK(uv_now(&scene_loop) - begun_ms >= DELAY_MS, "not before its time");
    scene_say(fd, "delay\n", 6);
    TURN_UNTIL(!list_empty(&listener.delayed));
    (void)close(fd);
    scene_say(other, "delay\n", 6);
    OK(hears(other, "known\n"), "one that goes meanwhile is no harm");
    TURN_UNTIL(listener.stats.connected_clients == 1);
    OK_U64(listener.stats.connected_clients, 1, "and is noticed");
    scene_say(other, "delay\n", 6);
    TURN_UNTIL(!list_empty(&listener.delayed));
    listener_close(&listener, on_all_closed, NULL);
    OK(hears(other, "known\n") && hears_end(other), "before the end it is answered");
    (void)close(other);
    TURN_UNTIL(all_closed);
    OK(all_closed && uv_loop_close(&scene_loop) == 0, "everything closes");
}

int main(void)
{
    received = malloc(RECEIVED_MAX + 1);
    assert(received != NULL);
    test_half_requests();
    test_strangers();
    test_idle();
    test_room();
    test_crowd();
    test_delay();
    free(received);
    return tap_done();
}
