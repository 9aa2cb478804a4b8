/*
 * transport_pipes keeps a list of nng's pipes, admits new pipes or refuses them, and marks pipes
 * that must end. The thread of transport_pipes_thread.c then shuts their sockets down. nng's
 * threads call on_added and on_removed; all other functions run in the loop or in the thread that
 * closes sockets. The lock covers the list.
 */
#include "base/metric.h"
#include "edge/peers/transport_pipes_state.h"
#include "edge/peers/transport_tunnel.h"
#include "edge/process/clock.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

void pipes_hurry(struct pipes *pipes)
{
    pipes->hurry = true;
    uv_cond_signal(&pipes->work);
}

static struct pipe *pipe_with_id(struct pipes *pipes, uint32_t id)
{
    for (size_t i = 0; i < PIPES_MAX; i++)
        if (pipes->pipe[i].id == id)
            return &pipes->pipe[i];
    return NULL;
}

/* A free place, or else the place of the pipe that has been gone for longest. */
static struct pipe *place_for_one(struct pipes *pipes)
{
    struct pipe *vacant = pipe_with_id(pipes, 0), *oldest = NULL;
    for (size_t i = 0; i < PIPES_MAX && !vacant; i++) {
        struct pipe *pipe = &pipes->pipe[i];
        if (pipe->gone && (!oldest || pipe->ending_ns < oldest->ending_ns))
            oldest = pipe;
    }
    return vacant ? vacant : oldest;
}

static void end_pipe(struct pipes *pipes, struct pipe *pipe)
{
    if (pipe->ending_ns == 0)
        pipe->ending_ns = clock_monotonic_ns();
    /* looks for the descriptor again if it was not found before */
    pipe->looked_for = pipe->fd >= 0;
    pipes_hurry(pipes);
}

/* ---- called by nng's threads ---- */

static struct endpoint address_of(nng_pipe id, const char *option)
{
    nng_sockaddr address = {0};
    return nng_pipe_get_addr(id, option, &address) == 0 ? endpoint_of_nng(&address) : (struct endpoint){0};
}

/* Closing a pipe is safe here: nng has not begun to read from it. */
static void on_refused(nng_pipe id, nng_pipe_ev event, void *context)
{
    (void)event, (void)context;
    (void)nng_pipe_close(id);
}

static void learn(struct pipes *pipes, const struct endpoint *remote)
{
    if (!endpoint_ring_add(&pipes->known, remote))
        return;
    for (size_t i = 0; i < PIPES_MAX; i++)
        pipes->pipe[i].known |= pipes->pipe[i].id != 0 && endpoint_same_address(&pipes->pipe[i].remote, remote);
}

static bool has_place(const struct pipes *pipes, const struct pipe *pipe)
{
    uint32_t all = 0, strangers = 0, same = 0;
    uint32_t max = pipe->kind == PIPE_GOSSIP ? TRANSPORT_SUBSCRIBERS_MAX : TRANSPORT_ASKERS_MAX;
    for (size_t i = 0; i < PIPES_MAX; i++) {
        const struct pipe *other = &pipes->pipe[i];
        if (other->id == 0 || other->gone || other->kind != pipe->kind)
            continue;
        all++;
        strangers += !other->known;
        same += endpoint_same_address(&other->remote, &pipe->remote);
    }
    return all < max && (pipe->known || (strangers < TRANSPORT_STRANGERS_MAX && same < TRANSPORT_STRANGER_MAX));
}

/* A dialled address is a peer's address: the config or a peer has named it. */
static bool admit(struct pipes *pipes, struct pipe *pipe)
{
    struct pipe *place = place_for_one(pipes);
    bool dialled = pipe->dialer != 0;
    if (!place || pipes_leaving(pipes, pipe->dialer) || ports_try(pipes, &pipe->remote))
        return false;
    if (!dialled && pipes->tunnel && !tunnel_has_brought(pipes->tunnel, &pipe->remote)) {
        metric_add(&pipes->stats.refused, 1); /* another program on this machine */
        return false;
    }
    if (dialled)
        learn(pipes, &pipe->remote);
    pipe->known = endpoint_ring_has(&pipes->known, &pipe->remote);
    if (!dialled && !has_place(pipes, pipe)) {
        metric_add(&pipes->stats.refused, 1);
        return false;
    }
    *place = *pipe;
    metric_add(&pipes->stats.open, 1);
    pipes_hurry(pipes);
    return true;
}

static uint32_t dialer_of(nng_pipe id)
{
    nng_dialer dialer = nng_pipe_dialer(id);
    return nng_dialer_id(dialer) > 0 ? dialer.id : 0;
}

