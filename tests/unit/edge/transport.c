/* Transports that speak to each other over real sockets on 127.0.0.1, on one loop. */
#include "tests/lib/transport_peers.h"

#include <dlfcn.h>
#include <nng/nng.h>
#include <pthread.h>

enum { CLOSING_TURNS = 1000 }; /* a transport gives up sockets that do not close after more */

/* ---- nng_close, as it is or as it may be: it does not return ---- */

static pthread_mutex_t closing = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t goes_on = PTHREAD_COND_INITIALIZER;
static bool hangs;
static unsigned closes_begun, closes_done;

int nng_close(nng_socket socket)
{
    static int (*real)(nng_socket);
    (void)pthread_mutex_lock(&closing);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "nng_close");
    assert(real);
    closes_begun++;
    while (hangs)
        (void)pthread_cond_wait(&goes_on, &closing);
    (void)pthread_mutex_unlock(&closing);
    int status = real(socket);
    (void)pthread_mutex_lock(&closing);
    closes_done++;
    (void)pthread_mutex_unlock(&closing);
    return status;
}

static void set_hangs(bool to)
{
    (void)pthread_mutex_lock(&closing);
    hangs = to;
    (void)pthread_cond_broadcast(&goes_on);
    (void)pthread_mutex_unlock(&closing);
}

static bool none_closes(void)
{
    (void)pthread_mutex_lock(&closing);
    bool none = closes_begun == closes_done;
    (void)pthread_mutex_unlock(&closing);
    return none;
}

static bool a_closed(void)
{
    return a.closed;
}
static bool c_closed(void)
{
    return c.closed;
}
static bool b_closed(void)
{
    return b.closed;
}
static bool hasty_closed(void)
{
    return hasty.closed;
}
static bool all_closed(void)
{
    return a.closed && b.closed && c.closed && hasty.closed;
}
static bool a_heard_both(void)
{
    return a.messages >= 2 && a.last_size > 0;
}
static bool b_heard_all(void)
{
    return b.next == 20000;
}
static bool listening_heard(void)
{
    return listening.messages > 0;
}
static bool a_has_response(void)
{
    return a.responses > 0;
}
static bool a_has_both(void)
{
    return a.responses == TRANSPORT_REQUESTS_EACH;
}
static bool c_got_request(void)
{
    return c.requests > 0;
}
static uint64_t hasty_waits(void)
{
    const struct transport_stats stats = transport_stats(hasty.transport);
    return stats.requests_sent - stats.requests_expired - hasty.responses;
}
static uint64_t given_up;
static bool hasty_gave_up(void)
{
    return transport_stats(hasty.transport).requests_expired > given_up && hasty_waits() == 0;
}
static uint64_t answered;
static bool hasty_has_response(void)
{
    return hasty.responses > answered;
}
static bool hasty_redialled(void)
{
    return transport_stats(hasty.transport).redials >= 2;
}
static bool b_got_largest(void)
{
    return b.last_size == MESSAGE_MAX;
}

static unsigned turns;

static void count_turn(void)
{
    turns++;
}

static void shut(struct peer *peer, condition_function *done)
{
    transport_destroy(&peer->transport, on_closed, &peer->closed);
    (void)run_until(done, count_turn);
}

static void say_hello(void)
{
    peers_say(&b, "from b");
    peers_say(&c, "from c");
}

static void hasty_asks_b(void)
{
    transport_request(hasty.transport, "peer", b.snapshots, bytes_of("hello"));
}

static void hasty_asks_c(void)
{
    if (hasty_waits() == 0)
        transport_request(hasty.transport, "peer", c.snapshots, bytes_of("c?"));
}

static uint64_t sent;

static void a_counts(void)
{
    /* No more on the way than the queues hold at the least: the reader shares this thread. */
    for (int i = 0; i < 100 && sent < 20000 && sent < b.next + 1000; i++, sent++)
        transport_publish(a.transport, (struct bytes){(const char *)&sent, sizeof sent});
}

static void idling(void)
{
    uint64_t deadline_ns = clock_monotonic_ns() + DEADLINE_S * 1000000000ull;
    while (was_refused && idle_ms() >= 0 && clock_monotonic_ns() < deadline_ns)
        turn(UV_RUN_ONCE);
    OK_I64(idle_ms(), -1, "who listens to nobody and asks nobody does not wake up");
    peer_open(&listening);
    OK(transport_connect(listening.transport, "peer", a.gossip), "who listens");
    OK(idle_ms() > PATIENT_MS / 4, "looks after that when it would be dialled anew");
    /* nng 1.5.2 forgets memory of a connection that is just being made when its socket is closed. */
    OK(run_until(listening_heard, a_says_something), "it is connected");
    transport_destroy(&listening.transport, on_closed, &listening.closed);
    while (!listening.closed)
        turn(UV_RUN_ONCE);
}

