/*
 * Connections whose answers come later: written with others', put off (where clients crowd), or waited for.
 */
#include "tests/lib/listener_scene.h"

#include <sys/ioctl.h>

static void test_late(void)
{
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.crowd_count = 0;
    open_listener(&options);
    int fd[3];
    dial_light(fd, 3);
    const int first = fd[0], second = fd[1], third = fd[2];
    scene_say(first, "late\n", 5);
    TURN_UNTIL(seen.served == 1);
    scene_say(second, "late\n", 5);
    TURN_UNTIL(seen.served == 2);
    OK(seen.answered == 0 && listener.stats.total_writes == 0, "what is put off is not answered yet");
    listener_answer(&listener);
    OK(hears(first, "at last\n") && hears(second, "at last\n"), "then it is");
    OK(seen.answered == 2 && seen.order[0] == 1 && seen.order[1] == 2, "in the order in which it came");
    listener_answer(&listener);
    OK_U64(seen.answered, 2, "and once");

    scene_say(first, "late\n", 5);
    TURN_UNTIL(seen.served == 3);
    scene_say(first, "more\n", 5);
    OK(hears(first, "at last\nmore\n"), "whoever asks for more is answered first");
    scene_say(third, "late\n", 5);
    TURN_UNTIL(seen.served == 5);
    (void)close(third);
    scene_say(second, "late\n", 5);
    TURN_UNTIL(seen.served == 6);
    TURN_UNTIL(listener.stats.connected_clients == 2);
    listener_answer(&listener);
    OK(hears(second, "at last\n") && seen.answered == 5, "one that has gone is no harm to those behind it");
    int many[LISTENER_LATE_MAX];
    dial_light(many, LISTENER_LATE_MAX);
    seen.answered = 0;
    for (uint32_t i = 0; i < LISTENER_LATE_MAX; i++) {
        OK_U64(seen.answered, 0, "fewer than %d wait to be asked for", LISTENER_LATE_MAX);
        scene_say(many[i], "late\n", 5);
        TURN_UNTIL(seen.served == 1 + i);
    }
    OK_U64(seen.answered, LISTENER_LATE_MAX, "so many do not");
    for (size_t i = 0; i < LISTENER_LATE_MAX; i++)
        (void)close(many[i]);
    TURN_UNTIL(listener.stats.connected_clients == 2);
    seen.answered = 0;

    scene_say(second, "late\n", 5);
    TURN_UNTIL(seen.served == 1 + LISTENER_LATE_MAX);
    listener_close(&listener, on_all_closed, NULL);
    OK(hears(second, "at last\n") && hears_end(second), "before the end everybody is answered");
    (void)close(first);
    (void)close(second);
    TURN_UNTIL(all_closed);
    OK(all_closed && uv_loop_close(&scene_loop) == 0, "everything closes");
}

/* Turns the loop so often that whatever could be heard would have been. */
static bool is_quiet(int fd)
{
    char byte;
    for (int turn = 0; turn < 50; turn++) {
        (void)uv_run(&scene_loop, UV_RUN_NOWAIT);
        listener_resume(&listener);
    }
    return recv(fd, &byte, 1, 0) < 0 && errno == EAGAIN;
}

