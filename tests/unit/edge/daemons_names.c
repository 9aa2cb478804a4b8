/*
 * A name of two daemons, one address each. A request that one of them may have charged is never sent to the other, and
 * one that takes connections and answers nothing does not hide the other. The look-up is of this test.
 */
#include "headgate/daemons.h"

#include "edge/process/clock.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define VERDICT "*6\r\n:1\r\n:10\r\n:9\r\n:0\r\n:100\r\n$4\r\nslow\r\n"

enum { DAEMONS = 2, CLIENTS_MAX = 16, DEADLINE_MS = 60000 };

enum manner { ANSWERS, DROPS, SILENT };

static struct sockaddr_in where[DAEMONS];
static struct addrinfo found[DAEMONS];
static atomic_uint look_ups;
static bool turns; /* each look-up begins with another address, as those of most name servers do */

static int listener[DAEMONS];
static _Atomic enum manner manner[DAEMONS];
static atomic_uint checks[DAEMONS], connections[DAEMONS];
static atomic_bool ends;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
    (void)name, (void)service, (void)hints;
    const unsigned first = turns ? atomic_fetch_add(&look_ups, 1) : 0;
    for (unsigned i = 0; i < DAEMONS; i++)
        found[i] = (struct addrinfo){.ai_family = AF_INET,
                                     .ai_socktype = SOCK_STREAM,
                                     .ai_addrlen = sizeof where[i],
                                     .ai_addr = (struct sockaddr *)(void *)&where[(first + i) % DAEMONS],
                                     .ai_next = i + 1 < DAEMONS ? &found[i + 1] : NULL};
    *list = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    assert(list == found);
}

/* ---- the daemons ---- */

/* Answers what a client of daemon `at` has sent. False: the connection ends. */
static bool serve(unsigned at, int fd)
{
    char request[512];
    const ssize_t got = recv(fd, request, sizeof request - 1, 0);
    if (got <= 0)
        return false;
    request[got] = '\0';
    const bool greets = strstr(request, "\r\nanybody\r\n") != NULL;
    if (atomic_load(&manner[at]) == SILENT)
        return true;
    if (!greets)
        atomic_fetch_add(&checks[at], 1);
    if (!greets && atomic_load(&manner[at]) == DROPS)
        return false;
    (void)send(fd, VERDICT, sizeof VERDICT - 1, MSG_NOSIGNAL);
    return true;
}

static void *run(void *argument)
{
    struct pollfd ready[DAEMONS + CLIENTS_MAX] = {{.fd = listener[0], .events = POLLIN},
                                                  {.fd = listener[1], .events = POLLIN}};
    unsigned daemon[DAEMONS + CLIENTS_MAX], count = DAEMONS;
    (void)argument;
    while (!atomic_load(&ends)) {
        (void)poll(ready, count, 1);
        for (unsigned i = count; i-- > DAEMONS;) {
            if (!ready[i].revents || serve(daemon[i], ready[i].fd))
                continue;
            (void)close(ready[i].fd);
            ready[i] = ready[--count];
            daemon[i] = daemon[count];
        }
        for (unsigned i = 0; i < DAEMONS; i++) {
            if (!(ready[i].revents & POLLIN) || count == DAEMONS + CLIENTS_MAX)
                continue;
            atomic_fetch_add(&connections[i], 1);
            daemon[count] = i;
            ready[count++] = (struct pollfd){.fd = accept(listener[i], NULL, NULL), .events = POLLIN};
        }
    }
    while (count-- > DAEMONS)
        (void)close(ready[count].fd);
    return NULL;
}

static void open_listeners(void)
{
    for (unsigned i = 0; i < DAEMONS; i++) {
        socklen_t size = sizeof where[i];
        where[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        listener[i] = socket(AF_INET, SOCK_STREAM, 0);
        const int failed = bind(listener[i], (struct sockaddr *)(void *)&where[i], size) || listen(listener[i], 16) ||
                           getsockname(listener[i], (struct sockaddr *)(void *)&where[i], &size);
        assert(!failed);
    }
}

/* ---- asking ---- */

static struct headgate_daemons_answer answer;

/* The one that takes long is given up soon where `hasty`: else nobody is, however slow this is. */
static struct headgate_daemons *begin(enum manner first, enum manner second, bool hasty)
{
    static const char *const name[] = {"two.test:7070"};
    const struct headgate_daemons_options options = {.addresses = name,
                                                     .address_count = 1,
                                                     .client = {.timeout_ms = DEADLINE_MS},
                                                     .connect_timeout_ms = hasty ? 100 : DEADLINE_MS,
                                                     .pause_min_ms = 1,
                                                     .pause_max_ms = 2,
                                                     .resend = true};
    atomic_store(&manner[0], first);
    atomic_store(&manner[1], second);
    for (unsigned i = 0; i < DAEMONS; i++)
        atomic_store(&checks[i], 0);
    return headgate_daemons_create(&options, NULL, 0);
}

static enum headgate_client_status ask(struct headgate_daemons *daemons)
{
    const char *const words[] = {"CHECK", "user=alice"};
    return headgate_daemons_ask(daemons, 2, words, &answer);
}

/* Keys are per daemon: the second one would charge the request again. */
static void test_resend(void)
{
    turns = true;
    struct headgate_daemons *daemons = begin(DROPS, DROPS, false);
    OK(ask(daemons) == HEADGATE_CLIENT_OK && !answer.decided && answer.maybe_charged,
       "an answer is lost, and the name leads to another daemon: nobody has decided");
    OK_U64(atomic_load(&checks[0]) + atomic_load(&checks[1]), 1, "the other one is not asked");
    const unsigned first = atomic_load(&checks[0]) > 0 ? 0 : 1;
    atomic_store(&manner[1 - first], ANSWERS);
    OK(ask(daemons) == HEADGATE_CLIENT_OK && answer.decided && !answer.maybe_charged, "but for the next request");
    OK_U64(atomic_load(&checks[first]), 1, "on the connection that is there");
    headgate_daemons_destroy(&daemons);
    turns = false;
    daemons = begin(DROPS, ANSWERS, false);
    OK(ask(daemons) == HEADGATE_CLIENT_OK && !answer.decided && answer.maybe_charged, "an answer is lost");
    OK_U64(atomic_load(&checks[0]), 2, "the name leads to the same daemon: it is asked again");
    OK_U64(atomic_load(&checks[1]), 0, "alone");
    headgate_daemons_destroy(&daemons);
}

/* A daemon that is stopped: its kernel takes connections. */
static void test_silent(void)
{
    turns = false;
    struct headgate_daemons *daemons = begin(SILENT, ANSWERS, true);
    const uint64_t end_ns = clock_monotonic_ns() + DEADLINE_MS * UINT64_C(1000000);
    while (ask(daemons) == HEADGATE_CLIENT_OK && !answer.decided && clock_monotonic_ns() < end_ns) {
        const struct timespec a_little = {.tv_nsec = 5000000};
        (void)nanosleep(&a_little, NULL);
    }
    OK(answer.decided, "a daemon that takes connections and says nothing does not hide the next of its name");
    OK_U64(atomic_load(&checks[1]), 1, "which is asked");
    headgate_daemons_destroy(&daemons);
}

int main(void)
{
    pthread_t thread;
    open_listeners();
    const int failed = pthread_create(&thread, NULL, run, NULL);
    assert(!failed);
    test_resend();
    test_silent();
    atomic_store(&ends, true);
    (void)pthread_join(thread, NULL);
    for (unsigned i = 0; i < DAEMONS; i++)
        (void)close(listener[i]);
    return tap_done();
}
