/*
 * A connection that asks for much leaves the rest of it for further turns of the loop.
 */
#include "tests/lib/listener_turns.h"

static void test_one_flood(void)
{
    enum { LINES = 300 };
    int fd[2];
    turns_open_with(2, fd);
    put(fd[0], "work 40\n", LINES);
    TURN_UNTIL(seen.served >= 3);
    OK(listener.stats.turns_put_off >= 2 && seen.served < LINES / 3,
       "one that asks for much is not served at once");
    const uint32_t from = seen.served;
    const uint64_t now = listener.turn;
    put(fd[1], "me\n", 1);
    OK(hears(fd[1], "me\n"), "another one is");
    OK(turn_of(2, from) <= now + 2, "in the next turn: %" PRIu64, turn_of(2, from) - now);
    OK(seen.served < LINES / 3, "long before the first one's end");
    bool ended;
    OK(hear(fd[0], (size_t)LINES * 8, &ended) == LINES * 8, "who goes on hearing hears all");
    OK(most_work(1, 0) < WORK + 40, "never more of it in one turn than a turn's work and a command: %" PRIu64,
       most_work(1, 0));
    const uint32_t before = seen.served;
    put(fd[0], "a\n", 1);
    OK(hears(fd[0], "a\n") && seen.served == before + 1, "afterwards it is served as others are");
    OK(is_idle(), "and the loop may sleep");
    close_all(2, fd);
}

/* How often others of the first `floods` clients were served between two turns of one, after the turn `after`. */
static uint64_t most_others(uint64_t floods, uint64_t after)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < seen.served; i++) {
        uint64_t others = 0;
        uint32_t j = i + 1;
        while (j < seen.served && seen.id_of[j] != seen.id_of[i])
            others += seen.id_of[j++] <= floods;
        most =
            j < seen.served && seen.id_of[i] <= floods && seen.turn_of[i] > after && others > most ? others : most;
    }
    return most;
}

static void test_many_floods(void)
{
    enum { FLOODS = 20, LINES = 60 };
    int fd[FLOODS + 1];
    turns_open_with(FLOODS + 1, fd);
    for (uint32_t i = 0; i < FLOODS; i++)
        put(fd[i], "work 50\n", LINES);
    TURN_UNTIL(turn_of(FLOODS, 0) > 0 && listener.stats.turns_put_off > FLOODS);
    for (int i = 0; i < 10; i++) {
        const uint32_t from = seen.served;
        const uint64_t now = listener.turn;
        put(fd[FLOODS], "me\n", 1);
        OK(hears(fd[FLOODS], "me\n"), "among %d that ask for much, one that asks little is answered", FLOODS);
        OK(turn_of(FLOODS + 1, from) <= now + 2, "in the next turn");
    }
    bool ended, all = true;
    for (uint32_t i = 0; i < FLOODS; i++)
        all &= hear(fd[i], (size_t)LINES * 8, &ended) == LINES * 8;
    OK(all, "in the end all are answered");
    OK(most_work(0, 0) <= WORK + 50 + 1,
       "together they have one turn's work in a turn, the first one too: %" PRIu64, most_work(0, 0));
    OK(most_others(FLOODS, 0) < FLOODS, "and take turns: %" PRIu64 " others between two of one at most",
       most_others(FLOODS, 0));
    close_all(FLOODS + 1, fd);
}

/* A client that does not read makes no work once its socket is full. */
static void test_never_reads(void)
{
    int fd[2];
    turns_open_with(2, fd);
    struct connection *connection = LIST_OWNER(listener.connections.next, struct connection, link);
    int small = 4096;
    (void)uv_send_buffer_size((uv_handle_t *)&connection->stream.tcp, &small);
    put(fd[0], "big 30000\n", 500);
    TURN_UNTIL(listener.stats.blocked_clients == 1);
    const uint32_t served = seen.served;
    for (int i = 0; i < 100; i++)
        (void)uv_run(&scene_loop, UV_RUN_NOWAIT);
    OK(seen.served == served && is_idle(), "who does not read is not served");
    OK(!uv_is_active((uv_handle_t *)&listener.busy), "and the loop may sleep");
    OK(listener.stats.buffer_bytes <= 2 * POOL_LARGE_BYTES, "it holds two buffers at most");
    put(fd[1], "me\n", 1);
    OK(hears(fd[1], "me\n"), "others are served");
    bool ended;
    OK(hear(fd[0], 500 * 30000 > RECEIVED_MAX ? RECEIVED_MAX : 500 * 30000, &ended) > 0,
       "when it reads it is served again");
    close_all(2, fd);
}

