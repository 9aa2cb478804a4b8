/*
 * Answers that go on until their connection ends: each reader gets a piece whenever it has taken the one before.
 */
#include "tests/lib/listener_scene.h"

enum { LONG_MS = 3600000 };

static struct connection *last_connection(void)
{
    return LIST_OWNER(listener.connections.previous, struct connection, link);
}

static void test_pieces(void)
{
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.close_timeout_ms = LONG_MS;
    open_listener(&options);
    int fd = dial(), other = dial();
    TURN_UNTIL(listener.stats.connected_clients == 2);
    OK(!listener_feeds(&listener), "at first no answer goes on");
    scene_say(fd, "one\nfeed\ntwo\n", 13);
    OK(hears(fd, "one\nbegin\n") && listener_feeds(&listener), "an answer begins behind those before it");
    OK(seen.fed == 0 && listener.stats.buffer_bytes == 0, "what was said behind it is not kept");
    const uint64_t reads = listener.stats.total_reads;
    scene_say(fd, "three\n", 6);
    scene_say(other, "hello\n", 6);
    OK(hears(other, "hello\n") && listener.stats.total_reads == reads + 1, "nothing more is read, but of others");
    listener_feed(&listener);
    listener_feed(&listener);
    OK(hears(fd, "piece 1\npiece 2\n"), "pieces follow");
    scene_say(other, "feed\n", 5);
    OK(hears(other, "begin\n"), "of another reader");
    listener_feed(&listener);
    OK(hears(fd, "piece 3\n") && hears(other, "piece 4\n"), "each is asked for");
    (void)close(other);
    for (int i = 0; i < 100 && listener.stats.connected_clients == 2; i++) {
        listener_feed(&listener);
        TURN_UNTIL(true);
        (void)uv_run(&scene_loop, UV_RUN_NOWAIT);
    }
    OK_U64(listener.stats.connected_clients, 1, "one that has gone is found by what it does not take");
    OK(listener_feeds(&listener), "the other one is fed");
    close_listener();
    OK_U64(seen.closed, 2, "the listener does not wait for an answer that goes on");
    (void)close(fd);
}

static void test_end(void)
{
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    open_listener(&options);
    int fd = dial();
    TURN_UNTIL(listener.stats.connected_clients == 1);
    scene_say(fd, "feed\n", 5);
    OK(hears(fd, "begin\n"), "a reader");
    seen.feed_ends = true;
    listener_feed(&listener);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    OK(!listener_feeds(&listener), "whose answer is over is closed");
    close_listener();
    (void)close(fd);
}

/* A reader that does not take its pieces misses those that are made meanwhile. */
static void test_slow_reader(void)
{
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    open_listener(&options);
    int fd = dial();
    bool ended;
    TURN_UNTIL(listener.stats.connected_clients == 1);
    scene_say(fd, "feed\n", 5);
    OK(hears(fd, "begin\n"), "a reader");
    int small = 4096;
    (void)uv_send_buffer_size((uv_handle_t *)&last_connection()->stream.tcp, &small);
    seen.feed_bytes = 60000;
    listener_feed(&listener);
    OK(listener.stats.blocked_clients == 1 && seen.fed == 1, "does not take a piece");
    for (int i = 0; i < 10; i++)
        listener_feed(&listener);
    OK_U64(seen.fed, 1, "and gets no other one meanwhile");
    OK(listener.stats.buffer_bytes <= POOL_LARGE_BYTES, "so that one piece is all that is kept for it");
    OK(hear(fd, 60000, &ended) == 60000, "takes it later");
    TURN_UNTIL(listener.stats.blocked_clients == 0);
    seen.feed_bytes = 0;
    listener_feed(&listener);
    OK(hears(fd, "piece 2\n"), "and goes on with the newest");
    seen.feed_bytes = 60000;
    listener.options.stall_timeout_ms = 200;
    listener_feed(&listener);
    TURN_UNTIL(listener.stats.connected_clients == 0);
    OK(listener.stats.connected_clients == 0 && listener.stats.closed_stalled == 1,
       "one that takes nothing is closed as any other");
    OK(!listener_feeds(&listener), "and forgotten");
    close_listener();
    (void)close(fd);
}

/* Such a reader says nothing, which is no silence. */
static void test_deadlines(void)
{
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.stranger_timeout_ms = options.idle_timeout_ms = LONG_MS;
    options.connections_max = 2;
    options.newcomer_ms = options.quiet_ms = 0;
    open_listener(&options);
    int fd = dial();
    TURN_UNTIL(listener.stats.connected_clients == 1);
    scene_say(fd, "feed\n", 5);
    OK(hears(fd, "begin\n"), "a reader");
    last_connection()->heard_ms -= 2 * LONG_MS;
    int silent = dial();
    TURN_UNTIL(listener.stats.connected_clients == 2);
    last_connection()->heard_ms -= 2 * LONG_MS;
    int newcomer = dial();
    TURN_UNTIL(listener.stats.closed_for_room + listener.stats.closed_strangers + listener.stats.closed_idle > 0);
    OK(hears_end(silent), "a silent client is closed");
    listener_feed(&listener);
    OK(hears(fd, "piece 1\n"), "the reader is not");
    close_listener();
    (void)close(fd), (void)close(silent), (void)close(newcomer);
}

int main(void)
{
    received = malloc(RECEIVED_MAX + 1);
    assert(received != NULL);
    test_pieces();
    test_end();
    test_slow_reader();
    test_deadlines();
    free(received);
    return tap_done();
}
