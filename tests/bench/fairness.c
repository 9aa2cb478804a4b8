/*
 * fairness: what one client that asks one thing at a time notices of others that ask for as much as they can.
 *
 * A quiet while and each kind of flood take turns, several rounds; of each, all latencies of the good client count
 * together. A flood that reads pipelines one command and takes its answers as fast as they come; one that does not read
 * is many connections, which pipeline until their sockets are full and then stay.
 *
 *     fairness PORT [--seconds N] [--rounds N]
 */
#include "tests/bench/measure.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FLOOD_BYTES = 256 << 10, SILENT_READERS = 200, LATENCIES_MAX = 4 << 20 };

struct kind {
    const char *name, *line;
    uint32_t connections;
    bool reads;
};

static const struct kind kinds[] = {
    {"nobody else", NULL, 0, false},
    {"INFO", "INFO\r\n", 1, true},
    {"COMMAND DOCS", "COMMAND DOCS\r\n", 1, true},
    {"RULE LIST", "RULE LIST\r\n", 1, true},
    {"EXPLAIN", "EXPLAIN joe\r\n", 1, true},
    {"CAN_ACCESS", "CAN_ACCESS joe\r\n", 1, true},
    {"COMMAND, never read", "COMMAND\r\n", SILENT_READERS, false},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static uint16_t port;
static atomic_bool stops;
static uint64_t *latencies_ns[KINDS];
static size_t latency_counts[KINDS];

static int dial(void)
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

static size_t fill(char *text, const char *line)
{
    const size_t size = strlen(line), count = FLOOD_BYTES / size;
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * size, line, size);
    return size * count;
}

/* Writes the same again and again from *at, as far as the kernel takes it; reads what there is, if it `reads`. */
static void pump(int fd, const char *text, size_t size, size_t *at, bool reads)
{
    static char answers[1 << 20];
    ssize_t sent = send(fd, text + *at, size - *at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0)
        *at = (*at + (size_t)sent) % size;
    while (reads && recv(fd, answers, sizeof answers, MSG_DONTWAIT) > 0)
        continue;
}

static void *flood(void *context)
{
    static char text[FLOOD_BYTES];
    static struct pollfd polled[SILENT_READERS];
    static size_t at[SILENT_READERS];
    const struct kind *kind = context;
    const size_t size = fill(text, kind->line);
    for (uint32_t i = 0; i < kind->connections; i++) {
        polled[i] = (struct pollfd){.fd = dial(), .events = (short)(POLLOUT | (kind->reads ? POLLIN : 0))};
        at[i] = 0;
    }
    while (!atomic_load(&stops)) {
        (void)poll(polled, kind->connections, 10);
        for (uint32_t i = 0; i < kind->connections; i++)
            if (polled[i].revents != 0)
                pump(polled[i].fd, text, size, &at[i], kind->reads);
    }
    for (uint32_t i = 0; i < kind->connections; i++)
        (void)close(polled[i].fd);
    return NULL;
}

static void ask(int fd)
{
    static const char line[] = "*2\r\n$10\r\nCAN_ACCESS\r\n$3\r\nann\r\n";
    char answer[64];
    if (send(fd, line, sizeof line - 1, MSG_NOSIGNAL) < 0 || recv(fd, answer, sizeof answer, 0) <= 0)
        give_up("the daemon does not answer");
}

static void measure(size_t index, int fd, uint64_t ns)
{
    struct kind kind = kinds[index];
    pthread_t thread;
    atomic_store(&stops, false);
    if (kind.line != NULL && pthread_create(&thread, NULL, flood, &kind) != 0)
        give_up("no thread");
    const uint64_t end_ns = clock_ns() + ns;
    for (uint64_t begun_ns = clock_ns(); begun_ns < end_ns && latency_counts[index] < LATENCIES_MAX;) {
        ask(fd);
        const uint64_t answered_ns = clock_ns();
        latencies_ns[index][latency_counts[index]++] = answered_ns - begun_ns;
        begun_ns = answered_ns;
    }
    atomic_store(&stops, true);
    if (kind.line != NULL)
        (void)pthread_join(thread, NULL);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

static double part_us(size_t index, double part)
{
    return (double)latencies_ns[index][(size_t)((double)(latency_counts[index] - 1) * part)] / 1000;
}

int main(int count, char **words)
{
    double seconds = 1;
    int rounds = 5;
    for (int i = 2; i + 1 < count; i += 2) {
        seconds = strcmp(words[i], "--seconds") == 0 ? strtod(words[i + 1], NULL) : seconds;
        rounds = strcmp(words[i], "--rounds") == 0 ? (int)strtol(words[i + 1], NULL, 10) : rounds;
    }
    port = count > 1 ? (uint16_t)strtoul(words[1], NULL, 10) : 0;
    if (port == 0)
        give_up("expected the port of a daemon");
    for (size_t i = 0; i < KINDS; i++)
        if ((latencies_ns[i] = calloc(LATENCIES_MAX, sizeof **latencies_ns)) == NULL)
            give_up("not enough memory");
    int fd = dial();
    for (int i = 0; i < 1000; i++)
        ask(fd);
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < KINDS; i++)
            measure(i, fd, (uint64_t)(seconds * 1e9));
    printf("%-22s %10s %10s %10s %10s %8s\n", "others send", "answers", "p50 us", "p99 us", "max us", "p99 is");
    for (size_t i = 0; i < KINDS; i++) {
        qsort(latencies_ns[i], latency_counts[i], sizeof **latencies_ns, compare);
        printf("%-22s %10zu %10.1f %10.1f %10.1f %7.2fx\n", kinds[i].name, latency_counts[i], part_us(i, 0.5),
               part_us(i, 0.99), part_us(i, 1), part_us(i, 0.99) / part_us(0, 0.99));
    }
    return 0;
}
