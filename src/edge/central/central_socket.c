#include "edge/central/central_socket.h"

#include "edge/central/central_reader.h"
#include "edge/library/client_tls.h"

#include <errno.h>
#include <hiredis/sds.h>
#include <stdlib.h>
#include <string.h>

/* What watches one socket; freed when the loop has let go of it. */
struct watch {
    uv_poll_t poll;
    redisAsyncContext *redis; /* NULL: hiredis has gone */
    int events;
    struct central_reader reader;
    struct central_socket_tls tls;
    bool greets, ready; /* the handshake goes on; it is over */
};

/* hiredis exports it, for adapters, and declares it nowhere. */
void redisProcessCallbacks(redisAsyncContext *redis);

static void set_events(struct watch *watch, int events);

/* False: the connection is gone. */
static bool check_answers(struct watch *watch)
{
    const bool flooded = watch->redis != NULL && central_reader_is_flooded(watch->redis);
    if (flooded)
        watch->tls.broken(watch->redis, "its answer is longer than it may be");
    return watch->redis != NULL && !flooded;
}

/* ---- TLS: hiredis finds its bytes where it would have read them, and they are taken from where it would write ---- */

enum { TLS_READ_BYTES = 16 * 1024 };

static void greet(struct watch *watch)
{
    struct client_tls *tls = watch->tls.tls;
    switch (client_tls_greet(tls)) {
    case CLIENT_TLS_DONE:
        watch->greets = false;
        watch->ready = true;
        set_events(watch, UV_READABLE);
        watch->tls.greeted(watch->redis);
        return;
    case CLIENT_TLS_AGAIN:
        set_events(watch, UV_READABLE | (client_tls_writes(tls) ? UV_WRITABLE : 0));
        return;
    case CLIENT_TLS_FAILED:
        watch->tls.broken(watch->redis, client_tls_sentence(tls));
        return;
    }
}

/* hiredis finds out whether the socket is connected. It has nothing to write then. */
static void connect_first(struct watch *watch)
{
    redisAsyncHandleWrite(watch->redis);
    if (watch->redis == NULL || (watch->redis->c.flags & REDIS_CONNECTED) == 0)
        return;
    if (!client_tls_begin(watch->tls.tls, watch->redis->c.fd, watch->tls.host)) {
        watch->tls.broken(watch->redis, client_tls_sentence(watch->tls.tls));
        return;
    }
    watch->greets = true;
    greet(watch);
}

/* False: the connection is gone. */
static bool check(struct watch *watch, ssize_t done)
{
    if (done > 0 || (done < 0 && errno == EAGAIN))
        return true;
    const char *why = done == 0         ? "the store has closed the connection"
                      : errno == EPROTO ? client_tls_sentence(watch->tls.tls)
                                        : strerror(errno);
    watch->tls.broken(watch->redis, why);
    return false;
}

static void read_sealed(struct watch *watch)
{
    char bytes[TLS_READ_BYTES];
    ssize_t got;
    while ((got = client_tls_receive(watch->tls.tls, bytes, sizeof bytes)) > 0)
        if (redisReaderFeed(watch->redis->c.reader, bytes, (size_t)got) != REDIS_OK) {
            watch->tls.broken(watch->redis, "not enough memory for its answers");
            return;
        } else if (!check_answers(watch)) {
            return;
        }
    if (check(watch, got))
        redisProcessCallbacks(watch->redis);
}

static void write_sealed(struct watch *watch)
{
    redisContext *redis = &watch->redis->c;
    while (sdslen(redis->obuf) > 0) {
        const ssize_t sent = client_tls_send(watch->tls.tls, redis->obuf, sdslen(redis->obuf));
        if (!check(watch, sent) || sent < 0)
            return;
        sdsrange(redis->obuf, (int)sent, -1);
    }
    set_events(watch, UV_READABLE);
}

static void on_sealed(struct watch *watch, int status, int events)
{
    if (watch->greets)
        greet(watch);
    else if (!watch->ready)
        connect_first(watch);
    else if (status < 0 || (events & UV_READABLE) != 0)
        read_sealed(watch);
    if (watch->redis != NULL && watch->ready && (events & UV_WRITABLE) != 0)
        write_sealed(watch);
}

/* ---- what hiredis asks for ---- */

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = poll->data;
    if (watch->tls.tls != NULL) {
        if (watch->redis != NULL)
            on_sealed(watch, status, events);
        return;
    }
    /* An error is found where the socket is read. */
    if (watch->redis != NULL && (status < 0 || (events & UV_READABLE) != 0)) {
        redisAsyncHandleRead(watch->redis);
        (void)check_answers(watch);
    }
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

bool central_socket_watch(uv_loop_t *loop, redisAsyncContext *redis, const struct central_socket_tls *tls)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL || uv_poll_init(loop, &watch->poll, redis->c.fd) != 0) {
        free(watch);
        return false;
    }
    watch->poll.data = watch;
    watch->redis = redis;
    watch->tls = *tls;
    central_reader_guard(&watch->reader, redis);
    redis->ev.data = watch;
    redis->ev.addRead = add_read;
    redis->ev.delRead = stop_read;
    redis->ev.addWrite = add_write;
    redis->ev.delWrite = stop_write;
    redis->ev.cleanup = let_go;
    return true;
}
