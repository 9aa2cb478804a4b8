/*
 * transport_tunnel_thread waits for all connections at once, lets new ones in, and carries bytes. It holds
 * the lock while it works, and works on a bounded piece of each connection in a round.
 */
#include "base/metric.h"
#include "edge/peers/transport.h"
#include "edge/peers/transport_tunnel_state.h"
#include "edge/process/clock.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS ((uint64_t)1000000000)
#define SHAKE_NS (10 * SECOND_NS)
/* For what a connection that ends still holds. */
#define ENDING_NS (3 * SECOND_NS)

enum { ROUND_MS = 500, LACKS_MS = 100 /* between two tries without a descriptor */ };

/* ---- connections ---- */

/* NULL: no place, or no memory. */
static struct tunnel_connection *add(struct tunnel *tunnel, enum tunnel_state state)
{
    for (uint32_t i = 0; i < TUNNEL_CONNECTIONS_MAX; i++) {
        if (tunnel->connection[i])
            continue;
        struct tunnel_connection *connection = calloc(1, sizeof *connection);
        if (!connection)
            return NULL;
        connection->state = state;
        connection->inner = connection->outer = -1;
        connection->since_ns = clock_monotonic_ns();
        return tunnel->connection[i] = connection;
    }
    return NULL;
}

static void drop(struct tunnel *tunnel, uint32_t index)
{
    tunnel_close(tunnel->connection[index]);
    free(tunnel->connection[index]);
    tunnel->connection[index] = NULL;
}

static void begin_to_carry(struct tunnel_connection *connection)
{
    connection->state = TUNNEL_CARRIES;
    connection->again = true;
}

/* ---- what comes from peers ---- */

/* The handshakes that go on with the place of `one`, of those that count with it. */
static uint32_t shaking_at(const struct tunnel *tunnel, const struct tunnel_connection *one)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < TUNNEL_CONNECTIONS_MAX; i++) {
        const struct tunnel_connection *other = tunnel->connection[i];
        count += other && other->accepted && other->state == TUNNEL_SHAKES && other->known == one->known &&
                 endpoint_same_place(&other->remote, &one->remote);
    }
    return count;
}

/*
 * Strangers have half of the places in which handshakes are made. A new one takes that of the oldest at the address
 * which has most of them: whoever makes many ends his own, and a peer on a slow line keeps its place. False: there is
 * no place.
 */
static bool make_room(struct tunnel *tunnel, const struct tunnel_connection *for_one)
{
    uint32_t count = 0, most = 0, victim = TUNNEL_CONNECTIONS_MAX, at_port = 0;
    const uint32_t room = for_one->port == TUNNEL_GOSSIP ? TRANSPORT_SUBSCRIBERS_MAX : TRANSPORT_ASKERS_MAX;
    for (uint32_t i = 0; i < TUNNEL_CONNECTIONS_MAX; i++) {
        const struct tunnel_connection *other = tunnel->connection[i];
        if (!other || !other->accepted)
            continue;
        at_port += other->state == TUNNEL_CARRIES && other->port == for_one->port;
        if (other->state != TUNNEL_SHAKES || other->known != for_one->known)
            continue;
        count++;
        const uint32_t there = shaking_at(tunnel, other) + endpoint_same_place(&other->remote, &for_one->remote);
        if (there < most || (there == most && other->since_ns >= tunnel->connection[victim]->since_ns))
            continue;
        most = there;
        victim = i;
    }
    if (at_port >= room)
        return false;
    if (count >= TRANSPORT_GREETING_MAX / 2) {
        metric_add(&tunnel->stats.cut, 1);
        drop(tunnel, victim);
    }
    return true;
}

/* -1: nobody is there any more, or there is no descriptor or memory for him. Then nobody is accepted for LACKS_MS. */
static int accept_from(struct tunnel *tunnel, int socket)
{
    const int fd = accept4(socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        tunnel->lacks_ns = clock_monotonic_ns();
        metric_add(&tunnel->stats.refused, 1);
    }
    return fd;
}

static void let_in(struct tunnel *tunnel, enum tunnel_port port)
{
    const int fd = accept_from(tunnel, tunnel->door[port].fd), on = 1;
    if (fd < 0)
        return;
    struct tunnel_connection guest = {.port = port, .remote = endpoint_remote(fd)};
    guest.known = endpoint_ring_has(&tunnel->known, &guest.remote);
    struct tunnel_connection *connection = make_room(tunnel, &guest) ? add(tunnel, TUNNEL_SHAKES) : NULL;
    SSL *ssl = connection ? transport_tls_accepts(tunnel->tls) : NULL;
    if (!connection || !ssl || SSL_set_fd(ssl, fd) != 1) {
        metric_add(&tunnel->stats.refused, 1);
        SSL_free(ssl);
        (void)close(fd);
        if (connection) /* the next look drops it */
            connection->state = TUNNEL_FREE;
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->accepted = true;
    connection->known = guest.known;
    connection->port = port;
    connection->remote = guest.remote;
    connection->outer = fd;
    connection->ssl = ssl;
    connection->outer_wants = POLLIN;
}

/* The end that nng will see is noted before nng can see it. */
static bool join_inner(struct tunnel *tunnel, struct tunnel_connection *connection)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    connection->inner = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connection->inner < 0 || bind(connection->inner, (const struct sockaddr *)&in, sizeof in) != 0)
        return false;
    (void)setsockopt(connection->inner, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->inner_local = endpoint_local(connection->inner);
    in.sin_port = htons(tunnel->door[connection->port].inner_port);
    return connect(connection->inner, (const struct sockaddr *)&in, sizeof in) == 0 || errno == EINPROGRESS;
}

