/*
 * relay: a wide area network on one machine. Each region is a network namespace with one interface, a TUN device, and
 * this program carries the packets between them: later, and not all of them.
 *
 *     relay REGIONS SEED
 *
 * The one idea: a link is a queue of packets, each with the time at which it is due. Packets of a link keep their
 * order, as on one path through real networks. Region i has the address 10.77.i.1.
 *
 * It prints the path of each region's namespace, for nsenter, and then obeys lines of standard input, each of which it
 * answers with "ok": "link FROM TO DELAY_US JITTER_US LOSS_PPM", "cut FROM TO", "heal FROM TO". It ends with its input.
 * Exit status 77: this machine allows no namespaces or no TUN devices.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    REGIONS_MAX = 8,
    PACKET_BYTES = 1500,
    PACKETS_MAX = 1024, /* of one link on their way; more are lost, as in a router */
    PPM = 1000000,
    EXIT_SKIP = 77,
};
#define NS_PER_US 1000ull
#define NS_PER_S 1000000000ull

struct packet {
    uint64_t due_ns;
    size_t size;
    char bytes[PACKET_BYTES];
};

struct link {
    uint64_t delay_ns, jitter_ns, last_due_ns;
    uint32_t loss_ppm;
    bool is_cut;
    uint32_t first, count;
    struct packet packet[PACKETS_MAX];
};

static int tun[REGIONS_MAX];
static uint32_t region_count;
static struct link *links[REGIONS_MAX][REGIONS_MAX];
static uint64_t random_state;

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Below `bound`, which is not 0. */
static uint64_t draw(uint64_t bound)
{
    random_state += 0x9e3779b97f4a7c15ull;
    uint64_t mixed = random_state;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
    return (mixed ^ mixed >> 31) % bound;
}

/* ---- regions ---- */

static void skip(const char *what)
{
    (void)fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
    exit(EXIT_SKIP);
}

static void set_address(int control, struct ifreq *request, unsigned long what, uint32_t address)
{
    const struct sockaddr_in of = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    memcpy(&request->ifr_addr, &of, sizeof of);
    if (ioctl(control, what, request) != 0)
        skip("an address");
}

static void bring_up(int control, const char *name)
{
    struct ifreq request = {0};
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(control, SIOCGIFFLAGS, &request) != 0)
        skip(name);
    request.ifr_flags |= IFF_UP;
    if (ioctl(control, SIOCSIFFLAGS, &request) != 0)
        skip(name);
}

/* This process is in the namespace of the region afterwards. */
static void make_region(uint32_t region)
{
    if (unshare(CLONE_NEWNET) != 0)
        skip("a namespace");
    const int space = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    tun[region] = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (space < 0 || tun[region] < 0)
        skip("/dev/net/tun");
    struct ifreq request = {.ifr_name = "wan", .ifr_flags = IFF_TUN | IFF_NO_PI};
    if (ioctl(tun[region], TUNSETIFF, &request) != 0)
        skip("a TUN device");
    const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0)
        skip("a socket");
    set_address(control, &request, SIOCSIFADDR, 10u << 24 | 77u << 16 | region << 8 | 1);
    set_address(control, &request, SIOCSIFNETMASK, 0xffff0000u);
    bring_up(control, "wan");
    bring_up(control, "lo");
    (void)close(control);
    (void)printf("/proc/%d/fd/%d\n", (int)getpid(), space);
}

/* ---- packets ---- */

static void send_on(uint32_t from, uint32_t to, const char *bytes, size_t size)
{
    struct link *link = links[from][to];
    const uint64_t now = now_ns();
    if (link->is_cut || link->count == PACKETS_MAX || draw(PPM) < link->loss_ppm)
        return;
    struct packet *packet = &link->packet[(link->first + link->count++) % PACKETS_MAX];
    packet->due_ns = now + link->delay_ns + (link->jitter_ns > 0 ? draw(link->jitter_ns) : 0);
    if (packet->due_ns < link->last_due_ns)
        packet->due_ns = link->last_due_ns;
    link->last_due_ns = packet->due_ns;
    packet->size = size;
    memcpy(packet->bytes, bytes, size);
}

static void hear(uint32_t from)
{
    char bytes[PACKET_BYTES];
    ssize_t size;
    while ((size = read(tun[from], bytes, sizeof bytes)) > 0) {
        const unsigned char *head = (const unsigned char *)bytes;
        if (size < 20 || head[0] >> 4 != 4)
            continue; /* IPv6 greets its neighbours, of which there are none */
        const uint32_t to = head[18];
        if (head[16] == 10 && head[17] == 77 && to < region_count && to != from)
            send_on(from, to, bytes, (size_t)size);
    }
}

