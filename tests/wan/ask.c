/*
 * ask: asks the daemons of several regions about one key, and judges their answers from outside.
 *
 *     ask CAPACITY RATE SECONDS SEED KEY REGION ...      REGION: NAMESPACE,PORT,RATE[,AT_ONCE]
 *
 * Each region is asked RATE times a second, at random moments, and AT_ONCE times at the beginning. It asks from inside
 * the region, so that no delay is between client and daemon.
 *
 * The one idea: an answer was decided at some time between the moment when its request was sent and the moment when the
 * answer came. So what was sent after s and answered before t was admitted between s and t, whatever the clocks of the
 * daemons say. Of such grants one bucket admits at most CAPACITY + RATE (t - s).
 *
 * It prints "asked N", "admitted N", "one_bucket N" (what one bucket would have admitted of the same requests),
 * "excess X" (by how much the worst interval was above the limit; negative: below it), "region I ASKED ADMITTED", for
 * each second "second I ASKED ADMITTED ONE_BUCKET" and what each region has admitted, and for the beginning
 * "early MS ADMITTED", of what was sent before.
 */
#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EARLY_MS = 1000, EARLY_STEP_MS = 10 };
enum { REGIONS_MAX = 8, REQUESTS_MAX = 200000, SECONDS_MAX = 600, WORDS = 6, PATH_BYTES = 64, COMMAND_BYTES = 128 };
#define NS_PER_S 1e9

struct request {
    double sent_ns, answered_ns; /* since the start; answered_ns 0: no answer came */
    uint32_t region;
    bool allowed, by_one_bucket;
};

struct region {
    char space[PATH_BYTES];
    int port, socket;
    double rate, next_ns;
    uint32_t at_once;
    uint32_t *unanswered; /* requests, the oldest first */
    uint32_t sent, answered;
    char line[8];
    size_t line_bytes;
};

static struct request requests[REQUESTS_MAX];
static uint32_t request_count, region_count;
static struct region regions[REGIONS_MAX];
static double start_ns;

static double now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * NS_PER_S + (double)now.tv_nsec - start_ns;
}

static void fail(const char *what)
{
    perror(what);
    exit(69);
}

/* ---- asking ---- */

