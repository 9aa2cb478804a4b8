/*
 * The sockets of a listener: makes, binds and names them. libuv's own listening is not used: without a free descriptor
 * it calls accept without end, and its loop serves nobody meanwhile.
 */
#include "edge/clients/connection.h"
#include "edge/clients/handed.h"

#include "base/host_port.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

enum {
    BACKLOG = 511,
    HANDED_BACKLOG = 65535, /* a queue that lives on while no daemon runs; the system cuts it to its own bound */
};

static bool set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

static socklen_t size_of(const struct sockaddr *address)
{
    return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/*
 * Binds and listens; -1: errno says why not. The first socket of an address permits others only once it listens: so it
 * fails if another program listens there.
 */
static int open_socket(const struct listener *listener, const struct sockaddr *address, bool first)
{
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (set(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
        (address->sa_family != AF_INET6 || set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0)) &&
        (first || set(fd, SOL_SOCKET, SO_REUSEPORT, 1)) && bind(fd, address, size_of(address)) == 0 &&
        listen(fd, BACKLOG) == 0 &&
        (!first || !listener->options.shares_port || set(fd, SOL_SOCKET, SO_REUSEPORT, 1)))
        return fd;
    const int failed = errno;
    (void)close(fd);
    errno = failed;
    return -1;
}

/* Listens in the next place of the listener, or returns libuv's error. */
static int listen_on(struct listener *listener, const struct sockaddr *address, const struct service *service,
                     bool first)
{
    const uint32_t index = listener->socket_count;
    int fd = listener->options.handed != NULL
                 ? handed_take(listener->options.handed, address, listener->options.thread)
                 : -1;
    const bool was_handed = fd >= 0;
    if (fd == -1)
        fd = open_socket(listener, address, first);
    if (fd < 0 || (was_handed && listen(fd, HANDED_BACKLOG) != 0)) {
        const int failed = errno;
        if (fd >= 0)
            (void)close(fd);
        return uv_translate_sys_error(failed);
    }
    const int failed = uv_poll_init(listener->loop, &listener->polls[index], fd);
    if (failed != 0) {
        (void)close(fd);
        return failed;
    }
    listener->polls[index].data = listener;
    listener->handles_open++;
    listener->socket_fd[index] = fd;
    listener->handed[index] = was_handed;
    listener->socket_service[index] = *service;
    listener->socket_count++;
    listener_await_clients(listener, index);
    return 0;
}

static bool listen_error(struct error *error, const char *address, int failed)
{
    if (failed == UV_EADDRINUSE)
        return error_set(
            error, EX_UNAVAILABLE,
            "cannot listen on %s: the port is in use by another program; stop it or choose another port", address);
    if (failed == UV_EACCES)
        return error_set(error, EX_NOPERM,
                         "cannot listen on %s: ports below 1024 need root or CAP_NET_BIND_SERVICE", address);
    if (failed == UV_EADDRNOTAVAIL)
        return error_set(error, EX_UNAVAILABLE, "cannot listen on %s: this machine has no such address", address);
    return error_set(error, EX_UNAVAILABLE, "cannot listen on %s: %s", address, uv_strerror(failed));
}

bool listener_bind(struct listener *listener, const char *address, const struct service *service,
                   struct error *error)
{
    char host[256], port[PORT_TEXT_BYTES];
    assert(service->session_bytes <= listener->service.session_bytes);
    if (!host_port_split(address, host, sizeof host, port))
        return error_set(
            error, EX_CONFIG,
            "cannot listen on \"%s\": expected host:port, [v6 address]:port or *:port, port up to 65535", address);
    if (listener->socket_count == LISTENER_SOCKETS_MAX)
        return error_set(error, EX_CONFIG, "cannot listen on %s: at most %d addresses", address,
                         LISTENER_SOCKETS_MAX);
    bool everywhere = host[0] == '\0' || strcmp(host, "*") == 0;
    if (everywhere) {
        struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)strtoul(port, NULL, 10))};
        int failed = listen_on(listener, (const struct sockaddr *)&any, service, true);
        if (failed == 0)
            return true;
        if (failed != UV_EAFNOSUPPORT || listener->socket_count == LISTENER_SOCKETS_MAX)
            return listen_error(error, address, failed);
    }
    uv_getaddrinfo_t request;
    struct addrinfo hints = {.ai_family = everywhere ? AF_INET : AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    int failed = uv_getaddrinfo(listener->loop, &request, NULL, everywhere ? "0.0.0.0" : host, port, &hints);
    if (failed != 0)
        return error_set(error, EX_NOHOST, "cannot listen on %s: %s", address, uv_strerror(failed));
    failed = listen_on(listener, request.addrinfo->ai_addr, service, true);
    uv_freeaddrinfo(request.addrinfo);
    return failed == 0 || listen_error(error, address, failed);
}

bool listener_join(struct listener *listener, const struct listener *first, const struct service *service,
                   struct error *error)
{
    const uint32_t next = listener->socket_count;
    assert(first->options.shares_port && next < first->socket_count);
    assert(service->session_bytes <= listener->service.session_bytes);
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    int failed = getsockname(first->socket_fd[next], (struct sockaddr *)&address, &size) == 0
                     ? 0
                     : uv_translate_sys_error(errno);
    if (failed == 0)
        failed = listen_on(listener, (const struct sockaddr *)&address, service, false);
    return failed == 0 ||
           error_set(error, EX_UNAVAILABLE, "cannot listen in several threads: %s", uv_strerror(failed));
}

uint16_t listener_port(const struct listener *listener, uint32_t index)
{
    struct sockaddr_in6 address = {0}; /* of IPv4 the port is at the same place */
    socklen_t size = sizeof address;
    if (index >= listener->socket_count ||
        getsockname(listener->socket_fd[index], (struct sockaddr *)&address, &size) != 0)
        return 0;
    return ntohs(address.sin6_port);
}