static void test_waiting(void)
{
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.close_timeout_ms = 1000; /* in which the one is answered, and the other is not */
    open_listener(&options);
    int fd = dial(), other = dial();
    TURN_UNTIL(listener.stats.connected_clients == 2);
    scene_say(fd, "one\nwait\ntwo\nthr", 16);
    OK(hears(fd, "one\n"), "what came before is answered");
    OK(listener_waits(&listener) && is_quiet(fd), "what comes behind waits as well");
    uint64_t reads = listener.stats.total_reads;
    scene_say(fd, "ee\n", 3);
    OK(is_quiet(fd) && listener.stats.total_reads == reads, "and is not read");
    scene_say(other, "hello\n", 6);
    OK(hears(other, "hello\n"), "others are served");
    seen.known = true;
    listener_resume(&listener);
    OK(hears(fd, "known\ntwo\nthree\n"), "all is answered in its order");
    OK(!listener_waits(&listener) && listener.stats.buffer_bytes == 0, "and nothing waits");

    seen.known = false;
    struct connection *connection = LIST_OWNER(listener.connections.next, struct connection, link);
    int small = 4096;
    (void)uv_send_buffer_size((uv_handle_t *)&connection->stream.tcp, &small);
    scene_say(fd, "big 60000\nwait\nlast\n", 20);
    TURN_UNTIL(listener.stats.blocked_clients == 1);
    OK(listener_waits(&listener), "one that waits may owe what came before");
    bool ended;
    OK(hear(fd, 60000, &ended) == 60000, "a reader who takes his time gets what he is owed");
    OK(listener_waits(&listener) && is_quiet(fd), "and no more than that");
    seen.known = true;
    listener_resume(&listener);
    OK(hears(fd, "known\nlast\n"), "before he gets the rest");

    seen.known = false;
    scene_say(fd, "wait\n", 5);
    TURN_UNTIL(listener_waits(&listener));
    (void)close(fd);
    scene_say(other, "wait\n", 5);
    int third = dial();
    TURN_UNTIL(listener.stats.connected_clients == 3);
    scene_say(third, "x\n", 2);
    OK(hears(third, "x\n"), "one who goes meanwhile is no harm");
    seen.known = true;
    listener_resume(&listener);
    TURN_UNTIL(listener.stats.connected_clients == 2);
    OK(hears(other, "known\n") && listener.stats.connected_clients == 2, "and is noticed then");

    seen.known = false;
    scene_say(other, "wait\nmore\n", 10);
    scene_say(third, "wait\n", 5);
    TURN_UNTIL(listener.waiters.next != &listener.waiters && listener.waiters.next->next != &listener.waiters);
    listener_close(&listener, on_all_closed, NULL);
    OK(is_quiet(other), "at the end, whoever waits is waited for");
    seen.unknown = 3; /* the third connection's */
    seen.known = true;
    listener_resume(&listener);
    OK(hears(other, "known\n") && hears_end(other), "and answered");
    OK(hears_end(third), "but not for ever");
    (void)close(other);
    (void)close(third);
    TURN_UNTIL(all_closed);
    OK(all_closed && uv_loop_close(&scene_loop) == 0, "everything closes");
}

/* Without a turn of the loop. */
static void send_all(int fd, const char *text, size_t size)
{
    ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);
    assert(sent == (ssize_t)size);
}

/* Until so many connections have all that was sent to them, which the kernel need not deliver at once. */
static void await_input(size_t connections, size_t bytes)
{
    uint64_t end_ms = uv_hrtime() / 1000000 + DEADLINE_MS;
    size_t ready = 0;
    while (ready < connections && uv_hrtime() / 1000000 < end_ms) {
        ready = 0;
        for (struct list *at = listener.connections.next; at != &listener.connections; at = at->next) {
            int fd = -1, there = 0;
            (void)uv_fileno((uv_handle_t *)&LIST_OWNER(at, struct connection, link)->stream.tcp, &fd);
            ready += ioctl(fd, FIONREAD, &there) == 0 && (size_t)there >= bytes;
        }
    }
    assert(ready == connections);
}

static void test_written_together(void)
{
    enum { MANY = 5 };
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.crowd_count = 0;
    open_listener(&options);
    int fd[MANY];
    dial_light(fd, MANY);
    for (size_t i = 0; i < MANY; i++)
        send_all(fd[i], i == 3 ? "late\n" : "one\n", i == 3 ? 5 : 4);
    await_input(MANY, 4);
    TURN_UNTIL(seen.served == MANY);
    OK(seen.writes == 0 && listener.stats.total_writes == MANY - 1, "all are served before one is answered");
    bool heard = true;
    for (size_t i = 0; i < MANY; i++)
        heard &= i == 3 || hears(fd[i], "one\n");
    OK(heard, "each hears its own answer");
    listener_answer(&listener);
    OK(hears(fd[3], "at last\n"), "and whoever was put off, his");

    uint64_t before = listener.stats.total_writes;
    for (size_t i = 0; i < MANY; i++) /* three have room, the last one never would */
        send_all(fd[i], i == MANY - 1 ? "big 20000\n" : "big 5000\n", i == MANY - 1 ? 10 : 9);
    await_input(MANY, 9);
    TURN_UNTIL(listener.stats.total_writes == before + MANY);
    OK_U64(seen.writes, before + 3, "where there is no more room, those before are written");
    bool ended;
    for (size_t i = 0; i < MANY; i++)
        heard &= hear(fd[i], i == MANY - 1 ? 20000 : 5000, &ended) == (i == MANY - 1 ? 20000 : 5000);
    OK(heard && listener.stats.buffer_bytes == 0, "and all are answered");

    before = listener.stats.total_writes;
    send_all(fd[0], "two\n", 4);
    send_all(fd[1], "alone\n", 6);
    await_input(2, 4);
    OK(hears(fd[0], "two\n") && hears(fd[1], "alone\n"), "while others are served as well");
    OK_U64(seen.writes, before + 1, "all can be written");

    const struct linger reset = {.l_onoff = 1};
    send_all(fd[0], "two\n", 4);
    send_all(fd[1], "two\n", 4);
    (void)setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    (void)close(fd[0]);
    OK(hears(fd[1], "two\n"), "one that has gone is no harm to those behind it");
    TURN_UNTIL(listener.stats.connected_clients == MANY - 1);
    for (size_t i = 1; i < MANY; i++)
        (void)close(fd[i]);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    close_listener();
}

