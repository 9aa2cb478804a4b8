/*
 * transport_pipes_thread looks at all descriptors of this process, finds those of nng's pipes, and
 * shuts the sockets down that must end. It counts connections that have ended and that nng does not
 * let go of. It also bounds connections that have not named their protocol, closes leaving dialers,
 * and looks at the ports (transport_ports.c). It holds the lock while it looks.
 */
#include "base/metric.h"
#include "edge/peers/transport_pipes_state.h"
#include "edge/process/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    STATUS_BYTES = 4096,
    /* the descriptors looked at if the system does not tell the size of the table */
    FILES_MAX = 65536,
};
#define MILLISECOND_NS ((uint64_t)1000000)
#define LOOK_NS (1000 * MILLISECOND_NS)
#define LOOK_SOON_NS (50 * MILLISECOND_NS)
/*
 * Writing ends first, so that the message that is being written arrives whole; a subscriber then
 * closes its side. If it does not, reading ends too after this time.
 */
#define WRITING_ENDS_NS (100 * MILLISECOND_NS)
/*
 * nng lets go of an ended connection within some milliseconds, if it runs. A connection is stuck
 * only after this time and after STUCK_LOOKS looks, because this process may have paused.
 */
#define STUCK_NS (3000 * MILLISECOND_NS)
#define GREETINGS_EACH_NS (900 * MILLISECOND_NS)
#define ASK_NS (10000 * MILLISECOND_NS)
enum { STUCK_LOOKS = 10, ASK_LOOKS = 8, GREETING_LOOKS = 8 };

/* ---- descriptors ---- */

static int files_end(const struct pipes *pipes)
{
    char status[STATUS_BYTES];
    ssize_t size = pread(pipes->blank_fd, status, sizeof status - 1, 0);
    status[size > 0 ? size : 0] = '\0';
    const char *found = strstr(status, "\nFDSize:");
    struct rlimit limit;
    if (found)
        return (int)strtol(found + strlen("\nFDSize:"), NULL, 10);
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FILES_MAX ? (int)limit.rlim_cur : FILES_MAX;
}

/*
 * A pipe without a remote end has ended before nng told of it, for instance because a peer dialled
 * while this process was paused, and gave up. Nothing is left to end then; and the socket that
 * listens at the port has the same local end, and no remote end either.
 */
static bool is_looked_for(const struct pipe *pipe)
{
    return pipe->id != 0 && !pipe->looked_for && pipe->remote.port != 0;
}

static void try_descriptor(struct pipes *pipes, int fd, const struct endpoint *local)
{
    for (size_t i = 0; i < PIPES_MAX; i++) {
        struct pipe *pipe = &pipes->pipe[i];
        if (!is_looked_for(pipe) || !endpoint_same(&pipe->local, local))
            continue;
        ino_t inode = endpoint_inode(fd);
        struct endpoint remote = endpoint_remote(fd);
        if (!endpoint_same(&pipe->remote, &remote) || endpoint_inode(fd) != inode)
            continue;
        pipe->fd = fd;
        pipe->inode = inode;
        pipe->looked_for = true;
        return;
    }
}

/*
 * Shuts a duplicate down: nng may close the descriptor meanwhile, and another thread may open a new
 * one of the same number.
 */
static void shut_down(const struct pipes *pipes, int fd, ino_t inode, int how)
{
    if (dup3(fd, pipes->spare_fd, O_CLOEXEC) < 0)
        return;
    if (endpoint_inode(pipes->spare_fd) == inode)
        (void)shutdown(pipes->spare_fd, how);
    (void)dup3(pipes->blank_fd, pipes->spare_fd, O_CLOEXEC);
}

/* ---- connections that nng has not reported ---- */

static bool is_told(const struct pipes *pipes, int fd)
{
    for (size_t i = 0; i < PIPES_MAX; i++)
        if (pipes->pipe[i].id != 0 && pipes->pipe[i].fd == fd)
            return true;
    return false;
}

/* NULL: no place is free. */
static struct greeting *greeting_of(struct pipes *pipes, ino_t inode)
{
    struct greeting *vacant = NULL;
    for (size_t i = 0; i < GREETINGS_MAX; i++) {
        struct greeting *greeting = &pipes->greeting[i];
        if (greeting->inode == inode)
            return greeting;
        if (greeting->inode == 0)
            vacant = greeting;
    }
    if (vacant)
        *vacant = (struct greeting){.inode = inode};
    return vacant;
}

