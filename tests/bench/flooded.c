/*
 * flooded: the latency of a good client while another client floods a server.
 *
 * The good client asks one CAN_ACCESS every INTERVAL_US on a schedule, by turns on GOOD_CONNECTIONS, so that each
 * thread of the server has one of them. A latency counts from the moment at which the request was due where an
 * earlier answer was late, else from the moment at which it was sent: a client that is woken late is not the
 * server's fault.
 *
 * A flood pipelines one line on its connections as fast as it can. It reads all answers, or none at all. It may flood
 * another server than the one that the good client asks: then the machine has the same work to do, and the server not.
 *
 *     flooded --at PORT [--flood PORT --line TEXT --connections N [--silent]] [--seconds S]
 *     prints JSON, in ns: {"latency_ns": {...}, "late_ns": {...}, "latency_histogram": [[ns, count], ...]}
 */
#include "base/histogram.h"
#include "tests/bench/measure.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    INTERVAL_US = 250,
    GOOD_CONNECTIONS = 8,
    FLOOD_BYTES = 256 << 10,
    FLOOD_CONNECTIONS_MAX = 1000,
    PIECE_BYTES = 8 << 10, /* a longer call into the kernel would keep the good client from this core */
    AHEAD_US = 20000,      /* the flood has begun for so long when the first request is sent */
    GOOD_PRIORITY = 3,     /* a daemon that shares this core has 2 */
    FLOOD_PRIORITY = 1,
};

struct flood {
    uint16_t port;
    const char *line;
    uint32_t connections;
    bool reads;
};

static atomic_bool stops;
static struct histogram latency, late;

