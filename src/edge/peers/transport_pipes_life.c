/*
 * transport_pipes_life creates the list of pipes and starts its thread. The thread that closes
 * sockets (transport_close.c) may need the list when the transport has gone: so the list has
 * holders, and its own thread frees it after the last one.
 */
#include "edge/peers/transport_pipes_state.h"
#include "edge/peers/transport_tunnel.h"
#include "edge/process/background.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static bool open_descriptors(struct pipes *pipes)
{
    pipes->blank_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (pipes->blank_fd < 0)
        pipes->blank_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pipes->spare_fd = pipes->blank_fd < 0 ? -1 : fcntl(pipes->blank_fd, F_DUPFD_CLOEXEC, 0);
    if (pipes->spare_fd >= 0)
        return true;
    if (pipes->blank_fd >= 0)
        (void)close(pipes->blank_fd);
    return false;
}

static bool start_thread(struct pipes *pipes)
{
    pthread_t thread;
    bool background = background_begin();
    bool started = pthread_create(&thread, NULL, pipes_thread, pipes) == 0;
    if (background)
        background_end();
    if (started)
        (void)pthread_detach(thread);
    return started;
}

static void init_locks(struct pipes *pipes)
{
    int status = uv_mutex_init(&pipes->lock) | uv_cond_init(&pipes->work) | uv_cond_init(&pipes->fewer);
    assert(status == 0); /* on Linux these calls need no resources */
}

struct pipes *pipes_create(uv_async_t *changed, struct tunnel *tunnel)
{
    struct pipes *pipes = calloc(1, sizeof *pipes);
    if (!pipes || !open_descriptors(pipes)) {
        free(pipes);
        return NULL;
    }
    init_locks(pipes);
    pipes->holders = 1;
    pipes->changed = changed;
    pipes->tunnel = tunnel ? tunnel_hold(tunnel) : NULL;
    for (int i = 0; i < PIPE_KINDS; i++)
        pipes->watched[i] = (struct watched){pipes, (enum pipe_kind)i};
    for (int i = 0; i < PORTS; i++)
        pipes->port[i].try_fd = -1;
    if (!start_thread(pipes)) {
        pipes_free(pipes);
        return NULL;
    }
    return pipes;
}

void pipes_free(struct pipes *pipes)
{
    (void)close(pipes->spare_fd);
    (void)close(pipes->blank_fd);
    uv_cond_destroy(&pipes->fewer);
    uv_cond_destroy(&pipes->work);
    uv_mutex_destroy(&pipes->lock);
    tunnel_release(&pipes->tunnel);
    free(pipes);
}

void pipes_quit(struct pipes *pipes)
{
    uv_mutex_lock(&pipes->lock);
    pipes->changed = NULL;
    pipes->quits = true;
    ports_close(pipes);
    uv_mutex_unlock(&pipes->lock);
}

struct pipes *pipes_hold(struct pipes *pipes)
{
    uv_mutex_lock(&pipes->lock);
    pipes->holders++;
    uv_mutex_unlock(&pipes->lock);
    return pipes;
}

void pipes_release(struct pipes **pipes)
{
    struct pipes *released = *pipes;
    *pipes = NULL;
    uv_mutex_lock(&released->lock);
    assert(released->holders > 0);
    released->holders--;
    pipes_hurry(released);
    uv_mutex_unlock(&released->lock);
}