static bool is_listening(int fd)
{
    int listens = 1;
    socklen_t size = sizeof listens;
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens;
}

static void look_after_ended(struct pipes *pipes, int fd, ino_t inode)
{
    struct greeting *dead = greeting_of(pipes, inode);
    if (!dead)
        return;
    if (!dead->dead)
        *dead = (struct greeting){.inode = inode, .dead = true, .gone_seen = pipes->gone_count};
    dead->seen = true;
    if (ports_forgotten(pipes, dead))
        (void)close(fd);
}

/*
 * Strangers get half of the places, and each place for GREETING_LOOKS looks only; the addresses of
 * peers get the places that are left. Only reading is ended: nng expects that of a connection
 * without a greeting. An end of writing would end nng's listening.
 */
static void look_after_greeting(struct pipes *pipes, int fd, uint32_t *count)
{
    struct endpoint remote = endpoint_remote(fd);
    ino_t inode = endpoint_inode(fd);
    if (inode == 0 || is_told(pipes, fd) || (remote.port == 0 && is_listening(fd)))
        return;
    if (remote.port == 0) {
        look_after_ended(pipes, fd, inode);
        return;
    }
    bool known = endpoint_ring_has(&pipes->known, &remote);
    struct greeting *greeting = greeting_of(pipes, inode);
    bool room = greeting && (known || *count < TRANSPORT_GREETING_MAX / 2);
    *count += !known;
    if (greeting)
        greeting->seen = true;
    if (room && ++greeting->looks < GREETING_LOOKS)
        return;
    shut_down(pipes, fd, inode, SHUT_RD);
    if (!greeting || !greeting->cut)
        metric_add(&pipes->stats.cut, 1);
    if (greeting)
        greeting->cut = true;
}

static void forget_greetings(struct pipes *pipes)
{
    for (size_t i = 0; i < GREETINGS_MAX; i++) {
        struct greeting *greeting = &pipes->greeting[i];
        if (!greeting->seen)
            greeting->inode = 0;
        greeting->seen = false;
    }
}

static bool is_at_port(const struct pipes *pipes, const struct endpoint *local)
{
    bool is = false;
    for (int i = 0; i < PORTS; i++)
        is |= local->port == pipes->port[i].local.port;
    return is;
}

/* ---- a look at all descriptors ---- */

/* Most descriptors are clients', of which there may be many: nearly always no pipe is `looked_for`. */
static void look_at_descriptors(struct pipes *pipes, bool looked_for, bool at_greetings)
{
    uint32_t greetings = 0;
    int files = files_end(pipes);
    for (int fd = 0; fd < files; fd++) {
        struct endpoint local = endpoint_local(fd);
        if (local.port == 0)
            continue;
        if (looked_for)
            try_descriptor(pipes, fd, &local);
        if (at_greetings && is_at_port(pipes, &local))
            look_after_greeting(pipes, fd, &greetings);
    }
    if (at_greetings)
        forget_greetings(pipes);
    for (size_t i = 0; i < PIPES_MAX; i++)
        pipes->pipe[i].looked_for = true; /* a descriptor that was not found is closed already */
}

static void find_descriptors(struct pipes *pipes, uint64_t now_ns)
{
    bool any = false, at_greetings = now_ns >= pipes->greetings_ns;
    for (size_t i = 0; i < PIPES_MAX; i++)
        any |= is_looked_for(&pipes->pipe[i]);
    if (at_greetings)
        pipes->greetings_ns = now_ns + GREETINGS_EACH_NS;
    if (any || at_greetings)
        look_at_descriptors(pipes, any, at_greetings);
}

/* ---- pipes ---- */