static bool go_on_shaking(struct tunnel *tunnel, struct tunnel_connection *connection, uint64_t now_ns)
{
    bool done;
    if (connection->ending_ns > 0 || !tunnel_shake(connection, &done) || now_ns - connection->since_ns > SHAKE_NS) {
        metric_add(&tunnel->stats.cut, 1);
        return false;
    }
    if (!done)
        return true;
    transport_tls_names(SSL_get0_peer_certificate(connection->ssl), connection->names);
    (void)endpoint_ring_add(&tunnel->known, &connection->remote);
    begin_to_carry(connection);
    return join_inner(tunnel, connection);
}

/* ---- what nng dials ---- */

/* Any program on this machine can connect to a port of 127.0.0.1: nng's sockets are descriptors of this process. */
static bool is_own(int fd)
{
    const struct endpoint local = endpoint_local(fd), remote = endpoint_remote(fd);
    DIR *all = opendir("/proc/self/fd");
    bool own = false;
    for (const struct dirent *at = all ? readdir(all) : NULL; at && !own; at = readdir(all)) {
        const int other = (int)strtol(at->d_name, NULL, 10);
        const struct endpoint its = endpoint_local(other);
        if (other == fd || its.port == 0 || !endpoint_same(&its, &remote))
            continue;
        const struct endpoint far = endpoint_remote(other);
        own = endpoint_same(&far, &local);
    }
    if (all)
        (void)closedir(all);
    return own;
}

