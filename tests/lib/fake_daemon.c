#include "tests/lib/fake_daemon.h"

#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define VERDICT "*6\r\n:1\r\n:10\r\n:9\r\n:0\r\n:100\r\n$4\r\nslow\r\n"

static void say(int fd, const char *text)
{
    (void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void note_key(struct fake *fake, const char *request)
{
    const char *key = strstr(request, "\r\nIDEMPOTENCY_KEY\r\n$");
    memcpy(fake->key[1], fake->key[0], FAKE_KEY_BYTES);
    fake->key[0][0] = '\0';
    if (key != NULL)
        (void)sscanf(key + sizeof "\r\nIDEMPOTENCY_KEY\r\n$" - 1, "%*d\r\n%63[^\r]", fake->key[0]);
}

/* Answers one request. False: the connection ends. */
static bool serve(struct fake *fake, uint32_t at, const char *request)
{
    const int fd = fake->client[at];
    if (strstr(request, "\r\nAUTH\r\n") && atomic_load(&fake->manner) == SLOW)
        return true;
    if (strstr(request, "\r\nAUTH\r\n")) {
        fake->greeted[at] = strstr(request, "\r\nann\r\n") && strstr(request, "\r\nsecret\r\n");
        say(fd, fake->greeted[at] ? "+OK\r\n" : "-WRONGPASS wrong\r\n");
        return true;
    }
    if (strstr(request, "\r\nanybody\r\n") && atomic_load(&fake->manner) == JOINS) {
        atomic_fetch_add(&fake->looks, 1);
        say(fd,
            "*7\r\n:0\r\n:10\r\n:0\r\n:100\r\n:0\r\n$4\r\nslow\r\n*1\r\n*2\r\n$6\r\nreason\r\n$9\r\nnot_ready\r\n");
        return true;
    }
    if (strstr(request, "\r\nanybody\r\n")) {
        say(fd, "-NOPERM this user may not ask\r\n");
        return true;
    }
    atomic_fetch_add(strstr(request, "\r\nPEEK\r\n") ? &fake->peeks : &fake->checks, 1);
    note_key(fake, request);
    switch (atomic_load(&fake->manner)) {
    case FORGETS:
        atomic_store(&fake->manner, ANSWERS);
        return false;
    case PAUSES:
        atomic_store(&fake->manner, ANSWERS);
        return true;
    case SILENT:
        return true;
    case DROPS:
        return false;
    case LOADING:
        say(fd, "-LOADING rules of peers are on their way\r\n");
        return true;
    case REFUSES:
        say(fd, "-ERR unknown rule 'x'\r\n");
        return true;
    case BABBLES:
        say(fd, "*1\r\n:1\r\n");
        return true;
    case REPEATS:
        say(fd, VERDICT VERDICT);
        return true;
    case GUARDED:
    case ANSWERS:
    case SLOW:
    case JOINS:
        break;
    }
    void (*around)(bool) = atomic_load(&fake->around);
    if (around)
        around(false);
    say(fd, atomic_load(&fake->manner) == GUARDED && !fake->greeted[at] ? "-NOAUTH Authentication required.\r\n"
                                                                        : VERDICT);
    if (around)
        around(true);
    return true;
}

static void let_go(struct fake *fake, uint32_t at)
{
    (void)close(fake->client[at]);
    fake->count--;
    fake->client[at] = fake->client[fake->count];
    fake->greeted[at] = fake->greeted[fake->count];
}

static void look_at(struct fake *fake, const struct pollfd *ready, uint32_t count)
{
    char request[512];
    for (uint32_t i = count; i-- > 0;) {
        if (ready[i + 1].revents == 0)
            continue;
        const ssize_t got = recv(fake->client[i], request, sizeof request - 1, 0);
        if (got > 0)
            request[got] = '\0';
        if (got <= 0 || !serve(fake, i, request))
            let_go(fake, i);
    }
}

static void *run(void *argument)
{
    struct fake *fake = argument;
    while (!atomic_load(&fake->ends)) {
        struct pollfd ready[FAKE_CLIENTS_MAX + 1] = {{.fd = fake->listener, .events = POLLIN}};
        const uint32_t count = fake->count;
        for (uint32_t i = 0; i < count; i++)
            ready[i + 1] = (struct pollfd){.fd = fake->client[i], .events = POLLIN};
        (void)poll(ready, count + 1, 1);
        look_at(fake, ready, count);
        if (atomic_load(&fake->shuts)) {
            while (fake->count > 0)
                let_go(fake, 0);
            atomic_store(&fake->shuts, false); /* the test waits for that */
        }
        if (ready[0].revents && fake->count < FAKE_CLIENTS_MAX) {
            fake->greeted[fake->count] = false;
            fake->client[fake->count++] = accept(fake->listener, NULL, NULL);
            atomic_fetch_add(&fake->connections, 1);
        }
    }
    while (fake->count > 0)
        let_go(fake, 0);
    return NULL;
}

void fake_open(struct fake *fake, enum manner manner, uint16_t port)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_port = htons(port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    const int on = 1;
    *fake = (struct fake){.listener = socket(AF_INET, SOCK_STREAM, 0), .manner = manner};
    (void)setsockopt(fake->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int failed = bind(fake->listener, (struct sockaddr *)(void *)&here, size) || listen(fake->listener, 16) ||
                 getsockname(fake->listener, (struct sockaddr *)(void *)&here, &size) ||
                 pthread_create(&fake->thread, NULL, run, fake);
    assert(!failed);
    (void)snprintf(fake->address, sizeof fake->address, "127.0.0.1:%d", ntohs(here.sin_port));
}

void fake_close(struct fake *fake)
{
    atomic_store(&fake->ends, true);
    (void)pthread_join(fake->thread, NULL);
    (void)close(fake->listener);
}

uint16_t fake_port(const struct fake *fake)
{
    return (uint16_t)strtoul(strchr(fake->address, ':') + 1, NULL, 10);
}
