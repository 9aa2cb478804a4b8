#include "edge/central/central_socket.h"

#include <stdlib.h>

/* What watches one socket; freed when the loop has let go of it. */
struct watch {
    uv_poll_t poll;
    redisAsyncContext *redis; /* NULL: hiredis has gone */
    int events;
};

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = poll->data;
    /* An error is found where the socket is read. */
    if (watch->redis != NULL && (status < 0 || (events & UV_READABLE) != 0))
        redisAsyncHandleRead(watch->redis);
    if (watch->redis != NULL && status == 0 && (events & UV_WRITABLE) != 0)
        redisAsyncHandleWrite(watch->redis);
}

static void set_events(struct watch *watch, int events)
{
    watch->events = events;
    if (events == 0)
        (void)uv_poll_stop(&watch->poll);
    else
        (void)uv_poll_start(&watch->poll, events, on_poll);
}

static void add_read(void *context)
{
    struct watch *watch = context;
    set_events(watch, watch->events | UV_READABLE);
}

static void stop_read(void *context)
{
    struct watch *watch = context;
    set_events(watch, watch->events & ~UV_READABLE);
}

static void add_write(void *context)
{
    struct watch *watch = context;
    set_events(watch, watch->events | UV_WRITABLE);
}

static void stop_write(void *context)
{
    struct watch *watch = context;
    set_events(watch, watch->events & ~UV_WRITABLE);
}

static void on_watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void let_go(void *context)
{
    struct watch *watch = context;
    watch->redis = NULL;
    uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
}

bool central_socket_watch(uv_loop_t *loop, redisAsyncContext *redis)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL || uv_poll_init(loop, &watch->poll, redis->c.fd) != 0) {
        free(watch);
        return false;
    }
    watch->poll.data = watch;
    watch->redis = redis;
    redis->ev.data = watch;
    redis->ev.addRead = add_read;
    redis->ev.delRead = stop_read;
    redis->ev.addWrite = add_write;
    redis->ev.delWrite = stop_write;
    redis->ev.cleanup = let_go;
    return true;
}