static void publishing(void)
{
    OK(transport_connect(a.transport, "peer", b.gossip), "a listens to b");
    OK(transport_connect(a.transport, "peer", c.gossip), "a listens to c");
    OK(transport_connect(a.transport, "peer", c.gossip), "again: nothing changes");
    OK_U64(transport_stats(a.transport).links, 2, "two links");
    OK(run_until(a_heard_both, say_hello), "a hears what both publish");

    OK(transport_connect(b.transport, "peer", a.gossip), "b listens to a");
    OK(run_until(b_heard_again, a_says_something), "b is connected");
    /* What was said to find that out arrives first; the counting starts after it. */
    b.misordered = b.next = 0;
    OK(run_until(b_heard_all, a_counts), "20,000 messages in bursts of 100 arrive to the last");
    OK_U64(b.misordered, 0, "none is lost, none overtakes another");

    static char large[MESSAGE_MAX + 1];
    transport_publish(a.transport, (struct bytes){large, sizeof large});
    OK_U64(transport_stats(a.transport).messages_too_large, 1, "a message over the limit is not sent");
    OK_STRING(a.warning,
              "a message for all peers has 100001 bytes and message_max is 100000: it was dropped; raise message_max "
              "at all daemons and restart them",
              "and the log says so");
    transport_request(a.transport, "peer", b.snapshots, (struct bytes){large, sizeof large});
    OK_U64(transport_stats(a.transport).messages_too_large, 2, "so is a request");
    OK_U64(a.warnings, 1, "which the log does not say once more");
    transport_publish(a.transport, (struct bytes){large, MESSAGE_MAX});
    OK(run_until(b_got_largest, NULL), "one of exactly the limit arrives");
}

static void requests(void)
{
    transport_request(a.transport, "peer", b.snapshots, bytes_of("hello"));
    OK(run_until(a_has_response, NULL), "an answer comes");
    OK_STRING(a.last, "you said hello", "it is the answer to the question");
    a.responses = 0;
    transport_request(a.transport, "peer", b.snapshots, bytes_of("again"));
    OK(run_until(a_has_response, NULL) && strcmp(a.last, "you said again") == 0, "the next question, the same way");

    a.responses = 0;
    uint64_t refused = transport_stats(a.transport).requests_refused;
    for (int i = 0; i < TRANSPORT_REQUESTS_EACH + 3; i++)
        transport_request(a.transport, "peer", b.snapshots, bytes_of("many"));
    OK_U64(transport_stats(a.transport).requests_refused, refused + 3,
           "no more than %d to one address wait at the same time", TRANSPORT_REQUESTS_EACH);
    OK(run_until(a_has_both, NULL), "those are all answered");

    c.silent = true;
    OK(run_until(c_got_request, hasty_asks_c), "somebody who does not wait for long asks who does not answer");
    OK(run_until(hasty_gave_up, NULL), "what is not answered is given up");
    OK_U64(hasty.responses, 0, "without an answer");

    char address[64];
    refused = transport_stats(hasty.transport).requests_refused;
    for (int i = 0; i < TRANSPORT_REQUESTS_MAX + 5; i++) {
        (void)snprintf(address, sizeof address, "127.0.0.1:%d", i + 1);
        transport_request(hasty.transport, "peer", address, bytes_of("anybody?"));
    }
    OK_U64(transport_stats(hasty.transport).requests_refused, refused + 5, "no more than %d wait in all",
           TRANSPORT_REQUESTS_MAX);
    OK(run_until(hasty_has_response, hasty_asks_b), "they are given up, and a place is free for who is alive");

    transport_request(a.transport, "peer", "no address", bytes_of("x"));
    transport_request(a.transport, "peer", "", bytes_of("x"));
    OK(!transport_connect(a.transport, "peer", ""), "no address, no link");
}

static bool c_heard_much(void)
{
    return c.messages >= 50 && a.requests > 0;
}
static bool b_heard_of_all(void)
{
    return b.messages > 0 && b.requests > 0 && b.responses > 0;
}