static void on_added(nng_pipe id, nng_pipe_ev event, void *context)
{
    const struct watched *watched = context;
    struct pipes *pipes = watched->pipes;
    (void)event;
    struct pipe pipe = {
        .id = id.id,
        .socket = nng_pipe_socket(id).id,
        .dialer = dialer_of(id),
        .kind = watched->kind,
        .local = address_of(id, NNG_OPT_LOCADDR),
        .remote = address_of(id, NNG_OPT_REMADDR),
        .fd = -1,
        .since_ns = clock_monotonic_ns(),
    };
    uv_mutex_lock(&pipes->lock);
    bool admitted = admit(pipes, &pipe);
    uv_mutex_unlock(&pipes->lock);
    if (!admitted)
        (void)nng_pipe_close(id);
}

/*
 * nng's reaper has the pipe now, and the pipe's dialer does not dial anew before this function
 * returns: closing the dialer is safe here.
 */
static void on_removed(nng_pipe id, nng_pipe_ev event, void *context)
{
    struct pipes *pipes = ((const struct watched *)context)->pipes;
    uint32_t dialer = dialer_of(id);
    (void)event;
    uv_mutex_lock(&pipes->lock);
    struct leaving *leaving = pipes_leaving(pipes, dialer);
    if (leaving)
        pipes_let_go(pipes, leaving);
    pipes->gone_count++;
    pipes->former[pipes->former_next++ % FORMER_MAX] = (struct former){id.id, dialer};
    struct pipe *pipe = pipe_with_id(pipes, id.id);
    if (pipe) {
        pipe->gone = true;
        metric_set(&pipes->stats.open, pipes->stats.open - 1);
        pipe->ending_ns = clock_monotonic_ns();
        uv_cond_broadcast(&pipes->fewer);
        pipes_hurry(pipes);
    }
    uv_mutex_unlock(&pipes->lock);
}

int pipes_watch(struct pipes *pipes, nng_socket socket, enum pipe_kind kind)
{
    int status = nng_pipe_notify(socket, NNG_PIPE_EV_ADD_PRE, on_added, &pipes->watched[kind]);
    return status != 0 ? status : nng_pipe_notify(socket, NNG_PIPE_EV_REM_POST, on_removed, &pipes->watched[kind]);
}

int pipes_listen(struct pipes *pipes, nng_socket socket, enum pipe_kind kind, const char *url)
{
    nng_sockaddr address = {0};
    struct port port = {.state = PORT_LISTENS, .socket = socket, .try_fd = -1};
    assert(kind == PIPE_GOSSIP || kind == PIPE_SNAPSHOTS);
    int status = strlen(url) < sizeof port.url ? nng_listen(socket, url, &port.listener, 0) : NNG_EADDRINVAL;
    if (status == 0)
        status = nng_listener_get_addr(port.listener, NNG_OPT_LOCADDR, &address);
    if (status != 0)
        return status;
    port.local = endpoint_of_nng(&address);
    if (pipes->tunnel) /* the system has chosen the port, and it must stay the same */
        (void)snprintf(port.url, sizeof port.url, TUNNEL_URL, ntohs(port.local.port));
    else
        memcpy(port.url, url, strlen(url) + 1);
    port.try_ns = clock_monotonic_ns() + PORT_TRY_EACH_NS;
    uv_mutex_lock(&pipes->lock);
    pipes->port[kind] = port;
    uv_mutex_unlock(&pipes->lock);
    return 0;
}

uint16_t pipes_port(const struct pipes *pipes, enum pipe_kind kind)
{
    return ntohs(pipes->port[kind].local.port);
}

nng_dialer pipes_former_dialer(struct pipes *pipes, nng_pipe id)
{
    nng_dialer dialer = NNG_DIALER_INITIALIZER;
    uv_mutex_lock(&pipes->lock);
    for (size_t i = 0; i < FORMER_MAX && id.id != 0; i++)
        if (pipes->former[i].id == id.id)
            dialer.id = pipes->former[i].dialer;
    uv_mutex_unlock(&pipes->lock);
    return dialer;
}

void pipes_prove(struct pipes *pipes, nng_pipe id)
{
    uv_mutex_lock(&pipes->lock);
    struct pipe *pipe = id.id != 0 ? pipe_with_id(pipes, id.id) : NULL;
    if (pipe && !pipe->known)
        learn(pipes, &pipe->remote);
    uv_mutex_unlock(&pipes->lock);
}

/* ---- ending connections ---- */

static struct pipe *pipe_of_dialer(struct pipes *pipes, nng_dialer dialer)
{
    for (size_t i = 0; i < PIPES_MAX; i++) {
        struct pipe *pipe = &pipes->pipe[i];
        if (pipe->id != 0 && !pipe->gone && pipe->dialer == dialer.id)
            return pipe;
    }
    return NULL;
}

static bool read_arrivals(struct pipes *pipes, const struct pipe *pipe, struct arrivals *arrivals)
{
    if (pipes->tunnel) /* nng's own connection ends in this process, and loses nothing */
        return tunnel_arrivals(pipes->tunnel, &pipe->local, arrivals);
    return pipe->fd >= 0 && endpoint_inode(pipe->fd) == pipe->inode && endpoint_arrivals(pipe->fd, arrivals) &&
           endpoint_inode(pipe->fd) == pipe->inode;
}

