#include "edge/clock.h"
#include "edge/transport_pipes_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    STATUS_BYTES = 4096,
    FILES_MAX = 65536, /* looked at where the system does not tell how many there may be */
};
#define MILLISECOND_NS ((uint64_t)1000000)
#define LOOK_NS (1000 * MILLISECOND_NS)
#define LOOK_SOON_NS (50 * MILLISECOND_NS)
/* What is being written ends first; whoever listens closes its side then. It may not, and reading ends as well. */
#define WRITING_ENDS_NS (100 * MILLISECOND_NS)
/* nng lets go of a connection some milliseconds after its end, if it runs: so, and as often, is it looked at. */
#define STUCK_NS (3000 * MILLISECOND_NS)
enum { STUCK_LOOKS = 10 };

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

static bool is_looked_for(const struct pipe *pipe)
{
    return pipe->id != 0 && !pipe->looked_for;
}

static void try_descriptor(struct pipes *pipes, int fd)
{
    struct endpoint local = endpoint_local(fd);
    for (size_t i = 0; i < PIPES_MAX && local.port != 0; i++) {
        struct pipe *pipe = &pipes->pipe[i];
        if (!is_looked_for(pipe) || !endpoint_same(&pipe->local, &local))
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

static void find_descriptors(struct pipes *pipes)
{
    bool any = false;
    for (size_t i = 0; i < PIPES_MAX; i++)
        any |= is_looked_for(&pipes->pipe[i]);
    if (!any)
        return;
    int files = files_end(pipes);
    for (int fd = 0; fd < files; fd++)
        try_descriptor(pipes, fd);
    for (size_t i = 0; i < PIPES_MAX; i++)
        pipes->pipe[i].looked_for = true; /* what was not found has ended */
}

/* By a duplicate: nng may close the descriptor meanwhile, and somebody else open one of this number. */
static void shut_down(const struct pipes *pipes, const struct pipe *pipe, int how)
{
    if (dup3(pipe->fd, pipes->spare_fd, O_CLOEXEC) < 0)
        return;
    if (endpoint_inode(pipes->spare_fd) == pipe->inode)
        (void)shutdown(pipes->spare_fd, how);
    (void)dup3(pipes->blank_fd, pipes->spare_fd, O_CLOEXEC);
}

/* ---- pipes ---- */

/* Where much is written, an end of writing is what nng notices without being in the middle of anything. */
static void end(struct pipes *pipes, struct pipe *pipe, uint64_t now_ns)
{
    bool writes = pipe->kind == PIPE_GOSSIP || pipe->kind == PIPE_SNAPSHOTS;
    if (writes && !pipe->shut_writing) {
        shut_down(pipes, pipe, SHUT_WR);
        pipe->shut_writing = true;
    } else if (!pipe->shut_all && (!writes || now_ns - pipe->ending_ns >= WRITING_ENDS_NS)) {
        shut_down(pipes, pipe, SHUT_RDWR);
        pipe->shut_all = true;
    }
}

static bool look_after_dead(struct pipe *pipe, uint64_t now_ns, uint64_t *stuck)
{
    if (pipe->dead_looks++ == 0)
        pipe->dead_ns = now_ns;
    *stuck += pipe->dead_looks > STUCK_LOOKS && now_ns - pipe->dead_ns >= STUCK_NS;
    return pipe->dead_looks <= STUCK_LOOKS;
}

/* True: it is to be looked at again soon. */
static bool look_after(struct pipes *pipes, struct pipe *pipe, uint64_t now_ns, uint64_t *stuck)
{
    bool open = pipe->fd >= 0 && endpoint_inode(pipe->fd) == pipe->inode;
    if (pipe->gone && !open) {
        memset(pipe, 0, sizeof *pipe);
        return false;
    }
    if (!open)
        return false;
    if (pipe->ending_ns > 0 && !pipe->gone)
        end(pipes, pipe, now_ns);
    if (pipe->gone || endpoint_remote(pipe->fd).port == 0)
        return look_after_dead(pipe, now_ns, stuck);
    return pipe->ending_ns > 0 && !pipe->shut_all;
}

/* The lock is not held all the time: what was looked at before may be another now. */
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

/* After how long to look again. */
static uint64_t look(struct pipes *pipes)
{
    uint64_t now_ns = clock_monotonic_ns(), stuck = 0, again_ns = LOOK_NS;
    find_descriptors(pipes);
    for (size_t i = 0; i < PIPES_MAX; i++)
        if (pipes->pipe[i].id != 0 && look_after(pipes, &pipes->pipe[i], now_ns, &stuck))
            again_ns = LOOK_SOON_NS;
    bool worse = stuck > pipes->stuck;
    pipes->stuck = stuck;
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
