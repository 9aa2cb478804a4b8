/* Connections between peers end in an order that nng takes, and never while something may be arriving on them. */
#include "tests/lib/transport_peers.h"

#include <dirent.h>
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <pthread.h>

static struct transport_stats stats_of(const struct peer *peer)
{
    return transport_stats(peer->transport);
}

static bool both_closed(void)
{
    return a.closed && hasty.closed;
}

static uint64_t until_ns, said, before_quiet, before_stranger;

static bool is_late(void)
{
    return clock_monotonic_ns() >= until_ns;
}

/* ---- a pause of this process ---- */

enum { LOOKS = 20 }; /* on a slow machine the answer itself may take too long */

static bool hasty_heard(void)
{
    return hasty.messages > 0;
}
static bool hasty_heard_all(void)
{
    return hasty.messages >= said;
}

static bool only_a_lane_is_left(void)
{
    return stats_of(&hasty).connections == 1 && stats_of(&a).connections == 1;
}

static uint64_t given_up;

static bool is_given_up(void)
{
    return stats_of(&hasty).requests_expired > given_up;
}
static bool answer_waits(void)
{
    return is_late() && (transport_waits(hasty.transport) || is_given_up());
}
static bool answer_is_taken(void)
{
    return hasty.responses > 0 || is_given_up();
}

/* He asks, and does not look for the answer before his time is over. False: none was taken, perhaps since none came. */
static bool asks_and_looks_late(void)
{
    given_up = stats_of(&hasty).requests_expired;
    hasty.lazy = true;
    transport_request(hasty.transport, "peer", a.snapshots, bytes_of("late?"));
    until_ns = clock_monotonic_ns() + HASTY_MS * UINT64_C(1100000);
    (void)run_until(answer_waits, NULL);
    hasty.lazy = false;
    (void)run_until(answer_is_taken, NULL);
    return !is_given_up();
}

/* The loop does not turn for that long, while a says a word a millisecond. */
static void pause_while_a_speaks(uint64_t for_ms)
{
    until_ns = clock_monotonic_ns() + for_ms * 1000000;
    for (uint64_t said_ns = 0; !is_late();) {
        if (clock_monotonic_ns() < said_ns + 1000000)
            continue;
        said_ns = clock_monotonic_ns();
        a_says_something();
        said++;
    }
}

static void pauses(void)
{
    OK(transport_connect(hasty.transport, "peer", a.gossip), "somebody who is not patient listens");
    OK(run_until(hasty_heard, a_says_something), "and hears");
    uint64_t redials = stats_of(&hasty).redials;
    hasty.messages = said = 0;
    pause_while_a_speaks(HASTY_MS * 5 / 4);
    turn(UV_RUN_NOWAIT);
    OK_U64(stats_of(&hasty).redials, redials, "after a pause longer than his patience, he dials nobody anew");
    OK(run_until(hasty_heard_all, NULL), "but hears what came meanwhile");
    OK_U64(stats_of(&hasty).redials, redials, "by the same connection");

    bool taken = false;
    for (int i = 0; i < LOOKS && !taken; i++)
        taken = asks_and_looks_late();
    OK(taken, "an answer that was there when his time was over is not given up");
    OK_U64(hasty.responses, 1, "but taken");
    transport_disconnect(hasty.transport, "peer", a.gossip);
    OK(run_until(only_a_lane_is_left, NULL), "he listens no more");
}

/* ---- links that are quiet ---- */

static const uint8_t publisher_greeting[8] = {0, 'S', 'P', 0, 0, 0x20, 0, 0};

static int listen_by_hand(char address[64])
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof in;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int status = bind(fd, (struct sockaddr *)&in, size) | listen(fd, 16);
    assert(fd >= 0 && status == 0);
    (void)getsockname(fd, (struct sockaddr *)&in, &size);
    (void)snprintf(address, 64, "127.0.0.1:%u", ntohs(in.sin_port));
    return fd;
}

static int port_fd, greeted_fd[16];
static unsigned greeted_count;

/* Greets whoever comes as somebody who publishes would, and then says nothing. */
static void greet(void)
{
    int fd = greeted_count < 16 ? accept4(port_fd, NULL, NULL, SOCK_NONBLOCK) : -1;
    if (fd < 0)
        return;
    (void)send(fd, publisher_greeting, sizeof publisher_greeting, MSG_NOSIGNAL);
    greeted_fd[greeted_count++] = fd;
}

