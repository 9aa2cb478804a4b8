/*
 * A client whose host has several addresses: one refuses, one answers nothing, and one takes connections. The look-up
 * is of this test.
 */
#include "headgate/client.h"

#include "tests/lib/tap.h"

#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ADDRESSES = 2, CALLERS = 4, TIMEOUT_MS = 200 };

static struct sockaddr_in where[ADDRESSES];
static struct addrinfo found[ADDRESSES];

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
    (void)name, (void)service, (void)hints;
    for (int i = 0; i < ADDRESSES; i++)
        found[i] = (struct addrinfo){.ai_family = AF_INET,
                                     .ai_socktype = SOCK_STREAM,
                                     .ai_addrlen = sizeof where[i],
                                     .ai_addr = (struct sockaddr *)(void *)&where[i],
                                     .ai_next = i + 1 < ADDRESSES ? &found[i + 1] : NULL};
    *list = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    assert(list == found);
}

static int open_listener(int backlog, struct sockaddr_in *here)
{
    socklen_t size = sizeof *here;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    *here = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int failed = bind(listener, (struct sockaddr *)(void *)here, size) ||
                       getsockname(listener, (struct sockaddr *)(void *)here, &size) ||
                       (backlog >= 0 && listen(listener, backlog));
    assert(!failed);
    return listener;
}

/* Nobody accepts there, and others fill its queue: the kernel answers nobody any more. */
static void fill(const struct sockaddr_in *silent, int *caller)
{
    for (int i = 0; i < CALLERS; i++) {
        caller[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(caller[i], (const struct sockaddr *)(const void *)silent, sizeof *silent);
    }
}

int main(void)
{
    struct sockaddr_in answers, silent, refuses;
    int caller[CALLERS];
    const int here = open_listener(16, &answers), full = open_listener(0, &silent),
              closed = open_listener(-1, &refuses);
    fill(&silent, caller);
    struct headgate_client_options options = {.address = "two.test:7070", .timeout_ms = TIMEOUT_MS};
    struct headgate_client *client = headgate_client_create(&options);
    where[0] = refuses;
    where[1] = answers;
    OK(headgate_client_connect(client) == HEADGATE_CLIENT_OK, "one that refuses is passed over at once");
    where[0] = silent;
    OK(headgate_client_connect(client) == HEADGATE_CLIENT_TIMEOUT, "one that is silent takes all the time: %s",
       headgate_client_message(client));
    OK(headgate_client_connect(client) == HEADGATE_CLIENT_OK, "then the next one comes first");
    OK(headgate_client_connect(client) == HEADGATE_CLIENT_OK, "and stays so");
    where[0] = answers;
    where[1] = refuses;
    OK(headgate_client_connect(client) == HEADGATE_CLIENT_OK, "the last one is followed by the first");
    where[0] = refuses;
    OK(headgate_client_connect(client) == HEADGATE_CLIENT_UNREACHABLE, "where all refuse: %s",
       headgate_client_message(client));
    headgate_client_destroy(&client);
    for (int i = 0; i < CALLERS; i++)
        (void)close(caller[i]);
    (void)close(here);
    (void)close(full);
    (void)close(closed);
    return tap_done();
}