static void connect_to(struct region *region)
{
    const int space = open(region->space, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0)
        fail(region->space);
    (void)close(space);
    const int one = 1;
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)region->port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    region->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (region->socket < 0 || connect(region->socket, (const struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(region->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
        fail("ask: a daemon");
}

static void ask_one(struct region *region, const char *command, size_t size)
{
    assert(request_count < REQUESTS_MAX);
    requests[request_count] = (struct request){.sent_ns = now_ns(), .region = (uint32_t)(region - regions)};
    region->unanswered[region->sent++] = request_count++;
    if (send(region->socket, command, size, MSG_NOSIGNAL) != (ssize_t)size)
        fail("ask: a request");
}

static void hear(struct region *region)
{
    char input[4096];
    const ssize_t size = recv(region->socket, input, sizeof input, MSG_DONTWAIT);
    const double now = now_ns();
    if (size == 0)
        fail("ask: a daemon has closed");
    for (ssize_t i = 0; i < size; i++) {
        if (input[i] != '\n') {
            if (region->line_bytes < sizeof region->line)
                region->line[region->line_bytes++] = input[i];
            continue;
        }
        const bool is_verdict = region->line_bytes == 3 && region->line[0] == ':';
        if (!is_verdict || region->answered == region->sent) {
            (void)fprintf(stderr, "ask: not an answer: %.*s\n", (int)region->line_bytes, region->line);
            exit(76);
        }
        struct request *request = &requests[region->unanswered[region->answered++]];
        request->answered_ns = now;
        request->allowed = region->line[1] == '1';
        region->line_bytes = 0;
    }
}

static double draw_wait_ns(double rate)
{
    return rate > 0 ? -log(1 - drand48()) / rate * NS_PER_S : (double)INFINITY;
}

/* Sends what is due. When the next request is. */
static double send_due(const char *command, size_t size, double end_ns)
{
    double next_ns = end_ns;
    for (uint32_t i = 0; i < region_count; i++) {
        struct region *region = &regions[i];
        while (region->next_ns <= now_ns() && region->next_ns < end_ns) {
            ask_one(region, command, size);
            region->next_ns += draw_wait_ns(region->rate);
        }
        next_ns = fmin(next_ns, region->next_ns);
    }
    return next_ns;
}

static bool is_unanswered(void)
{
    for (uint32_t i = 0; i < region_count; i++)
        if (regions[i].answered < regions[i].sent)
            return true;
    return false;
}

static void ask_all(const char *key, double seconds)
{
    char command[COMMAND_BYTES];
    struct pollfd polled[REGIONS_MAX];
    const int size =
        snprintf(command, sizeof command, "*2\r\n$10\r\nCAN_ACCESS\r\n$%zu\r\n%s\r\n", strlen(key), key);
    const double end_ns = seconds * NS_PER_S, last_ns = end_ns + 2 * NS_PER_S;
    assert(size > 0 && (size_t)size < sizeof command);
    for (uint32_t i = 0; i < region_count; i++) {
        polled[i] = (struct pollfd){.fd = regions[i].socket, .events = POLLIN};
        regions[i].next_ns = draw_wait_ns(regions[i].rate);
        for (uint32_t k = 0; k < regions[i].at_once; k++)
            ask_one(&regions[i], command, (size_t)size);
    }
    while (now_ns() < end_ns || (is_unanswered() && now_ns() < last_ns)) {
        const double next_ns = send_due(command, (size_t)size, end_ns), now = now_ns();
        const double wait_ns = fmax(0, (now < end_ns ? next_ns : last_ns) - now);
        const struct timespec wait = {.tv_sec = (time_t)(wait_ns / NS_PER_S),
                                      .tv_nsec = (long)fmod(wait_ns, NS_PER_S)};
        if (ppoll(polled, region_count, &wait, NULL) < 0)
            fail("ask: poll");
        for (uint32_t i = 0; i < region_count; i++)
            if (polled[i].revents != 0)
                hear(&regions[i]);
    }
}

/* ---- judging ---- */

/* Requests stand in the order in which they were sent. */
static uint32_t judge_one_bucket(double capacity, double rate)
{
    double tokens = capacity, at_ns = 0;
    uint32_t admitted = 0;
    for (uint32_t i = 0; i < request_count; i++) {
        tokens = fmin(capacity, tokens + (requests[i].sent_ns - at_ns) / NS_PER_S * rate);
        at_ns = requests[i].sent_ns;
        requests[i].by_one_bucket = tokens >= 1;
        tokens -= requests[i].by_one_bucket;
        admitted += requests[i].by_one_bucket;
    }
    return admitted;
}

static int by_answer(const void *a, const void *b)
{
    const struct request *const *left = a, *const *right = b;
    return ((*left)->answered_ns > (*right)->answered_ns) - ((*left)->answered_ns < (*right)->answered_ns);
}

static double judge_excess(double capacity, double rate)
{
    static const struct request *granted[REQUESTS_MAX];
    uint32_t count = 0;
    double worst = -capacity;
    for (uint32_t i = 0; i < request_count; i++)
        if (requests[i].allowed)
            granted[count++] = &requests[i];
    qsort(granted, count, sizeof(const struct request *), by_answer);
    for (uint32_t first = 0; first < count; first++) {
        const double begin_ns = granted[first]->sent_ns;
        uint32_t inside = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (granted[i]->sent_ns < begin_ns)
                continue;
            inside++;
            worst = fmax(worst, inside - capacity - rate * (granted[i]->answered_ns - begin_ns) / NS_PER_S);
        }
    }
    return worst;
}

/* How many of the first requests were admitted, by when they were sent. */
static void print_early(void)
{
    uint32_t admitted = 0, i = 0;
    for (uint32_t ms = EARLY_STEP_MS; ms <= EARLY_MS; ms += EARLY_STEP_MS) {
        for (; i < request_count && requests[i].sent_ns < ms * 1e6; i++)
            admitted += requests[i].allowed;
        (void)printf("early %u %u\n", ms, admitted);
    }
}

static void print_seconds(uint32_t seconds)
{
    static uint32_t asked[SECONDS_MAX], admitted[SECONDS_MAX], by_one[SECONDS_MAX];
    static uint32_t of_region[SECONDS_MAX][REGIONS_MAX];
    for (uint32_t i = 0; i < request_count; i++) {
        const uint32_t second = (uint32_t)(requests[i].sent_ns / NS_PER_S);
        if (second >= SECONDS_MAX)
            continue;
        asked[second]++;
        admitted[second] += requests[i].allowed;
        of_region[second][requests[i].region] += requests[i].allowed;
        by_one[second] += requests[i].by_one_bucket;
    }
    for (uint32_t i = 0; i < seconds; i++) {
        (void)printf("second %u %u %u %u", i, asked[i], admitted[i], by_one[i]);
        for (uint32_t k = 0; k < region_count; k++)
            (void)printf(" %u", of_region[i][k]);
        (void)putchar('\n');
    }
}

static void print_all(double capacity, double rate, double seconds)
{
    uint32_t admitted = 0, of_region[REGIONS_MAX] = {0};
    for (uint32_t i = 0; i < request_count; i++) {
        admitted += requests[i].allowed;
        of_region[requests[i].region] += requests[i].allowed;
    }
    (void)printf("asked %u\nadmitted %u\none_bucket %u\nexcess %.2f\n", request_count, admitted,
                 judge_one_bucket(capacity, rate), judge_excess(capacity, rate));
    for (uint32_t i = 0; i < region_count; i++)
        (void)printf("region %u %u %u\n", i, regions[i].sent, of_region[i]);
    print_seconds((uint32_t)ceil(seconds));
    print_early();
}

/* NAMESPACE,PORT,RATE[,AT_ONCE]. */
static bool read_region(struct region *region, const char *text)
{
    const size_t space = strcspn(text, ",");
    char *at;
    if (space >= PATH_BYTES || text[space] == '\0')
        return false;
    memcpy(region->space, text, space);
    region->port = (int)strtol(text + space + 1, &at, 10);
    if (*at != ',')
        return false;
    region->rate = strtod(at + 1, &at);
    region->at_once = *at == ',' ? (uint32_t)strtoul(at + 1, &at, 10) : 0;
    region->unanswered = calloc(REQUESTS_MAX, sizeof *region->unanswered);
    assert(region->unanswered != NULL);
    return *at == '\0';
}

int main(int argc, char **argv)
{
    region_count = argc > WORDS ? (uint32_t)(argc - WORDS) : 0;
    const double seconds = argc > WORDS ? strtod(argv[3], NULL) : 0;
    bool good = region_count > 0 && region_count <= REGIONS_MAX && seconds <= SECONDS_MAX && strlen(argv[5]) <= 64;
    for (uint32_t i = 0; good && i < region_count; i++)
        good = read_region(&regions[i], argv[WORDS + i]);
    if (!good) {
        (void)fprintf(stderr, "Usage: ask CAPACITY RATE SECONDS SEED KEY NAMESPACE,PORT,RATE[,AT_ONCE] ...\n");
        return 64;
    }
    srand48(strtol(argv[4], NULL, 10));
    for (uint32_t i = 0; i < region_count; i++)
        connect_to(&regions[i]);
    start_ns = now_ns();
    ask_all(argv[5], seconds);
    print_all(strtod(argv[1], NULL), strtod(argv[2], NULL), seconds);
    return 0;
}