static bool is_ended(int fd)
{
    char byte[64];
    ssize_t size;
    do
        size = recv(fd, byte, sizeof byte, MSG_DONTWAIT);
    while (size > 0);
    return size == 0;
}

static bool redialled_twice(void)
{
    return greeted_count >= 3 && is_ended(greeted_fd[0]) && is_ended(greeted_fd[1]);
}
static bool all_ended(void)
{
    for (unsigned i = 0; i < greeted_count; i++)
        if (!is_ended(greeted_fd[i]))
            return false;
    return stats_of(&hasty).connections == before_quiet;
}

static void quiet_links(void)
{
    char address[64];
    port_fd = listen_by_hand(address);
    before_quiet = stats_of(&hasty).connections;
    OK(transport_connect(hasty.transport, "peer", address),
       "he listens to somebody who greets and says nothing more");
    OK(run_until(redialled_twice, greet), "whose connection ends and is made anew, twice");
    transport_disconnect(hasty.transport, "peer", address);
    OK(run_until(all_ended, greet), "disconnected, all of them end");
    unsigned count = greeted_count;
    until_ns = clock_monotonic_ns() + HASTY_MS * UINT64_C(2000000);
    OK(run_until(is_late, greet) && greeted_count <= count + 1 && all_ended(), "and none is made any more");
    for (unsigned i = 0; i < greeted_count; i++)
        (void)close(greeted_fd[i]);
    (void)close(port_fd);
}

/* ---- a library that lets go of nothing ---- */

static pthread_mutex_t reaping = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t goes_on = PTHREAD_COND_INITIALIZER;
static bool hangs, hung;

/* In the one thread that frees what connections had. */
static void hang(nng_pipe pipe, nng_pipe_ev event, void *context)
{
    (void)pipe, (void)event, (void)context;
    (void)pthread_mutex_lock(&reaping);
    hung = true;
    while (hangs)
        (void)pthread_cond_wait(&goes_on, &reaping);
    (void)pthread_mutex_unlock(&reaping);
}

static void set_hangs(bool to)
{
    (void)pthread_mutex_lock(&reaping);
    hangs = to;
    (void)pthread_cond_broadcast(&goes_on);
    (void)pthread_mutex_unlock(&reaping);
}

static bool reaper_hangs(void)
{
    (void)pthread_mutex_lock(&reaping);
    bool does = hung;
    (void)pthread_mutex_unlock(&reaping);
    return does;
}

static int stranger_fd;

static bool stranger_is_in(void)
{
    return stats_of(&a).connections > before_stranger;
}
static bool one_is_stuck(void)
{
    return stats_of(&a).connections_stuck == 1 && a.stuck == 1;
}
static bool none_is_stuck(void)
{
    return stats_of(&a).connections_stuck ==
           0; /* of all connections, older ones may end and be made anew meanwhile */
}

/* A connection to the gossip port of a, with the greeting of a subscriber. -1: there is none. */
static int subscriber_by_hand(void)
{
    static const uint8_t greeting[8] = {0, 'S', 'P', 0, 0, 0x21, 0, 0};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    in.sin_port = htons((uint16_t)strtoul(strchr(a.gossip, ':') + 1, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&in, sizeof in) == 0 &&
        send(fd, greeting, sizeof greeting, MSG_NOSIGNAL) == sizeof greeting)
        return fd;
    (void)close(fd);
    return -1;
}

static void stranger_comes(void)
{
    before_stranger = stats_of(&a).connections;
    stranger_fd = subscriber_by_hand();
    OK(stranger_fd >= 0, "somebody comes");
    OK(run_until(stranger_is_in, NULL), "and is connected");
}

static uint64_t before_link;

static bool link_is_up(void)
{
    return stats_of(&a).connections > before_link;
}
static bool link_is_down(void)
{
    return stats_of(&a).connections <= before_link;
}

/*
 * The thread of the transport looks for descriptors before it ends a connection. After it has ended one, it knows the
 * descriptor of each connection that was there before. A connection that is reset earlier has no remote end to be
 * found by.
 */
static void thread_looks(void)
{
    before_link = stats_of(&a).connections;
    OK(transport_connect(a.transport, "peer", hasty.gossip) && run_until(link_is_up, NULL), "a link is made");
    transport_disconnect(a.transport, "peer", hasty.gossip);
    OK(run_until(link_is_down, NULL), "and ended again");
}