/* Of much that came in one piece nothing is lost or twice, however small the turns are. */
static void test_order(void)
{
    static char expected[200000];
    size_t size = 0, heard = 0;
    int fd[1];
    turns_open_with(1, fd);
    struct connection *connection = LIST_OWNER(listener.connections.next, struct connection, link);
    for (int i = 0; size < sizeof expected - 64; i++)
        size +=
            (size_t)snprintf(expected + size, 64, "work %d of line %d%s\n", i % 7, i, i % 11 ? "" : " and more");
    scene_say(fd[0], expected, size);
    bool same = true, ended;
    while (heard < size && same) {
        ssize_t some = hear(fd[0], size - heard > 10000 ? 10000 : size - heard, &ended);
        same = some > 0 && memcmp(received, expected + heard, (size_t)some) == 0;
        heard += some > 0 ? (size_t)some : 0;
    }
    OK(same && heard == size, "all is answered once and in order (%u turns)", seen.served);
    scene_say(fd[0], "work 300\nwork 1\nhal", 19);
    OK(hears(fd[0], "work 300\nwork 1\n"), "half a line behind it");
    OK(listener.stats.buffer_bytes == POOL_SMALL_BYTES && connection->input_size == 3, "is held in a small buffer");
    scene_say(fd[0], "f\n", 2);
    OK(hears(fd[0], "half\n"), "and served when it is whole");
    scene_say(fd[0], "work 300\nwork 1\nquit\nmore\n", 26);
    OK(hears(fd[0], "work 300\nwork 1\nbye\n") && hears_end(fd[0]),
       "what ends a connection ends it from the backlog too");
    close_all(1, fd);

    turns_open_with(1, fd);
    put(fd[0], "work 300\n", 100);
    TURN_UNTIL(seen.served == 2);
    (void)close(fd[0]);
    close_listener();
    OK(seen.closed == 1, "a listener closes with a backlog");
}

static void on_leave(void *context, void *session, struct output *output)
{
    (void)context, (void)session;
    output_append(output, "leaving\n", 8);
}

/* Whoever waits aside is told that the listener closes, and has no turn any more. */
static void test_leaving(void)
{
    int fd[1];
    turns_open_with(1, fd);
    listener.socket_service[0].leave = on_leave;
    put(fd[0], "work 300\n", 100);
    TURN_UNTIL(seen.served == 2 && !is_idle());
    listener_close(&listener, on_all_closed, NULL);
    for (int i = 0; i < 10; i++)
        (void)uv_run(&scene_loop, UV_RUN_NOWAIT);
    OK_U64(seen.served, 2, "a client with a backlog is not served while the listener closes");
    OK(hears(fd[0], "work 300\nwork 300\nleaving\n") && hears_end(fd[0]), "but told");
    (void)close(fd[0]);
    TURN_UNTIL(all_closed);
    OK(all_closed && uv_loop_close(&scene_loop) == 0, "everything closes");
}

/* Sends a line as soon as the line before is answered, and before the loop polls. */
static void on_before_poll(uv_prepare_t *prepare)
{
    const int *fd = prepare->data;
    char byte;
    if (recv(*fd, &byte, 1, MSG_DONTWAIT) == 1)
        put(*fd, "\n", 1);
}

/* A client that was served while nobody else waits is served by the next poll, and its stream stays watched. */
static void test_alone(void)
{
    int fd[1];
    uv_prepare_t prepare;
    turns_open_with(1, fd);
    (void)uv_prepare_init(&scene_loop, &prepare);
    prepare.data = fd;
    (void)uv_prepare_start(&prepare, on_before_poll);
    put(fd[0], "\n", 1);
    TURN_UNTIL(seen.served >= 1);
    bool aside = false;
    for (int i = 0; i < 100; i++) {
        (void)uv_run(&scene_loop, UV_RUN_NOWAIT);
        aside |= !is_idle();
    }
    OK(seen.served > 100 && !aside, "one client that asks again and again never waits aside: %u answers",
       seen.served);
    (void)uv_prepare_stop(&prepare);
    uv_close((uv_handle_t *)&prepare, NULL);
    close_all(1, fd);
}

int main(void)
{
    received = malloc(RECEIVED_MAX + 1);
    assert(received != NULL);
    test_one_flood();
    test_many_floods();
    test_never_reads();
    test_order();
    test_leaving();
    test_alone();
    free(received);
    return tap_done();
}
