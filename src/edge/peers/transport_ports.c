/*
 * transport_ports checks that nng still listens at the ports for peers, and opens a port again if
 * nng does not.
 *
 * nng 1.5.2 stops listening for good when a connection without a greeting is ended and then reset:
 * nng takes the error of one connection for the end of the listener. So this file tries each port
 * every few seconds with a connection whose greeting names a protocol that no socket here speaks. A
 * port that listens turns the connection away; a port that does not listen leaves it waiting. A
 * port that does not listen is closed when its connections have ended, and opened again. nng
 * forgets the connections that it left waiting, and their descriptors, so the thread closes these.
 */
#include "base/metric.h"
#include "edge/peers/transport_pipes_state.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TRY_LOOKS = 3, FORGOTTEN_LOOKS = 4 };
#define SECOND_NS ((uint64_t)1000000000)
#define TRY_PATIENCE_NS (3 * SECOND_NS)

/* ---- tries ---- */

static int connect_to(const struct endpoint *local)
{
    static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff}, any[4] = {0};
    const uint8_t *address = local->address;
    bool is_v4 = memcmp(address, v4, sizeof v4) == 0;
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = local->port};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
                               .sin6_port = local->port,
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    if (is_v4 && memcmp(address + sizeof v4, any, sizeof any) != 0)
        memcpy(&in.sin_addr, address + sizeof v4, sizeof in.sin_addr);
    else
        in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (memcmp(address, &in6addr_any, sizeof in6addr_any) != 0)
        memcpy(&in6.sin6_addr, address, sizeof in6.sin6_addr);
    int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)connect(fd, is_v4 ? (const struct sockaddr *)&in : (const struct sockaddr *)&in6,
                      is_v4 ? sizeof in : sizeof in6);
    return fd;
}

static void end_try(struct port *port, uint64_t now_ns)
{
    if (port->try_fd >= 0)
        (void)close(port->try_fd);
    port->try_fd = -1;
    port->try_ns = now_ns + PORT_TRY_EACH_NS;
    memset(&port->try_from, 0, sizeof port->try_from);
}

/*
 * On a loopback interface connect succeeds at once, or the port's queue is full: then the next try
 * tells more.
 */
static void begin_try(struct port *port, uint64_t now_ns)
{
    static const uint8_t greeting[] = {0, 'S', 'P', 0, 0, 0x10, 0, 0};
    port->try_fd = connect_to(&port->local);
    port->try_from = port->try_fd >= 0 ? endpoint_local(port->try_fd) : (struct endpoint){0};
    port->try_ns = now_ns;
    port->looks = 0;
    if (port->try_fd < 0 || endpoint_remote(port->try_fd).port == 0 ||
        send(port->try_fd, greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting)
        end_try(port, now_ns);
}

/* True: the port took the connection and has left it waiting for too long. */
static bool has_failed(struct port *port, uint64_t now_ns)
{
    uint8_t bytes[64];
    ssize_t size;
    do
        size = recv(port->try_fd, bytes, sizeof bytes, MSG_DONTWAIT);
    while (size > 0);
    if (endpoint_remote(port->try_fd).port == 0 || size == 0) {
        end_try(port, now_ns);
        return false;
    }
    return ++port->looks > TRY_LOOKS && now_ns - port->try_ns > TRY_PATIENCE_NS;
}

bool ports_try(const struct pipes *pipes, const struct endpoint *remote)
{
    bool is = false;
    for (int i = 0; i < PORTS; i++)
        is |= pipes->port[i].try_fd >= 0 && endpoint_same(&pipes->port[i].try_from, remote);
    return is;
}

/* ---- ports that do not listen ---- */

static void open_again(struct pipes *pipes, struct port *port)
{
    uv_mutex_unlock(&pipes->lock);
    (void)nng_listener_close(port->listener);
    bool opened = nng_listen(port->socket, port->url, &port->listener, 0) == 0;
    uv_mutex_lock(&pipes->lock);
    if (!opened)
        return; /* the next look opens the port again */
    port->state = PORT_LISTENS;
    metric_add(&pipes->stats.reopened, 1);
    if (pipes->changed)
        (void)uv_async_send(pipes->changed);
}

static void look_after_port(struct pipes *pipes, struct port *port, uint64_t now_ns)
{
    switch (port->state) {
    case PORT_CLOSED:
        break;
    case PORT_LISTENS:
        if (port->try_fd < 0 && now_ns >= port->try_ns) {
            begin_try(port, now_ns);
        } else if (port->try_fd >= 0 && has_failed(port, now_ns)) {
            end_try(port, now_ns);
            port->state = PORT_ENDS;
        }
        break;
    case PORT_ENDS:
        if (!pipes_end_all(pipes, port->socket))
            open_again(pipes, port);
        break;
    }
}

void ports_look(struct pipes *pipes, uint64_t now_ns)
{
    for (int i = 0; i < PORTS && !pipes->quits; i++)
        look_after_port(pipes, &pipes->port[i], now_ns);
}

void ports_close(struct pipes *pipes)
{
    for (int i = 0; i < PORTS; i++) {
        end_try(&pipes->port[i], 0);
        pipes->port[i].state = PORT_CLOSED;
    }
}

/*
 * nng's reaper closes the descriptors of ended connections. If the reaper has removed other pipes
 * in several looks, and this descriptor is still open, nng has forgotten it.
 */
bool ports_forgotten(struct pipes *pipes, struct greeting *dead)
{
    if (dead->gone_seen != pipes->gone_count) {
        dead->gone_seen = pipes->gone_count;
        dead->looks++;
    }
    return dead->looks > FORGOTTEN_LOOKS;
}