/* ---- what a request takes ---- */

static uint64_t before_asking;

static bool all_ask(void)
{
    uint64_t all = before_asking + TRANSPORT_REQUESTS_EACH;
    return stats_of(&hasty).connections == all && stats_of(&a).connections == all;
}
static bool none_asks(void)
{
    return stats_of(&hasty).connections == before_asking;
}

static size_t descriptors(void)
{
    size_t count = 0;
    DIR *files = opendir("/proc/self/fd");
    assert(files);
    while (readdir(files))
        count++;
    (void)closedir(files);
    return count;
}

static void requests(void)
{
    before_asking = stats_of(&a).connections;
    OK_U64(before_asking, 1, "one connection for requests is there");
    OK(run_until(none_asks, NULL), "at both ends");
    size_t before = descriptors();
    a.lazy = true;
    for (int i = 0; i < TRANSPORT_REQUESTS_EACH; i++)
        transport_request(a.transport, "peer", hasty.snapshots, bytes_of("many?"));
    OK(run_until(all_ask, NULL), "somebody asks as often as he may at one time");
    size_t more = descriptors() - before, most = TRANSPORT_REQUESTS_EACH * (TRANSPORT_REQUEST_FILES + 1);
    OK(more <= most, "each time takes no more descriptors than are kept for it, and one of who answers");
    a.lazy = false;
}

/* ---- those who leave before they are let in ---- */

enum { LEAVERS = 200, STUCK_WITHIN_MS = 5000 };

static bool some_are_stuck_or_time_is_up(void)
{
    return stats_of(&a).connections_stuck > 0 || is_late();
}
static bool connections_are_as_before(void)
{
    return stats_of(&a).connections <= before_stranger;
}

/*
 * nng tells of many of them when they have no remote end any more. The socket that listens at the
 * port has none either, and it must not be taken for theirs.
 */
static void leavers(void)
{
    before_stranger = stats_of(&a).connections;
    for (int i = 0; i < LEAVERS; i++) {
        int fd = subscriber_by_hand();
        (void)close(fd);
    }
    until_ns = clock_monotonic_ns() + STUCK_WITHIN_MS * UINT64_C(1000000);
    OK(run_until(some_are_stuck_or_time_is_up, NULL) && stats_of(&a).connections_stuck == 0,
       "subscribers who leave before they are let in: none of them counts as stuck");
    OK(run_until(connections_are_as_before, NULL), "none of them is kept");
    stranger_comes();
    (void)close(stranger_fd);
    OK(run_until(connections_are_as_before, NULL), "and the next one is let in");
}

static void *close_aside(void *socket)
{
    (void)nng_close(*(nng_socket *)socket);
    return NULL;
}

static void stuck(void)
{
    pthread_t aside;
    nng_socket one, other;
    int status = nng_pair0_open(&one) | nng_pair0_open(&other);
    status |= nng_pipe_notify(one, NNG_PIPE_EV_REM_POST, hang, NULL);
    status |= nng_listen(one, "inproc://reaped", NULL, 0) | nng_dial(other, "inproc://reaped", NULL, 0);
    OK(status == 0, "some other connection of nng");
    stranger_comes();
    thread_looks();
    set_hangs(true);
    (void)pthread_create(&aside, NULL, close_aside, &other);
    OK(run_until(reaper_hangs, NULL), "keeps the thread of nng that lets go of connections");
    (void)close(stranger_fd);
    OK(run_until(one_is_stuck, NULL), "somebody leaves, and his descriptor stays: that is counted, and told once");
    set_hangs(false);
    OK(run_until(none_is_stuck, NULL), "it goes on: then none is");
    (void)pthread_join(aside, NULL);
    (void)nng_close(one);
}

int main(void)
{
    srand((unsigned)getpid());
    (void)uv_loop_init(&peers_loop);
    peer_open(&a);
    peer_open(&hasty);
    pauses();
    quiet_links();
    requests();
    stuck();
    leavers();
    transport_destroy(&hasty.transport, on_closed, &hasty.closed);
    transport_destroy(&a.transport, on_closed, &a.closed);
    OK(run_until(both_closed, NULL), "all close");
    while (uv_run(&peers_loop, UV_RUN_NOWAIT) != 0)
        ;
    OK(uv_loop_close(&peers_loop) == 0, "and leave nothing in the loop");
    nng_fini();
    return tap_done();
}