static int dial(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        give_up("cannot connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

/* The good client goes before the flood on their core, and both before other programs, where that is allowed. */
static void go_first(int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    (void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
}

/* ---- the flood ---- */

static struct pollfd polled[FLOOD_CONNECTIONS_MAX];

static size_t fill(char *text, const char *line)
{
    const size_t size = strlen(line), count = FLOOD_BYTES / (size + 2);
    for (size_t i = 0; i < count; i++) {
        memcpy(text + i * (size + 2), line, size);
        memcpy(text + i * (size + 2) + size, "\r\n", 2);
    }
    return count * (size + 2);
}

/* Writes the same again and again from *at, as far as the kernel takes it; reads what there is, if it `reads`. */
static void pump(int fd, const char *text, size_t size, size_t *at, bool reads)
{
    static char answers[PIECE_BYTES];
    const size_t rest = size - *at, piece = rest < PIECE_BYTES ? rest : PIECE_BYTES;
    ssize_t sent = send(fd, text + *at, piece, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0)
        *at = (*at + (size_t)sent) % size;
    while (reads && recv(fd, answers, sizeof answers, MSG_DONTWAIT) > 0)
        continue;
}

static void *flood(void *context)
{
    static char text[FLOOD_BYTES];
    static size_t at[FLOOD_CONNECTIONS_MAX];
    const struct flood *kind = context;
    const size_t size = fill(text, kind->line);
    go_first(FLOOD_PRIORITY);
    while (!atomic_load(&stops)) {
        (void)poll(polled, kind->connections, 10);
        for (uint32_t i = 0; i < kind->connections && !atomic_load(&stops); i++)
            if (polled[i].revents != 0)
                pump(polled[i].fd, text, size, &at[i], kind->reads);
    }
    return NULL;
}

/* It connects before anything is measured: that is work for the kernel, whoever the server is. */
static void connect_flood(const struct flood *kind)
{
    if (kind->line == NULL || kind->connections == 0 || kind->connections > FLOOD_CONNECTIONS_MAX)
        give_up("expected --line, and --connections from 1 to 1000");
    for (uint32_t i = 0; i < kind->connections; i++)
        polled[i] =
            (struct pollfd){.fd = dial(kind->port), .events = (short)(POLLOUT | (kind->reads ? POLLIN : 0))};
}

/* ---- the good client ---- */

static void ask(int fd)
{
    static const char line[] = "*2\r\n$10\r\nCAN_ACCESS\r\n$3\r\nann\r\n";
    char answer[64];
    if (send(fd, line, sizeof line - 1, MSG_NOSIGNAL) < 0 || recv(fd, answer, sizeof answer, 0) <= 0)
        give_up("the server does not answer");
}

static void wait_until(uint64_t at_ns)
{
    const struct timespec at = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void measure(const int *fd, uint64_t ns)
{
    const uint64_t begun_ns = clock_ns();
    uint64_t answered_ns = begun_ns;
    for (uint64_t due_ns = begun_ns, i = 0; due_ns < begun_ns + ns; due_ns += INTERVAL_US * 1000u, i++) {
        const bool waited = answered_ns < due_ns;
        if (waited)
            wait_until(due_ns);
        const uint64_t sent_ns = clock_ns();
        if (waited)
            histogram_record(&late, sent_ns - due_ns, 1);
        ask(fd[i % GOOD_CONNECTIONS]);
        answered_ns = clock_ns();
        histogram_record(&latency, answered_ns - (waited ? sent_ns : due_ns), 1);
    }
}

/* ---- what is printed ---- */

static void print_percentiles(const char *name, const struct histogram *histogram)
{
    printf("\"%s\": {\"p50\": %" PRIu64 ", \"p99\": %" PRIu64 ", \"p99.9\": %" PRIu64 ", \"max\": %" PRIu64 "}, ",
           name, histogram_percentile(histogram, 50), histogram_percentile(histogram, 99),
           histogram_percentile(histogram, 99.9), histogram->largest);
}

static void print(void)
{
    uint32_t slot = 0;
    uint64_t value, times;
    printf("{");
    print_percentiles("latency_ns", &latency);
    print_percentiles("late_ns", &late);
    printf("\"latency_histogram\": [");
    for (bool first = true; histogram_next(&latency, &slot, &value, &times); first = false)
        printf("%s[%" PRIu64 ", %" PRIu64 "]", first ? "" : ", ", value, times);
    printf("]}\n");
}

/* ---- */

static uint16_t port_of(const char *word)
{
    return (uint16_t)strtoul(word, NULL, 10);
}

int main(int count, char **words)
{
    struct flood kind = {.reads = true};
    double seconds = 0.2;
    uint16_t port = 0;
    for (int i = 1; i < count; i++) {
        const char *word = words[i], *next = i + 1 < count ? words[i + 1] : "";
        i += strcmp(word, "--silent") != 0;
        port = strcmp(word, "--at") == 0 ? port_of(next) : port;
        kind.port = strcmp(word, "--flood") == 0 ? port_of(next) : kind.port;
        kind.line = strcmp(word, "--line") == 0 ? next : kind.line;
        kind.connections =
            strcmp(word, "--connections") == 0 ? (uint32_t)strtoul(next, NULL, 10) : kind.connections;
        kind.reads = strcmp(word, "--silent") == 0 ? false : kind.reads;
        seconds = strcmp(word, "--seconds") == 0 ? strtod(next, NULL) : seconds;
    }
    if (port == 0)
        give_up("expected --at PORT");
    int fd[GOOD_CONNECTIONS];
    pthread_t thread;
    for (uint32_t i = 0; i < GOOD_CONNECTIONS; i++)
        ask(fd[i] = dial(port));
    histogram_init(&latency);
    histogram_init(&late);
    go_first(GOOD_PRIORITY);
    if (kind.port != 0) {
        connect_flood(&kind);
        if (pthread_create(&thread, NULL, flood, &kind) != 0)
            give_up("no thread");
        wait_until(clock_ns() + (kind.reads ? AHEAD_US * 1000u : 0));
    }
    measure(fd, (uint64_t)(seconds * 1e9));
    atomic_store(&stops, true);
    if (kind.port != 0)
        (void)pthread_join(thread, NULL);
    print();
    return 0;
}