/* Ends writing first on a pipe that mostly writes: nng notices that end while it reads nothing. */
static void end(struct pipes *pipes, struct pipe *pipe, uint64_t now_ns)
{
    bool writes = pipe->kind == PIPE_GOSSIP || pipe->kind == PIPE_SNAPSHOTS;
    if (writes && !pipe->shut_writing) {
        shut_down(pipes, pipe->fd, pipe->inode, SHUT_WR);
        pipe->shut_writing = true;
    } else if (!pipe->shut_all && (!writes || now_ns - pipe->ending_ns >= WRITING_ENDS_NS)) {
        shut_down(pipes, pipe->fd, pipe->inode, SHUT_RDWR);
        pipe->shut_all = true;
    }
}

/*
 * A stranger at the snapshot port must prove in time to be a peer, by a request that gets a reply.
 * Looks count as well as time, so that nobody is late after a pause of this process.
 */
static bool asks_late(const struct pipe *pipe, uint64_t now_ns)
{
    return pipe->kind == PIPE_SNAPSHOTS && !pipe->known && pipe->ending_ns == 0 && pipe->looks > ASK_LOOKS &&
           now_ns - pipe->since_ns > ASK_NS;
}

static bool look_after_dead(struct pipe *pipe, uint64_t now_ns, uint64_t *stuck)
{
    if (pipe->dead_looks++ == 0)
        pipe->dead_ns = now_ns;
    *stuck += pipe->dead_looks > STUCK_LOOKS && now_ns - pipe->dead_ns >= STUCK_NS;
    return pipe->dead_looks <= STUCK_LOOKS;
}

/* True: the thread must look at the pipe again soon. */
static bool look_after(struct pipes *pipes, struct pipe *pipe, uint64_t now_ns, uint64_t *stuck)
{
    bool open = pipe->fd >= 0 && endpoint_inode(pipe->fd) == pipe->inode;
    if (pipe->gone && !open) {
        memset(pipe, 0, sizeof *pipe);
        return false;
    }
    if (!open)
        return false;
    pipe->looks++;
    if (asks_late(pipe, now_ns)) {
        pipe->ending_ns = now_ns;
        metric_add(&pipes->stats.cut, 1);
    }
    if (pipe->ending_ns > 0 && !pipe->gone)
        end(pipes, pipe, now_ns);
    if (pipe->gone || endpoint_remote(pipe->fd).port == 0)
        return look_after_dead(pipe, now_ns, stuck);
    return pipe->ending_ns > 0 && !pipe->shut_all;
}

/* pipes_let_go releases the lock, so places that were looked at before may change meanwhile. */
static uint64_t close_dialers(struct pipes *pipes)
{
    uint64_t now_ns = clock_monotonic_ns(), again_ns = LOOK_NS;
    for (size_t i = 0; i < PIPES_LEAVING_MAX; i++) {
        struct leaving *leaving = &pipes->leaving[i];
        if (leaving->dialer == 0 || leaving->deadline_ns == UINT64_MAX)
            continue;
        if (now_ns >= leaving->deadline_ns)
            pipes_let_go(pipes, leaving);
        else
            again_ns = LOOK_SOON_NS;
    }
    return again_ns;
}

/* Looks at everything once. Returns the time until the next look. */
static uint64_t look(struct pipes *pipes)
{
    uint64_t now_ns = clock_monotonic_ns(), stuck = 0, again_ns = LOOK_NS;
    find_descriptors(pipes, now_ns);
    for (size_t i = 0; i < PIPES_MAX; i++)
        if (pipes->pipe[i].id != 0 && look_after(pipes, &pipes->pipe[i], now_ns, &stuck))
            again_ns = LOOK_SOON_NS;
    ports_look(pipes, now_ns);
    bool worse = stuck > pipes->stats.stuck;
    metric_set(&pipes->stats.stuck, stuck);
    if (worse && pipes->changed)
        (void)uv_async_send(pipes->changed);
    return again_ns;
}

void *pipes_thread(void *context)
{
    struct pipes *pipes = context;
    uv_mutex_lock(&pipes->lock);
    while (pipes->holders > 0) {
        pipes->hurry = false;
        uint64_t dialers_again_ns = close_dialers(pipes), again_ns = look(pipes);
        if (!pipes->hurry && pipes->holders > 0)
            (void)uv_cond_timedwait(&pipes->work, &pipes->lock,
                                    again_ns < dialers_again_ns ? again_ns : dialers_again_ns);
    }
    uv_mutex_unlock(&pipes->lock);
    pipes_free(pipes);
    return NULL;
}