/* Has the loop hear so many, who ask for what is put off, in one turn. */
static void ask_late(const int *fd, uint32_t count)
{
    const uint32_t before = seen.served;
    for (uint32_t i = 0; i < count; i++)
        send_all(fd[i], "late\n", 5);
    await_input(count, 5);
    (void)uv_run(&scene_loop, UV_RUN_NOWAIT);
    OK_U64(seen.served, before + count, "a turn serves %u", count);
}

static void test_crowd(void)
{
    enum { MANY = 6 };
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.crowd_count = MANY;
    open_listener(&options);
    int fd[MANY];
    dial_light(fd, MANY);

    ask_late(fd, MANY);
    OK(seen.answered == MANY && seen.writes == MANY - 1, "after a quiet turn each is answered before the next one");
    ask_late(fd, 2);
    OK(seen.answered == MANY && listener.stats.total_writes == MANY, "after a crowd, answers wait");
    listener_answer(&listener);
    OK_U64(listener.stats.total_writes, MANY + 2, "until they are asked for");
    ask_late(fd, MANY - 1);
    OK_U64(listener.stats.total_writes, 2 * MANY + 1, "after two, they do not");
    ask_late(fd, 1);
    OK_U64(listener.stats.total_writes, 2 * MANY + 2, "nor where one too few was heard");

    static const char four[] = "at last\nat last\nat last\nat last\n";
    const size_t asked[MANY] = {4, 3, 2, 2, 2, 1};
    bool heard = true, ended;
    for (size_t i = 0; i < MANY; i++) {
        ssize_t bytes = (ssize_t)(asked[i] * (sizeof four - 1) / 4);
        heard &= hear(fd[i], (size_t)bytes, &ended) == bytes && memcmp(received, four, (size_t)bytes) == 0;
        (void)close(fd[i]);
    }
    OK(heard, "and all hear what they asked for");
    TURN_UNTIL(listener.stats.connected_clients == 0);
    close_listener();
}

/* A client with room for `lines` twice, which fill the shared input and begin with `line` each. */
static int dial_with_lines(char lines[POOL_LARGE_BYTES], const char *line)
{
    enum { LINE_BYTES = POOL_LARGE_BYTES / 8 };
    int large = 4 * POOL_LARGE_BYTES, small = 4096;
    int fd = dial();
    TURN_UNTIL(listener.stats.connected_clients == 1);
    struct connection *connection = LIST_OWNER(listener.connections.next, struct connection, link);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof large);
    (void)uv_recv_buffer_size((uv_handle_t *)&connection->stream.tcp, &large);
    (void)uv_send_buffer_size((uv_handle_t *)&connection->stream.tcp, &small);
    memset(lines, ' ', POOL_LARGE_BYTES);
    for (size_t end = LINE_BYTES; end <= POOL_LARGE_BYTES; end += LINE_BYTES) {
        memcpy(lines + end - LINE_BYTES, line, strlen(line));
        lines[end - 1] = '\n';
    }
    return fd;
}

/* A read that fills all of the shared input is followed by another in the same turn. */
static void test_read_twice(void)
{
    static char lines[POOL_LARGE_BYTES];
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    bool ended;
    open_listener(&options);
    int fd = dial_with_lines(lines, "big 2 ");
    send_all(fd, lines, sizeof lines);
    await_input(1, sizeof lines);
    (void)shutdown(fd, SHUT_WR);
    OK(hear(fd, 17, &ended) == 16 && ended, "who says no more is answered before he is let go");
    (void)close(fd);
    TURN_UNTIL(listener.stats.connected_clients == 0);

    fd = dial_with_lines(lines, "big 2000 ");
    send_all(fd, lines, sizeof lines);
    send_all(fd, lines, sizeof lines);
    await_input(1, 2 * sizeof lines);
    TURN_UNTIL(listener.stats.blocked_clients == 1);
    OK_U64(listener.stats.blocked_clients, 1, "one that does not take its answers");
    OK(hear(fd, 32000, &ended) == 32000, "loses nothing of what it asked besides");
    (void)close(fd);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    close_listener();
}

int main(void)
{
    received = malloc(RECEIVED_MAX + 1);
    assert(received != NULL);
    test_written_together();
    test_read_twice();
    test_late();
    test_crowd();
    test_waiting();
    free(received);
    return tap_done();
}