static void dial(struct tunnel *tunnel, uint32_t index)
{
    const struct tunnel_route *route = &tunnel->route[index];
    const int fd = accept_from(tunnel, route->fd), on = 1;
    if (fd < 0)
        return;
    struct tunnel_connection *connection = is_own(fd) ? add(tunnel, TUNNEL_DIALS) : NULL;
    if (!connection) {
        metric_add(&tunnel->stats.refused, 1);
        (void)close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->inner = fd;
    connection->inner_remote = endpoint_remote(fd);
    connection->route = index;
    connection->contact = contact_begin(tunnel->tls, route->name, route->address, tunnel->wake_fd);
}

/* What it finds counts, also if nng has given up meanwhile. False: there is no connection to that member. */
static bool take_contact(struct tunnel *tunnel, struct tunnel_connection *connection)
{
    struct contact *contact = connection->contact;
    struct tunnel_route *route = &tunnel->route[connection->route];
    if (!contact)
        return false;
    if (!atomic_load(&contact->done))
        return true;
    if (strcmp(route->name, contact->name) == 0 && strcmp(route->address, contact->address) == 0) {
        route->found = contact->found;
        memcpy(route->sentence, contact->sentence, sizeof route->sentence);
    }
    if (contact->fd < 0 || contact->tls != tunnel->tls || connection->ending_ns > 0)
        return false;
    connection->outer = contact->fd;
    connection->ssl = contact->ssl;
    contact->fd = -1;
    contact->ssl = NULL;
    contact_release(&connection->contact);
    connection->remote = endpoint_remote(connection->outer);
    (void)endpoint_ring_add(&tunnel->known, &connection->remote);
    begin_to_carry(connection);
    return true;
}

/* ---- rounds ---- */

static bool look_after(struct tunnel *tunnel, struct tunnel_connection *connection, uint64_t now_ns)
{
    if (connection->ending_ns > 0 && now_ns - connection->ending_ns > ENDING_NS &&
        connection->state != TUNNEL_DIALS)
        return false;
    switch (connection->state) {
    case TUNNEL_FREE:
        return false;
    case TUNNEL_DIALS:
        if (!take_contact(tunnel, connection))
            return false;
        break;
    case TUNNEL_SHAKES:
        if (!go_on_shaking(tunnel, connection, now_ns))
            return false;
        break;
    case TUNNEL_CARRIES:
        break;
    }
    return connection->state != TUNNEL_CARRIES || tunnel_carry(connection);
}

/* What nng holds of them is carried, and nothing new. */
static void end_all(struct tunnel *tunnel)
{
    for (uint32_t i = 0; i < TUNNEL_CONNECTIONS_MAX; i++) {
        struct tunnel_connection *connection = tunnel->connection[i];
        if (!connection || connection->ending_ns > 0)
            continue;
        connection->ending_ns = clock_monotonic_ns();
        connection->out.ended = connection->in.ended = true;
    }
}

struct waiting {
    struct pollfd fd[1 + TUNNEL_PORTS + TUNNEL_ROUTES_MAX + 2 * TUNNEL_CONNECTIONS_MAX];
    nfds_t count;
    int timeout_ms;
};

/* A descriptor without events is left out: poll would report its end again and again. */
static void wait_for(struct waiting *waiting, int fd, short events)
{
    waiting->fd[waiting->count++] = (struct pollfd){.fd = events ? fd : -1, .events = events};
}

static void gather(struct tunnel *tunnel, struct waiting *waiting)
{
    const bool lacks =
        tunnel->lacks_ns > 0 && clock_monotonic_ns() - tunnel->lacks_ns < LACKS_MS * (SECOND_NS / 1000);
    const short accepts = lacks ? 0 : POLLIN;
    waiting->count = 0;
    waiting->timeout_ms = lacks ? LACKS_MS : -1;
    wait_for(waiting, tunnel->wake_fd, POLLIN);
    for (int i = 0; i < TUNNEL_PORTS; i++)
        wait_for(waiting, tunnel->door[i].fd, accepts);
    for (uint32_t i = 0; i < TUNNEL_ROUTES_MAX; i++)
        wait_for(waiting, tunnel->route[i].fd, tunnel->route[i].fd >= 0 ? accepts : 0);
    for (uint32_t i = 0; i < TUNNEL_CONNECTIONS_MAX; i++) {
        const struct tunnel_connection *connection = tunnel->connection[i];
        wait_for(waiting, connection ? connection->inner : -1, connection ? tunnel_inner_events(connection) : 0);
        wait_for(waiting, connection ? connection->outer : -1, connection ? tunnel_outer_events(connection) : 0);
        if (connection && connection->again)
            waiting->timeout_ms = 0;
        else if (connection && waiting->timeout_ms < 0 &&
                 (connection->state != TUNNEL_CARRIES || connection->ending_ns > 0))
            waiting->timeout_ms = ROUND_MS;
    }
}

/* Places that were empty when `waiting` was gathered have no events in it. */
static void serve(struct tunnel *tunnel, const struct waiting *waiting)
{
    const struct pollfd *at = waiting->fd;
    const uint64_t now_ns = clock_monotonic_ns();
    eventfd_t count;
    if (at++->revents)
        (void)eventfd_read(tunnel->wake_fd, &count);
    if (tunnel->renews)
        end_all(tunnel);
    tunnel->renews = false;
    const struct pollfd *doors = at, *routes = at + TUNNEL_PORTS, *ends = routes + TUNNEL_ROUTES_MAX;
    for (uint32_t i = 0; i < TUNNEL_CONNECTIONS_MAX; i++) {
        struct tunnel_connection *connection = tunnel->connection[i];
        const short inner = ends[2 * i].revents, outer = ends[2 * i + 1].revents;
        if (!connection)
            continue;
        if (inner & (POLLRDHUP | POLLHUP | POLLERR) && connection->ending_ns == 0)
            connection->ending_ns = now_ns;
        const bool has_work =
            inner || outer || connection->again || connection->ending_ns > 0 || connection->state != TUNNEL_CARRIES;
        if (has_work && !look_after(tunnel, connection, now_ns))
            drop(tunnel, i);
    }
    for (uint32_t i = 0; i < TUNNEL_PORTS; i++)
        if (doors[i].revents && doors[i].fd == tunnel->door[i].fd)
            let_in(tunnel, (enum tunnel_port)i);
    for (uint32_t i = 0; i < TUNNEL_ROUTES_MAX; i++)
        if (routes[i].revents && routes[i].fd == tunnel->route[i].fd)
            dial(tunnel, i);
}

void *tunnel_run(void *context)
{
    struct tunnel *tunnel = context;
    static const struct timespec rest = {.tv_nsec = 10000000};
    struct waiting *waiting = calloc(1, sizeof *waiting);
    sigset_t unwanted; /* a write reports that the other side has gone */
    (void)sigemptyset(&unwanted);
    (void)sigaddset(&unwanted, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &unwanted, NULL);
    uv_mutex_lock(&tunnel->lock);
    while (!tunnel->quits && waiting) {
        gather(tunnel, waiting);
        uv_mutex_unlock(&tunnel->lock);
        const int ready = poll(waiting->fd, waiting->count, waiting->timeout_ms);
        if (ready < 0 && errno != EINTR)
            (void)nanosleep(&rest, NULL); /* the system is short of memory */
        uv_mutex_lock(&tunnel->lock);
        if (ready >= 0)
            serve(tunnel, waiting);
    }
    uv_mutex_unlock(&tunnel->lock);
    free(waiting);
    return NULL;
}