/* Delivers what is due. The time until the next packet is; UINT64_MAX: there is none. */
static uint64_t deliver(struct link *link, uint32_t to)
{
    while (link->count > 0) {
        const struct packet *packet = &link->packet[link->first];
        const uint64_t now = now_ns();
        if (packet->due_ns > now)
            return packet->due_ns - now;
        if (!link->is_cut && write(tun[to], packet->bytes, packet->size) < 0 && errno != EAGAIN)
            perror("relay: a packet");
        link->first = (link->first + 1) % PACKETS_MAX;
        link->count--;
    }
    return UINT64_MAX;
}

static uint64_t deliver_all(void)
{
    uint64_t wait_ns = UINT64_MAX;
    for (uint32_t from = 0; from < region_count; from++)
        for (uint32_t to = 0; to < region_count; to++) {
            const uint64_t next_ns = from != to ? deliver(links[from][to], to) : UINT64_MAX;
            if (next_ns < wait_ns)
                wait_ns = next_ns;
        }
    return wait_ns;
}

/* ---- orders ---- */

/* Reads a number behind a blank, and goes on behind it. UINT32_MAX: there is none. */
static uint32_t next_number(const char **at)
{
    if (**at != ' ')
        return UINT32_MAX;
    char *end;
    const unsigned long number = strtoul(*at + 1, &end, 10);
    *at = end;
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static bool obey(const char *line)
{
    const char *at = line + strcspn(line, " ");
    const size_t word = (size_t)(at - line);
    const uint32_t from = next_number(&at), to = next_number(&at);
    if (from >= region_count || to >= region_count || from == to)
        return false;
    struct link *link = links[from][to];
    if ((word == 3 && memcmp(line, "cut", 3) == 0) || (word == 4 && memcmp(line, "heal", 4) == 0)) {
        link->is_cut = word == 3;
        return true;
    }
    const uint32_t delay_us = next_number(&at), jitter_us = next_number(&at), loss_ppm = next_number(&at);
    if (word != 4 || memcmp(line, "link", 4) != 0 || loss_ppm > PPM)
        return false;
    link->delay_ns = delay_us * NS_PER_US;
    link->jitter_ns = jitter_us * NS_PER_US;
    link->loss_ppm = loss_ppm;
    return true;
}

/* Obeys the lines that have come. False: there will be no more. */
static bool obey_all(void)
{
    static char input[4096];
    static size_t used;
    const ssize_t size = read(STDIN_FILENO, input + used, sizeof input - 1 - used);
    if (size <= 0)
        return false;
    used += (size_t)size;
    input[used] = '\0';
    char *line = input;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        (void)printf("%s\n", obey(line) ? "ok" : "what?");
    }
    (void)fflush(stdout);
    used -= (size_t)(line - input);
    memmove(input, line, used);
    return used < sizeof input - 1;
}

int main(int argc, char **argv)
{
    region_count = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    if (region_count < 2 || region_count > REGIONS_MAX) {
        (void)fprintf(stderr, "Usage: relay REGIONS SEED, with 2 to %d regions\n", REGIONS_MAX);
        return 64;
    }
    random_state = strtoull(argv[2], NULL, 10);
    for (uint32_t i = 0; i < region_count; i++)
        for (uint32_t k = 0; k < region_count; k++) {
            links[i][k] = calloc(1, sizeof *links[i][k]);
            assert(links[i][k] != NULL);
        }
    for (uint32_t i = 0; i < region_count; i++)
        make_region(i);
    (void)fflush(stdout);
    struct pollfd polled[REGIONS_MAX + 1];
    for (uint32_t i = 0; i < region_count; i++)
        polled[i] = (struct pollfd){.fd = tun[i], .events = POLLIN};
    polled[region_count] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (;;) {
        const uint64_t wait_ns = deliver_all();
        const struct timespec wait = {.tv_sec = (time_t)(wait_ns / NS_PER_S),
                                      .tv_nsec = (long)(wait_ns % NS_PER_S)};
        if (ppoll(polled, region_count + 1, wait_ns == UINT64_MAX ? NULL : &wait, NULL) < 0)
            return 70;
        for (uint32_t i = 0; i < region_count; i++)
            if (polled[i].revents != 0)
                hear(i);
        if (polled[region_count].revents != 0 && !obey_all())
            return 0;
    }
}