static void holding(void)
{
    OK(transport_connect(c.transport, "peer", a.gossip), "c listens to a, as b does");
    b.responses = 0;
    transport_request(b.transport, "peer", a.snapshots, bytes_of("b's question"));
    b.messages = b.requests = c.messages = a.requests = 0;
    transport_hold(b.transport, true);
    transport_request(a.transport, "peer", b.snapshots, bytes_of("a's question"));
    OK(run_until(c_heard_much, a_says_something), "c hears what b is sent as well, and a is asked");
    OK_U64(b.messages + b.requests + b.responses, 0,
           "who is held is handed neither messages, requests nor answers");
    a.responses = 0;
    transport_hold(b.transport, false);
    OK(run_until(b_heard_of_all, NULL), "they have waited until he is not any more");
    OK(run_until(a_has_response, NULL), "and he answers");
    transport_disconnect(c.transport, "peer", a.gossip);
}

static void addresses_in_use(void)
{
    struct peer d = {0};
    struct error error = {0};
    char expected[200];
    free_address(d.snapshots);
    memcpy(d.gossip, a.gossip, sizeof d.gossip);
    OK(!peer_start(&d, &error), "a second one cannot publish on the same address");
    OK_I64(error.exit_status, EX_UNAVAILABLE, "with the exit status of a busy port");
    (void)
        snprintf(expected, sizeof expected,
                 "cannot listen for peers (gossip) on %s: the port is in use by another program; stop it or choose "
                 "another port",
                 a.gossip);
    OK_STRING(error.text, expected, "and says so");
    (void)snprintf(d.gossip, sizeof d.gossip, "nonsense");
    OK(!peer_start(&d, &error) && error.exit_status == EX_CONFIG, "an address that makes no sense: %s", error.text);
}

/* A socket that accepts by its backlog and never says a word: as a peer behind a cut link looks. */
static void silence(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof in;
    char address[64];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)bind(fd, (struct sockaddr *)&in, size);
    (void)listen(fd, 100);
    (void)getsockname(fd, (struct sockaddr *)&in, &size);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(in.sin_port));
    OK(transport_connect(hasty.transport, "peer", address), "he listens to somebody who never speaks");
    OK(run_until(hasty_redialled, NULL), "that link is dialled anew, twice");
    transport_disconnect(hasty.transport, "peer", address);
    (void)close(fd);
    OK_U64(transport_stats(hasty.transport).links, 0, "disconnected, it is forgotten");
}

static void restart(void)
{
    shut(&a, a_closed);
    struct error error;
    a.closed = false;
    OK(peer_start(&a, &error), "a starts again on the same addresses");
    b.messages = 0;
    OK(run_until(b_heard_again, a_says_something), "b hears it without doing anything");
}

static void sockets_that_do_not_close(void)
{
    struct peer d = {0};
    peer_open(&d);
    set_hangs(true);
    c.silent = true;
    given_up = transport_stats(hasty.transport).requests_expired;
    transport_request(hasty.transport, "peer", c.snapshots, bytes_of("c?"));
    OK(run_until(hasty_gave_up, NULL), "a request is given up though its socket does not close");
    answered = hasty.responses;
    OK(run_until(hasty_has_response, hasty_asks_b), "others are answered");
    transport_destroy(&d.transport, on_closed, &b.closed);
    OK(run_until(b_closed, NULL), "and who has such sockets can end");
    b.closed = false;
    set_hangs(false);
    OK(run_until(none_closes, NULL), "they close later, or with the process");
}

int main(void)
{
    srand((unsigned)getpid());
    (void)uv_loop_init(&peers_loop);
    peer_open(&a);
    peer_open(&b);
    peer_open(&c);
    peer_open(&hasty);
    idling();
    publishing();
    requests();
    holding();
    addresses_in_use();
    silence();
    restart();
    sockets_that_do_not_close();

    turns = 0;
    transport_request(a.transport, "peer", "192.0.2.1:9", bytes_of("nobody answers there"));
    transport_publish(a.transport, bytes_of("what he said last"));
    transport_destroy(&a.transport, on_closed, &a.closed);
    shut(&b, b_closed);
    shut(&c, c_closed);
    shut(&hasty, hasty_closed);
    OK(run_until(all_closed, count_turn), "all close");
    OK(turns < CLOSING_TURNS, "at once, whatever is under way: after %u turns of the loop", turns);
    while (uv_run(&peers_loop, UV_RUN_NOWAIT) != 0)
        ;
    OK(uv_loop_close(&peers_loop) == 0, "and leave nothing in the loop");
    while (!none_closes())
        (void)sched_yield();
    nng_fini();
    return tap_done();
}
