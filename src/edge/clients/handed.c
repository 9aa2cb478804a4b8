#include "edge/clients/handed.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

enum { TEXT_BYTES = INET6_ADDRSTRLEN + 16 };

bool handed_open(struct handed *handed, struct error *error)
{
    const int count = sd_listen_fds(1);
    *handed = (struct handed){.count = 0};
    if (count < 0)
        return error_set(
            error, EX_CONFIG,
            "the service manager hands over sockets that are not there (%s): expected LISTEN_FDS of them",
            strerror(-count));
    if (count > HANDED_MAX)
        return error_set(error, EX_CONFIG, "the service manager hands over %d sockets: expected at most %d", count,
                         HANDED_MAX);
    for (int i = 0; i < count; i++) {
        const int fd = SD_LISTEN_FDS_START + i;
        if (sd_is_socket(fd, AF_INET, SOCK_STREAM, 1) <= 0 && sd_is_socket(fd, AF_INET6, SOCK_STREAM, 1) <= 0)
            return error_set(error, EX_CONFIG,
                             "descriptor %d, which the service manager hands over, is no TCP socket that listens: "
                             "expected ListenStream=HOST:PORT in its socket unit",
                             fd);
        handed->fd[handed->count++] = fd;
    }
    return true;
}

/* ---- addresses ---- */

static struct sockaddr_in v4_of(const struct sockaddr *address)
{
    struct sockaddr_in v4;
    memcpy(&v4, address, sizeof v4);
    return v4;
}

static uint16_t port_of(const struct sockaddr *address)
{
    _Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
                   "at one place");
    return ntohs(v4_of(address).sin_port);
}

static bool is_any(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return v4_of(address).sin_addr.s_addr == INADDR_ANY;
}

static bool same_host(const struct sockaddr *a, const struct sockaddr *b)
{
    if (is_any(a) || is_any(b))
        return is_any(a) && is_any(b); /* of both versions, or of one */
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET6)
        return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr);
    return v4_of(a).sin_addr.s_addr == v4_of(b).sin_addr.s_addr;
}

static bool name_of(int fd, struct sockaddr_storage *address)
{
    socklen_t size = sizeof *address;
    return getsockname(fd, (struct sockaddr *)address, &size) == 0;
}

static const char *text_of(int fd, char out[TEXT_BYTES])
{
    struct sockaddr_storage address = {0};
    char host[INET6_ADDRSTRLEN] = "?";
    (void)name_of(fd, &address);
    const void *of = address.ss_family == AF_INET6
                         ? (const void *)&((const struct sockaddr_in6 *)(const void *)&address)->sin6_addr
                         : (const void *)&((const struct sockaddr_in *)(const void *)&address)->sin_addr;
    (void)inet_ntop(address.ss_family, of, host, sizeof host);
    (void)snprintf(out, TEXT_BYTES, address.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
                   (unsigned)port_of((const struct sockaddr *)&address));
    return out;
}

/* ---- who has what ---- */

int handed_take(struct handed *handed, const struct sockaddr *address, uint32_t thread)
{
    uint32_t of_address[HANDED_MAX], count = 0;
    for (uint32_t i = 0; i < handed->count; i++) {
        struct sockaddr_storage bound = {0};
        if (name_of(handed->fd[i], &bound) && port_of((const struct sockaddr *)&bound) == port_of(address) &&
            same_host((const struct sockaddr *)&bound, address))
            of_address[count++] = i;
    }
    if (count == 0)
        return -1;
    const uint32_t own = of_address[thread % count];
    handed->taken[own] = true;
    const int fd = fcntl(handed->fd[own], F_DUPFD_CLOEXEC, 0);
    return fd >= 0 ? fd : -2;
}

bool handed_close(struct handed *handed, struct error *error)
{
    bool all = true;
    for (uint32_t i = 0; i < handed->count; i++) {
        char text[TEXT_BYTES];
        if (all && !handed->taken[i])
            all =
                error_set(error, EX_CONFIG,
                          "the service manager hands over a socket for %s: expected one for an address of listen, "
                          "and no more for each than there are threads",
                          text_of(handed->fd[i], text));
        (void)close(handed->fd[i]);
    }
    handed->count = 0;
    return all;
}