uint32_t pipes_arrivals(struct pipes *pipes, nng_dialer dialer, struct arrivals *arrivals)
{
    if (dialer.id == 0 || uv_mutex_trylock(&pipes->lock) != 0)
        return 0;
    const struct pipe *pipe = pipe_of_dialer(pipes, dialer);
    const uint32_t id = pipe && read_arrivals(pipes, pipe, arrivals) ? pipe->id : 0;
    uv_mutex_unlock(&pipes->lock);
    return id;
}

bool pipes_restart(struct pipes *pipes, nng_dialer dialer)
{
    uv_mutex_lock(&pipes->lock);
    struct pipe *pipe = pipe_of_dialer(pipes, dialer);
    if (pipe)
        end_pipe(pipes, pipe);
    uv_mutex_unlock(&pipes->lock);
    return pipe != NULL;
}

struct leaving *pipes_leaving(struct pipes *pipes, uint32_t dialer)
{
    for (size_t i = 0; i < PIPES_LEAVING_MAX && dialer != 0; i++)
        if (pipes->leaving[i].dialer == dialer)
            return &pipes->leaving[i];
    return NULL;
}

void pipes_let_go(struct pipes *pipes, struct leaving *leaving)
{
    nng_dialer dialer = {.id = leaving->dialer};
    leaving->deadline_ns = UINT64_MAX; /* so that no other call closes the dialer meanwhile */
    uv_mutex_unlock(&pipes->lock);
    (void)nng_dialer_close(dialer);
    uv_mutex_lock(&pipes->lock);
    if (leaving->dialer == dialer.id)
        memset(leaving, 0, sizeof *leaving);
    uv_cond_broadcast(&pipes->fewer);
}

void pipes_close_dialer(struct pipes *pipes, nng_socket socket, nng_dialer dialer)
{
    struct leaving *place = NULL;
    if (dialer.id == 0)
        return;
    uv_mutex_lock(&pipes->lock);
    for (size_t i = 0; i < PIPES_LEAVING_MAX && !place; i++)
        if (pipes->leaving[i].dialer == 0)
            place = &pipes->leaving[i];
    if (place) {
        struct pipe *pipe = pipe_of_dialer(pipes, dialer);
        uint64_t deadline_ns = pipe ? UINT64_MAX : clock_monotonic_ns() + PIPES_LEAVING_NS;
        *place = (struct leaving){dialer.id, socket.id, deadline_ns};
        if (pipe)
            end_pipe(pipes, pipe);
        pipes_hurry(pipes);
    }
    uv_mutex_unlock(&pipes->lock);
    if (!place)
        (void)nng_dialer_close(dialer);
}

bool pipes_end_all(struct pipes *pipes, nng_socket socket)
{
    bool some = false;
    for (size_t i = 0; i < PIPES_MAX; i++) {
        struct pipe *pipe = &pipes->pipe[i];
        if (pipe->id == 0 || pipe->gone || pipe->socket != socket.id)
            continue;
        some = true;
        if (pipe->ending_ns == 0)
            end_pipe(pipes, pipe);
    }
    for (size_t i = 0; i < PIPES_LEAVING_MAX; i++)
        some |= pipes->leaving[i].dialer != 0 && pipes->leaving[i].socket == socket.id;
    return some;
}

void pipes_retire(struct pipes *pipes, nng_socket socket)
{
    (void)nng_pipe_notify(socket, NNG_PIPE_EV_ADD_PRE, on_refused, NULL);
    uv_mutex_lock(&pipes->lock);
    (void)pipes_end_all(pipes, socket);
    uv_mutex_unlock(&pipes->lock);
}

bool pipes_await_none(struct pipes *pipes, nng_socket socket, struct patience *patience)
{
    uv_mutex_lock(&pipes->lock);
    bool some;
    for (uint64_t wait_ns;
         (some = pipes_end_all(pipes, socket)) && (wait_ns = patience_look(patience, clock_monotonic_ns())) > 0;)
        (void)uv_cond_timedwait(&pipes->fewer, &pipes->lock, wait_ns);
    uv_mutex_unlock(&pipes->lock);
    return !some;
}

/* Takes no lock, because the thread holds the lock while it looks at all descriptors. */
struct pipes_stats pipes_stats(const struct pipes *pipes)
{
    const struct pipes_stats *stats = &pipes->stats;
    return (struct pipes_stats){
        .open = metric_get(&stats->open),
        .stuck = metric_get(&stats->stuck),
        .refused = metric_get(&stats->refused),
        .cut = metric_get(&stats->cut),
        .reopened = metric_get(&stats->reopened),
    };
}
