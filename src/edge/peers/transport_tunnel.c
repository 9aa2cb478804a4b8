/*
 * transport_tunnel has the calls of the tunnel; transport_tunnel_thread.c has its thread.
 */
#include "edge/peers/transport_tunnel.h"

#include "base/host_port.h"
#include "base/metric.h"
#include "edge/peers/transport_tunnel_state.h"
#include "edge/process/background.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 128 };

/* ---- life ---- */

static bool start(struct tunnel *tunnel)
{
    tunnel->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (tunnel->wake_fd < 0)
        return false;
    const bool background = background_begin();
    const bool started = pthread_create(&tunnel->thread, NULL, tunnel_run, tunnel) == 0;
    if (background)
        background_end();
    if (!started)
        (void)close(tunnel->wake_fd);
    return started;
}

struct tunnel *tunnel_create(struct transport_tls *tls)
{
    struct tunnel *tunnel = calloc(1, sizeof *tunnel);
    if (!tunnel)
        return NULL;
    const int status = uv_mutex_init(&tunnel->lock);
    assert(status == 0); /* on Linux it needs no resources */
    for (int i = 0; i < TUNNEL_PORTS; i++)
        tunnel->door[i].fd = -1;
    for (uint32_t i = 0; i < TUNNEL_ROUTES_MAX; i++)
        tunnel->route[i].fd = -1;
    atomic_init(&tunnel->holders, 1);
    tunnel->tls = transport_tls_hold(tls);
    if (start(tunnel))
        return tunnel;
    transport_tls_release(&tunnel->tls);
    uv_mutex_destroy(&tunnel->lock);
    free(tunnel);
    return NULL;
}

static void wake(const struct tunnel *tunnel)
{
    (void)eventfd_write(tunnel->wake_fd, 1);
}

void tunnel_stop(struct tunnel *tunnel)
{
    uv_mutex_lock(&tunnel->lock);
    const bool stopped = tunnel->quits;
    tunnel->quits = true;
    wake(tunnel);
    uv_mutex_unlock(&tunnel->lock);
    if (stopped)
        return;
    (void)pthread_join(tunnel->thread, NULL);
    uv_mutex_lock(&tunnel->lock);
    for (uint32_t i = 0; i < TUNNEL_CONNECTIONS_MAX; i++) {
        if (tunnel->connection[i])
            tunnel_close(tunnel->connection[i]);
        free(tunnel->connection[i]);
        tunnel->connection[i] = NULL;
    }
    uv_mutex_unlock(&tunnel->lock);
}

struct tunnel *tunnel_hold(struct tunnel *tunnel)
{
    (void)atomic_fetch_add(&tunnel->holders, 1);
    return tunnel;
}

void tunnel_release(struct tunnel **tunnel)
{
    struct tunnel *t = *tunnel;
    *tunnel = NULL;
    if (!t || atomic_fetch_sub(&t->holders, 1) > 1)
        return;
    assert(t->quits);
    for (int i = 0; i < TUNNEL_PORTS; i++)
        if (t->door[i].fd >= 0)
            (void)close(t->door[i].fd);
    for (uint32_t i = 0; i < TUNNEL_ROUTES_MAX; i++)
        if (t->route[i].fd >= 0)
            (void)close(t->route[i].fd);
    (void)close(t->wake_fd);
    transport_tls_release(&t->tls);
    uv_mutex_destroy(&t->lock);
    free(t);
}

void tunnel_renew(struct tunnel *tunnel, struct transport_tls *tls)
{
    uv_mutex_lock(&tunnel->lock);
    transport_tls_release(&tunnel->tls);
    tunnel->tls = transport_tls_hold(tls);
    tunnel->renews = true;
    wake(tunnel);
    uv_mutex_unlock(&tunnel->lock);
}

/* ---- ports ---- */

/* An errno; 0: *fd listens. */
static int listen_at(const struct addrinfo *at, int *fd)
{
    const int on = 1, off = 0;
    *fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return errno;
    (void)setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->ai_family == AF_INET6)
        (void)setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(*fd, at->ai_addr, at->ai_addrlen) == 0 && listen(*fd, BACKLOG) == 0)
        return 0;
    const int failed = errno;
    (void)close(*fd);
    *fd = -1;
    return failed;
}

/* "*" is all addresses, of IPv6 as well where the system has it. */
static int open_door(const char *address, int *fd)
{
    char host[CONTACT_ADDRESS_BYTES], port[PORT_TEXT_BYTES];
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int failed = EINVAL;
    if (!host_port_split(address, host, sizeof host, port))
        return EINVAL;
    const bool all = strcmp(host, "*") == 0;
    wanted.ai_family = all ? AF_INET6 : AF_UNSPEC;
    if (getaddrinfo(all ? NULL : host, port, &wanted, &found) == 0) {
        failed = listen_at(found, fd);
        freeaddrinfo(found);
    }
    wanted.ai_family = AF_INET;
    if (all && failed != 0 && failed != EADDRINUSE && failed != EACCES &&
        getaddrinfo(NULL, port, &wanted, &found) == 0) {
        failed = listen_at(found, fd);
        freeaddrinfo(found);
    }
    return failed;
}

