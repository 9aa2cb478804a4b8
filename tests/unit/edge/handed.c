/*
 * Sockets that a service manager hands over: whose they are, who shares them, and what is none.
 */
#include "edge/clients/handed.h"

#include "tests/lib/tap.h"

#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST = 3, SOCKETS = 4 };

static struct handed handed;
static struct error error;

static struct sockaddr_in v4(uint32_t host, uint16_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(host)}};
}

/* A socket at that descriptor; its port. Port 0 takes any. */
static uint16_t put(int at, uint32_t host, uint16_t port, bool listens)
{
    const int yes = 1;
    struct sockaddr_in address = v4(host, port);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool good = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) == 0 &&
                bind(fd, (struct sockaddr *)&address, size) == 0 && (!listens || listen(fd, 4) == 0) &&
                getsockname(fd, (struct sockaddr *)&address, &size) == 0 && (fd == at || dup2(fd, at) == at);
    assert(good);
    if (fd != at)
        (void)close(fd);
    return ntohs(address.sin_port);
}

/* The environment as of a manager that hands over so many. */
static bool open_handed(int count)
{
    char pid[16], text[16];
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    (void)snprintf(text, sizeof text, "%d", count);
    (void)setenv("LISTEN_PID", pid, 1);
    (void)setenv("LISTEN_FDS", text, 1);
    return handed_open(&handed, &error);
}

static int take(struct sockaddr_in address, uint32_t thread)
{
    return handed_take(&handed, (const struct sockaddr *)&address, thread);
}

/* Whether the two descriptors are one socket: what is set at one is seen at the other. */
static bool same_socket(int a, int b)
{
    const int there = 1, gone = 0;
    int seen = 0;
    socklen_t size = sizeof seen;
    (void)setsockopt(b, SOL_SOCKET, SO_KEEPALIVE, &gone, sizeof gone);
    (void)setsockopt(a, SOL_SOCKET, SO_KEEPALIVE, &there, sizeof there);
    return getsockopt(b, SOL_SOCKET, SO_KEEPALIVE, &seen, &size) == 0 && seen != 0;
}

static void none(void)
{
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    OK(handed_open(&handed, &error) && handed.count == 0, "no manager, no sockets");
    OK(take(v4(INADDR_LOOPBACK, 7070), 0) == -1, "so none of any address");
    OK(handed_close(&handed, &error), "and nothing to close");
}

static void whose(void)
{
    const uint16_t one = put(FIRST, INADDR_LOOPBACK, 0, true), all = put(FIRST + 1, INADDR_ANY, 0, true);
    (void)put(FIRST + 2, INADDR_ANY, all, true);
    const uint16_t left = put(FIRST + 3, INADDR_LOOPBACK, 0, true);
    OK(open_handed(SOCKETS) && handed.count == SOCKETS, "four sockets");
    OK((fcntl(FIRST, F_GETFD) & FD_CLOEXEC) != 0, "no program of the daemon's would have them");
    const int a = take(v4(INADDR_LOOPBACK, one), 0), b = take(v4(INADDR_LOOPBACK, one), 1);
    OK(a >= 0 && b >= 0 && a != b && same_socket(a, b), "two threads share the only one of an address");
    OK(take(v4(INADDR_LOOPBACK + 1, one), 0) == -1, "another host has none");
    OK(take(v4(INADDR_LOOPBACK, (uint16_t)(one ^ 1)), 0) == -1, "nor has another port");
    OK(take(v4(INADDR_ANY, one), 0) == -1, "nor all hosts");
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(all)};
    const int c = handed_take(&handed, (const struct sockaddr *)&any, 0), d = take(v4(INADDR_ANY, all), 1);
    OK(c >= 0 && d >= 0 && !same_socket(c, d),
       "all hosts are those of both versions; two threads have two sockets");
    OK(take(v4(INADDR_LOOPBACK, all), 0) == -1, "one host is not all of them");
    char sentence[128];
    (void)snprintf(sentence, sizeof sentence, "the service manager hands over a socket for 127.0.0.1:%u: expected",
                   (unsigned)left);
    OK(!handed_close(&handed, &error) && strncmp(error.text, sentence, strlen(sentence)) == 0, "what is left: %s",
       error.text);
    OK(fcntl(FIRST, F_GETFD) < 0 && fcntl(a, F_GETFD) >= 0,
       "what was handed over is closed, what was taken is not");
    (void)close(a), (void)close(b), (void)close(c), (void)close(d);
}

static void wrong(void)
{
    (void)put(FIRST, INADDR_LOOPBACK, 0, false);
    OK(!open_handed(1) && strstr(error.text, "descriptor 3,") != NULL && error.exit_status == 78,
       "a socket that does not listen: %s", error.text);
    (void)close(FIRST);
    OK(!open_handed(1), "a descriptor that is not there");
    (void)setenv("LISTEN_PID", "1", 1);
    (void)setenv("LISTEN_FDS", "1", 1);
    OK(handed_open(&handed, &error) && handed.count == 0, "those of another process are none of ours");
}

int main(void)
{
    for (int fd = FIRST; fd < FIRST + SOCKETS; fd++)
        (void)close(fd); /* prove's */
    none();
    whose();
    wrong();
    return tap_done();
}