int tunnel_listen(struct tunnel *tunnel, enum tunnel_port port, const char *address, uint16_t inner_port)
{
    int fd = -1;
    const int failed = open_door(address, &fd);
    if (failed != 0)
        return failed;
    uv_mutex_lock(&tunnel->lock);
    tunnel->door[port].inner_port = inner_port;
    tunnel->door[port].fd = fd;
    wake(tunnel);
    uv_mutex_unlock(&tunnel->lock);
    return 0;
}

/* ---- routes ---- */

static struct tunnel_route *find_route(struct tunnel *tunnel, const char *name, const char *address)
{
    for (uint32_t i = 0; i < TUNNEL_ROUTES_MAX; i++) {
        struct tunnel_route *route = &tunnel->route[i];
        if (route->fd >= 0 && strcmp(route->name, name) == 0 && strcmp(route->address, address) == 0)
            return route;
    }
    return NULL;
}

/* A free place, or that of the route which nng dialled longest ago. */
static struct tunnel_route *place_for_route(struct tunnel *tunnel)
{
    struct tunnel_route *best = &tunnel->route[0];
    for (uint32_t i = 0; i < TUNNEL_ROUTES_MAX && best->fd >= 0; i++) {
        struct tunnel_route *route = &tunnel->route[i];
        if (route->fd < 0 || route->used < best->used)
            best = route;
    }
    if (best->fd >= 0)
        (void)close(best->fd);
    best->fd = -1;
    return best;
}

static struct tunnel_route *make_route(struct tunnel *tunnel, const char *name, const char *address)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct tunnel_route *route = place_for_route(tunnel);
    const struct addrinfo at = {.ai_family = AF_INET, .ai_addr = (struct sockaddr *)&in, .ai_addrlen = sizeof in};
    int fd;
    if (listen_at(&at, &fd) != 0)
        return NULL;
    *route = (struct tunnel_route){.fd = fd, .port = ntohs(endpoint_local(fd).port)};
    (void)snprintf(route->name, sizeof route->name, "%s", name);
    (void)snprintf(route->address, sizeof route->address, "%s", address);
    wake(tunnel);
    return route;
}

uint16_t tunnel_route(struct tunnel *tunnel, const char *name, const char *address)
{
    uv_mutex_lock(&tunnel->lock);
    struct tunnel_route *route = find_route(tunnel, name, address);
    if (!route)
        route = make_route(tunnel, name, address);
    if (route)
        route->used = ++tunnel->uses;
    const uint16_t port = route ? route->port : 0;
    uv_mutex_unlock(&tunnel->lock);
    return port;
}

enum contact_finding tunnel_finding(struct tunnel *tunnel, const char *name, const char *address,
                                    char sentence[CONTACT_SENTENCE_BYTES])
{
    uv_mutex_lock(&tunnel->lock);
    const struct tunnel_route *route = find_route(tunnel, name, address);
    const enum contact_finding found = route ? route->found : CONTACT_NOTHING;
    if (route)
        memcpy(sentence, route->sentence, CONTACT_SENTENCE_BYTES);
    uv_mutex_unlock(&tunnel->lock);
    return found;
}

/* ---- connections ---- */

static const struct tunnel_connection *find(const struct tunnel *tunnel, const struct endpoint *remote)
{
    for (uint32_t i = 0; i < TUNNEL_CONNECTIONS_MAX; i++) {
        const struct tunnel_connection *connection = tunnel->connection[i];
        if (connection && connection->accepted && connection->state == TUNNEL_CARRIES &&
            endpoint_same(&connection->inner_local, remote))
            return connection;
    }
    return NULL;
}

bool tunnel_has_brought(struct tunnel *tunnel, const struct endpoint *remote)
{
    uv_mutex_lock(&tunnel->lock);
    const bool has = find(tunnel, remote) != NULL;
    uv_mutex_unlock(&tunnel->lock);
    return has;
}

void tunnel_names(struct tunnel *tunnel, const struct endpoint *remote, char names[TRANSPORT_NAMES_BYTES])
{
    uv_mutex_lock(&tunnel->lock);
    const struct tunnel_connection *connection = find(tunnel, remote);
    (void)snprintf(names, TRANSPORT_NAMES_BYTES, "%s",
                   !connection            ? ""
                   : connection->names[0] ? connection->names
                                          : "no member");
    uv_mutex_unlock(&tunnel->lock);
}

bool tunnel_arrivals(struct tunnel *tunnel, const struct endpoint *inner_remote, struct arrivals *arrivals)
{
    bool found = false;
    uv_mutex_lock(&tunnel->lock);
    for (uint32_t i = 0; i < TUNNEL_CONNECTIONS_MAX && !found; i++) {
        const struct tunnel_connection *connection = tunnel->connection[i];
        found = connection && !connection->accepted && connection->state == TUNNEL_CARRIES &&
                endpoint_same(&connection->inner_remote, inner_remote) &&
                endpoint_arrivals(connection->outer, arrivals);
    }
    uv_mutex_unlock(&tunnel->lock);
    return found;
}

struct tunnel_stats tunnel_stats(const struct tunnel *tunnel)
{
    return (struct tunnel_stats){.refused = metric_get(&tunnel->stats.refused),
                                 .cut = metric_get(&tunnel->stats.cut)};
}
